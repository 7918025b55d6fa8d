"""Limits of rate and of calls at the same time, with fair queues (MCP-290)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from inspect import isawaitable

import pytest

from ferrule.infra.tasks import resolve
from ferrule.model.approval import Identity
from ferrule.model.serving import LimitSettings
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.caller_limits import FairTurnstile
from tests.driven import driven


def caller(name: str, tenant: str = "default") -> Caller:
    return Caller(Identity(name, f"token:{name}"), tenant)


async def entered(turnstile: FairTurnstile, who: Caller, into: list[str], done: asyncio.Event) -> None:
    """One call: waits for its turn, says so, and works until it is told."""
    leave = await resolve(turnstile.enter(who))
    into.append(who.identity.principal)
    await done.wait()
    leave()


async def settle() -> None:
    """Everything that can happen now has happened."""
    for _ in range(20):
        await asyncio.sleep(0)


@driven
async def test_no_principal_has_more_calls_at_once_than_it_may_whatever_credential_it_uses() -> None:
    turnstile = FairTurnstile(LimitSettings(calls_at_once=2))
    other = Caller(Identity("ada", "token:second"))
    leaves = [await resolve(turnstile.enter(caller("ada"))), await resolve(turnstile.enter(other))]
    third = asyncio.create_task(resolve(turnstile.enter(caller("ada"))))
    await settle()
    assert not third.done()
    for somebody in (caller("bob"), caller("ada", "acme")):
        (await resolve(turnstile.enter(somebody)))()
    leaves.pop()()
    leaves.append(await third)
    for leave in leaves:
        leave()
    assert turnstile.running == 0 and not turnstile.turns


@driven
async def test_whoever_floods_waits_behind_their_own_calls_and_nobody_else_does() -> None:
    """A place for everybody goes round the principals who wait, however many calls each has in line."""
    turnstile = FairTurnstile(LimitSettings(calls_at_once=100, calls_in_all=1, calls_waiting=1000))
    into: list[str] = []
    hold = await resolve(turnstile.enter(caller("x")))
    done = asyncio.Event()
    done.set()
    tasks = [asyncio.create_task(entered(turnstile, caller("flood"), into, done)) for _ in range(500)]
    await settle()
    for name in ("ada", "bob", "ada"):
        tasks.append(asyncio.create_task(entered(turnstile, caller(name), into, done)))
        await settle()
    hold()
    await asyncio.gather(*tasks)
    assert into[:6] == ["flood", "ada", "bob", "flood", "ada", "flood"]
    assert len(into) == 503 and turnstile.running == 0 and not turnstile.turns


@driven
async def test_a_principal_at_its_own_limit_keeps_no_place_of_everybodys() -> None:
    turnstile = FairTurnstile(LimitSettings(calls_at_once=1, calls_in_all=3))
    into: list[str] = []
    done = asyncio.Event()
    tasks = [asyncio.create_task(entered(turnstile, caller("flood"), into, done)) for _ in range(10)]
    await settle()
    tasks += [asyncio.create_task(entered(turnstile, caller(name), into, done)) for name in ("ada", "bob", "cat")]
    await settle()
    assert into == ["flood", "ada", "bob"]
    done.set()
    await asyncio.gather(*tasks)
    assert sorted(into[3:]) == ["cat", *["flood"] * 9]


@driven
async def test_too_many_in_line_are_refused_with_a_time_to_come_back() -> None:
    turnstile = FairTurnstile(LimitSettings(calls_at_once=1, calls_waiting=2))
    leave = await resolve(turnstile.enter(caller("ada")))
    waiting = [asyncio.create_task(resolve(turnstile.enter(caller("ada")))) for _ in range(2)]
    await settle()
    with pytest.raises(Refused) as refused:
        await resolve(turnstile.enter(caller("ada")))
    assert refused.value.status == 429 and refused.value.retry_after is not None
    for task in waiting:
        leave()
        leave = await task
    leave()


@driven
async def test_nobody_waits_for_ever() -> None:
    turnstile = FairTurnstile(LimitSettings(calls_at_once=1, queue_seconds=0.05))
    leave = await resolve(turnstile.enter(caller("ada")))
    with pytest.raises(Refused) as refused:
        await resolve(turnstile.enter(caller("ada")))
    assert refused.value.status == 429
    leave()
    (await resolve(turnstile.enter(caller("ada"))))()
    assert turnstile.running == 0


@driven
async def test_whoever_goes_away_while_waiting_leaves_no_gap_and_takes_no_place() -> None:
    turnstile = FairTurnstile(LimitSettings(calls_at_once=1))
    leave = await resolve(turnstile.enter(caller("ada")))
    first, second, third = (asyncio.create_task(resolve(turnstile.enter(caller("ada")))) for _ in range(3))
    await settle()
    first.cancel()
    await settle()
    leave()  # the turn is given to the second, which goes away before it knows
    second.cancel()
    leave = await third
    leave()
    assert first.cancelled() and second.cancelled()
    assert turnstile.running == 0 and not turnstile.turns
    (await resolve(turnstile.enter(caller("ada"))))()


@driven
async def test_calls_of_any_minute_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
    turnstile = FairTurnstile(LimitSettings(calls_per_minute=3))

    async def call(who: str = "ada") -> float | None:
        try:
            (await resolve(turnstile.enter(caller(who))))()
        except Refused as refused:
            assert refused.status == 429
            return refused.retry_after
        return None

    assert [await call() for _ in range(3)] == [None, None, None]
    now += 20
    assert await call() == 40
    assert await call("bob") is None
    now += 39
    assert await call() == 1
    now += 1
    assert [await call() for _ in range(4)] == [None, None, None, 60]


@driven
async def test_principals_who_do_nothing_are_forgotten() -> None:
    turnstile = FairTurnstile(LimitSettings())
    leave = await resolve(turnstile.enter(caller("steady")))
    for number in range(5000):
        (await resolve(turnstile.enter(caller(f"p{number}"))))()
    assert len(turnstile._lines) <= 2048
    assert ("default", "steady") in turnstile._lines
    leave()


@driven
async def test_under_any_load_the_limits_hold_and_everybody_gets_through() -> None:
    turnstile = FairTurnstile(LimitSettings(calls_at_once=3, calls_in_all=7, calls_waiting=1000))
    running: dict[str, int] = {}
    most: list[int] = []

    async def work(who: str, number: int) -> None:
        leave: Callable[[], None] = await resolve(turnstile.enter(caller(who)))
        running[who] = running.get(who, 0) + 1
        most.append(sum(running.values()))
        assert running[who] <= 3 and most[-1] <= 7
        for _ in range(number % 4):
            await asyncio.sleep(0)
        running[who] -= 1
        leave()

    await asyncio.gather(*(work(f"p{number % 11}", number) for number in range(1100)))
    assert max(most) == 7 and turnstile.running == 0 and not turnstile.turns


@driven
async def test_a_call_whose_task_starts_after_the_others_left_is_let_in() -> None:
    """A call that has to wait gets a task first; the place it waits for may be free by then."""
    turnstile = FairTurnstile(LimitSettings(calls_at_once=1))
    leave = await resolve(turnstile.enter(caller("ada")))
    waiting = asyncio.create_task(resolve(turnstile.enter(caller("ada"))))
    leave()
    (await asyncio.wait_for(waiting, 20))()
    assert turnstile.running == 0 and not turnstile.turns


@driven
async def test_a_call_with_room_enters_without_waiting_and_one_too_many_is_refused_without_waiting() -> None:
    turnstile = FairTurnstile(LimitSettings(calls_at_once=1, calls_waiting=0))
    leave = turnstile.enter(caller("ada"))
    assert not isawaitable(leave)
    with pytest.raises(Refused):
        turnstile.enter(caller("ada"))
    leave()
    assert turnstile.running == 0


@driven
async def test_a_call_that_never_begins_to_wait_keeps_no_place() -> None:
    turnstile = FairTurnstile(LimitSettings(calls_at_once=1))
    leave = await resolve(turnstile.enter(caller("ada")))
    never = turnstile.enter(caller("ada"))
    assert isinstance(never, Coroutine)
    never.close()
    leave()
    (await resolve(turnstile.enter(caller("ada"))))()
    assert turnstile.running == 0 and not turnstile.turns
