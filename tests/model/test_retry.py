"""Settings of retries keep within bounds, and attempts that failed are told."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.model.retry import MOST_ATTEMPTS, NO_RETRIES, RETRIED, Attempt, RetrySettings


@pytest.mark.parametrize(
    "written",
    [
        {"max_attempts": 0},
        {"max_attempts": MOST_ATTEMPTS + 1},
        {"max_wait_seconds": -1},
        {"budget_ratio": 1.1},
        {"breaker_failures": -1},
        {"breaker_seconds": 0},
        {"attempts": 3},
    ],
    ids=str,
)
def test_impossible_settings_are_refused(written: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(written, RetrySettings)


def test_retries_and_the_breaker_can_be_turned_off() -> None:
    written = {"max_attempts": 1, "max_wait_seconds": 0, "budget_ratio": 0, "breaker_failures": 0}
    assert msgspec.to_builtins(msgspec.convert(written, RetrySettings)).items() >= written.items()


def test_without_a_policy_what_fails_has_failed() -> None:
    assert NO_RETRIES.max_attempts == 1 and not NO_RETRIES.is_written
    assert "execution_failed" not in RETRIED and "invalid_arguments" not in RETRIED


def test_an_attempt_is_kept_in_little_room_and_told_by_its_names() -> None:
    attempt = Attempt(1, 10, 20, "timeout", waited_seconds=0.5)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(attempt)) == [1, 10, 20, "timeout", "", 0.5, None]
    assert attempt.to_record()["error_class"] == "timeout" and attempt.to_record()["waited_seconds"] == 0.5
