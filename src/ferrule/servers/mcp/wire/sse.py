"""Server-sent events, as MCP frames them: one message is one event with one `data` line (MCP-49)."""

from __future__ import annotations

from typing import NamedTuple

from ferrule.servers.asgi import EVENTS, NO_CACHE, Header

HEADERS: tuple[Header, ...] = (EVENTS, NO_CACHE, (b"x-accel-buffering", b"no"))
"""Of an answer that is a stream; proxies are told not to hold it back (MCP-50)."""
KEEP_ALIVE = b": keep-alive\n\n"
"""A comment: says that the stream is still there (MCP-51)."""
KEEP_ALIVE_SECONDS = 15.0


class Accepted(NamedTuple):
    """The forms of an answer that a client takes."""

    json: bool
    events: bool
    prefers_events: bool = False
    """True when both are taken, and a stream is named before JSON or weighs more."""


def event(text: bytes, event_id: str | None = None, retry_ms: int | None = None) -> bytes:
    """One message as an event. The revision without sessions has no ids and no `retry` (MCP-69)."""
    if b"\n" in text or b"\r" in text:  # between two JSON tokens; inside of strings there is none
        text = text.replace(b"\r", b" ").replace(b"\n", b" ")
    named = b"" if event_id is None else b"id: %b\n" % event_id.encode()
    again = b"" if retry_ms is None else b"retry: %d\n" % retry_ms
    return b"event: message\n%b%bdata: %b\n\n" % (named, again, text)
