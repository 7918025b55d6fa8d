"""Whether a failed attempt is made again, and when. Decides; whoever runs the attempts waits, records and tries.

Nothing that may have acted is sent twice, unless it is declared to be repeatable, has an idempotency key, or its author wrote
a policy that says so. A budget per tool keeps an outage from being answered with a storm.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ferrule.model.failure import ErrorClass
from ferrule.model.retry import MOST_ATTEMPTS, NO_RETRIES, RETRIED, NextAttempt, RetryPolicy, RetrySettings

RESERVE = 10.0
"""Second attempts a tool has saved up when nobody has called it for a while; it never saves more."""
MOST_TOOLS = 10_000

_HOMES = (None, "tool_interface", "interface", "execution_profile", "transport")
_STATUSES = (429, 503)
_LISTS = (list, tuple)
_HOUR_MS = 3_600_000


def read_retry_policy(payload: dict[str, Any], settings: RetrySettings) -> RetryPolicy:
    """What a tool's definition says about attempts; `NO_RETRIES` itself where it says nothing, or what cannot be used."""
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
    """When to try again after attempt number `attempt` (from 1) has failed, or why not.

    `is_repeatable`: the call only reads, is declared idempotent, or has an idempotency key. `chance` gives 0 to 1. `now` and
    `deadline` are of one clock, in seconds. A yes is paid from the budget.
    """
    if policy.max_attempts <= 1:
        return NextAttempt(None, "no_policy")
    if not _is_cured_by_time(policy, error_class, is_retryable, status, is_repeatable=is_repeatable):
        return NextAttempt(None, "not_retryable")
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
    if budget is not None and not budget.spend():
        return NextAttempt(None, "budget_used_up")
    return NextAttempt(wait)


class RetryBudget:
    """How many second attempts a tool may still have: a share of its first ones, and a small reserve."""

    __slots__ = ("_ratio", "tokens")

    def __init__(self, ratio: float) -> None:
        self._ratio = ratio
        self.tokens = RESERVE if ratio > 0 else 0.0

    def earn(self) -> None:
        """Count a first attempt."""
        self.tokens = min(RESERVE, self.tokens + self._ratio)

    def spend(self) -> bool:
        """Take a second attempt; False when there is none left."""
        if self.tokens < 1.0:
            return False
        self.tokens -= 1.0
        return True


class RetryBudgets:
    """The budgets of the tools that use theirs. Whoever was not called for longest is forgotten first."""

    __slots__ = ("_budgets", "_ratio")

    def __init__(self, settings: RetrySettings) -> None:
        self._ratio = settings.budget_ratio
        self._budgets: OrderedDict[str, RetryBudget] = OrderedDict()

    def __len__(self) -> int:
        return len(self._budgets)

    def of(self, tool_id: str) -> RetryBudget:
        """A tool's budget."""
        budget = self._budgets.get(tool_id)
        if budget is None:
            budget = self._budgets[tool_id] = RetryBudget(self._ratio)
            if len(self._budgets) > MOST_TOOLS:
                self._budgets.popitem(last=False)
        else:
            self._budgets.move_to_end(tool_id)
        return budget


def _find_policy(payload: dict[str, Any]) -> dict[str, Any] | None:
    """The policy that the author wrote, wherever a definition may have it."""
    for home in _HOMES:
        part = payload if home is None else payload.get(home)
        written = part.get("retry_policy") if isinstance(part, dict) else None
        if isinstance(written, dict):
            return written
    return None


def _read_rest_policy(written: Any, kind: Any) -> RetryPolicy:
    """AML's policy for REST: 3 attempts unless another number is said, on the statuses that are said (AML-43, AML-44).

    Without statuses, what only reads or computes is tried again on 429 and 503, and what acts is not.
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
    written: dict[str, Any], attempts: int | None, *, is_written: bool, on_status: tuple[int, ...] | None = None
) -> RetryPolicy:
    if attempts is None or attempts <= 1:
        return NO_RETRIES
    return RetryPolicy(
        max_attempts=min(attempts, MOST_ATTEMPTS),
        backoff_seconds=_read_backoff(written.get("backoff_ms")),
        is_written=is_written,
        on_status=on_status,
    )


def _read_backoff(written: Any) -> float:
    """The first wait as it was written, in milliseconds; the usual one for what is no time."""
    if type(written) not in (int, float) or not written >= 0:
        return RetryPolicy().backoff_seconds
    return float(min(written, _HOUR_MS)) / 1000


def _read_attempts(value: Any, absent: int | None) -> int | None:
    """A whole number as it was written; 1 for what is none, because what is not understood is not done twice."""
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
    """True when another attempt makes sense: the author listed the status, the executor says so, or the class means so."""
    if is_retryable is False:
        return False
    if policy.on_status is not None and (status is not None or not is_repeatable):
        return status in policy.on_status
    return is_retryable is True or error_class in RETRIED


def _clip_retry_after(retry_after: float | None) -> float:
    """How long the other side wants to be left alone."""
    return retry_after if retry_after is not None and retry_after > 0 else 0.0  # not a number is no time


def _compute_backoff(policy: RetryPolicy, attempt: int, chance: float) -> float:
    """Doubles with each attempt. A wait that the author wrote is kept and lengthened a little; any other is anywhere up to it,
    so that callers who failed together do not come back together."""
    longest = policy.backoff_seconds * float(2 ** min(attempt - 1, MOST_ATTEMPTS))
    return longest * (1.0 + chance / 4) if policy.is_written else longest * chance
