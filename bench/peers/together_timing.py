"""Times as many calls at once as wanted, the same for every peer: milliseconds until the last answer is there.

Standard library only, because it runs in the peers' environment.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import time
from collections.abc import Awaitable, Callable, Sequence

AT_ONCE = 32
SECONDS = 0.001
Calls = Callable[[int], Awaitable[Sequence[int]]]
"""Makes so many calls at once, each with its number, and gives their answers in order."""


async def moments(call: Calls, calls: int, rounds: int) -> list[float]:
    """Milliseconds of each round, after one to warm up."""
    taken = []
    for _ in range(rounds + 1):
        gc.collect()
        began = time.perf_counter()
        answers = await call(calls)
        taken.append((time.perf_counter() - began) * 1000)
        if list(answers) != list(range(calls)):
            raise SystemExit("a call was answered wrongly")
    return taken[1:]


def report(main: Callable[[int, int], Awaitable[dict[str, list[float]]]]) -> None:
    """The command line of a peer's program: `--calls`, `--rounds`; prints the rounds by contender."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(main(options.calls, options.rounds))))
