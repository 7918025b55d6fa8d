"""Times one way of calling `add`, the same for every peer: processor time and wall time a call, batch by batch.

Standard library only, because it runs in the peers' environment. A peer's program hands over a coroutine function that makes
one call and checks its answer; `report` prints what it took as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import time
from collections.abc import Awaitable, Callable

Call = Callable[[int], Awaitable[int]]
"""Makes one call of `add(number, 1)` and gives its answer."""


async def batches(call: Call, calls: int, count: int) -> dict[str, list[float]]:
    """Microseconds a call, of processor time (every thread of the process) and on the clock, for each batch."""
    await _batch(call, calls)
    taken: dict[str, list[float]] = {"cpu": [], "wall": []}
    for _ in range(count):
        gc.collect()
        cpu, wall = time.process_time(), time.perf_counter()
        await _batch(call, calls)
        taken["wall"].append((time.perf_counter() - wall) / calls * 1e6)
        taken["cpu"].append((time.process_time() - cpu) / calls * 1e6)
    return taken


async def _batch(call: Call, calls: int) -> None:
    for number in range(calls):
        if await call(number) != number + 1:
            raise SystemExit(f"add({number}, 1) was answered wrongly")


def report(main: Callable[[int, int], Awaitable[dict[str, dict[str, list[float]]]]]) -> None:
    """The command line of a peer's program: `--calls`, `--batches`; prints the batches by contender."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--batches", type=int, default=5)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(main(options.calls, options.batches))))
