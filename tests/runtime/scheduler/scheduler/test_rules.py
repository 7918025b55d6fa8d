"""The scheduler, rule by rule: what overlaps, what waits, who goes next, and that nobody's turn is lost."""

from __future__ import annotations

import asyncio
import gc

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from ferrule.model.scheduling import Claim, SchedulerPolicy
from ferrule.runtime.scheduler.scheduler import Deadlock, Lane, Place, QueueFull, QueueLeft, Scheduler

SAFE = Claim("look", "ann", is_concurrency_safe=True, is_read_only=True, is_destructive=False, is_open_world=False)
ALONE = Claim("write", "ann")


def safe(*locks: str, tool: str = "look", principal: str = "ann", priority: int = 0, shared: bool = False) -> Claim:
    """A call that may overlap, with locks."""
    return Claim(
        tool, principal, is_concurrency_safe=True, locks=tuple((key, shared) for key in locks), priority=priority
    )


def lane_of(**policy: object) -> Lane:
    return Scheduler(SchedulerPolicy(**policy)).lane("surface")  # type: ignore[arg-type]  # whatever the test says


def states(*places: Place) -> str:
    """One letter each: a, w, r, g."""
    return "".join(place.state[0] for place in places)


def test_safe_calls_run_together_up_to_the_limit() -> None:
    """AT-160"""
    lane = lane_of(max_parallel=3)
    places = [lane.enter(SAFE) for _ in range(5)]
    assert states(*places) == "rrrww"
    lane.leave(places[1])
    assert states(*places) == "rgrrw"


def test_a_call_not_known_to_be_safe_runs_alone_and_in_order() -> None:
    """AT-161"""
    lane = lane_of()
    read, second, write, late = (lane.enter(claim) for claim in (SAFE, SAFE, ALONE, SAFE))
    assert states(read, second, write, late) == "rrww"
    lane.leave(second)
    assert states(read, second, write, late) == "rgww"
    lane.leave(read)
    assert states(read, second, write, late) == "ggrw"
    lane.leave(write)
    assert states(read, second, write, late) == "gggr"


@pytest.mark.parametrize("is_safe", [True, False])
@pytest.mark.parametrize("is_read_only", [True, False])
def test_safe_and_read_only_are_facts_of_their_own(is_safe: bool, is_read_only: bool) -> None:
    """AT-162"""
    lane = lane_of()
    claim = Claim("t", "ann", is_concurrency_safe=is_safe, is_read_only=is_read_only)
    assert states(lane.enter(claim), lane.enter(claim)) == ("rr" if is_safe else "rw")


@pytest.mark.parametrize(
    ("classes", "claim", "overlaps"),
    [
        (("read_only", "write", "destructive"), Claim("t", "a", True, True, False, True), False),
        (("read_only", "write", "destructive"), Claim("t", "a", True, True, False, False), True),
        (("read_only",), Claim("t", "a", True, False, False, False), False),
        (("write",), Claim("t", "a", True, False, False, False), True),
        (("write",), Claim("t", "a", True, True, False, False), False),
        (("write", "open_world"), Claim("t", "a", True, False, True, True), False),
        ((), Claim("t", "a", True, True, False, False), False),
    ],
)
def test_the_policy_says_which_kinds_overlap(classes: tuple[str, ...], claim: Claim, overlaps: bool) -> None:
    """AT-163"""
    lane = lane_of(parallel_classes=classes)
    assert states(lane.enter(claim), lane.enter(claim)) == ("rr" if overlaps else "rw")


def test_calls_that_share_a_lock_do_not_overlap_in_any_lane() -> None:
    """AT-164"""
    scheduler = Scheduler()
    one, other = scheduler.lane("one"), scheduler.lane("other")
    first, second = one.enter(safe("order:1")), other.enter(safe("order:1"))
    different = other.enter(safe("order:2"))
    assert states(first, second, different) == "rwr"
    one.leave(first)
    assert states(first, second, different) == "grr"


def test_an_exclusive_waiter_is_not_overtaken_by_later_readers() -> None:
    """AT-164"""
    lane = lane_of()
    reader, writer, late = lane.enter(safe("k", shared=True)), lane.enter(safe("k")), lane.enter(safe("k", shared=True))
    assert states(reader, writer, late) == "rww"
    lane.leave(reader)
    assert states(reader, writer, late) == "grw"


