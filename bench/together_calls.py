"""Our side of calls together: many side by side, thousands in the queue, and one with a hook. Prints what they took as JSON.

python -m bench.together_calls FOLDER [--parallel 1000] [--queued 10000] [--hooked 2000] [--rounds 3]

`parallel` are milliseconds of a batch of tools that each take a millisecond, beside the same sleeps through a bare
`asyncio.Semaphore`. `queue` are microseconds of processor time a call, of the whole process with the rows on disk: in one
batch, and one after the other. The tool waits once for the event loop, so that a batch really fills the queue. `hook` are
microseconds of the calling thread, with a hook that has nothing to say and without it.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import ferrule
from bench.governed import caller, opened
from ferrule.app.surface import SurfaceHandle
from ferrule.contracts.hook import HookInput
from ferrule.runtime.hooks.function import hook

AT_ONCE = 32
"""`max_parallel`, as it is unless somebody says otherwise."""
SECONDS = 0.001
LOCKS = 100
SAFE, ALONE, LOCKED = "reads that may overlap", "reads that run alone", f"reads that share {LOCKS} locks"
Costs = dict[str, list[float]]
_LOCK = '[[scheduler.resource_locks]]\nkey = "shelf:{shelf}"\ntool = "*locked*"\n'


@ferrule.tool(read_only=True, open_world=False, concurrency_safe=True)
async def moment(number: int) -> int:
    """Take a millisecond."""
    await asyncio.sleep(SECONDS)
    return number


@ferrule.tool(read_only=True, open_world=False, concurrency_safe=True)
async def safe(number: int) -> int:
    """Let others go first, then answer."""
    await asyncio.sleep(0)
    return number


@ferrule.tool(read_only=True, open_world=False)
async def alone(number: int) -> int:
    """The same; nobody may run beside it."""
    await asyncio.sleep(0)
    return number


@ferrule.tool(read_only=True, open_world=False, concurrency_safe=True)
async def locked(number: int, shelf: int) -> int:
    """The same; nobody may run beside it on its shelf."""
    await asyncio.sleep(0)
    return number


@hook("pre_tool_use")
def looks(told: HookInput) -> None:
    """Has nothing to say."""


TOOLS = (moment, safe, alone, locked)
KINDS: dict[str, tuple[str, Callable[[int], dict[str, int]]]] = {
    SAFE: ("safe", lambda number: {"number": number}),
    ALONE: ("alone", lambda number: {"number": number}),
    LOCKED: ("locked", lambda number: {"number": number, "shelf": number % LOCKS}),
}


async def bare(count: int) -> float:
    """The ideal: the same waits, so many at once, and nothing else. Milliseconds."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one() -> None:
        async with gate:
            await asyncio.sleep(SECONDS)

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(count)))
    return (time.perf_counter() - began) * 1000


async def governed(surface: SurfaceHandle, count: int) -> float:
    """The same as calls. Milliseconds until every result is there."""
    calls = [("moment", {"number": number}) for number in range(count)]
    began = time.perf_counter()
    batch = await surface.call_many(calls)
    taken = (time.perf_counter() - began) * 1000
    _check([result.structured_content for result in batch], count)  # type: ignore[union-attr]
    return taken


def _check(answers: Sequence[Any], count: int) -> None:
    if list(answers) != list(range(count)):
        raise SystemExit("a call was answered wrongly, or out of order")


async def side_by_side(surface: SurfaceHandle, count: int, rounds: int) -> Costs:
    """Milliseconds of so many calls of a millisecond, and of the bare waits, in turn."""
    taken: Costs = {"bare": [], "ferrule": []}
    for number in range(rounds + 1):
        gc.collect()
        cost = {"bare": await bare(count), "ferrule": await governed(surface, count)}
        if number:  # the first one warms up
            for name, milliseconds in cost.items():
                taken[name].append(milliseconds)
    return taken


async def in_the_queue(app: ferrule.App, surface: SurfaceHandle, count: int, rounds: int) -> dict[str, Costs]:
    """Microseconds of processor time a call, by kind: `together` in one batch, `apart` one after the other."""
    taken: dict[str, Costs] = {kind: {"apart": [], "together": []} for kind in KINDS}
    for number in range(rounds + 1):
        size = count if number else min(count, 500)
        for kind, (name, arguments) in KINDS.items():
            calls = [(name, arguments(each)) for each in range(size)]
            for way, work in (("apart", _one_by_one), ("together", _at_once)):
                cost = await _cpu(app, work, surface, calls)
                if number:
                    taken[kind][way].append(cost / size * 1e6)
    return taken


Calls = list[tuple[str, dict[str, int]]]


async def _one_by_one(surface: SurfaceHandle, calls: Calls) -> Sequence[Any]:
    return [await surface.call(name, arguments) for name, arguments in calls]


async def _at_once(surface: SurfaceHandle, calls: Calls) -> Sequence[Any]:
    return await surface.call_many(calls)


async def _cpu(
    app: ferrule.App, work: Callable[[SurfaceHandle, Calls], Awaitable[Sequence[Any]]], surface: SurfaceHandle, calls: Calls
) -> float:  # fmt: skip
    gc.collect()
    began = time.process_time()
    results = await work(surface, calls)
    await app.store.flush()
    taken = time.process_time() - began
    _check([result.structured_content for result in results], len(calls))
    return taken


async def with_hook(folder: Path, count: int, rounds: int) -> Costs:
    """Microseconds of the calling thread a call of `add`: without any hook, and with one that has nothing to say."""
    taken: Costs = {"without": [], "with": []}
    async with AsyncExitStack() as stack:
        apps = {
            "without": await stack.enter_async_context(opened(folder / "without")),
            "with": await stack.enter_async_context(opened(folder / "with", hooks=[looks])),
        }
        ways = {name: caller(app, "plain") for name, app in apps.items()}
        for number in range(rounds * 3 + 1):
            for name, call in ways.items():
                gc.collect()
                began = time.thread_time()
                answers = [await call(each) for each in range(count)]
                cost = time.thread_time() - began
                await apps[name].store.flush()
                _check([answer - 1 for answer in answers], count)
                if number:
                    taken[name].append(cost / count * 1e6)
    return taken


async def measure(folder: Path, parallel: int, queued: int, hooked: int, rounds: int) -> dict[str, Any]:
    """All of it."""
    async with opened(folder / "calls", TOOLS, settings=_LOCK) as app:
        surface = app.surface(principal="ann")
        found: dict[str, Any] = {
            "parallel": await side_by_side(surface, parallel, rounds),
            "queue": await in_the_queue(app, surface, queued, rounds),
        }
    return {**found, "hook": await with_hook(folder, hooked, rounds)}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parallel", type=int, default=1000)
    parser.add_argument("--queued", type=int, default=10_000)
    parser.add_argument("--hooked", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(measure(**vars(options)))))


if __name__ == "__main__":
    main()
