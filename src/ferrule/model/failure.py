"""The ways a call can fail: the standard's 22 error classes, and what each means for result, state and next attempt.

`excerpt` truncates text of others for errors and records. `model/error_codes` explains each class and code.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import msgspec

from ferrule.model.lifecycle import TRANSITIONS, State

ErrorClass = Literal[
    "unknown_tool",
    "schema_not_loaded",
    "schema_validation_failed",
    "invalid_arguments",
    "setup_required",
    "credential_missing",
    "capability_gap",
    "sandbox_violation",
    "hook_blocked",
    "permission_denied",
    "approval_rejected",
    "policy_blocked",
    "canceled",
    "sibling_canceled",
    "streaming_fallback_discarded",
    "timeout",
    "rate_limited",
    "dependency_unavailable",
    "execution_failed",
    "partial_failure",
    "result_too_large",
    "result_redacted",
]
ERROR_CLASSES: tuple[ErrorClass, ...] = get_args(ErrorClass)

ResultStatus = Literal[
    "succeeded",
    "partial_succeeded",
    "failed",
    "denied",
    "rejected",
    "redacted",
    "too_large",
    "canceled",
    "timed_out",
    "synthetic_error",
    "discarded",
]

Recoverability = Literal[
    "retry",
    "retry_later",
    "change_arguments",
    "change_arguments_or_policy",
    "discover_first",
    "request_approval",
    "complete_setup",
    "not_recoverable",
]

Family = Literal[
    "validation",
    "protocol",
    "approval",
    "permission",
    "policy",
    "sandbox",
    "setup",
    "timeout",
    "execution",
    "rate_limit",
    "cancellation",
    "dependency",
    "redaction",
    "result_size",
]
"""The fourteen families of AT-246."""


class ErrorMeaning(NamedTuple):
    """The consequences of one error class."""

    status: ResultStatus
    """The result's status."""
    early: State
    """The invocation's last state when the call never ran."""
    late: State
    """The invocation's last state when the call had begun to run."""
    recoverability: Recoverability
    family: Family


MEANINGS: dict[ErrorClass, ErrorMeaning] = {
    "unknown_tool": ErrorMeaning("failed", "failed", "failed", "discover_first", "protocol"),
    "schema_not_loaded": ErrorMeaning("failed", "schema_parse_failed", "failed", "discover_first", "protocol"),
    "schema_validation_failed": ErrorMeaning(
        "failed", "schema_parse_failed", "failed", "change_arguments", "validation"
    ),
    "invalid_arguments": ErrorMeaning("failed", "validation_failed", "failed", "change_arguments", "validation"),
    "setup_required": ErrorMeaning("failed", "blocked", "failed", "complete_setup", "setup"),
    "credential_missing": ErrorMeaning("failed", "blocked", "failed", "complete_setup", "setup"),
    "capability_gap": ErrorMeaning("failed", "blocked", "failed", "not_recoverable", "setup"),
    "sandbox_violation": ErrorMeaning("failed", "validation_failed", "failed", "change_arguments_or_policy", "sandbox"),
    "hook_blocked": ErrorMeaning("denied", "blocked", "failed", "change_arguments_or_policy", "policy"),
    "permission_denied": ErrorMeaning("denied", "denied", "failed", "change_arguments_or_policy", "permission"),
    "approval_rejected": ErrorMeaning("rejected", "denied", "failed", "request_approval", "approval"),
    "policy_blocked": ErrorMeaning("denied", "blocked", "failed", "change_arguments_or_policy", "policy"),
    "canceled": ErrorMeaning("canceled", "canceled", "canceled", "retry", "cancellation"),
    "sibling_canceled": ErrorMeaning("synthetic_error", "canceled", "canceled", "retry", "cancellation"),
    "streaming_fallback_discarded": ErrorMeaning("discarded", "canceled", "canceled", "retry", "cancellation"),
    "timeout": ErrorMeaning("timed_out", "timed_out", "timed_out", "retry", "timeout"),
    "rate_limited": ErrorMeaning("failed", "failed", "failed", "retry_later", "rate_limit"),
    "dependency_unavailable": ErrorMeaning("failed", "failed", "failed", "retry_later", "dependency"),
    "execution_failed": ErrorMeaning("failed", "failed", "failed", "not_recoverable", "execution"),
    "partial_failure": ErrorMeaning("partial_succeeded", "failed", "succeeded", "not_recoverable", "execution"),
    "result_too_large": ErrorMeaning("too_large", "failed", "failed", "change_arguments", "result_size"),
    "result_redacted": ErrorMeaning("redacted", "succeeded", "succeeded", "not_recoverable", "redaction"),
}

