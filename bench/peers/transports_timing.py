"""Times ways of adding two numbers over a network: CPU a call one after the other, and calls a second with 64 in flight.

Standard library only, because it runs in the peers' environment too. Ways that are timed together take turns.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

IN_FLIGHT = 64
Call = Callable[[int], Awaitable[int]]
Ways = dict[str, dict[str, list[float]]]
"""By contender: `cpu` (microseconds of this process a call, one after the other), `rate` (calls a second, 64 in flight) and
`busy` (microseconds of this process a call, 64 in flight)."""


async def timed(ways: Mapping[str, Call], calls: int, rounds: int, found: Ways) -> None:
    """Adds what each way took."""
    for call in ways.values():
        await _one_by_one(call, max(calls // 10, 50))
        await _in_flight(call, max(calls // 10, 200))
    for _ in range(rounds):
        for name, call in ways.items():
            gc.collect()
            taken = found.setdefault(name, {"cpu": [], "rate": [], "busy": []})
            cpu = time.process_time()
            await _one_by_one(call, calls // 3)
            taken["cpu"].append((time.process_time() - cpu) / (calls // 3) * 1e6)
            cpu, began = time.process_time(), time.perf_counter()
            await _in_flight(call, calls)
            taken["rate"].append(calls / (time.perf_counter() - began))
            taken["busy"].append((time.process_time() - cpu) / calls * 1e6)


def report(main: Callable[[int, int, int], Coroutine[Any, Any, Ways]]) -> None:
    """The command line of a peer's program: the upstream's port, `--calls`, `--rounds`; prints what it took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(main(options.port, options.calls, options.rounds))))


async def _one_by_one(call: Call, calls: int) -> None:
    for number in range(calls):
        if await call(number) != number + 1:
            raise SystemExit(f"{number} + 1 was answered wrongly")


async def _in_flight(call: Call, calls: int) -> None:
    numbers = iter(range(calls))

    async def worker() -> None:
        for number in numbers:
            if await call(number) != number + 1:
                raise SystemExit(f"{number} + 1 was answered wrongly")

    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
