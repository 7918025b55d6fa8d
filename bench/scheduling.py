"""What scheduling costs a call with 10,000 in the queue. Run by hand: `python -m bench.scheduling`."""

from __future__ import annotations

import asyncio
import statistics
import time
import tracemalloc
from collections.abc import Callable

from ferrule.model.scheduling import Claim, SchedulerPolicy
from ferrule.runtime.scheduler.scheduler import Lane, Scheduler

MANY = 10_000
ROUNDS = 5


def safe(number: int, *locks: tuple[str, bool]) -> Claim:
    """A call that may overlap."""
    return Claim(f"t{number % 10}", f"p{number % 7}", is_concurrency_safe=True, is_read_only=True, locks=locks)


CASES: dict[str, tuple[SchedulerPolicy, Callable[[int], Claim]]] = {
    "safe calls, 32 at once": (SchedulerPolicy(), safe),
    "exclusive calls": (SchedulerPolicy(), lambda number: Claim("t", "p")),
    "safe calls that share 100 locks": (SchedulerPolicy(), lambda number: safe(number, (f"k{number % 100}", False))),
    "the same, nine of ten shared": (SchedulerPolicy(), lambda number: safe(number, (f"k{number % 100}", number % 10 > 0))),
    "limits of tools and principals too": (SchedulerPolicy(max_parallel_per_tool=8, max_parallel_per_principal=8), safe),
}  # fmt: skip


def alone(policy: SchedulerPolicy, claim: Callable[[int], Claim]) -> float:
    """Microseconds a call: all enter, then each leaves as soon as it runs. Nothing but the scheduler."""
    lane, claims = Scheduler(policy).get_lane("bench"), [claim(number) for number in range(MANY)]
    began = time.process_time()
    left, places = 0, [lane.enter(each) for each in claims]
    while left < MANY:
        for place in places:
            if place.state == "running":
                lane.leave(place)
                left += 1
    return (time.process_time() - began) / MANY * 1e6


async def one(lane: Lane, claim: Claim) -> None:
    """One call as a task of its own."""
    place = lane.enter(claim)
    try:
        if place.state == "waiting":
            await place.wait_turn()
        await asyncio.sleep(0)
    finally:
        lane.leave(place)


async def with_tasks(policy: SchedulerPolicy, claim: Callable[[int], Claim]) -> float:
    """Microseconds a call, the task and its waking included."""
    lane, claims = Scheduler(policy).get_lane("bench"), [claim(number) for number in range(MANY)]
    began = time.process_time()
    await asyncio.gather(*(one(lane, each) for each in claims))
    return (time.process_time() - began) / MANY * 1e6


def main() -> None:
    """Print the table."""
    for name, (policy, claim) in CASES.items():
        scheduler = statistics.median(alone(policy, claim) for _ in range(ROUNDS))
        tasks = statistics.median(asyncio.run(with_tasks(policy, claim)) for _ in range(ROUNDS))
        print(f"{name:40} {scheduler:6.2f} µs a call; {tasks:6.2f} µs with its task")
    lane = Scheduler().get_lane("bench")
    began = time.process_time()
    for _ in range(1_000_000):
        if lane.slip_in():
            lane.slip_out()
    print(f"{'slipping in and out':40} {time.process_time() - began:6.2f} µs a call")
    tracemalloc.start()
    same, before = safe(0), tracemalloc.get_traced_memory()[0]
    kept = [lane.enter(same) for _ in range(MANY)]
    print(f"{'a place that waits':40} {(tracemalloc.get_traced_memory()[0] - before) / len(kept):6.0f} bytes")


if __name__ == "__main__":
    main()
