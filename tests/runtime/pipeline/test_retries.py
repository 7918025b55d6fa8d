"""Attempts: what is tried again, when, and that an outage is not answered with a storm."""

from __future__ import annotations

import heapq
from random import Random
from typing import Any, get_args

import hypothesis.strategies as st
import pytest
from hypothesis import given

from ferrule.model.failure import ERROR_CLASSES, ErrorClass, Stop
from ferrule.model.retry import MOST_ATTEMPTS, NO_RETRIES, RETRIED, NextAttempt, NoRetry, RetryPolicy, RetrySettings
from ferrule.runtime.pipeline.breaker import Breakers
from ferrule.runtime.pipeline.retries import RESERVE, RetryBudget, RetryBudgets, decide_retry, read_retry_policy

SETTINGS = RetrySettings()
THREE = RetryPolicy(max_attempts=3, backoff_seconds=1.0)
WRITTEN = RetryPolicy(max_attempts=3, backoff_seconds=1.0, is_written=True)


def asked(policy: RetryPolicy = THREE, **facts: Any) -> NextAttempt:
    given: dict[str, Any] = {"error_class": "dependency_unavailable", "attempt": 1, "is_repeatable": True}
    return decide_retry(policy, facts.pop("settings", SETTINGS), **{**given, "chance": lambda: 0.5, **facts})


def aml(kind: str, **retry_policy: Any) -> dict[str, Any]:
    """A compiled AML tool over REST; the compiler writes the default number of attempts out."""
    return {"type": kind, "transport": {"type": "rest-api", "retry_policy": {"max_attempts": 3, **retry_policy}}}


@pytest.mark.parametrize(
    ("payload", "attempts", "is_written"),
    [
        ({}, 1, False),
        ({"execution_profile": {"supports_retries": True}}, 3, False),
        ({"execution_profile": {"supports_retries": "yes"}}, 1, False),
        ({"execution_profile": "none"}, 1, False),
        ({"retry_policy": {"max_attempts": 5}}, 5, True),
        ({"retry_policy": {"max_attempts": 5}, "execution_profile": {"supports_retries": False}}, 1, False),
        ({"interface": {"retry_policy": {"max_attempts": 2}}}, 2, True),
        ({"transport": {"type": "lambda", "retry_policy": {"max_attempts": 4}}}, 4, True),
        ({"retry_policy": {"max_attempts": 1}, "execution_profile": {"supports_retries": True}}, 1, False),
        ({"retry_policy": {}}, 1, False),
        ({"retry_policy": {"max_attempts": 0}}, 1, False),
        ({"retry_policy": {"max_attempts": -3}}, 1, False),
        ({"retry_policy": {"max_attempts": True}}, 1, False),
        ({"retry_policy": {"max_attempts": "7"}}, 1, False),
        ({"retry_policy": {"max_attempts": 10**30}}, MOST_ATTEMPTS, True),
        ({"retry_policy": 5}, 1, False),
        (aml("retrieval"), 3, False),
        (aml("function"), 3, False),
        (aml("action"), 1, False),
        (aml("human"), 1, False),
        (aml("action", on_status=[503]), 3, True),
        (aml("action", on_status=[503], max_attempts=1), 1, False),
        (aml("retrieval", on_status=[]), 1, False),
        (aml("retrieval", on_status="503"), 1, False),
        (aml("retrieval", on_status=[True, "x"]), 1, False),
    ],
)  # fmt: skip
def test_a_definition_says_how_often(payload: dict[str, Any], attempts: int, is_written: bool) -> None:
    """AT-243, AML-43, AML-44"""
    policy = read_retry_policy(payload, SETTINGS)
    assert (policy.max_attempts, policy.is_written) == (attempts, is_written)
    assert (policy is NO_RETRIES) == (attempts == 1)


@pytest.mark.parametrize(
    ("backoff", "seconds"),
    [(200, 0.2), (0, 0.0), (12.5, 0.0125), (-1, 0.5), ("5", 0.5), (True, 0.5), (None, 0.5), (float("nan"), 0.5),
     (float("inf"), 3600.0), (10**400, 3600.0)],
)  # fmt: skip
def test_the_first_wait_is_as_written(backoff: Any, seconds: float) -> None:
    """AML-45"""
    policy = read_retry_policy({"retry_policy": {"max_attempts": 2, "backoff_ms": backoff}}, SETTINGS)
    assert policy.backoff_seconds == seconds


@pytest.mark.parametrize("error_class", ERROR_CLASSES)
def test_only_failures_that_time_may_cure_are_tried_again(error_class: ErrorClass) -> None:
    """AT-243"""
    assert (asked(error_class=error_class).wait_seconds is not None) == (error_class in RETRIED)
    assert asked(error_class=error_class, is_retryable=True).wait_seconds is not None
    assert asked(error_class=error_class, is_retryable=False) == (None, "not_retryable")