def test_locks_are_taken_all_at_once() -> None:
    """AT-164"""
    lane = lane_of()
    first, both, other = lane.enter(safe("a")), lane.enter(safe("b", "a")), lane.enter(safe("c"))
    assert states(first, both, other) == "rwr"
    assert lane._scheduler.snapshot()["locks"]["b"]["held"] == 0
    lane.leave(first)
    assert states(first, both) == "gr"


def test_serial_means_one_at_a_time() -> None:
    """AT-167"""
    lane = lane_of(ordering_policy="serial")
    assert not lane.slip_in()
    places = [lane.enter(SAFE) for _ in range(3)]
    assert states(*places) == "rww"
    lane.leave(places[0])
    assert states(*places) == "grw"


def test_a_turn_that_blocks_is_waited_for() -> None:
    """AT-169"""
    lane = lane_of()
    lane.hold()
    running = lane.enter(SAFE)
    lane.hold()
    lane.hold()
    later, last = lane.enter(SAFE), lane.enter(SAFE)
    assert states(running, later, last) == "rww"
    assert not lane.slip_in()
    lane.leave(running)
    assert states(running, later, last) == "grr"


def test_holding_again_and_again_costs_nothing() -> None:
    lane = lane_of()
    lane.enter(SAFE)
    for _ in range(1000):
        lane.hold()
    assert len(lane._pending) == 1


def test_an_announced_call_keeps_its_place() -> None:
    """AT-161"""
    lane = lane_of()
    first, second = lane.announce(), lane.announce()
    late = lane.enter(SAFE)
    lane.enter(SAFE, second)
    assert states(first, second, late) == "aww"
    lane.enter(ALONE, first)
    assert states(first, second, late) == "rww"
    lane.leave(first)
    assert states(first, second, late) == "grr"


def test_an_announced_call_that_leaves_frees_those_behind_it() -> None:
    lane = lane_of()
    announced, late = lane.announce(), lane.enter(SAFE)
    lane.leave(announced)
    assert states(announced, late) == "gr"
    with pytest.raises(QueueLeft):
        lane.enter(SAFE, announced)
    with pytest.raises(ValueError, match="twice"):
        lane.enter(SAFE, late)


def test_calls_slip_in_only_where_nothing_is_in_the_way() -> None:
    """AT-160, AT-161"""
    lane = lane_of(max_parallel=2)
    assert lane.slip_in() and lane.slip_in() and not lane.slip_in()
    write = lane.enter(ALONE)
    lane.slip_out()
    assert not lane.slip_in(), "an exclusive call waits, and is not overtaken"
    assert states(write) == "w"
    lane.slip_out()
    assert states(write) == "r"
    assert not lane.slip_in()
    lane.leave(write)
    assert lane.slip_in()
    place = lane.settle(SAFE)
    nested = lane.enter(ALONE, parent=place)
    assert states(place, nested) == "rr"
    lane.leave(nested)
    lane.leave(place)
    assert lane.is_idle


def test_only_plain_safe_reads_may_slip() -> None:
    lane = lane_of(parallel_classes=("read_only", "destructive", "open_world"))
    assert lane.may_slip(SAFE)
    for claim in (ALONE, safe(), Claim("t", "a", True, True, locks=(("k", True),)), Claim("t", "a", False, True)):
        assert not lane.may_slip(claim)
    assert not lane_of(parallel_classes=("read_only",)).may_slip(SAFE), "one that slips in does not say what it is"
    assert not lane_of(ordering_policy="serial").may_slip(SAFE)


@pytest.mark.parametrize("limit", ["max_parallel_per_tool", "max_parallel_per_principal"])
def test_nothing_slips_past_limits_of_tools_and_principals(limit: str) -> None:
    assert not lane_of(**{limit: 5}).slip_in()


def test_a_full_queue_refuses() -> None:
    lane = lane_of(max_parallel=1, max_queued=2)
    running, *waiting = [lane.enter(SAFE) for _ in range(3)]
    with pytest.raises(QueueFull, match="2 calls wait"):
        lane.enter(SAFE)
    lane.leave(waiting[0])
    assert lane.enter(SAFE).state == "waiting"
    assert running.state == "running"


