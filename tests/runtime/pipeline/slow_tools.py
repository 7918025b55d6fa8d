"""Tools that take time, in every way there is, and the app to call them in."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import ferrule
from ferrule.app.app import App
from ferrule.app.surface import SurfaceHandle
from ferrule.contracts.executor import Context, Output, Waiting
from ferrule.model.result import Result
from ferrule.runtime.functions import ToolFailed
from ferrule.testing import memory_app
from tests.journeys.promises import check_lives

ALLOW = '[[rules]]\nid = "all"\ndecision = "allow"\ntool = "*"\n'
READS: dict[str, Any] = {"read_only": True, "concurrency_safe": True, "destructive": False}
HELD = threading.Event()
"""Lets threads go that wait for it."""
BEGUN: list[str] = []
"""The tools that began in a thread."""


@ferrule.tool(**READS)
async def look(seconds: float = 0.0) -> str:
    """Look at something for a while."""
    await asyncio.sleep(seconds)
    return "seen"


@ferrule.tool(**READS)
async def watch(seconds: float, context: Context) -> str:
    """Look at something for a while, and say so."""
    context.progress("begun")
    await asyncio.sleep(seconds)
    return "seen"


@ferrule.tool(**READS)
def stare(seconds: float = 0.0) -> str:
    """Look at something in a thread, which nothing can stop."""
    BEGUN.append("stare")
    time.sleep(seconds)
    return "seen"


@ferrule.tool(destructive=False)
async def act(seconds: float = 0.0) -> str:
    """Do something for a while."""
    await asyncio.sleep(seconds)
    return "done"


@ferrule.tool(destructive=False)
async def work(seconds: float, context: Context) -> str:
    """Do something for a while, and say so."""
    context.progress("begun")
    await asyncio.sleep(seconds)
    return "done"


@ferrule.tool(destructive=False)
async def idle(context: Context) -> str:
    """Do nothing, for ever."""
    context.progress("begun")
    await asyncio.Event().wait()
    return "never"


@ferrule.tool(destructive=False)
def toil(context: Context) -> str:
    """Do something in a thread until it is let go; nothing can stop it."""
    BEGUN.append("toil")
    context.progress("begun")
    HELD.wait(10)
    return "done"


@ferrule.tool(destructive=False)
def listen(context: Context) -> str:
    """Do something in a thread that looks whether it should stop."""
    BEGUN.append("listen")
    context.progress("begun")
    while True:
        context.raise_if_aborted()
        time.sleep(0.001)


@ferrule.tool(destructive=False)
async def ignore(context: Context) -> str:
    """Do something, and hear nothing of being told to stop."""
    context.progress("begun")
    until = asyncio.get_running_loop().time() + 5
    while not HELD.is_set() and asyncio.get_running_loop().time() < until:
        try:
            await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            continue
    return "done"


@ferrule.tool(destructive=False)
async def trip(context: Context) -> str:
    """Fail while being stopped."""
    context.progress("begun")
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        raise ToolFailed("it tripped over its own feet") from None
    return "done"


@ferrule.tool(**READS)
async def stumble() -> str:
    """Fail while being stopped; it only reads."""
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        raise ToolFailed("it tripped over its own feet") from None
    return "done"


@ferrule.tool(destructive=False)
async def fail(seconds: float = 0.0) -> str:
    """Fail after a while."""
    await asyncio.sleep(seconds)
    raise ToolFailed("no")


@ferrule.tool(destructive=False)
async def trip_now(context: Context) -> str:
    """Fail after having said something."""
    context.progress("begun")
    raise ToolFailed("no")


@ferrule.tool(destructive=False)
def drop(context: Context) -> str:
    """Fail in a thread, after having said something."""
    context.progress("begun")
    raise ToolFailed("no")


@ferrule.tool(destructive=False)
async def depart(seconds: float, context: Context) -> str:
    """Go on in the background."""
    context.to_background("t1", "goes on")
    await asyncio.sleep(seconds)
    return "done"


@ferrule.tool(**READS)
async def wander(seconds: float, context: Context) -> str:
    """Go on in the background; it only reads."""
    context.to_background()
    await asyncio.sleep(seconds)
    return "seen"


@ferrule.tool(**READS)
async def trickle(seconds: float, context: Context) -> str:
    """Give a part, then the rest."""
    context.partial("one")
    await asyncio.sleep(seconds)
    return "one two"


async def _go_on(state: bytes, answer: Any, context: Context) -> str:
    context.progress("going on")
    return f"{state.decode()} {answer}"


@ferrule.tool(destructive=False, resume=_go_on)
async def ask(context: Context) -> str | Waiting:
    """Ask somebody."""
    context.progress("asking")
    return context.needs_input("Which?", state=b"took")


@ferrule.tool(destructive=False, resume=_go_on)
async def doubt(context: Context) -> str | Waiting:
    """Ask somebody when told to stop."""
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        return context.needs_input("Really?")
    return "done"


@ferrule.tool(**READS)
async def both(context: Context) -> list[str]:
    """Call two other tools."""
    batch = await context.session.call_many([("act", {}), ("look", {})])
    return [result.status for result in batch]


@ferrule.tool(**READS)
async def keep(value: int, seconds: float = 0.0) -> Output:
    """Leave something for those who come after."""
    await asyncio.sleep(seconds)
    return Output({"kept": value}, context_modifiers=({"set": {"kept": value}},))


@ferrule.tool(destructive=False)
async def put(value: int) -> Output:
    """Leave something, alone."""
    return Output({"kept": value}, context_modifiers=({"set": {"kept": value}},))


@ferrule.tool(**READS)
async def through(value: int, seconds: float, context: Context) -> str:
    """Have another tool leave something, after a while."""
    await asyncio.sleep(seconds)
    return str((await context.session.call("put", {"value": value})).status)


@ferrule.tool(**READS)
async def forsake() -> str:
    """Wait for something that somebody else cancels."""
    other = asyncio.ensure_future(asyncio.sleep(10))
    asyncio.get_running_loop().call_soon(other.cancel)
    await other
    return "never"


TOOLS = (look, watch, stare, act, work, idle, toil, listen, ignore, trip, stumble, fail, trip_now, drop, depart, wander, trickle,
         ask, doubt, both, keep, put, through, forsake)  # fmt: skip


@asynccontextmanager
async def app_of_slow_tools(**parts: Any) -> AsyncIterator[tuple[App, SurfaceHandle]]:
    """An app with these tools. In the end every call had one legal life, and nothing is left of it in memory."""
    HELD.clear()
    parts = {"tools": TOOLS, "policy": ALLOW, **parts}
    async with memory_app(**parts) as app:
        yield app, app.surface()
        HELD.set()
        await wait_until(lambda: not app.services.live.calls)
        await app.store.flush()
        check_lives(await app.store.rows_after(0, 100_000))
        assert not app.services.scheduler.describe()["lanes"], "somebody is still in a lane"


async def wait_until(condition: Callable[[], object]) -> None:
    """Wait until something is so, five seconds at most."""
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.001)


async def start_call(app: App, calling: Awaitable[Any], stage: str = "running") -> tuple[asyncio.Task[Any], str]:
    """A call in a task of its own, and its id, once it is there."""
    before, begun = set(app.services.live.calls), len(BEGUN)
    task = asyncio.ensure_future(calling)

    def new() -> list[str]:
        return [name for name, live in app.services.live.calls.items() if name not in before and live.stage == stage]

    await wait_until(lambda: new() or task.done())
    for _ in range(3):  # and its tool has begun
        await asyncio.sleep(0)
    call = new()[0]
    if stage == "running" and app.services.live.calls[call].call.tool_name in ("stare", "toil", "listen"):
        await wait_until(lambda: len(BEGUN) > begun)
    assert not task.done(), task.result()
    return task, call


async def list_news(app: App, call: str) -> list[str]:
    """What was told about a call, besides its progress."""
    return [row.outcome for row in await app.store.news_of(call) if row.outcome != "progress"]


async def list_progress(app: App, call: str) -> list[int]:
    """The numbers of its progress records, as they are in the ledger."""
    rows = await app.store.news_of(call)
    return [
        happened["data"]["sequence"] for row in rows if row.outcome == "progress" for happened in row.news().happened
    ]


def describe_end(outcome: Any) -> tuple[str, str | None, str | None]:
    """How a call ended: the status, the error class, and why it was stopped."""
    assert isinstance(outcome, Result), outcome
    return outcome.status, outcome.error.error_class if outcome.error else None, outcome.abort_reason
