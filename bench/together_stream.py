"""One large result on its way into the payload store. Prints megabytes a second and how much memory it took, as JSON.

python -m bench.together_stream stream FOLDER [--megabytes 1000] [--secrets 0]

`stream` gives a generator as its output; `writer` writes through `context.open_output`. Memory is the process's peak, less
what it held after a first, empty result. A program of its own, because a peak does not go down again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ferrule
from bench.governed import opened
from bench.redaction import secrets
from ferrule.contracts.executor import Context, Output
from ferrule.contracts.payloads import payload_block

MEGABYTE = 1_000_000
WAYS = {"stream": "pour", "writer": "write"}
_LINES = [f"{number:08d} the order of customer {number * 7919 % 100_003} was delivered\n" for number in range(20_000)]


def chunks(megabytes: int) -> Iterator[bytes]:
    """Lines of text, a megabyte at a time; no two chunks are the same."""
    lines = "".join(_LINES)[: MEGABYTE - 9].encode()
    for number in range(megabytes):
        yield b"%08d\n" % number + lines


@ferrule.tool(read_only=True, open_world=False)
async def pour(megabytes: int) -> Output:
    """A large text, as a stream."""
    return Output(stream=chunks(megabytes), media_type="text/plain")


@ferrule.tool(read_only=True, open_world=False)
def write(megabytes: int, context: Context) -> Output:
    """A large text, written as it goes."""
    writer = context.open_output("text/plain")
    for chunk in chunks(megabytes):
        writer.write(chunk)
    return Output(content=(payload_block(writer.close()),))


async def measure(folder: Path, how: str, megabytes: int, secret_count: int) -> dict[str, float]:
    """Megabytes a second on the clock, seconds of processor time, and megabytes of memory it took."""
    known = secrets(secret_count)
    names = ", ".join(f'"{name}"' for name in known)
    settings = f"[redaction]\nsecrets_env = [{names}]\n" if known else "[redaction]\nwell_known = false\n"
    async with opened(folder, (pour, write), settings=settings, environment=known) as app:
        surface = app.surface(principal="ann")
        await _call(surface, how, 0)
        before, cpu, began = _resident(), time.process_time(), time.perf_counter()
        result = await _call(surface, how, megabytes)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        grown = max(0, _peak() - before) / MEGABYTE
        size = _stored(result)
    if size != megabytes * MEGABYTE:
        raise SystemExit(f"{megabytes} MB were given and {size:,} bytes stored")
    return {"rate": megabytes / seconds, "cpu": cpu, "grown": grown}


async def _call(surface: Any, how: str, megabytes: int) -> Any:
    result = await surface.call(WAYS[how], {"megabytes": megabytes})
    if result.is_error:
        raise SystemExit(f"the call failed: {result.error.message}")
    return result


def _stored(result: Any) -> int:
    return sum(block.get("size", 0) for block in result.content if "size" in block)


def _peak() -> int:
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


def _resident() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return _peak()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("how", choices=sorted(WAYS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--secrets", type=int, default=0)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(measure(options.folder, options.how, options.megabytes, options.secrets))))


if __name__ == "__main__":
    main()
