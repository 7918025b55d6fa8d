"""The 22 error classes: what each means, and what it says about another attempt."""

from __future__ import annotations

from typing import get_args

import pytest

from ferrule.model.failure import (
    BLOCK_CLASSES,
    ERROR_CLASSES,
    MEANINGS,
    ErrorClass,
    Family,
    ResultStatus,
    Stop,
    last_state,
    tool_error,
)
from ferrule.model.lifecycle import STATES, TERMINAL, TRANSITIONS

TABLE: dict[str, tuple[str, str, str]] = {
    "unknown_tool": ("failed", "discover_first", "protocol"),
    "schema_not_loaded": ("failed", "discover_first", "protocol"),
    "schema_validation_failed": ("failed", "change_arguments", "validation"),
    "invalid_arguments": ("failed", "change_arguments", "validation"),
    "setup_required": ("failed", "complete_setup", "setup"),
    "credential_missing": ("failed", "complete_setup", "setup"),
    "capability_gap": ("failed", "not_recoverable", "setup"),
    "sandbox_violation": ("failed", "change_arguments_or_policy", "sandbox"),
    "hook_blocked": ("denied", "change_arguments_or_policy", "policy"),
    "permission_denied": ("denied", "change_arguments_or_policy", "permission"),
    "approval_rejected": ("rejected", "request_approval", "approval"),
    "policy_blocked": ("denied", "change_arguments_or_policy", "policy"),
    "canceled": ("canceled", "retry", "cancellation"),
    "sibling_canceled": ("synthetic_error", "retry", "cancellation"),
    "streaming_fallback_discarded": ("discarded", "retry", "cancellation"),
    "timeout": ("timed_out", "retry", "timeout"),
    "rate_limited": ("failed", "retry_later", "rate_limit"),
    "dependency_unavailable": ("failed", "retry_later", "dependency"),
    "execution_failed": ("failed", "not_recoverable", "execution"),
    "partial_failure": ("partial_succeeded", "not_recoverable", "execution"),
    "result_too_large": ("too_large", "change_arguments", "result_size"),
    "result_redacted": ("redacted", "not_recoverable", "redaction"),
}
"""Result status, recoverability and family, written from the standard."""
EARLY = {
    "unknown_tool": "failed",
    "schema_not_loaded": "schema_parse_failed",
    "schema_validation_failed": "schema_parse_failed",
    "invalid_arguments": "validation_failed",
    "sandbox_violation": "validation_failed",
    "setup_required": "blocked",
    "credential_missing": "blocked",
    "capability_gap": "blocked",
    "hook_blocked": "blocked",
    "policy_blocked": "blocked",
    "permission_denied": "denied",
    "approval_rejected": "denied",
    "canceled": "canceled",
    "sibling_canceled": "canceled",
    "streaming_fallback_discarded": "canceled",
    "timeout": "timed_out",
}
"""The last state of a call that never ran."""
LATE = {
    "canceled": "canceled",
    "sibling_canceled": "canceled",
    "streaming_fallback_discarded": "canceled",
    "timeout": "timed_out",
    "partial_failure": "succeeded",
    "result_redacted": "succeeded",
}
"""The last state of a call that ran; the others end as failed."""


def test_at_239_all_classes_exist_with_their_status_and_recoverability() -> None:
    """AT-239, AT-238: the 22 classes, each with the standard's result status and way out."""
    assert {kind: (m.status, m.recoverability, m.family) for kind, m in MEANINGS.items()} == TABLE
    assert set(ERROR_CLASSES) == set(TABLE)
    assert len(ERROR_CLASSES) == 22


def test_at_212_there_are_eleven_result_statuses() -> None:
    """AT-212"""
    assert set(get_args(ResultStatus)) == {
        "succeeded", "partial_succeeded", "failed", "denied", "rejected", "redacted", "too_large", "canceled",
        "timed_out", "synthetic_error", "discarded",
    }  # fmt: skip
    assert {meaning.status for meaning in MEANINGS.values()} == set(get_args(ResultStatus)) - {"succeeded"}