@pytest.mark.parametrize("error_class", ERROR_CLASSES)
@pytest.mark.parametrize("is_retryable", [True, None])
def test_what_may_have_acted_is_not_sent_again(error_class: ErrorClass, is_retryable: bool | None) -> None:
    """AT-242, AT-243"""
    outcome = asked(error_class=error_class, is_retryable=is_retryable, is_repeatable=False)
    assert outcome.wait_seconds is None


def test_what_the_author_wrote_is_done() -> None:
    assert asked(WRITTEN, is_repeatable=False).wait_seconds is not None
    by_status = RetryPolicy(max_attempts=3, is_written=True, on_status=(503,))
    assert asked(by_status, is_repeatable=False, status=503).wait_seconds is not None
    assert asked(by_status, is_repeatable=False, status=500, is_retryable=True) == (None, "not_retryable")
    assert asked(by_status, is_repeatable=False, error_class="timeout") == (None, "not_retryable"), "nobody wrote that"
    assert asked(by_status, is_repeatable=True, error_class="timeout").wait_seconds is not None
    assert asked(by_status, is_repeatable=True, status=500) == (None, "not_retryable")


def test_attempts_are_counted_with_the_first() -> None:
    assert asked(attempt=2).wait_seconds is not None
    assert asked(attempt=3) == (None, "attempts_used_up")
    assert asked(NO_RETRIES) == (None, "no_policy")


def test_waits_double_and_are_spread() -> None:
    """AML-45"""
    many = RetryPolicy(max_attempts=9, backoff_seconds=0.1)
    written = RetryPolicy(max_attempts=9, backoff_seconds=0.1, is_written=True)
    top = [asked(many, attempt=number, chance=lambda: 1.0).wait_seconds for number in (1, 2, 3, 4)]
    assert top == pytest.approx([0.1, 0.2, 0.4, 0.8])
    assert asked(many, chance=lambda: 0.0).wait_seconds == 0
    least = [asked(written, attempt=number, chance=lambda: 0.0).wait_seconds for number in (1, 2, 3, 4)]
    assert least == pytest.approx([0.1, 0.2, 0.4, 0.8]), "never earlier than the author wrote"


def test_the_other_side_is_never_asked_earlier_than_it_wants() -> None:
    assert asked(retry_after=4.0).wait_seconds == pytest.approx(4.5)
    assert asked(retry_after=20.5) == (None, "retry_after_too_long")
    assert asked(retry_after=float("inf")) == (None, "retry_after_too_long")
    assert asked(retry_after=5.0, waited_seconds=16.0) == (None, "retry_after_too_long")
    for nothing in (float("nan"), -3.0, 0.0):
        assert asked(retry_after=nothing).wait_seconds == 0.5


def test_a_call_does_not_wait_past_its_deadline_nor_longer_than_settings_say() -> None:
    assert asked(now=100.0, deadline=100.4) == (None, "deadline")
    assert asked(now=100.0, deadline=100.6).wait_seconds == 0.5
    assert asked(waited_seconds=19.9).wait_seconds == pytest.approx(0.1)
    assert asked(waited_seconds=20.0) == (None, "waited_long_enough")
    assert asked(settings=RetrySettings(max_wait_seconds=0)) == (None, "waited_long_enough")


def test_a_budget_is_spent_and_earned() -> None:
    budget = RetryBudget(0.2)
    spent = sum(asked(budget=budget).wait_seconds is not None for _ in range(100))
    assert spent == RESERVE
    assert asked(budget=budget) == (None, "budget_used_up")
    for _ in range(6):
        budget.earn()
    assert asked(budget=budget).wait_seconds is not None
    assert asked(budget=budget) == (None, "budget_used_up")
    assert asked(budget=RetryBudget(0.0)) == (None, "budget_used_up")


def test_a_refusal_for_another_reason_costs_no_budget() -> None:
    budget = RetryBudget(0.2)
    asked(budget=budget, deadline=0.1)
    asked(budget=budget, is_repeatable=False)
    assert budget.tokens == RESERVE


def test_budgets_are_kept_for_so_many_tools() -> None:
    budgets = RetryBudgets(SETTINGS)
    first = budgets.of("first")
    for number in range(20_000):
        budgets.of(f"t{number}")
        assert budgets.of("first") is first
    assert len(budgets) == 10_000


any_float = st.none() | st.floats()


