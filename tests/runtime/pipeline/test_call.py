"""One call in flight: its options, its states and its place."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from ferrule.model.journal import Mutation
from ferrule.model.lifecycle import IllegalTransition
from ferrule.runtime.pipeline.call import Call, Recorded, RunOptions, place_of
from ferrule.runtime.pipeline.call_parts import CallFlight, CallInputs
from tests.runtime.pipeline.slow_tools import app_of_slow_tools, describe_end
from tests.spec.running_app import run_async

TIMED_OUT = ("timed_out", "timeout", "timeout")


@pytest.mark.parametrize("limit", [0, 0.0, -1, float("nan")])
@run_async
async def test_a_time_limit_that_is_none_is_over(limit: float) -> None:
    """AT-210: by itself and in a batch alike; its tool does not run."""
    async with app_of_slow_tools() as (_, surface):
        assert describe_end(await surface.call("act", timeout_seconds=limit)) == TIMED_OUT
        batch = await surface.call_many([{"name": "act", "timeout_seconds": limit}])
        assert describe_end(batch[0]) == TIMED_OUT
        assert describe_end(await surface.call("act", timeout_seconds=float("inf")))[0] == "succeeded"


def planned(**said: Any) -> Call:
    """A call that was planned just now, by a clock that goes on by one with each look at it."""
    session: Any = None
    return Call("inv_1", "look", session, CallInputs(b"{}"), 0, 0, count(1).__next__, states=[], phases=[], **said)


def test_a_call_goes_only_where_its_state_leads_and_leaves_a_trace() -> None:
    call = planned(state="running")
    call.enter("succeeded")
    assert call.state == "succeeded"
    assert len(call.states) == 1 and call.states[0] >> 5 == 1
    with pytest.raises(IllegalTransition):
        call.enter("running")
    assert call.state == "succeeded" and len(call.states) == 1


def test_what_comes_after_a_row_belongs_to_the_next_one() -> None:
    call = planned(state="running")
    call.inputs.mutate(Mutation("hook", "guard", ("city",), 1), {"city": "Bern"}, b'{"city":"Bern"}')
    assert (call.inputs.current, call.inputs.new_mutations) == (b'{"city":"Bern"}', 1)
    call.has_rows(7, "running")
    assert call.recorded == Recorded(7, "running")
    assert (call.states, call.phases, call.inputs.new_mutations) == ([], [], 0)
    assert len(call.inputs.mutations) == 1, "all of them stay known"


def test_a_call_that_waited_goes_on_where_its_tool_left_off() -> None:
    call = planned(recorded=Recorded(3, "needs_input", waiting=b"halfway", received={"answer": 1}))
    call.has_rows(7, "running")
    assert call.recorded is not None
    assert (call.recorded.seq, call.recorded.waiting, call.recorded.received) == (7, b"halfway", {"answer": 1})


def test_a_call_that_has_ended_has_no_place_for_others() -> None:
    place: Any = object()
    assert place_of(planned(state="running", flight=CallFlight(place=place))) is place
    assert place_of(planned(state="succeeded", flight=CallFlight(place=place))) is None


@pytest.mark.parametrize(("limit", "is_hurried"), [(None, False), (0.5, True), (float("nan"), True)])
def test_a_caller_hurries_a_tool_that_has_no_limit_of_its_own(limit: float | None, is_hurried: bool) -> None:
    assert planned(options=RunOptions(timeout_seconds=limit)).is_hurried is is_hurried
