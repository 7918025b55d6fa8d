"""Calls whose key ends while they wait: nothing of a key that was revoked, expired or removed runs any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

import ferrule
from ferrule.access.keys import KEYS_FOLDER, TOKENS_FILE, Access
from ferrule.access.tokens import KeyLimits
from ferrule.app.app import App
from ferrule.model.approval import APPROVE, CALL, Identity
from ferrule.model.result import Pending, Result
from ferrule.testing import FakeClock
from tests.faults.place import Place, played

ADA = Identity("ada", "desk:ada", frozenset({APPROVE}))
_FUNCTIONS = '''

@ferrule.tool
def errand(n: int, context: ferrule.Context):
    """Ask somebody, then do something."""
    return context.needs_input("Shall I?")


@errand.resume
def _run(state: bytes, answer: str, context: ferrule.Context) -> dict[str, str]:
    return happen(context)
'''
_END = "2030-01-01T00:30:00Z"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, functions=_FUNCTIONS)


def _key(place: Place, expires: str | None = None) -> str:
    access = Access(place.root, {}, lambda: 0.0)
    token, _ = access.add(access.local_owner(), "bot", [CALL], (), KeyLimits(expires=expires))
    return token.id


async def _parked(app: App, channel: str, tool: str = "pay") -> str:
    pending = await app.surface(principal="alice", channel=channel).call(tool, {"n": 1})
    assert isinstance(pending, Pending)
    return pending.invocation_id


def _revoke(place: Place, key: str) -> None:
    access = Access(place.root)
    access.revoke(access.local_owner(), key)


def _remove(place: Place, key: str) -> None:
    (place.root / KEYS_FOLDER / TOKENS_FILE).unlink()


def _nothing(place: Place, key: str) -> None:
    pass


def _rotate(place: Place, key: str) -> None:
    access = Access(place.root)
    access.rotate(access.local_owner(), key, 0)


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (_revoke, "of bot that it came with was revoked at "),
        (_remove, "that it came with is no longer there"),
        (_nothing, f"of bot that it came with expired at {_END}"),
    ],
)
@pytest.mark.parametrize("tool", ["pay", "errand"])
@pytest.mark.parametrize("is_answered_before", [True, False])
def test_a_call_whose_key_has_ended_does_not_go_on(
    place: Place, end: Callable[[Place, str], None], told: str, tool: str, is_answered_before: bool
) -> None:
    """Also when it was answered before, and goes on in another process."""
    key, clock = _key(place, _END), FakeClock("2030-01-01T00:00:00Z")

    async def answer(app: App, call: str) -> None:
        if tool == "pay":
            await app.inbox(ADA).approve(call, resume=False)
        else:
            await app.inbox(ADA).answer(call, "yes", resume=False)

    async def before() -> str:
        async with ferrule.open(place.root, tends=False, clock=clock) as app:
            call = await _parked(app, f"token:{key}", tool)
            assert (await app.inbox(ADA).get(call)).will_not_run is None
            if is_answered_before:
                await answer(app, call)
            return call

    async def after(call: str) -> None:
        async with ferrule.open(place.root, tends=False, clock=clock) as app:
            if not is_answered_before:
                waiting = await app.inbox(ADA).get(call)
                assert waiting.will_not_run is not None and told in waiting.will_not_run
                assert waiting.to_dict()["will_not_run"] == waiting.will_not_run
                await answer(app, call)
            await app.calls.resume_answered()
            result = await app.result(call)
            assert isinstance(result, Result) and result.error is not None
            assert result.status == ("denied" if tool == "pay" else "failed"), "the other one had begun to run"
            assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "key_ended")
            assert told in result.error.message and key in result.error.message
            assert await app.store.find_open(call) is None

    call = played(before())
    end(place, key)
    clock.advance(3000 if end is _nothing else 60)
    played(after(call))
    assert not place.effects()
    assert not place.verify().findings


@pytest.mark.parametrize("channel", ["", "token:agent", "token:mine", "jwt:corp|ada|cli", "oxp:jwt", "loopback"])
def test_calls_without_a_key_of_the_workspace_go_on(place: Place, channel: str) -> None:
    """The Python API names its channels as it likes, and nobody here knows of the tokens of issuers."""

    async def story() -> str:
        async with ferrule.open(place.root, tends=False) as app:
            call = await _parked(app, channel)
            assert isinstance((await app.inbox(ADA).approve(call)).result, Result)
            return call

    call = played(story())
    assert list(place.effects()) == [call]
    assert not (place.root / KEYS_FOLDER / TOKENS_FILE).exists()


def test_a_rotated_key_is_the_same_key(place: Place) -> None:
    key = _key(place)

    async def story() -> str:
        async with ferrule.open(place.root, tends=False) as app:
            call = await _parked(app, f"token:{key}")
            _rotate(place, key)
            assert (await app.inbox(ADA).get(call)).will_not_run is None
            await app.inbox(ADA).approve(call)
            return call

    call = played(story())
    assert list(place.effects()) == [call]


def test_a_call_waits_on_while_the_keys_cannot_be_read(place: Place) -> None:
    key, file = _key(place), place.root / KEYS_FOLDER / TOKENS_FILE

    async def story() -> str:
        async with ferrule.open(place.root, tends=False) as app:
            call, whole = await _parked(app, f"token:{key}"), file.read_bytes()
            file.write_bytes(b"{")
            told = (await app.inbox(ADA).get(call)).will_not_run
            assert told is not None and "still valid is unknown" in told
            assert isinstance((await app.inbox(ADA).approve(call)).result, Pending)
            assert not place.effects()
            file.write_bytes(whole)
            await app.calls.resume_answered()
            return call

    call = played(story())
    assert list(place.effects()) == [call]


@pytest.mark.parametrize("end", [_revoke, _remove, _nothing])
def test_a_call_whose_key_ended_while_it_stood_in_line_does_not_begin(
    place: Place, end: Callable[[Place, str], None]
) -> None:
    key = _key(place)

    async def story() -> list[Result | Pending]:
        async with ferrule.open(place.root, tends=False) as app:
            surface = app.surface(principal="alice", channel=f"token:{key}")
            first = asyncio.create_task(surface.call("drag", {"n": 1}))
            while not place.effects():
                await asyncio.sleep(0.01)
            second = asyncio.create_task(surface.call("drag", {"n": 2}))
            await asyncio.sleep(0.05)
            end(place, key)
            return [await first, await second]

    first, second = played(story())
    assert isinstance(first, Result) and first.error is None, "what runs goes on"
    assert isinstance(second, Result)
    if end is _nothing:
        assert second.error is None
    else:
        assert second.error is not None
        assert (second.status, second.error.error_code) == ("denied", "key_ended")
    assert len(place.effects()) == (2 if end is _nothing else 1)
    assert not place.verify().findings
