"""Heads that a connection remembers: a client says the same head again and again, the length of its body apart."""

from __future__ import annotations

from typing import Any, NamedTuple

from ferrule.servers.asgi import Header
from ferrule.servers.http1.request import Http1Request

_KEPT, _LONGEST = 2, 2048


class Head(NamedTuple):
    """A head that was read before on the same connection, with a body of a known length."""

    method: str
    path: str
    query: bytes
    headers: list[Header]
    seen: dict[str, Any]
    length: int


def remember(heads: dict[bytes, Head], data: bytes, request: Http1Request | None) -> None:
    """Remember the head of a request that came whole, alone, and in the usual way."""
    end = data.find(b"\r\n\r\n") + 4
    if (
        request is None
        or end > _LONGEST
        or request.size != len(data) - end
        or request.expects
        or not request.is_chunked
        or any(name == b"transfer-encoding" for name, _ in request.headers)
    ):
        return
    if len(heads) >= _KEPT:
        del heads[next(iter(heads))]
    request.seen = {}
    heads[data[:end]] = Head(request.method, request.path, request.query, request.headers, request.seen, request.size)