@given(
    st.builds(RetryPolicy, max_attempts=st.integers(-1, 30), backoff_seconds=st.floats(0, 3600), is_written=st.booleans(),
              on_status=st.none() | st.lists(st.integers(100, 599)).map(tuple)),
    st.sampled_from(ERROR_CLASSES), st.integers(1, 40), st.booleans(), any_float, st.none() | st.booleans(),
    st.none() | st.integers(100, 599), st.floats(0, 100), st.none() | st.floats(-10, 100), st.floats(0, 1),
)  # fmt: skip
def test_any_failure_gets_a_bounded_wait_or_a_reason(
    policy: RetryPolicy, error_class: ErrorClass, attempt: int, is_repeatable: bool, retry_after: float | None,
    is_retryable: bool | None, status: int | None, waited: float, deadline: float | None, chance: float,
) -> None:  # fmt: skip
    wait, reason = decide_retry(
        policy, SETTINGS, error_class=error_class, attempt=attempt, is_repeatable=is_repeatable, chance=lambda: chance,
        retry_after=retry_after, is_retryable=is_retryable, status=status, waited_seconds=waited, deadline=deadline,
    )  # fmt: skip
    assert (wait is None) == (reason is not None)
    if wait is None:
        assert reason in get_args(NoRetry)
        return
    assert 0 <= wait <= max(SETTINGS.max_wait_seconds - waited, 0) + 1e-9
    assert retry_after is None or not retry_after > wait
    assert deadline is None or wait < deadline
    assert attempt < policy.max_attempts
    assert is_repeatable or policy.is_written
    assert is_retryable is not False


class Outage:
    """Callers of one tool whose system is down between two moments; time is told, not spent."""

    def __init__(self, settings: RetrySettings, seed: int, *, down: tuple[float, float]) -> None:
        self.settings, self.down = settings, down
        self.now = 0.0
        self.random = Random(seed)
        self.breakers = Breakers(settings, lambda: self.now)
        self.budget = RetryBudgets(settings).of("tool")
        self.sent: list[float] = []
        self.refused = self.calls = self.succeeded = 0

    def run(self, callers: int, *, every: float, until: float) -> None:
        queue = [(self.random.random() * every, caller, 1, 0.0) for caller in range(callers)]
        heapq.heapify(queue)
        while queue and queue[0][0] < until:
            self.now, caller, attempt, waited = heapq.heappop(queue)
            wait = self.attempt(attempt, waited)
            if wait is None:
                heapq.heappush(queue, (self.now + every * (0.5 + self.random.random()), caller, 1, 0.0))
            else:
                heapq.heappush(queue, (self.now + wait, caller, attempt + 1, waited + wait))

    def attempt(self, number: int, waited: float) -> float | None:
        if number == 1:
            self.calls += 1
        ticket = self.breakers.admit("tool")
        if isinstance(ticket, Stop):
            self.refused += 1
            return None
        if number == 1:
            self.budget.earn()
        self.sent.append(self.now)
        if not self.down[0] <= self.now < self.down[1]:
            self.breakers.record_outcome("tool", None, ticket)
            self.succeeded += 1
            return None
        self.breakers.record_outcome("tool", "dependency_unavailable", ticket)
        return decide_retry(
            THREE, self.settings, error_class="dependency_unavailable", attempt=number, is_repeatable=True,
            chance=self.random.random, budget=self.budget, waited_seconds=waited,
        ).wait_seconds  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_a_thousand_callers_make_no_storm_of_an_outage(seed: int) -> None:
    """AT-243: without the breaker, retries stay a share of the calls; with it, a system that is down is nearly left alone."""
    unguarded = Outage(RetrySettings(breaker_failures=0), seed, down=(10.0, 70.0))
    unguarded.run(1000, every=5.0, until=100.0)
    assert len(unguarded.sent) <= unguarded.calls * 1.2 + RESERVE
    guarded = Outage(RetrySettings(breaker_failures=5, breaker_seconds=10.0), seed, down=(10.0, 70.0))
    guarded.run(1000, every=5.0, until=100.0)
    during = [moment for moment in guarded.sent if 10.0 <= moment < 70.0]
    assert len(during) <= 5 + 6, "what opened it, and one that tries every ten seconds"
    after = [moment for moment in guarded.sent if moment >= 81.0]
    assert len(after) > 1000, "once it is back, everybody gets through"
    assert guarded.breakers.state("tool") == "closed"


@given(st.floats(0, 1), st.integers(0, 2**32), st.integers(1, 50))
def test_attempts_are_bounded_for_any_ratio(ratio: float, seed: int, callers: int) -> None:
    outage = Outage(RetrySettings(breaker_failures=0, budget_ratio=ratio), seed, down=(0.0, 30.0))
    outage.run(callers, every=5.0, until=20.0)
    assert len(outage.sent) <= outage.calls * (1 + ratio) + RESERVE
