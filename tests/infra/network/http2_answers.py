"""What servers of HTTP/2 answer in tests."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from typing import Any

from tests.infra.network.authority import Authority
from tests.infra.network.http2_servers import HOST

MEGABYTE = 1024**2


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answers with what was asked, in several ways."""
    if scope["type"] != "http":
        return
    path, body = scope["path"], b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    headers = [(b"x-version", scope["http_version"].encode()), (b"x-twice", b"1"), (b"x-twice", b"2")]
    if path == "/gzip":
        body = gzip.compress(b"packed " * 1000)
        headers.append((b"content-encoding", b"gzip"))
    elif path == "/large":
        body = b"x" * (5 * MEGABYTE)
    elif path == "/head":
        headers.append((b"content-length", b"5"))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["method"] != "HEAD":
        for start in range(0, len(body), 60_000):
            await send({"type": "http.response.body", "body": body[start : start + 60_000], "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def pieces(count: int, size: int) -> AsyncIterator[bytes]:
    """A body in pieces."""
    for _ in range(count):
        yield b"y" * size


def tls(authority: Authority) -> Any:
    """What a server needs to speak HTTP/2 over TLS."""
    return authority.server(HOST, protocols=("h2",))
