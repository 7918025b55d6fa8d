"""Retry decisions: reads a tool's retry policy, and decides whether and when a failed attempt is made again.

Nothing that may have acted is sent twice, unless it is declared repeatable, has an idempotency key, or its author
wrote a policy that says so. A budget per tool keeps an outage from causing a retry storm. `attempts` waits, records
and runs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from ferrule.model.failure import ErrorClass
from ferrule.model.retry import MOST_ATTEMPTS, NO_RETRIES, RETRIED, NextAttempt, RetryPolicy, RetrySettings
from ferrule.model.value import JsonObject, is_number

RESERVE = 10.0
"""The most retries a tool can save up."""
MOST_TOOLS = 10_000

_HOMES = (None, "tool_interface", "interface", "execution_profile", "transport")
_STATUSES = (429, 503)
_LISTS = (list, tuple)
_HOUR_MS = 3_600_000


def read_retry_policy(payload: JsonObject, settings: RetrySettings) -> RetryPolicy:
    """Reads a tool's retry policy; `NO_RETRIES` itself where its definition has none, or an unusable one."""
    profile = payload.get("execution_profile")
    supports = profile.get("supports_retries") if isinstance(profile, dict) else None
    if supports is False:
        return NO_RETRIES
    transport = payload.get("transport")
    if isinstance(transport, dict) and transport.get("type") == "rest-api":
        return _read_rest_policy(transport.get("retry_policy"), payload.get("type"))
    written = _find_policy(payload)
    if written is not None:
        return _build_policy(written, _read_attempts(written.get("max_attempts"), None), is_written=True)
    if supports is True:
        return _build_policy({}, settings.max_attempts, is_written=False)
    return NO_RETRIES


def decide_retry(
    policy: RetryPolicy,
    settings: RetrySettings,
    *,
    error_class: ErrorClass,
    attempt: int,
    is_repeatable: bool,
    chance: Callable[[], float],
    budget: RetryBudget | None = None,
    retry_after: float | None = None,
    is_retryable: bool | None = None,
    status: int | None = None,
    waited_seconds: float = 0.0,
    now: float = 0.0,
    deadline: float | None = None,
) -> NextAttempt:
    """Decides when to try again after attempt number `attempt` (from 1) has failed, or why not.

    `is_repeatable`: the call only reads, is declared idempotent, or has an idempotency key. `chance` returns 0 to 1.
    `now` and `deadline` are of one clock, in seconds. A yes is paid from the budget.
    """
    if policy.max_attempts <= 1:
        return NextAttempt(None, "no_policy")
    if not _is_cured_by_time(policy, error_class, is_retryable, status, is_repeatable=is_repeatable):
        return NextAttempt(None, "not_retryable")
    # A policy that its author wrote allows repeats; the default one only where nothing can happen twice.
    if not (is_repeatable or policy.is_written):
        return NextAttempt(None, "may_have_acted")
    if attempt >= policy.max_attempts:
        return NextAttempt(None, "attempts_used_up")
    left = max(settings.max_wait_seconds - waited_seconds, 0.0)
    asked = _clip_retry_after(retry_after)
    if asked > left:
        return NextAttempt(None, "retry_after_too_long")
    if not left and policy.backoff_seconds:
        return NextAttempt(None, "waited_long_enough")
    wait = min(asked + _compute_backoff(policy, attempt, chance()), left)
    if deadline is not None and now + wait >= deadline:
        return NextAttempt(None, "deadline")
    # Last: a retry that is refused for another reason costs nothing.
    if budget is not None and not budget.spend():
        return NextAttempt(None, "budget_used_up")
    return NextAttempt(wait)


class RetryBudget:
    """The retries a tool has left: a share of its first attempts, and a small reserve."""

    __slots__ = ("_ratio", "tokens")

    def __init__(self, ratio: float) -> None:
        self._ratio = ratio
        self.tokens = RESERVE if ratio > 0 else 0.0

    def earn(self) -> None:
        """Counts a first attempt."""
        self.tokens = min(RESERVE, self.tokens + self._ratio)

    def spend(self) -> bool:
        """Takes one retry; returns False when none is left."""
        if self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True


