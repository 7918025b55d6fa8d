"""What a million calls leave behind: memory, and the time of the calls after them. Prints numbers as JSON. Linux only.

python -m bench.growth FOLDER [--calls 1000000]

One process makes a thousand calls, then the rest, and looks at its own resident memory after each. Then a second ledger with a
thousand rows is opened beside the full one, and both are called in turn, so that a busy moment of the machine hurts both.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import ferrule
from bench.governed import ALLOW, add, opened
from ferrule.app.surface import SurfaceHandle

FEW = 1000
TURNS = 20
"""How often the two ledgers take turns."""
READS, ACTIONS = 100, 20
"""Calls of a turn."""


RULE = '[[rules]]\nid = "put"\ndecision = "allow"\ntool = "put"\n'


@ferrule.tool(destructive=False, open_world=False)
async def put(a: int, b: int) -> int:
    """Add two whole numbers, as if that changed something."""
    return a + b


async def grow(folder: Path, calls: int, turns: int = TURNS) -> dict[str, Any]:
    """Memory at both sizes, in bytes, and median latencies at both, in microseconds."""
    async with opened(folder / "full", [add, put], ALLOW + RULE) as app:
        handle = app.surface(principal="ann")
        await _calls(handle, "add", FEW)
        await app.store.flush()
        few = memory()
        await _calls(handle, "add", calls - FEW)
        await app.store.flush()
        many = memory()
        rows = (await app.store.rows_before(None, 1))[0].seq
        assert rows >= calls, f"{calls} calls left {rows} rows"
        return {"calls": calls, "rows": rows, "few": few, "many": many, **await _compared(folder, app, turns)}


async def _compared(folder: Path, full: ferrule.App, turns: int) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        small = await stack.enter_async_context(opened(folder / "small", [add, put], ALLOW + RULE))
        handles = {"few": small.surface(principal="ann"), "many": full.surface(principal="ann")}
        await _calls(handles["few"], "add", FEW)
        for handle in handles.values():
            await _calls(handle, "put", ACTIONS)
        taken: dict[str, dict[str, list[float]]] = {tool: {name: [] for name in handles} for tool in ("add", "put")}
        for _ in range(turns):
            for tool, count in (("add", READS), ("put", ACTIONS)):
                for name, handle in handles.items():
                    taken[tool][name] += await _latencies(handle, tool, count)
                    await small.store.flush()
                    await full.store.flush()
    return {
        tool: {name: statistics.median(found) for name, found in by_size.items()} for tool, by_size in taken.items()
    }


async def _calls(handle: SurfaceHandle, tool: str, count: int) -> None:
    for number in range(count):
        result: Any = await handle.call(tool, {"a": number, "b": 1})
        assert result.structured_content == number + 1, result
        if number % 500 == 0:
            await asyncio.sleep(0)


async def _latencies(handle: SurfaceHandle, tool: str, count: int) -> list[float]:
    """Microseconds of each call, one after another."""
    found = []
    for number in range(count):
        began = time.perf_counter_ns()
        await handle.call(tool, {"a": number, "b": 1})
        found.append((time.perf_counter_ns() - began) / 1000)
    return found


def memory() -> dict[str, int]:
    """Resident bytes of this process: all, and what is its own (not files it has mapped)."""
    gc.collect()
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {name: int(lines[key].split()[0]) * 1024 for name, key in (("resident", "VmRSS"), ("own", "RssAnon"))}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--calls", type=int, default=1_000_000)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(grow(options.folder, max(options.calls, FEW)))))


if __name__ == "__main__":
    main()
