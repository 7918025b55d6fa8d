"""Automatic retries of failed attempts: policy, settings and records (AT-241 to AT-243)."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

import msgspec

from ferrule.model.failure import ErrorClass
from ferrule.model.value import JsonObject

MOST_ATTEMPTS = 20
"""However many a definition asks for."""

RETRIED: frozenset[ErrorClass] = frozenset({"rate_limited", "dependency_unavailable", "timeout"})
"""Classes another attempt may cure; for the others an executor has to state it itself."""


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The retry policy of a tool's definition."""

    max_attempts: int = 1
    """1: what fails has failed."""
    backoff_seconds: float = 0.5
    """Before the second attempt; doubles from there on, with chance in it."""
    is_written: bool = False
    """True when the author wrote a policy of their own: it is done as written."""
    on_status: tuple[int, ...] | None = None
    """HTTP statuses the author wants tried again; None where nothing is said."""


NO_RETRIES = RetryPolicy()


class RetrySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[retries]`"""

    max_attempts: Annotated[int, msgspec.Meta(ge=1, le=MOST_ATTEMPTS)] = 3
    """For tools whose profile supports retries and says no number."""
    max_wait_seconds: Annotated[float, msgspec.Meta(ge=0)] = 20.0
    """What a call waits between attempts, at most, all together; whoever calls is told to come back later instead."""
    budget_ratio: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.2
    """Second attempts a tool gets for each first one: an outage is not answered with a storm."""
    breaker_failures: Annotated[int, msgspec.Meta(ge=0)] = 5
    """Failures in a row after which a tool is left alone; 0 turns that off."""
    breaker_seconds: Annotated[float, msgspec.Meta(gt=0)] = 30.0
    """For how long; then one call tries, and the others wait for what it finds."""


NoRetry = Literal[
    "no_policy",
    "attempts_used_up",
    "not_retryable",
    "may_have_acted",
    "retry_after_too_long",
    "waited_long_enough",
    "deadline",
    "budget_used_up",
]
"""Why a failure is final."""


class NextAttempt(NamedTuple):
    """The time of the next attempt, or the reason why there is none."""

    wait_seconds: float | None
    """None: not again."""
    reason: NoRetry | None = None


class Attempt(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One attempt that failed and was followed by another."""

    number: int
    started: int
    """Nanoseconds since the call was planned."""
    ended: int
    error_class: str
    error_code: str = ""
    waited_seconds: float = 0.0
    native_error_ref: str | None = None

    def to_record(self) -> JsonObject:
        """Returns the fields, for explanations."""
        return msgspec.structs.asdict(self)


def attempts_in(notes: JsonObject) -> tuple[Attempt, ...]:
    """Returns the attempts recorded in a call's notes; none where they cannot be read."""
    try:
        return msgspec.convert(notes.get("attempts", ()), tuple[Attempt, ...])
    except msgspec.ValidationError:
        return ()
