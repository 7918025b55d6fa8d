"""Requests that nobody answered in time, and those that never lapse."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ferrule.model.failure import MEANINGS
from ferrule.model.journal import OpenCall
from ferrule.model.lifecycle import STATES, TRANSITIONS
from ferrule.runtime.approval.check import find_expired, make_expiry_stop


def waiting(call: str, expires_at: int | None, state: str = "awaiting_approval") -> OpenCall:
    return OpenCall(call, state, "", "refund", "alice", None, "default", expires_at, 1)


@given(st.lists(st.tuples(st.sampled_from(STATES), st.none() | st.integers(0, 20)), max_size=8), st.integers(0, 20))
def test_only_waiting_calls_whose_time_is_over_expire(calls: list[tuple[str, int | None]], now: int) -> None:
    opened = [waiting(str(number), until, state) for number, (state, until) in enumerate(calls)]
    over = find_expired(opened, now)
    assert all(call.expires_at is not None and call.expires_at <= now for call in over)
    assert all("timed_out" in TRANSITIONS[call.state] for call in over)  # type: ignore[index]
    left = [call for call in opened if call not in over and call.state in ("awaiting_approval", "needs_input")]
    assert all(call.expires_at is None or call.expires_at > now for call in left)


def test_an_expired_call_ends_as_timed_out_and_says_until_when() -> None:
    stop = make_expiry_stop(waiting("inv_1", 0))
    assert MEANINGS[stop.error_class].early == "timed_out"
    assert "nobody answered until 1970-01-01" in stop.message
