"""The scheduler, rule by rule: what overlaps, what waits, who goes next, and that nobody's turn is lost."""

from __future__ import annotations

import gc

import pytest

from ferrule.model.scheduling import Claim, SchedulerPolicy
from ferrule.runtime.scheduler.scheduler import QueueFull, QueueLeft, Scheduler
from tests.runtime.scheduler.lanes import ALONE, SAFE, lane_of, safe, states


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
    lane.add_barrier()
    running = lane.enter(SAFE)
    lane.add_barrier()
    lane.add_barrier()
    later, last = lane.enter(SAFE), lane.enter(SAFE)
    assert states(running, later, last) == "rww"
    assert not lane.slip_in()
    lane.leave(running)
    assert states(running, later, last) == "grr"


def test_holding_again_and_again_costs_nothing() -> None:
    lane = lane_of()
    lane.enter(SAFE)
    for _ in range(1000):
        lane.add_barrier()
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


def test_a_nested_call_goes_before_one_that_waits_for_its_parents_slot() -> None:
    lane = lane_of(max_parallel=1)
    parent, waiting = lane.enter(safe("k")), lane.enter(safe("l"))
    nested = lane.enter(safe("l"), parent=parent)
    assert states(parent, waiting, nested) == "rwr"
    lane.leave(parent)
    assert states(waiting) == "w"
    lane.leave(nested)
    assert states(waiting) == "r"


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
    lane = scheduler.get_lane("a")
    assert scheduler.get_lane("a") is lane
    place = lane.enter(SAFE)
    nested = lane.enter(SAFE, parent=place)
    del lane
    assert scheduler.get_lane("a") is place.lane
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
    lane = scheduler.get_lane("a")
    places = [lane.enter(SAFE) for _ in range(3)]
    assert scheduler.get_lane("a", SchedulerPolicy(max_parallel=2)) is lane
    assert states(*places) == "rrw"
    scheduler.get_lane("a", SchedulerPolicy(max_parallel=2, ordering_policy="serial"))
    lane.leave(places[0])
    assert states(places[1], places[2], lane.enter(SAFE)) == "rrw"


def test_what_runs_and_waits_can_be_seen() -> None:
    scheduler = Scheduler(SchedulerPolicy(max_parallel_per_tool=1))
    lane = scheduler.get_lane("a")
    parent = lane.enter(safe("k"))
    lane.enter(safe("k", tool="other"))
    lane.announce()
    lane.enter(SAFE, parent=parent)
    seen = scheduler.describe()
    assert (seen["running"], seen["waiting"], seen["announced"]) == (1, 1, 1)
    assert seen["lanes"]["a"]["tools"] == ["look"]
    assert seen["lanes"]["a"]["nested"][0]["running"] == 1
    assert seen["locks"] == {"k": {"mode": "exclusive", "held": 1, "waiting": 1}}
    assert seen["limits"]["tool:look"] == {"running": 1, "most": 1, "waiting": 0}
