"""Clocks that jump: what has expired stays expired, and the ledger's time never goes back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import ferrule
from ferrule.app.app import App
from ferrule.errors import InboxError
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.result import Pending, Result
from ferrule.model.story import Story
from ferrule.testing import FakeClock
from tests.faults.place import Place, played

ADA = Identity("ada", "token:ada", frozenset({APPROVE}))
_HOUR, _DAY = 3600.0, 86400.0


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_an_expired_request_is_not_revived_by_setting_the_clock_back(place: Place) -> None:
    """Not in the same process, and not in the next one, whose clock never showed the later time."""
    clock = FakeClock("2030-01-01T00:00:00Z")

    async def expired() -> str:
        async with ferrule.open(place.root, tends=False, clock=clock) as app:
            call = await _parked(app)
            clock.advance(2 * _HOUR)
            await app.surface().call("act", {"n": 1})  # anything that leaves the time in the ledger
            clock.jump(-2 * _HOUR)
            with pytest.raises(InboxError, match="expired"):
                await app.inbox(ADA).approve(call)
            return call

    async def later(call: str) -> None:
        async with ferrule.open(place.root, tends=False, clock=FakeClock("2030-01-01T00:10:00Z")) as app:
            with pytest.raises(InboxError, match="expired"):
                await app.inbox(ADA).approve(call)
            await app.calls.sweep()
            result = await app.result(call)
            assert isinstance(result, Result) and result.error is not None
            assert (result.status, result.error.error_code) == ("timed_out", "approval_expired")

    call = played(expired())
    played(later(call))
    assert call not in place.effects()
    assert not place.verify().findings


def test_an_approval_that_expired_before_it_was_used_is_void(place: Place) -> None:
    clock = FakeClock("2030-01-01T00:00:00Z")

    async def story() -> str | None:
        async with ferrule.open(place.root, tends=False, clock=clock) as app:
            call = await _parked(app)
            await app.inbox(ADA).approve(call, resume=False)
            clock.advance(2 * _HOUR)
            await app.calls.resume_answered()
            found = await app.store.find_open(call)
            return found.state if found is not None else None

    assert played(story()) == "awaiting_approval"
    assert not place.effects()


@pytest.mark.parametrize("jump", [-_DAY, -1.0, _DAY, 400 * _DAY])
def test_times_go_on_whatever_the_clock_does(place: Place, jump: float) -> None:
    """A jump at each step of a call: before it runs, while it waits, between the answer and the run, and after."""
    clock = FakeClock("2030-01-01T00:00:00Z")

    async def story() -> None:
        async with ferrule.open(place.root, tends=False, clock=clock) as app:
            for number in range(4):
                await _with_a_jump(app, clock, jump, number)
            rows = await app.store.rows_after(0, 1000)
            assert [row.at for row in rows] == sorted(row.at for row in rows)
            for call in {row.call for row in rows if row.call and row.kind != "news"}:
                whole = await app.store.rows_of(call)
                times = [when for row in whole for when in row.segment().states]
                assert [when >> 5 for when in times] == sorted(when >> 5 for when in times)
                Story(whole)

    played(story())
    assert not place.verify().findings


async def _with_a_jump(app: App, clock: FakeClock, jump: float, number: int) -> None:
    await app.surface().call("act", {"n": number})
    call = await _parked(app)
    if number == 0:
        clock.jump(jump)
    try:
        await app.inbox(ADA).approve(call, resume=False)
    except InboxError:
        assert jump > 0
        return
    if number == 1:
        clock.jump(jump)
    await app.calls.resume(call)
    if number == 2:
        clock.jump(jump)
    assert await app.result(call) is not None


def test_a_clock_set_back_while_a_call_runs(place: Place) -> None:
    """Its states stay in order, and its end is not before its start."""
    clock = FakeClock("2030-01-01T00:00:00Z")

    async def story() -> None:
        async with ferrule.open(place.root, tends=False, clock=clock) as app:
            task = asyncio.create_task(app.surface().call("drag", {"n": 1}))
            while not place.effects():
                await asyncio.sleep(0.01)
            clock.jump(-_DAY)
            result = await task
            assert isinstance(result, Result) and result.status == "succeeded"
            rows = await app.store.rows_of(result.invocation_id)
            assert [row.kind for row in rows] == ["started", "ended"]
            assert rows[0].at <= rows[1].at

    played(story())
    assert not place.verify().findings


async def _parked(app: App) -> str:
    pending = await app.surface(principal="alice", channel="token:agent").call("pay", {"n": 1})
    assert isinstance(pending, Pending)
    return pending.invocation_id
