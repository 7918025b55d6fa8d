"""One request of a connection: its head, its body as it comes, and the disconnection of its client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, MutableMapping
from typing import Any, Protocol

from ferrule.model.value import JsonObject
from ferrule.servers.asgi import LONGEST_LENGTH, ClientGone, Header, HttpRequest, TooLarge

_FEW_CHUNKS = 64


class RequestConnection(Protocol):
    """The connection, as its requests see it."""

    scope: JsonObject

    def write(self, data: bytes | bytearray) -> None:
        """Sends bytes."""

    def want_body(self) -> None:
        """Asks for the body of a client that waits for permission to send it."""

    def task_of(self, request: Http1Request) -> asyncio.Task[None] | None:
        """Returns the task that answers a request, if it is this one's turn and it has to wait."""

    def begin(self, request: Http1Request, status: int, headers: Iterable[Header]) -> None:
        """Begins an answer in parts."""

    async def go_on(self, request: Http1Request, part: bytes, *, is_last: bool = False) -> None:
        """Sends another part of the answer."""

    def drop(self) -> None:
        """Aborts the connection."""


class Http1Request(HttpRequest):
    """One request of a connection."""

    __slots__ = (
        "_chunks",
        "_connection",
        "_size",
        "_wanted",
        "_watching",
        "expects",
        "has_begun",
        "is_chunked",
        "is_complete",
        "is_kept",
        "is_lost",
    )

    def __init__(
        self,
        connection: RequestConnection,
        method: str,
        path: str,
        query: bytes,
        headers: list[Header],
        seen: JsonObject | None = None,
        body: bytes | None = None,
    ) -> None:
        """`body`: the whole body, where it came with its head."""
        self.scope = connection.scope
        self.seen = seen
        self.watcher = None
        self.has_begun = False
        """True when its answer began before it was complete."""
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.is_complete = body is not None
        self.is_kept = True
        """False when the connection ends with its answer."""
        self.is_chunked = True
        self.is_lost = False
        self.expects = False
        """True when the client waits for permission to send its body."""
        self._body = body
        self._chunks: list[bytes | bytearray] = []
        self._size = 0 if body is None else len(body)
        self._connection = connection
        self._wanted: asyncio.Future[None] | None = None
        self._watching: list[asyncio.Future[None]] = []

    def read(self, limit: int) -> bytes | Awaitable[bytes]:
        """Returns the whole body if it has come, else something to await for it. Raises TooLarge or ClientGone."""
        if self._size > limit:
            raise TooLarge
        if self._body is not None:
            return self._body
        return self._join() if self.is_complete else self._receive_body(limit)

    async def _receive_body(self, limit: int) -> bytes:
        if not self.is_complete:
            length = self.header(b"content-length")
            if length is not None and length.isdecimal() and (len(length) > LONGEST_LENGTH or int(length) > limit):
                raise TooLarge
            # Only when the body is read: nobody is asked for one before it is known who sends it.
            if self.expects:
                self.expects = False
                self._connection.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._connection.want_body()
        while not self.is_complete and self._size <= limit:
            await self._more()
        if self._size > limit:
            raise TooLarge
        return self._join()

    def _join(self) -> bytes:
        chunks = self._chunks
        body = self._body = bytes(chunks[0]) if len(chunks) == 1 else b"".join(chunks)
        self._chunks = []
        return body

    @property
    def task(self) -> asyncio.Task[Any] | None:
        """The task that answers it; None before there is one."""
        return self._connection.task_of(self)

    async def wait_until_gone(self) -> None:
        """Returns when the client has disconnected."""
        if self.watcher is not None:
            self.watcher(self)
        if not self.is_lost:
            watching: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._watching.append(watching)
            await watching

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Sends a part of the answer, in ASGI's words."""
        if message["type"] == "http.response.start":
            self.has_begun = True
            self._connection.begin(self, message["status"], message["headers"])
        else:
            await self._connection.go_on(self, message.get("body", b""), is_last=not message.get("more_body", False))

    async def _more(self) -> None:
        if self.is_lost:
            raise ClientGone
        self._wanted = asyncio.get_running_loop().create_future()
        await self._wanted

    def put(self, chunk: bytes) -> int:
        """Adds a part of the body; returns how many bytes wait. Very small parts are joined, so that they take no more
        memory."""
        chunks = self._chunks
        if len(chunks) < _FEW_CHUNKS:
            chunks.append(chunk)
        else:
            if len(chunks) == _FEW_CHUNKS:
                chunks.append(bytearray())
            chunks[-1] += chunk
        self._size += len(chunk)
        self._wake()
        return self._size

    def complete(self) -> None:
        """Ends the body."""
        self.is_complete = True
        self._wake()

    @property
    def size(self) -> int:
        """The bytes of its body that came and were not read."""
        return self._size

    def drop(self) -> None:
        """Aborts the connection: its client may not have the rest."""
        self._connection.drop()

    def lose(self) -> None:
        """Notes that its client has disconnected."""
        self.is_lost = True
        self._wake()
        for watching in self._watching:
            if not watching.done():
                watching.set_result(None)

    def _wake(self) -> None:
        if self._wanted is not None and not self._wanted.done():
            self._wanted.set_result(None)
