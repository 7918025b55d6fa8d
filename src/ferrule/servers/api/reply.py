"""What a route gives back: a value to be written as JSON, or an answer that is written already."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, TypeAlias
from urllib.parse import quote

import msgspec

from ferrule.servers.asgi import JSON, Answer, Header, Request, Stream

_encode = msgspec.json.Encoder().encode
NO_STORE: Header = (b"cache-control", b"no-store")
CHECKED: Header = (b"cache-control", b"private, no-cache")


class Reply(msgspec.Struct, frozen=True):
    """A JSON value, and what is said about it."""

    value: Any
    status: int = 200
    headers: tuple[Header, ...] = ()
    is_final: bool = True
    """False for what will be something else soon: it gets no ETag."""


Replied: TypeAlias = Reply | Answer | Stream


def written(reply: Reply, request: Request, *, is_tagged: bool) -> Answer:
    """A reply as bytes; 304 for a client that has them already."""
    body = _encode(reply.value)
    if not (is_tagged and reply.is_final and reply.status == 200):
        return Answer(reply.status, body, (JSON, NO_STORE, *reply.headers))
    tag = etag_of(body)
    if has_tag(request, tag):
        return Answer(304, b"", ((b"etag", tag), CHECKED))
    return Answer(200, body, (JSON, CHECKED, (b"etag", tag), *reply.headers))


def etag_of(body: bytes) -> bytes:
    """Equal for equal bytes."""
    return b'"%s"' % hashlib.sha256(body).hexdigest()[:32].encode()


def has_tag(request: Request, tag: bytes) -> bool:
    """True when the client names a tag among those it has (`If-None-Match`, compared weakly)."""
    for header in request.all_headers(b"if-none-match"):
        for one in header.split(b","):
            name = one.strip().removeprefix(b"W/")
            if name in (b"*", tag):
                return True
    return False


def next_link(path: str, query: Iterable[tuple[str, str]], cursor: str) -> str:
    """The address of the next page."""
    kept = [(name, value) for name, value in query if name != "cursor"]
    return f"{path}?" + "&".join(
        f"{quote(name)}={quote(value, safe='')}" for name, value in [*kept, ("cursor", cursor)]
    )


def link_header(address: str) -> Header:
    """`Link: <…>; rel="next"`."""
    return (b"link", f'<{address}>; rel="next"'.encode("ascii"))
