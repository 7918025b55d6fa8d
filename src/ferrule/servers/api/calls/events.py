"""Calls as server-sent events: progress with its number as the event's id, what the call waits for, and its result.

A stream that breaks is taken up again with the last id that was seen (`Last-Event-ID`). The end has the id `end`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec

from ferrule.app.app import App
from ferrule.model.result import Pending, Result
from ferrule.servers.api.calls.outcomes import state_of

_encode = msgspec.json.Encoder().encode
_WAITS = frozenset({"waiting_for_permission", "waiting_for_input"})
END = "end"


def event(name: str, data: Any, event_id: str = "") -> bytes:
    """One event."""
    number = f"id: {event_id}\n" if event_id else ""
    return f"event: {name}\n{number}".encode() + b"data: " + _encode(data) + b"\n\n"


def first_event(invocation_id: str) -> bytes:
    """Which call this is about, and where to take the stream up again."""
    return event("call", {"invocation_id": invocation_id, "events": f"/v1/calls/{invocation_id}/events"}, "0")


async def bounded(
    events: AsyncIterator[bytes], seconds: float, still: Callable[[], Awaitable[bytes]]
) -> AsyncIterator[bytes]:
    """Events for so long as their reader wants to wait. `still`: gives the last one, where there would be more."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    part: asyncio.Future[bytes | None] = asyncio.ensure_future(_next(events))
    try:
        while (await asyncio.wait({part}, timeout=max(0.0, until - loop.time())))[0]:
            given = part.result()
            if given is None:
                return
            yield given
            part = asyncio.ensure_future(_next(events))
        yield await still()
    finally:
        part.cancel()
        await asyncio.gather(part, return_exceptions=True)
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()


async def _next(events: AsyncIterator[bytes]) -> bytes | None:
    return await anext(events, None)


async def call_events(
    app: App, invocation_id: str, after: int, final: Callable[[], Awaitable[Result | Pending | None]]
) -> AsyncIterator[bytes]:
    """The events of a call after a number, until it has ended. `final`: gives its outcome, as its reader may see it."""
    async for said in app.follow(invocation_id, after):
        yield event("progress", said.to_record(), str(said.sequence))
        if said.status in _WAITS:
            pending = await app.result(invocation_id)
            if isinstance(pending, Pending):
                yield event("waiting", state_of(pending), str(said.sequence))
    outcome = await final()
    if isinstance(outcome, Result):
        yield event("result", state_of(outcome), END)
    elif outcome is not None:
        yield event("waiting", state_of(outcome))
