"""The two forms of an answer over HTTP, JSON and server-sent events, and which of them a client accepts.

It reads `Accept` and `Content-Type` (MCP-40, MCP-41). One message is one event with one `data` line (MCP-49).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ferrule.servers.asgi import EVENTS, NO_CACHE, Header

HEADERS: tuple[Header, ...] = (EVENTS, NO_CACHE, (b"x-accel-buffering", b"no"))
"""The headers of a stream; `x-accel-buffering` keeps proxies from holding it back (MCP-50)."""
KEEP_ALIVE = b": keep-alive\n\n"
"""A comment that shows the stream is alive (MCP-51)."""
KEEP_ALIVE_SECONDS = 15.0


class Accepted(NamedTuple):
    """The forms of an answer that a client accepts."""

    json: bool
    events: bool
    prefers_events: bool = False
    """True when both are accepted, and a stream is named before JSON or weighs more."""


def encode_event(text: bytes, event_id: str | None = None, retry_ms: int | None = None) -> bytes:
    """Encodes one message as an event. The revision without sessions has no ids and no `retry` (MCP-69)."""
    if b"\n" in text or b"\r" in text:  # between two JSON tokens; inside of strings there is none
        text = text.replace(b"\r", b" ").replace(b"\n", b" ")
    named = b"" if event_id is None else b"id: %b\n" % event_id.encode()
    again = b"" if retry_ms is None else b"retry: %d\n" % retry_ms
    return b"event: message\n%b%bdata: %b\n\n" % (named, again, text)


_JSON, _EVENTS = "application/json", "text/event-stream"
BOTH = Accepted(json=True, events=True)


@lru_cache(maxsize=256)
def read_accept(accept: bytes | None) -> Accepted:
    """Returns the forms of an answer that a header accepts; both where there is none."""
    if accept is None:
        return BOTH
    weights: dict[str, float] = {}
    for part in accept.decode("latin-1").split(","):
        kind, *parameters = (word.strip().lower() for word in part.split(";"))
        if kind:
            weights[kind] = max(_weight(parameters), weights.get(kind, 0.0))
    if not weights:
        return BOTH
    json, events = _is_taken(_JSON, weights), _is_taken(_EVENTS, weights)
    return Accepted(json, events, prefers_events=json and events and _is_first(_EVENTS, _JSON, weights))


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 1.0
    return 1.0


def _is_taken(kind: str, weights: dict[str, float]) -> bool:
    """True for an accepted kind. The nearest range decides: `text/*;q=0` excludes what `*/*` would accept."""
    for each in (kind, kind.partition("/")[0] + "/*", "*/*"):
        if each in weights:
            return weights[each] > 0
    return False


def _is_first(kind: str, other: str, weights: dict[str, float]) -> bool:
    """True for a kind that weighs more than another, or as much and stands before it."""
    names = list(weights)
    if kind not in weights or other not in weights:
        return False
    return (weights[kind], names.index(other)) > (weights[other], names.index(kind))


@lru_cache(maxsize=256)
def is_json(content_type: bytes | None) -> bool:
    """True for a body whose header says JSON. Anything else is refused: a browser sends text without a preflight
    (MCP-41)."""
    return content_type is not None and content_type.decode("latin-1").partition(";")[0].strip().lower() == _JSON