class RetryBudgets:
    """The retry budgets of the tools that use theirs. The least recently used one is dropped first."""

    __slots__ = ("_budgets", "_ratio")

    def __init__(self, settings: RetrySettings) -> None:
        self._ratio = settings.budget_ratio
        self._budgets: OrderedDict[str, RetryBudget] = OrderedDict()

    def __len__(self) -> int:
        return len(self._budgets)

    def of(self, tool_id: str) -> RetryBudget:
        """Returns a tool's budget."""
        budget = self._budgets.get(tool_id)
        if budget is None:
            budget = self._budgets[tool_id] = RetryBudget(self._ratio)
            if len(self._budgets) > MOST_TOOLS:
                self._budgets.popitem(last=False)
        else:
            self._budgets.move_to_end(tool_id)
        return budget


def _find_policy(payload: JsonObject) -> JsonObject | None:
    """Returns the policy its author wrote, in any of the places a definition may have it."""
    for home in _HOMES:
        part = payload if home is None else payload.get(home)
        written = part.get("retry_policy") if isinstance(part, dict) else None
        if isinstance(written, dict):
            return written
    return None


def _read_rest_policy(written: object, kind: object) -> RetryPolicy:
    """Reads AML's policy for REST: 3 attempts by default, on the listed statuses (AML-43, AML-44).

    Without statuses, a tool that only reads or computes is retried on 429 and 503, and one that acts is not.
    """
    said = written if isinstance(written, dict) else {}
    statuses = said.get("on_status")
    is_written = statuses is not None
    if statuses is None and kind in ("retrieval", "function"):
        statuses = _STATUSES
    on_status = tuple(status for status in statuses if type(status) is int) if isinstance(statuses, _LISTS) else ()
    if not on_status:
        return NO_RETRIES
    return _build_policy(said, _read_attempts(said.get("max_attempts"), 3), is_written=is_written, on_status=on_status)


def _build_policy(
    written: JsonObject, attempts: int | None, *, is_written: bool, on_status: tuple[int, ...] | None = None
) -> RetryPolicy:
    if attempts is None or attempts <= 1:
        return NO_RETRIES
    return RetryPolicy(
        max_attempts=min(attempts, MOST_ATTEMPTS),
        backoff_seconds=_read_backoff(written.get("backoff_ms")),
        is_written=is_written,
        on_status=on_status,
    )


def _read_backoff(written: object) -> float:
    """Reads the first wait, written in milliseconds; the default for an invalid time."""
    if not is_number(written) or not written >= 0:
        return RetryPolicy().backoff_seconds
    return float(min(written, _HOUR_MS)) / 1000


def _read_attempts(value: object, absent: int | None) -> int | None:
    """Reads the number of attempts; 1 for an invalid number, since a misunderstood policy must not act twice."""
    if value is None:
        return absent
    return value if type(value) is int else 1


def _is_cured_by_time(
    policy: RetryPolicy,
    error_class: ErrorClass,
    is_retryable: bool | None,
    status: int | None,
    *,
    is_repeatable: bool,
) -> bool:
    """Returns True when a retry makes sense: by the author's statuses, the executor's word, or the error class."""
    if is_retryable is False:
        return False
    if policy.on_status is not None and (status is not None or not is_repeatable):
        return status in policy.on_status
    return is_retryable is True or error_class in RETRIED


def _clip_retry_after(retry_after: float | None) -> float:
    """Returns the wait that the other side asked for; 0 for none, or an invalid one."""
    return retry_after if retry_after is not None and retry_after > 0 else 0.0  # NaN fails the comparison too


def _compute_backoff(policy: RetryPolicy, attempt: int, chance: float) -> float:
    """Doubles the wait with each attempt. A written wait is kept and lengthened a little; any other is anywhere up to it.

    The random part keeps callers that failed together from coming back together.
    """
    longest = policy.backoff_seconds * float(2 ** min(attempt - 1, MOST_ATTEMPTS))
    return longest * (1.0 + chance / 4) if policy.is_written else longest * chance
