"""Calls as server-sent events: progress with its number as the event's id, waits, and the result.

A client resumes a broken stream with the last id it received (`Last-Event-ID`). The end has the id `end`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from ferrule.app.app import App
from ferrule.model.result import Pending, Result
from ferrule.servers.api.calls.outcomes import state_of

_encode = msgspec.json.Encoder().encode
_WAITS = frozenset({"waiting_for_permission", "waiting_for_input"})
END = "end"


def encode_event(name: str, data: object, event_id: str = "") -> bytes:
    """Encodes one event."""
    number = f"id: {event_id}\n" if event_id else ""
    return f"event: {name}\n{number}".encode() + b"data: " + _encode(data) + b"\n\n"


def encode_first_event(invocation_id: str) -> bytes:
    """Encodes the first event: the call, and where to resume the stream."""
    return encode_event("call", {"invocation_id": invocation_id, "events": f"/v1/calls/{invocation_id}/events"}, "0")


async def limit_duration(
    events: AsyncIterator[bytes], seconds: float, still: Callable[[], Awaitable[bytes]]
) -> AsyncIterator[bytes]:
    """Yields events for a limited time, and then what `still` returns where there would be more."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    part: asyncio.Future[bytes | None] = asyncio.ensure_future(_next(events))
    try:
        while (await asyncio.wait({part}, timeout=max(0.0, until - loop.time())))[0]:
            data = part.result()
            if data is None:
                return
            yield data
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


async def stream_call_events(
    app: App, invocation_id: str, after: int, final: Callable[[], Awaitable[Result | Pending | None]]
) -> AsyncIterator[bytes]:
    """Yields the events of a call after a number, until it has ended. `final` returns its outcome, masked for the
    reader.
    """
    async for progress in app.follow(invocation_id, after):
        yield encode_event("progress", progress.to_record(), str(progress.sequence))
        if progress.status in _WAITS:
            pending = await app.result(invocation_id)
            if isinstance(pending, Pending):
                yield encode_event("waiting", state_of(pending), str(progress.sequence))
    outcome = await final()
    if isinstance(outcome, Result):
        yield encode_event("result", state_of(outcome), END)
    elif outcome is not None:
        yield encode_event("waiting", state_of(outcome))
