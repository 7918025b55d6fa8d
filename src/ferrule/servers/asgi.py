"""Requests and answers over bare ASGI, without a framework, as every server here gets and gives them.

It also pauses garbage collection while a large body is decoded. It knows no paths, callers or protocols above HTTP.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

from ferrule.model.value import JsonObject

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Header: TypeAlias = tuple[bytes, bytes]
"""A name in lower case, and a value."""

T = TypeVar("T")

JSON = (b"content-type", b"application/json")
EVENTS = (b"content-type", b"text/event-stream")
NO_CACHE = (b"cache-control", b"no-cache")


LONGEST_LENGTH = 18
"""Digits of a content length that is worth reading as a number."""


class ClientGone(Exception):
    """The client disconnected while sending. A normal event: no answer, no log line."""


class TooLarge(Exception):
    """A body with more bytes than the limit."""


class HttpRequest:
    """One HTTP request. The body is read once, and no further than a limit."""

    __slots__ = (
        "__weakref__", "_body", "_dropped", "_receive", "headers", "method", "path", "query", "scope", "seen", "send", "watcher"
    )  # fmt: skip

    def __init__(self, scope: Scope, receive: Receive, send: Send | None = None) -> None:
        """`send`: for an endpoint that may begin its answer early; the answer it returns then is the end of that one."""
        self.scope = scope
        self.send = send
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: bytes = scope.get("query_string", b"")
        self.headers: list[Header] = scope["headers"]
        self._receive = receive
        self._body: bytes | None = None
        self._dropped: asyncio.Event | None = None
        self.watcher: Callable[[HttpRequest], None] | None = None
        """Told when somebody waits for the client to go: then the request stays open, and its credential may end before it."""
        self.seen: JsonObject | None = None
        """What follows from its head alone, by who worked it out; kept for other requests with the very same head. None where
        a head is not remembered."""

    def replace_headers(self, headers: list[Header]) -> None:
        """Replaces the headers, for example by the credential of a cookie."""
        self.headers = headers
        # What was worked out from the head as it came, its credential above all, says nothing about these headers.
        self.seen = None

    def header(self, name: bytes) -> str | None:
        """Returns the first header of a name (lower case), stripped."""
        for found, value in self.headers:
            if found == name:
                return value.decode("latin-1").strip(" \t")
        return None

    def all_headers(self, name: bytes) -> list[bytes]:
        """Returns every header of a name (lower case), unchanged."""
        return [value for found, value in self.headers if found == name]

    def read(self, limit: int) -> bytes | Awaitable[bytes]:
        """Returns the whole body if it has come, else something to await for it. Raises TooLarge or ClientGone."""
        if self._body is None:
            return self._receive_body(limit)
        if len(self._body) > limit:
            raise TooLarge
        return self._body

    async def _receive_body(self, limit: int) -> bytes:
        message = await self._receive()
        length = self.header(b"content-length") if message.get("more_body") else None
        if length is not None and length.isdecimal() and (len(length) > LONGEST_LENGTH or int(length) > limit):
            raise TooLarge
        parts, size = [], 0
        while True:
            if message["type"] == "http.disconnect":
                raise ClientGone
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > limit:
                raise TooLarge
            if not message.get("more_body"):
                break
            message = await self._receive()
        self._body = b"".join(parts)
        return self._body

    @property
    def task(self) -> asyncio.Task[Any] | None:
        """The task that answers, where the server knows it; None before there is one."""
        return None

    async def wait_until_gone(self) -> None:
        """Returns when the client has disconnected, or was dropped. Only after the body was read."""
        if self.watcher is not None:
            self.watcher(self)
        if self._dropped is None:
            self._dropped = asyncio.Event()
        waiting = {asyncio.ensure_future(self._wait_for_disconnect()), asyncio.ensure_future(self._dropped.wait())}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()

    async def _wait_for_disconnect(self) -> None:
        pause = 0.01
        while (await self._receive())["type"] != "http.disconnect":
            await asyncio.sleep(pause)  # some servers say "no more body" again and again, at once
            pause = min(2 * pause, 1.0)

    def drop(self) -> None:
        """Treats the client as disconnected, because its credential has ended."""
        if self._dropped is None:
            self._dropped = asyncio.Event()
        self._dropped.set()


def make_inner_request(
    outer: HttpRequest, method: str, path: str, query: bytes, headers: Iterable[Header], body: bytes
) -> HttpRequest:
    """Returns a request that this process makes to itself, on behalf of another: it ends when that one's client
    disconnects."""
    parts = iter([{"type": "http.request", "body": body}])

    async def receive() -> MutableMapping[str, Any]:
        for part in parts:
            return part
        await outer.wait_until_gone()
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": method, "path": path, "query_string": query, "headers": list(headers)}
    return HttpRequest(scope, receive)


class HttpAnswer:
    """A whole answer."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, body: bytes = b"", headers: Iterable[Header] = ()) -> None:
        self.status = status
        self.body = body
        self.headers = list(headers)

    async def send(self, send: Send) -> None:
        """Sends the answer."""
        self.headers.append((b"content-length", str(len(self.body)).encode()))
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


class HttpStream:
    """An answer in parts, as they come. The source is closed however it ends; a client that disconnects ends it."""

    __slots__ = ("headers", "source", "status")

    def __init__(self, status: int, source: AsyncIterator[bytes], headers: Iterable[Header] = ()) -> None:
        self.status = status
        self.source = source
        self.headers = list(headers)

    async def send(self, send: Send) -> None:
        """Sends the answer, part by part."""
        try:
            await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
            async for part in self.source:
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            close = getattr(self.source, "aclose", None)
            if close is not None:
                await close()


_LARGE = 64 * 1024


@contextmanager
def pause_garbage_collection(text: bytes) -> Iterator[None]:
    """Pauses garbage collection while a large text is decoded: a million members are no garbage, and scanning them
    again and again takes longer than everything else."""
    is_paused = len(text) > _LARGE and gc.isenabled()
    if is_paused:
        gc.disable()
    try:
        yield
    finally:
        if is_paused:
            gc.enable()