def test_at_246_every_class_belongs_to_one_of_fourteen_families() -> None:
    """AT-246: the map from class to family is total, and every family is used."""
    assert len(get_args(Family)) == 14
    assert {meaning.family for meaning in MEANINGS.values()} == set(get_args(Family))


@pytest.mark.parametrize("kind", ERROR_CLASSES)
def test_last_states_follow_the_table(kind: ErrorClass) -> None:
    """AT-94, AT-102: the state a stopped call ends in, before and after it ran."""
    if kind in EARLY:
        assert MEANINGS[kind].early == EARLY[kind]
    assert MEANINGS[kind].late == LATE.get(kind, "failed")


@pytest.mark.parametrize("state", [state for state in STATES if state not in TERMINAL])
@pytest.mark.parametrize("has_run", [False, True])
def test_every_class_ends_a_call_wherever_it_is(state: str, has_run: bool) -> None:
    """AT-105: from every state, every class leads to a terminal state by a legal move."""
    for kind in ERROR_CLASSES:
        end = last_state(Stop(kind, "it went wrong"), now=state, has_run=has_run)  # type: ignore[arg-type]  # a state
        assert end in TERMINAL
        assert end in TRANSITIONS[state]  # type: ignore[index]  # a state


def retry(kind: ErrorClass, *, has_run: bool = False, is_repeatable: bool = False) -> dict[str, object]:
    error = tool_error(Stop(kind, "it went wrong", retry_after=3.0), has_run=has_run, is_repeatable=is_repeatable)
    return {name: getattr(error.retry, name) for name in error.retry.__struct_fields__}


@pytest.mark.parametrize("kind", ERROR_CLASSES)
def test_at_241_retry_guidance_answers_six_questions(kind: ErrorClass) -> None:
    """AT-241: safe to repeat, arguments, discovery, approval, sibling, how long to wait."""
    way_out = TABLE[kind][1]
    assert retry(kind) == {
        "retry_safe": True,
        "arguments_must_change": way_out in ("change_arguments", "change_arguments_or_policy"),
        "discovery_required": kind in ("unknown_tool", "schema_not_loaded"),
        "approval_required_again": kind == "approval_rejected",
        "caused_by_sibling": kind == "sibling_canceled",
        "retry_after": 3.0,
    }


@pytest.mark.parametrize("kind", ERROR_CLASSES)
def test_at_242_what_may_have_acted_is_not_safe_to_repeat(kind: ErrorClass) -> None:
    """AT-242: false after the start of a call that is neither read-only nor idempotent; true before, and for reading."""
    assert retry(kind, has_run=True)["retry_safe"] is False
    assert retry(kind, has_run=False)["retry_safe"] is True
    assert retry(kind, has_run=True, is_repeatable=True)["retry_safe"] is True


@pytest.mark.parametrize("kind", ["timeout", "canceled", "dependency_unavailable", "rate_limited"])
def test_at_242_nobody_is_told_to_retry_what_may_have_acted(kind: ErrorClass) -> None:
    """AT-242: the recoverability agrees with the guidance."""
    error = tool_error(Stop(kind, "it went wrong"), has_run=True, is_repeatable=False)
    assert error.recoverability not in ("retry", "retry_later")


def test_at_238_an_error_code_is_the_class_unless_there_is_a_finer_one() -> None:
    """AT-238: codes are stable."""
    assert tool_error(Stop("timeout", "late"), has_run=False, is_repeatable=True).error_code == "timeout"
    assert tool_error(Stop("timeout", "late", "slow"), has_run=False, is_repeatable=True).error_code == "slow"


def test_at_108_every_block_reason_has_its_class() -> None:
    """AT-108"""
    assert BLOCK_CLASSES == {
        "policy_blocked": "policy_blocked",
        "recursive_tool_forbidden": "policy_blocked",
        "role_not_allowed": "policy_blocked",
        "credential_missing": "credential_missing",
        "setup_required": "setup_required",
        "model_unsupported": "capability_gap",
        "feature_disabled": "capability_gap",
        "deferred_until_discovered": "schema_not_loaded",
    }
