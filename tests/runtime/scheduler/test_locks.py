"""Resource locks: calls that share a key do not overlap, unless both only share it."""

from __future__ import annotations

import pytest

from ferrule.runtime.scheduler.scheduler import Deadlock, Scheduler
from tests.runtime.scheduler.lanes import lane_of, safe, states


def test_calls_that_share_a_lock_do_not_overlap_in_any_lane() -> None:
    """AT-164"""
    scheduler = Scheduler()
    one, other = scheduler.get_lane("one"), scheduler.get_lane("other")
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
    assert lane._scheduler.describe()["locks"]["b"]["held"] == 0
    lane.leave(first)
    assert states(first, both) == "gr"


def test_a_lock_that_is_waited_for_does_not_hold_up_its_lane() -> None:
    lane = lane_of(max_parallel=2)
    places = [lane.enter(safe("hot")) for _ in range(10)]
    assert lane.enter(safe("cold")).state == "running"
    assert states(*places).count("r") == 1


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
