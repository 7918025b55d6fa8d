"""What a call may end with instead of a result."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.stubs.languages.python.client import error_names
from ferrule.definitions.stubs.languages.python.support import errors
from ferrule.model.failure import ERROR_CLASSES


def test_there_is_an_error_for_each_class() -> None:
    assert set(errors.BY_CLASS) == set(ERROR_CLASSES)
    assert all(hasattr(errors, name) for name in error_names())


@pytest.mark.parametrize(
    ("details", "is_safe", "is_retryable", "after"),
    [
        ({"retry": {"retry_safe": True}, "recoverability": "retry_later", "retry_after": 2}, True, True, 2.0),
        ({"retry": {"retry_safe": True}, "recoverability": "change_arguments"}, True, False, None),
        ({"recoverability": "retry"}, False, False, None),
        ({"retry": "yes", "retry_after": "soon"}, False, False, None),
    ],
)
def test_an_error_tells_whether_and_when_to_try_again(
    details: dict[str, Any], is_safe: bool, is_retryable: bool, after: float | None
) -> None:
    error = errors.CallError("x", details=details)
    assert (error.is_retry_safe, error.is_retryable, error.retry_after_seconds) == (is_safe, is_retryable, after)


def test_a_pending_call_says_what_it_waits_for() -> None:
    error = errors.PendingError("x", state="awaiting_approval", details={"expires_at": "2026"})
    assert error.awaits_approval and error.expires_at == "2026"
    assert not errors.PendingError("x", state="running").awaits_approval