def test_limits_of_tools_and_principals_hold_across_lanes() -> None:
    scheduler = Scheduler(SchedulerPolicy(max_parallel_per_tool=1, max_parallel_per_principal=2))
    one, two = scheduler.lane("one"), scheduler.lane("two")
    first, second = one.enter(safe(tool="t")), two.enter(safe(tool="t"))
    other, third = two.enter(safe(tool="u")), two.enter(safe(tool="v"))
    anybody = two.enter(safe(tool="v", principal="bob"))
    assert states(first, second, other, third, anybody) == "rwrwr"
    one.leave(first)
    assert states(second, third) == "rw", "the tool is free, and ann had one call left"


def test_lanes_take_turns_at_a_limit() -> None:
    scheduler = Scheduler(SchedulerPolicy(max_parallel_per_tool=1))
    busy, quiet = scheduler.lane("busy"), scheduler.lane("quiet")
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
    here, there = scheduler.lane("here"), scheduler.lane("there")
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


def test_a_lock_that_is_waited_for_does_not_hold_up_its_lane() -> None:
    lane = lane_of(max_parallel=2)
    places = [lane.enter(safe("hot")) for _ in range(10)]
    assert lane.enter(safe("cold")).state == "running"
    assert states(*places).count("r") == 1


def test_nested_calls_run_while_their_parent_has_everything() -> None:
    lane = lane_of(max_parallel=1, max_parallel_per_tool=1, max_parallel_per_principal=1)
    parent = lane.enter(Claim("t", "ann", locks=(("k", False),)))
    child = lane.enter(Claim("t", "ann", locks=(("k", False),)), parent=parent)
    sibling = lane.enter(SAFE, parent=parent)
    grandchild = lane.enter(safe("k", tool="t"), parent=child)
    outsider = lane.enter(SAFE)
    assert states(parent, child, sibling, grandchild, outsider) == "rrwrw"
    for place in (grandchild, child, sibling, parent):
        lane.leave(place)
    assert outsider.state == "running"


def test_siblings_do_not_share_what_their_parent_holds_at_the_same_time() -> None:
    lane = lane_of()
    parent = lane.enter(safe("k"))
    one, other = lane.enter(safe("k"), parent=parent), lane.enter(safe("k"), parent=parent)
    assert states(one, other) == "rw"
    lane.leave(one)
    assert other.state == "running"


def test_a_nested_call_goes_before_calls_that_have_not_begun() -> None:
    """The one that waits for `k` and `l` waits for the parent, so the parent's call must not wait for it."""
    lane = lane_of()
    parent, waiting = lane.enter(safe("k")), lane.enter(safe("k", "l"))
    nested = lane.enter(safe("l"), parent=parent)
    assert states(parent, waiting, nested) == "rwr"


def test_a_nested_call_goes_before_one_that_waits_for_its_parents_slot() -> None:
    lane = lane_of(max_parallel=1)
    parent, waiting = lane.enter(safe("k")), lane.enter(safe("l"))
    nested = lane.enter(safe("l"), parent=parent)
    assert states(parent, waiting, nested) == "rwr"
    lane.leave(parent)
    assert states(waiting) == "w"
    lane.leave(nested)
    assert states(waiting) == "r"


def test_a_nested_call_that_waits_is_not_overtaken_by_later_ones() -> None:
    lane = lane_of()
    parent, reader = lane.enter(safe("k")), lane.enter(safe("l", shared=True))
    nested = lane.enter(safe("l"), parent=parent)
    later = lane.enter(safe("l", shared=True))
    assert states(nested, later) == "ww"
    lane.leave(reader)
    assert states(nested, later) == "rw"
    lane.leave(nested)
    assert states(later) == "r"


def test_a_nested_call_that_gives_up_frees_those_behind_it() -> None:
    lane = lane_of()
    parent, reader = lane.enter(safe("k")), lane.enter(safe("l", shared=True))
    nested = lane.enter(safe("l"), parent=parent)
    later = lane.enter(safe("l", shared=True))
    lane.leave(nested)
    assert states(reader, later) == "rr"


