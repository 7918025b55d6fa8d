"""A process that uses a workspace, and tells on its standard output what it was told, as soon as it was.

`python -m tests.faults.worker WORK ROOT NAME`: one line for each answer: a word, an invocation, and what else there is.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import Any

import ferrule
from ferrule.app.app import App
from ferrule.app.surface import SurfaceHandle
from ferrule.errors import FerruleError, InboxError
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.result import Pending, Result

ADA = Identity("ada", "token:ada", frozenset({APPROVE}))
_ROUNDS = 25


def tell(*words: object) -> None:
    """One line, in one write: it is in the pipe even if we die right after."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def _answer(word: str, outcome: Result | Pending | None, *more: object) -> None:
    if isinstance(outcome, Result):
        code = outcome.error.error_code if outcome.error is not None else "-"
        tell(word, outcome.invocation_id, outcome.status, code, *more)
    elif outcome is not None:
        tell("waits", outcome.invocation_id, outcome.state, *more)


async def _act(app: App, surface: SurfaceHandle, number: int, name: str) -> None:
    _answer("ended", await surface.call("act", {"n": number}))


async def _look(app: App, surface: SurfaceHandle, number: int, name: str) -> None:
    await surface.call("look", {"n": number})
    await asyncio.sleep(0.002)


async def _act_once(app: App, surface: SurfaceHandle, number: int, name: str) -> None:
    """The same request twice at once, with a key that other processes use at the same time."""
    key = f"key-{time.monotonic_ns() // 20_000_000}"
    both = (surface.call("act", {"n": 0}, idempotency_key=key, wait=0.2) for _ in range(2))
    for outcome in await asyncio.gather(*both):
        tell("keyed", outcome.invocation_id, key)


async def _park(app: App, surface: SurfaceHandle, number: int, name: str) -> None:
    _answer("ended", await surface.call("pay", {"n": number}))


async def _approve(app: App, surface: SurfaceHandle, number: int, name: str) -> None:
    """Whatever waits longest, whoever asked for it."""
    waiting = await app.store.open_calls("awaiting_approval")
    if len(waiting) < 3:
        return
    try:
        answered = await app.inbox(ADA).approve(waiting[0].call)
    except InboxError:  # another process was quicker
        return
    tell("approved", waiting[0].call)
    _answer("ended", answered.result)


async def work(app: App, name: str) -> None:
    """Everything at once, for as long as it lives."""
    surface = app.surface(principal="alice", channel="token:agent")

    async def repeat(do: Any) -> None:
        for number in range(1_000_000):
            await do(app, surface, number, name)
            await asyncio.sleep(0)

    await asyncio.gather(*(repeat(do) for do in (_act, _act, _look, _act_once, _park, _approve)))


async def go_on(app: App, name: str) -> None:
    """A number of calls of every kind, whatever the disk does; every answer is told. In the end the disk is well again."""
    await rounds(app, name)
    surface = app.surface(principal="alice", channel="token:agent")
    outcome = await surface.call("act", {"n": 1})
    while isinstance(outcome, Result) and outcome.is_error:
        await asyncio.sleep(0.02)
        outcome = await surface.call("act", {"n": 1})
    _answer("ended", outcome)


async def go_on_when_told(app: App, name: str) -> None:
    """Some calls on a healthy disk, some when told to, on one that is full, and some when told to, on one that is not."""
    for part in "abc":
        await rounds(app, name + part)
        tell("paused")
        await asyncio.to_thread(sys.stdin.readline)
    await go_on(app, name + "d")


async def rounds(app: App, name: str) -> None:
    """A number of calls of every kind; every answer is told."""
    surface = app.surface(principal="alice", channel="token:agent")
    for number in range(_ROUNDS):
        outcome = await surface.call("act", {"n": number}, idempotency_key=f"{name}-{number}" if number % 3 else None)
        _answer("ended", outcome)
        parked = await surface.call("pay", {"n": number})
        _answer("ended", parked)
        if isinstance(parked, Pending) and number % 2:
            try:
                _answer("ended", (await app.inbox(ADA).approve(parked.invocation_id)).result)
            except FerruleError as error:
                tell("unanswered", parked.invocation_id, type(error).__name__)


async def race(app: App, name: str) -> None:
    """Once told to, go on with every approved call there is."""
    await asyncio.to_thread(sys.stdin.readline)
    await app.calls.resume_answered()


async def same_key(app: App, name: str) -> None:
    """Once told to, make the same request as everybody else."""
    surface = app.surface(principal="alice", channel="token:agent")
    await asyncio.to_thread(sys.stdin.readline)
    for number in range(20):
        outcome = await surface.call("act", {"n": number}, idempotency_key=f"shared-{number}", wait=10)
        _answer("ended", outcome, number)


async def obey(app: App, name: str) -> None:
    """Call a tool whenever told to, by name; tell how it ended."""
    surface = app.surface(principal="alice", channel="token:agent")
    while line := (await asyncio.to_thread(sys.stdin.readline)).strip():
        outcome = await surface.call(line, {"n": 1})
        _answer("ended", outcome)


async def begin(app: App, name: str) -> None:
    """Begin a call whenever told to, `TOOL N`; tell its id at once, and how each of them ended when it has."""
    surface = app.surface(principal="alice", channel="token:agent")
    ending: set[asyncio.Task[None]] = set()

    async def ended(run: Any) -> None:
        outcome = (await run.wait())[0]
        _answer("ended", outcome)
        if isinstance(outcome, Pending):
            _answer("ended", await app.calls.result(outcome.invocation_id, wait=60))

    while words := (await asyncio.to_thread(sys.stdin.readline)).split():
        run = await surface.begin(words[0], {"n": int(words[1])})
        tell("begun", run.invocation_ids[0])
        ending.add(asyncio.create_task(ended(run)))
    if ending and name != "leave":
        await asyncio.wait(ending)


async def follow(app: App, name: str) -> None:
    """Tell what a call says, `ID AFTER` on the standard input, until it has ended."""
    while words := (await asyncio.to_thread(sys.stdin.readline)).split():
        async for said in app.follow(words[0], int(words[1])):
            tell("said", said.sequence)
        tell("over", words[0])


async def cancel(app: App, name: str) -> None:
    """Cancel a call by its id whenever told to; tell what is known of it then."""
    while words := (await asyncio.to_thread(sys.stdin.readline)).split():
        told = await app.cancel(words[0], by="ada", reason="from elsewhere", within=float(words[1]))
        tell("cancel", told.outcome if told is not None else "unknown", told.state if told is not None else "-")


WORKS = {
    "begin": begin,
    "follow": follow,
    "cancel": cancel,
    "work": work,
    "rounds": rounds,
    "go_on": go_on,
    "go_on_when_told": go_on_when_told,
    "race": race,
    "same_key": same_key,
    "obey": obey,
}


async def main(what: str, root: str, name: str) -> None:
    """Open, work, close."""
    async with ferrule.open(root, tends=what == "work") as app:
        tell("open")
        await WORKS[what](app, name)
    tell("closed")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
