"""People are told behind the calls' backs: tried again, bounded, never in the way."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from ferrule.contracts.notifier import NoticeUndelivered
from ferrule.runtime.approval.notices import ATTEMPTS, Notices, Recipient, make_notice
from tests.runtime.approval.requests import make_request


class ScriptedNotifier:
    """Fails as often as it is told to, then takes everything."""

    name = "scripted"

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.attempts = 0
        self.taken: list[dict[str, Any]] = []
        self.is_closed = False

    async def notify(self, notice: dict[str, Any]) -> None:
        self.attempts += 1
        if self.failures:
            raise self.failures.pop(0)
        self.taken.append(notice)

    async def aclose(self) -> None:
        self.is_closed = True


def told(
    *recipients: Recipient | ScriptedNotifier, invocations: tuple[str, ...] = ("inv_1",), **options: Any
) -> list[float]:
    """Tell of some requests, wait until it is done, and give the pauses that were made."""
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    async def main() -> None:
        notices = Notices(recipients, pause=pause, **options)
        for invocation in invocations:
            notices.tell(make_request(invocation_id=invocation))
        await notices.aclose()

    asyncio.run(main())
    return pauses


def test_a_notice_names_everything_but_the_arguments() -> None:
    notifier = ScriptedNotifier()
    told(notifier)
    (notice,) = notifier.taken
    assert notice["invocation_id"] == "inv_1"
    assert notice["message"] == "rule refunds asks"
    assert "input" not in notice
    assert notifier.is_closed


def test_the_input_goes_along_only_where_the_settings_say_so() -> None:
    without, with_input = ScriptedNotifier(), ScriptedNotifier()

    async def input_of(call: str) -> Any:
        return {"amount": 5, "card": "[REDACTED]"}

    told(Recipient(without), Recipient(with_input, includes_input=True), input_of=input_of)
    assert "input" not in without.taken[0]
    assert with_input.taken[0]["input"] == {"amount": 5, "card": "[REDACTED]"}


def test_a_failure_is_tried_again_with_growing_pauses() -> None:
    notifier = ScriptedNotifier(NoticeUndelivered("busy"), OSError("gone"), NoticeUndelivered("busy"))
    assert told(Recipient(notifier)) == [1, 2, 4]
    assert len(notifier.taken) == 1


def test_trying_ends_at_last_and_the_next_notice_gets_its_turn(caplog: pytest.LogCaptureFixture) -> None:
    notifier = ScriptedNotifier(*(NoticeUndelivered("busy") for _ in range(ATTEMPTS)))
    with caplog.at_level(logging.WARNING, "ferrule.approval"):
        told(Recipient(notifier), invocations=("inv_1", "inv_2"))
    assert [notice["invocation_id"] for notice in notifier.taken] == ["inv_2"]
    assert "nobody was notified of inv_1: busy" in caplog.text


def test_what_would_be_refused_again_is_not_tried_again() -> None:
    notifier = ScriptedNotifier(NoticeUndelivered("no such hook", is_final=True))
    assert told(Recipient(notifier)) == []
    assert notifier.attempts == 1


def test_one_that_fails_does_not_hold_up_another() -> None:
    broken, sound = ScriptedNotifier(*(RuntimeError("bug") for _ in range(ATTEMPTS))), ScriptedNotifier()
    told(Recipient(broken), Recipient(sound))
    assert len(sound.taken) == 1


def test_telling_returns_before_anybody_was_told_and_closing_is_bounded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("ferrule.runtime.approval.notices._CLOSING_SECONDS", 0.05)

    class Endless(ScriptedNotifier):
        async def notify(self, notice: dict[str, Any]) -> None:
            await asyncio.Event().wait()

    notifier = Endless()

    async def main() -> None:
        notices = Notices([Recipient(notifier)])
        notices.tell(make_request())
        await asyncio.wait_for(notices.aclose(), 10)

    asyncio.run(main())
    assert notifier.is_closed
    assert "1 notices were not delivered" in caplog.text


def test_too_many_notices_are_dropped_not_kept(caplog: pytest.LogCaptureFixture) -> None:
    notifier = ScriptedNotifier()
    with caplog.at_level(logging.WARNING, "ferrule.approval"):
        told(Recipient(notifier), invocations=tuple(f"inv_{number}" for number in range(1003)))
    assert len(notifier.taken) == 1000
    assert "inv_0 is dropped" in caplog.text


def test_a_request_tells_the_same_id_every_time() -> None:
    assert make_notice(make_request(), "shop")["id"] == make_notice(make_request(), "shop")["id"]
    assert make_notice(make_request(), "shop")["id"] != make_notice(make_request(requested_at=5), "shop")["id"]
