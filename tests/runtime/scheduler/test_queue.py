"""Places and limits: who goes next when many wait, and that no turn is lost."""

from __future__ import annotations

import asyncio

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from ferrule.model.scheduling import Claim, SchedulerPolicy
from ferrule.runtime.scheduler.scheduler import Lane, QueueLeft, Scheduler
from tests.runtime.scheduler.lanes import ALONE, SAFE, lane_of, safe, states


def test_limits_of_tools_and_principals_hold_across_lanes() -> None:
    scheduler = Scheduler(SchedulerPolicy(max_parallel_per_tool=1, max_parallel_per_principal=2))
    one, two = scheduler.get_lane("one"), scheduler.get_lane("two")
    first, second = one.enter(safe(tool="t")), two.enter(safe(tool="t"))
    other, third = two.enter(safe(tool="u")), two.enter(safe(tool="v"))
    anybody = two.enter(safe(tool="v", principal="bob"))
    assert states(first, second, other, third, anybody) == "rwrwr"
    one.leave(first)
    assert states(second, third) == "rw", "the tool is free, and ann had one call left"


def test_lanes_take_turns_at_a_limit() -> None:
    scheduler = Scheduler(SchedulerPolicy(max_parallel_per_tool=1))
    busy, quiet = scheduler.get_lane("busy"), scheduler.get_lane("quiet")
    running, *many = [busy.enter(safe()) for _ in range(50)]
    one = quiet.enter(safe())
    busy.leave(running)
    busy.leave(many[0])
    assert one.state == "running", "fifty calls of another lane do not come first"


def test_principals_take_turns_in_a_shared_lane() -> None:
    lane = lane_of(max_parallel=1)
    running, *many = [lane.enter(safe(principal="ann")) for _ in range(50)]
    bob = lane.enter(safe(principal="bob"))
    lane.leave(running)
    lane.leave(many[0])
    assert bob.state == "running"


def test_priority_goes_first_and_nobody_is_forgotten() -> None:
    lane = lane_of(max_parallel=1)
    running = lane.enter(safe())
    low = [lane.enter(safe(priority=-5)) for _ in range(3)]
    high = [lane.enter(safe(priority=5)) for _ in range(100)]
    order = []
    for _ in range(103):
        lane.leave(running)
        running = next(place for place in low + high if place.state == "running")
        order.append(running in low)
    assert order[:10] == [False] * 10
    assert sum(order[:60]) == 3, "a low priority has its turn now and then"


def test_a_place_that_never_finds_all_limits_free_at_once_still_runs() -> None:
    """Whenever its tool is free its lane is full, and the other way round."""
    scheduler = Scheduler(SchedulerPolicy(max_parallel=1, max_parallel_per_tool=1))
    here, there = scheduler.get_lane("here"), scheduler.get_lane("there")
    beside, tool = here.enter(safe(tool="other")), there.enter(safe(tool="t"))
    unlucky = here.enter(safe(tool="t"))
    for _ in range(200):
        if unlucky.state == "running":
            break
        following = here.enter(safe(tool="other"))
        here.leave(beside)
        beside = following
        following = there.enter(safe(tool="t"))
        there.leave(tool)
        tool = following
    assert unlucky.state == "running"


def test_a_tool_at_its_limit_does_not_hold_up_its_lane() -> None:
    lane = lane_of(max_parallel=2, max_parallel_per_tool=1)
    slow, waiting, other = lane.enter(safe(tool="slow")), lane.enter(safe(tool="slow")), lane.enter(safe(tool="quick"))
    assert states(slow, waiting, other) == "rwr"


def test_a_call_waits_for_its_turn_and_learns_when_it_was_withdrawn() -> None:
    async def main() -> None:
        lane = lane_of(max_parallel=1)
        running, waiting, withdrawn = (lane.enter(SAFE) for _ in range(3))
        turn, other = asyncio.create_task(waiting.wait_turn()), asyncio.create_task(withdrawn.wait_turn())
        await asyncio.sleep(0)
        assert not turn.done()
        lane.leave(withdrawn)
        with pytest.raises(QueueLeft):
            await other
        lane.leave(running)
        await turn
        await waiting.wait_turn()
        lane.leave(waiting)
        with pytest.raises(QueueLeft):
            await waiting.wait_turn()

    asyncio.run(main())


def test_a_turn_that_was_cancelled_can_be_waited_for_again() -> None:
    async def main() -> None:
        lane = lane_of(max_parallel=1)
        running, waiting = lane.enter(SAFE), lane.enter(SAFE)
        task = asyncio.create_task(waiting.wait_turn())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        lane.leave(running)
        await asyncio.wait_for(waiting.wait_turn(), 1)

    asyncio.run(main())


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 3),
    st.lists(
        st.tuples(st.sampled_from([SAFE, ALONE, safe("k"), safe("k", shared=True)]), st.integers(0, 12), st.integers(0, 3)),
        max_size=20,
    ),
)  # fmt: skip
def test_no_turn_is_lost_whenever_waiting_tasks_are_cancelled(most: int, calls: list[tuple[Claim, int, int]]) -> None:
    """AT-178: each call either ran or was cancelled, and all of them are over."""

    async def one(lane: Lane, claim: Claim, steps: int) -> None:
        place = lane.enter(claim)
        try:
            await place.wait_turn()
            for _ in range(steps):
                await asyncio.sleep(0)
        finally:
            lane.leave(place)

    async def main() -> None:
        lane = lane_of(max_parallel=most)
        tasks = [asyncio.create_task(one(lane, claim, steps)) for claim, _, steps in calls]
        for moment in range(12):
            await asyncio.sleep(0)
            for task, (_, cancelled, _) in zip(tasks, calls, strict=True):
                if cancelled == moment:
                    task.cancel()
        done = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
        assert all(outcome is None or isinstance(outcome, asyncio.CancelledError) for outcome in done)
        assert lane.is_idle

    asyncio.run(main())