BLOCK_CLASSES: dict[str, ErrorClass] = {
    "policy_blocked": "policy_blocked",
    "recursive_tool_forbidden": "policy_blocked",
    "role_not_allowed": "policy_blocked",
    "credential_missing": "credential_missing",
    "setup_required": "setup_required",
    "model_unsupported": "capability_gap",
    "feature_disabled": "capability_gap",
    "deferred_until_discovered": "schema_not_loaded",
}
"""Why a surface holds a tool back, and the class a call of it gets (AT-108)."""


class RetryAdvice(msgspec.Struct, frozen=True, gc=False):
    """The facts to know before another attempt (AT-241)."""

    retry_safe: bool
    """True when repeating the very same call cannot do something twice."""
    arguments_must_change: bool
    """True when the same arguments would fail again."""
    discovery_required: bool
    """True when the tool has to be found or loaded first."""
    approval_required_again: bool
    """True when a person has to be asked anew."""
    caused_by_sibling: bool
    """True when another call of the batch was the cause."""
    retry_after: float | None = None
    """Seconds to wait."""


class ToolError(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The reason why a call did not return what was asked for (AT-238)."""

    error_class: ErrorClass
    """One of the 22 classes."""
    error_code: str
    """Stable finer name; the class itself where there is none."""
    message: str
    """For a person or a model: what happened, to what, and what to do. Never a secret, never a stack trace."""
    recoverability: Recoverability
    """What helps, in one word."""
    retry: RetryAdvice
    """What to know before another attempt."""
    retry_after: float | None = None
    """Seconds to wait."""
    native_error_ref: str | None = None
    """The native error: exit code, HTTP status, JSON-RPC code."""
    policy_refs: tuple[str, ...] = ()
    """The policies that said no, each by name and digest."""
    evidence_refs: tuple[str, ...] = ()
    """Where more is known."""


class Stop(msgspec.Struct, frozen=True, gc=False):
    """A phase's decision that a call goes no further."""

    error_class: ErrorClass
    message: str
    code: str | None = None
    retry_after: float | None = None
    native_error_ref: str | None = None
    status: ResultStatus | None = None
    """Where the phase knows better than the table."""
    state: State | None = None
    recoverability: Recoverability | None = None
    policy_refs: tuple[str, ...] = ()
    is_untouched: bool = False
    """True when it is certain that the tool did nothing although it was run."""


def tool_error(stop: Stop, *, has_run: bool, is_repeatable: bool) -> ToolError:
    """Builds the error a stopped call reports. `is_repeatable`: read-only, or declared idempotent (AT-242)."""
    kind = stop.error_class
    recoverability = stop.recoverability or MEANINGS[kind].recoverability
    may_have_acted = has_run and not (is_repeatable or stop.is_untouched)
    if may_have_acted and recoverability in ("retry", "retry_later"):
        recoverability = "not_recoverable"
    if has_run and kind == "hook_blocked":  # the tool did its work; other arguments would have it done once more
        recoverability = "not_recoverable"
    retry = RetryAdvice(
        retry_safe=not may_have_acted,
        arguments_must_change=recoverability in ("change_arguments", "change_arguments_or_policy"),
        discovery_required=recoverability == "discover_first",
        approval_required_again=kind == "approval_rejected",
        caused_by_sibling=kind == "sibling_canceled",
        retry_after=stop.retry_after,
    )
    return ToolError(
        error_class=kind,
        error_code=stop.code or kind,
        message=stop.message,
        recoverability=recoverability,
        retry=retry,
        retry_after=stop.retry_after,
        native_error_ref=stop.native_error_ref,
        policy_refs=stop.policy_refs,
    )


def last_state(stop: Stop, *, now: State, has_run: bool) -> State:
    """Returns the terminal state of a call stopped in state `now`: the table's, or the nearest legal one."""
    meaning = MEANINGS[stop.error_class]
    wanted = stop.state or (meaning.late if has_run else meaning.early)
    legal = TRANSITIONS[now]
    order: tuple[State, ...] = (wanted, "failed", "blocked", "canceled")
    # Every state that is not final leads to one of the last three.
    return next(state for state in order if state in legal)


CUT_OFF = "…"
"""The mark of a truncated text: the redactor looks there for the beginning of a secret, which would be unrecognisable
otherwise."""


def excerpt(text: str, most: int) -> str:
    """Truncates a text with a mark when it is longer."""
    return text if len(text) <= most else f"{text[:most]}{CUT_OFF}"