def test_a_cycle_through_nested_calls_is_refused() -> None:
    lane = lane_of()
    one, other = lane.enter(safe("a")), lane.enter(safe("b"))
    waiting = lane.enter(safe("b"), parent=one)
    with pytest.raises(Deadlock, match="whose holder waits"):
        lane.enter(safe("a"), parent=other)
    assert states(one, other, waiting) == "rrw"
    lane.leave(other)
    assert waiting.state == "running"


def test_two_readers_that_both_want_to_write_are_told() -> None:
    lane = lane_of()
    one, other = lane.enter(safe("a", shared=True)), lane.enter(safe("a", shared=True))
    assert lane.enter(safe("a"), parent=one).state == "waiting"
    with pytest.raises(Deadlock):
        lane.enter(safe("a"), parent=other)


def test_a_call_made_after_its_parent_ended_is_like_any_other() -> None:
    lane = lane_of(max_parallel=1)
    parent = lane.enter(SAFE)
    lane.leave(parent)
    other = lane.enter(SAFE)
    late = lane.enter(SAFE, parent=parent)
    assert late.lane is lane
    assert states(other, late) == "rw"


def test_lanes_of_nobody_are_forgotten() -> None:
    scheduler = Scheduler()
    lane = scheduler.lane("a")
    assert scheduler.lane("a") is lane
    place = lane.enter(SAFE)
    nested = lane.enter(SAFE, parent=place)
    del lane
    assert scheduler.lane("a") is place.lane
    place.lane.leave(nested)
    place.lane.leave(place)
    gc.disable()
    try:
        del place, nested
        assert not list(scheduler._lanes)
    finally:
        gc.enable()


def test_a_policy_given_later_holds_for_what_enters_later() -> None:
    scheduler = Scheduler(SchedulerPolicy(max_parallel=1))
    lane = scheduler.lane("a")
    places = [lane.enter(SAFE) for _ in range(3)]
    assert scheduler.lane("a", SchedulerPolicy(max_parallel=2)) is lane
    assert states(*places) == "rrw"
    scheduler.lane("a", SchedulerPolicy(max_parallel=2, ordering_policy="serial"))
    lane.leave(places[0])
    assert states(places[1], places[2], lane.enter(SAFE)) == "rrw"


def test_what_runs_and_waits_can_be_seen() -> None:
    scheduler = Scheduler(SchedulerPolicy(max_parallel_per_tool=1))
    lane = scheduler.lane("a")
    parent = lane.enter(safe("k"))
    lane.enter(safe("k", tool="other"))
    lane.announce()
    lane.enter(SAFE, parent=parent)
    seen = scheduler.snapshot()
    assert (seen["running"], seen["waiting"], seen["announced"]) == (1, 1, 1)
    assert seen["lanes"]["a"]["tools"] == ["look"]
    assert seen["lanes"]["a"]["nested"][0]["running"] == 1
    assert seen["locks"] == {"k": {"mode": "exclusive", "held": 1, "waiting": 1}}
    assert seen["limits"]["tool:look"] == {"running": 1, "most": 1, "waiting": 0}


def test_a_call_waits_for_its_turn_and_learns_when_it_was_withdrawn() -> None:
    async def main() -> None:
        lane = lane_of(max_parallel=1)
        running, waiting, withdrawn = (lane.enter(SAFE) for _ in range(3))
        turn, other = asyncio.create_task(waiting.turn()), asyncio.create_task(withdrawn.turn())
        await asyncio.sleep(0)
        assert not turn.done()
        lane.leave(withdrawn)
        with pytest.raises(QueueLeft):
            await other
        lane.leave(running)
        await turn
        await waiting.turn()
        lane.leave(waiting)
        with pytest.raises(QueueLeft):
            await waiting.turn()

    asyncio.run(main())


def test_a_turn_that_was_cancelled_can_be_waited_for_again() -> None:
    async def main() -> None:
        lane = lane_of(max_parallel=1)
        running, waiting = lane.enter(SAFE), lane.enter(SAFE)
        task = asyncio.create_task(waiting.turn())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        lane.leave(running)
        await asyncio.wait_for(waiting.turn(), 1)

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
            await place.turn()
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
