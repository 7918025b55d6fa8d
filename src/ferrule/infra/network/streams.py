"""One request and its answer on an HTTP/2 connection: head, body with room given back as it is read, upload beside it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

import h2.errors
import h2.exceptions

from ferrule.infra.network.connection import measured
from ferrule.infra.network.request import BrokenAnswer, Request, Unreachable
from ferrule.infra.network.response import Arrival, Response

if TYPE_CHECKING:
    from ferrule.infra.network.http2 import Http2Connection
    from ferrule.infra.network.pool import Host

_NO_BODY = frozenset({204, 304})
_MOST_HEADERS = 256


class Stream(Arrival):
    """One of the requests on a connection."""

    __slots__ = ("_connection", "_host", "_is_open", "_method", "_missing", "_number", "_padding", "_upload")

    def __init__(self, connection: Http2Connection, number: int) -> None:
        super().__init__()
        self._connection = connection
        self._number = number
        self._host: Host | None = None
        self._upload: asyncio.Task[None] | None = None
        self._method = ""
        self._is_open = False
        """True while the other side knows of it."""
        self._padding = 0
        self._missing: int | None = None
        """Bytes of the body that are still to come, if its length was said."""

    async def exchange(self, request: Request, host: Host) -> Response:
        """Send the request and wait for the head of its answer."""
        self._method = request.method
        head: asyncio.Future[Response] = self._connection.loop.create_future()
        self._head = head
        try:
            self._write(request)
        except h2.exceptions.ProtocolError:
            raise Unreachable(f"{request.target.host} takes no more requests on this connection") from None
        response = await head
        self._host = host
        return response

    def _write(self, request: Request) -> None:
        connection, body = self._connection, request.body
        wire = connection.wire
        wire.send_headers(self._number, request.fields(), end_stream=body == b"")
        self._is_open = True
        if isinstance(body, bytes):
            room = min(wire.local_flow_control_window(self._number), wire.max_outbound_frame_size)
            if 0 < len(body) <= room:
                wire.send_data(self._number, body, end_stream=True)
            elif body:
                self._upload = connection.loop.create_task(self._send(_whole(body)))
        else:
            self._upload = connection.loop.create_task(self._send(measured(body, request.length)))
        connection.flush()

    async def _send(self, pieces: AsyncGenerator[bytes, None]) -> None:
        connection, number = self._connection, self._number
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    rest = memoryview(piece)
                    while rest:
                        room = await connection.room(number)
                        if not room:
                            return
                        connection.wire.send_data(number, bytes(rest[:room]))
                        connection.flush()
                        rest = rest[room:]
            if self._is_open:
                connection.wire.end_stream(number)
                connection.flush()
        except h2.exceptions.ProtocolError:
            return  # over on the other side; whoever waits for the answer hears of it there
        except Exception as error:  # of whoever gives the pieces: they hear of it where they wait
            self._break(error)
            self._reset()
        finally:
            self._upload = None
        if self.is_complete:
            self._over()

    # Used by the response

    def finished(self) -> None:
        host, self._host = self._host, None
        self._pieces.clear()
        unread, self._buffered = self._buffered, 0
        if unread or self._padding:
            self._acknowledge(unread)
        if self._upload is not None:
            self._upload.cancel()
        self._reset()
        if host is not None:
            host.give()

    def _on_taken(self, size: int) -> None:
        self._acknowledge(size)

    def _acknowledge(self, size: int) -> None:
        """Make room for as much again."""
        size, self._padding = size + self._padding, 0
        if size:
            with suppress(h2.exceptions.ProtocolError):
                self._connection.wire.acknowledge_received_data(size, self._number)
            self._connection.flush()

    def _reset(self) -> None:
        """Tell the other side that nobody reads any more."""
        if self._is_open:
            self._is_open = False
            with suppress(h2.exceptions.ProtocolError):
                self._connection.wire.reset_stream(self._number, h2.errors.ErrorCodes.CANCEL)
            self._connection.flush()
        self._connection.forget(self._number)

    def _over(self) -> None:
        self._is_open = False
        self._connection.forget(self._number)

    # Called by the connection

    def on_head(self, fields: Iterable[tuple[bytes, bytes]]) -> None:
        """The head came."""
        status = 0
        headers: dict[str, str] = {}
        for count, (name, value) in enumerate(fields):
            key, text = name.decode("latin-1"), value.decode("latin-1")
            if count > _MOST_HEADERS:
                self._refuse(BrokenAnswer("the answer has too many headers"))
                return
            if key == ":status":
                status = int(text) if text.isascii() and text.isdecimal() else 0
            else:
                headers[key] = f"{headers[key]}, {text}" if key in headers else text
        has_body = self._method != "HEAD" and status not in _NO_BODY
        said = headers.get("content-length", "")
        # h2 forgets the length when the head is the end, or when something follows the body.
        self._missing = int(said) if has_body and said.isdecimal() and len(said) < 20 else None
        try:
            if not 200 <= status <= 999:
                raise BrokenAnswer("the answer has no status")
            self._give_head(status, headers, has_body)
        except BrokenAnswer as error:
            self._refuse(error)

    def on_data(self, data: bytes, size: int) -> None:
        """A piece came; `size` with what it was padded with."""
        self._padding += size - len(data)
        if data:
            if self._missing is not None:
                self._missing -= len(data)
            self._pieces.append(data)
            self._buffered += len(data)
            self._wake()
        elif self._padding:
            self._acknowledge(0)

    def on_end(self) -> None:
        """All of it came."""
        if self._head is not None:
            self._break(BrokenAnswer("the answer ended before its head did"))
        elif self._missing:
            self._break(BrokenAnswer("the answer ended before its length was reached"))
        elif self._broken is None:
            self._complete()
        if self._upload is None:
            self._over()

    def cut(self, before_head: Exception, after_head: Exception) -> None:
        """Nothing more comes."""
        self._is_open = False
        if self._upload is not None:
            self._upload.cancel()
        if not self.is_complete:
            self._break(before_head if self._head is not None else after_head)

    def _refuse(self, error: BrokenAnswer) -> None:
        self._break(error)
        self._reset()


async def _whole(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body
