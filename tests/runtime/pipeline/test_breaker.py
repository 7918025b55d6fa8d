"""The circuit breaker: closed, open, half-open with one that tries; and no way to wedge it."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ferrule.model.failure import ERROR_CLASSES, ErrorClass, Stop
from ferrule.model.retry import RetrySettings
from ferrule.runtime.pipeline.breaker import COUNTED, MOST_KEYS, SILENT, Breakers

FAILED: ErrorClass = "dependency_unavailable"


class Hand:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def made(failures: int = 3, seconds: float = 10.0) -> tuple[Breakers, Hand]:
    clock = Hand()
    return Breakers(RetrySettings(breaker_failures=failures, breaker_seconds=seconds), clock), clock


def admitted(breakers: Breakers) -> int:
    ticket = breakers.admit("bank")
    assert isinstance(ticket, int)
    return ticket


def refused(breakers: Breakers) -> Stop:
    stop = breakers.admit("bank")
    assert isinstance(stop, Stop)
    return stop


def test_failures_in_a_row_open_it_and_one_call_closes_it() -> None:
    breakers, clock = made()
    for _ in range(3):
        assert breakers.state("bank") == "closed"
        breakers.record_outcome("bank", FAILED, admitted(breakers))
    stop = refused(breakers)
    assert (stop.error_class, stop.code, stop.retry_after) == ("dependency_unavailable", "circuit_open", 10.0)
    assert "'bank' failed 3 times" in stop.message
    assert isinstance(breakers.admit("another"), int)
    clock.now += 10
    assert breakers.state("bank") == "half_open"
    ticket = admitted(breakers)
    assert refused(breakers).retry_after == 1.0, "the others hear soon what the one finds"
    breakers.record_outcome("bank", None, ticket)
    assert breakers.state("bank") == "closed"
    assert not breakers.failing
    assert admitted(breakers) == 0


def test_one_that_tries_and_fails_leaves_it_alone_again() -> None:
    breakers, clock = made()
    for _ in range(3):
        breakers.record_outcome("bank", FAILED)
    clock.now += 10
    breakers.record_outcome("bank", "timeout", admitted(breakers))
    assert refused(breakers).retry_after == 10.0


@pytest.mark.parametrize("error_class", [None, *ERROR_CLASSES])
def test_what_counts_and_what_shows_that_the_system_answers(error_class: ErrorClass | None) -> None:
    breakers, _ = made()
    breakers.record_outcome("bank", FAILED)
    breakers.record_outcome("bank", FAILED)
    breakers.record_outcome("bank", error_class)
    breakers.record_outcome("bank", FAILED)
    is_open = error_class in COUNTED or error_class in SILENT
    assert (breakers.state("bank") == "open") == is_open


def test_one_that_tries_and_never_ends_does_not_wedge_it() -> None:
    breakers, clock = made()
    for _ in range(3):
        breakers.record_outcome("bank", FAILED)
    clock.now += 10
    lost = admitted(breakers)
    refused(breakers)
    clock.now += 10
    second = admitted(breakers)
    breakers.record_outcome("bank", FAILED, lost)
    assert breakers.state("bank") == "half_open", "the second one still tries"
    breakers.record_outcome("bank", None, second)
    assert breakers.state("bank") == "closed"


def test_one_that_is_canceled_while_it_tries_lets_the_next_try() -> None:
    breakers, clock = made()
    for _ in range(3):
        breakers.record_outcome("bank", FAILED)
    clock.now += 10
    breakers.record_outcome("bank", "canceled", admitted(breakers))
    breakers.record_outcome("bank", None, admitted(breakers))
    assert breakers.state("bank") == "closed"


def test_calls_begun_before_it_opened_change_nothing() -> None:
    breakers, _ = made()
    early = admitted(breakers)
    for _ in range(3):
        breakers.record_outcome("bank", FAILED)
    breakers.record_outcome("bank", None, early)
    breakers.record_outcome("bank", FAILED, early)
    assert refused(breakers).retry_after == 10.0


@pytest.mark.parametrize(("asks", "seconds"), [(60.0, 60.0), (1.0, 10.0), (1e12, 100.0), (float("nan"), 10.0)])
def test_a_system_that_asks_for_longer_gets_it_within_reason(asks: float, seconds: float) -> None:
    breakers, _ = made()
    for _ in range(3):
        breakers.record_outcome("bank", "rate_limited", retry_after=asks)
    assert refused(breakers).retry_after == seconds


def test_it_can_be_turned_off() -> None:
    breakers, _ = made(failures=0)
    for _ in range(100):
        breakers.record_outcome("bank", FAILED, admitted(breakers))
    assert not breakers.failing


def test_only_so_many_keys_are_kept() -> None:
    breakers, _ = made()
    for number in range(MOST_KEYS + 100):
        breakers.record_outcome(f"tool {number}", FAILED)
    assert len(breakers) == MOST_KEYS


class Circuit(RuleBasedStateMachine):
    """Calls that are admitted, end in any way and order, or never; time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.breakers, self.clock = made(failures=2)
        self.flying: list[int] = []
        self.row = 0
        """Failures in a row while closed."""
        self.tries: list[float] = []

    @rule()
    def admit(self) -> None:
        before = self.breakers.state("bank")
        outcome = self.breakers.admit("bank")
        if before == "closed":
            assert outcome == 0
        if before == "open":
            assert isinstance(outcome, Stop)
        if isinstance(outcome, Stop):
            assert outcome.retry_after is not None and 0 < outcome.retry_after <= 10
        else:
            self.flying.append(outcome)
            if outcome:
                assert all(self.clock.now - moment >= 10 for moment in self.tries[-1:]), "two at once try"
                self.tries.append(self.clock.now)

    @rule(number=st.integers(0, 100), error_class=st.sampled_from([None, *ERROR_CLASSES]))
    def end(self, number: int, error_class: ErrorClass | None) -> None:
        if not self.flying:
            return
        ticket = self.flying.pop(number % len(self.flying))
        before = self.breakers.state("bank")
        self.breakers.record_outcome("bank", error_class, ticket)
        after = self.breakers.state("bank")
        if before == "closed" and error_class in COUNTED:
            self.row += 1
            assert (after == "open") == (self.row >= 2)
        elif before == "closed" and error_class not in SILENT:
            self.row = 0
        if after != before and before != "closed":
            assert ticket, "only the one that tries decides"
            self.tries.clear()
        if ticket and error_class in SILENT:
            self.tries.clear()
        if after == "closed" != before:
            self.row = 0

    @rule(seconds=st.sampled_from([0.5, 3.0, 10.0]))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @invariant()
    def nobody_is_shut_out_for_ever(self) -> None:
        breaker = self.breakers.failing.get("bank")
        assert breaker is None or breaker.until is None or breaker.until <= self.clock.now + 100


TestCircuit = Circuit.TestCase
TestCircuit.settings = settings(max_examples=60, deadline=None)
