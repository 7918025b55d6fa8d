"""One HTTP/1.1 connection: a request out, an answer in, one after the other. httptools parses; framing is checked here."""

from __future__ import annotations

import asyncio
import re
import select
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any, cast

import httptools

from ferrule.infra.network.proxies import LOGIN_WANTED, Proxy, login_error
from ferrule.infra.network.request import BadRequest, BrokenAnswer, ProxyRefused, Unreachable, WrittenRequest
from ferrule.infra.network.response import IncomingBody, Response

if TYPE_CHECKING:
    from ferrule.infra.network.pool import HostPool

_LONGEST_HEAD = 64 * 1024
_MOST_HEADERS = 256
_MOST_INTERIM = 10
_BUFFERED = 256 * 1024
"""Above this much unread body, reading from the socket pauses."""
_TOGETHER = 64 * 1024
_NO_BODY = frozenset({204, 304})
_IDLE = re.compile(r"\btimeout=([0-9]{1,6})\b", re.IGNORECASE)


class ClientConnection(IncomingBody, asyncio.Protocol):
    """A connection to a checked address."""

    __slots__ = (
        "_count", "_head_bytes", "_headers", "_host", "_idle_limit", "_idle_since", "_interim", "_is_asked", "_is_kept",
        "_is_lost", "_is_paused", "_is_until_closed", "_loop", "_method", "_parser", "_poll", "_quiet", "_transport", "_upload",
        "_writable", "has_answered", "proxy",
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.has_answered = False
        """True once a byte of the current answer came."""
        self.proxy: Proxy | None = None
        """The proxy at the other end, when requests are written for one."""
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser: Any = None
        self._poll: select.poll | None = None
        self._host: HostPool | None = None
        self._upload: asyncio.Task[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._headers: dict[str, str] = {}
        self._count = self._head_bytes = self._interim = self._quiet = 0
        self._idle_since = 0.0
        self._idle_limit = inf
        self._method = ""
        self._is_asked = self._is_kept = self._is_lost = self._is_paused = self._is_until_closed = False

    # Used by the pool

    def is_usable(self, idle_seconds: float) -> bool:
        """True for an open connection that was not idle for too long."""
        if self._is_lost or self._transport is None or self._transport.is_closing():
            return False
        return self._loop.time() - self._idle_since < min(idle_seconds, self._idle_limit)

    def is_silent(self) -> bool:
        """True when nothing waits to be read, not even the end. Asks the system, since the loop may not have noticed
        yet."""
        if self._transport is None:
            return False
        if self._poll is None:
            self._poll = select.poll()
            self._poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return not self._poll.poll(0)

    async def exchange(self, request: WrittenRequest, host: HostPool) -> Response:
        """Sends a request and waits for the head of its answer; the place at the host is given back after the body.

        Raises Unreachable, BrokenAnswer, and any exception of a body in pieces.
        """
        self.has_answered = self.is_complete = self._is_until_closed = self._is_kept = False
        self._headers, self._broken = {}, None
        self._count = self._head_bytes = self._interim = self._quiet = 0
        self._method = request.method
        if self._parser is None:
            self._parser = httptools.HttpResponseParser(self)
        head: asyncio.Future[Response] = self._loop.create_future()
        self._head = head
        self._is_asked = True
        self._write(request)
        try:
            response = await head
        except BaseException:
            # A late answer on this connection would be taken for that of the next request.
            self.close()
            raise
        self._host = host
        return response

    def close(self) -> None:
        """Aborts the connection."""
        self._is_kept = False
        if self._upload is not None:
            self._upload.cancel()
            self._upload = None
        if self._transport is not None:
            self._transport.abort()

    # Used by the response

    def finish(self) -> None:
        host, self._host = self._host, None
        if host is None:
            return
        self._pieces.clear()
        self._buffered = 0
        self._is_asked = False
        # The answer may come before the whole body was sent: the rest would stand in front of the next request.
        if not self.is_complete or not self._is_kept or self._is_lost or self._upload is not None:
            self.close()
            host.give_back(None)
            return
        self._idle_since = self._loop.time()
        if "keep-alive" in self._headers:
            found = _IDLE.search(self._headers["keep-alive"])
            if found is not None:  # a second less: the other side's clock runs already
                self._idle_limit = int(found[1]) - 1.0
        if self._is_paused:
            self._on_read(0)
        host.give_back(self)

    def _on_read(self, size: int) -> None:
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()

    # Sending

    def _write(self, request: WrittenRequest) -> None:
        assert self._transport is not None
        body = request.body
        head = request.head if self.proxy is None else request.head_for(self.proxy)
        if not isinstance(body, bytes):
            self._transport.write(head)
            self._upload = self._loop.create_task(self._send(body, request.length))
        elif len(body) <= _TOGETHER:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._transport.write(body)

    async def _send(self, body: AsyncIterable[bytes], length: int | None) -> None:
        assert self._transport is not None
        try:
            async with aclosing(check_length(body, length)) as pieces:
                async for piece in pieces:
                    await self._room()
                    self._transport.write(piece if length is not None else b"%x\r\n%b\r\n" % (len(piece), piece))
            if length is None:
                self._transport.write(b"0\r\n\r\n")
        except Exception as error:  # of whoever gives the pieces: they hear of it where they wait
            self._upload = None
            self._fail(error)
        else:
            self._upload = None

    async def _room(self) -> None:
        while self._writable is not None and not self._is_lost:
            await self._writable

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # other loops' are not of this class

    def pause_writing(self) -> None:
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        writable, self._writable = self._writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)

    def data_received(self, data: bytes) -> None:
        if not self._is_asked or self.is_complete:
            self.close()  # nobody asked: whatever this is, it is not an answer to the next request
            return
        self.has_answered = True
        if self._head is None:
            # Trailers and the sizes of chunks bring no body: uncounted, they could go on for ever.
            self._quiet += len(data)
            self._feed(data)
            if self._quiet > _LONGEST_HEAD + _BUFFERED and not self.is_complete:
                self._fail(BrokenAnswer("the answer goes on without a body"))
        elif self._head_bytes + len(data) <= _LONGEST_HEAD:
            self._head_bytes += len(data)
            self._feed(data)
        else:
            room = _LONGEST_HEAD - self._head_bytes
            self._head_bytes = _LONGEST_HEAD
            self._feed(data[:room])
            self._feed_rest(data[room:])
        if self._buffered > _BUFFERED and self._transport is not None and not self._is_paused and not self.is_complete:
            self._is_paused = True
            self._transport.pause_reading()

    def _feed_rest(self, data: bytes) -> None:
        """Feeds bytes beyond the longest head."""
        if self._head is not None:
            self._fail(BrokenAnswer("the head of the answer is too long"))
        elif self._broken is None:
            self.data_received(data)

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail(BrokenAnswer("the answer wants to speak another protocol"))
        except httptools.HttpParserError:
            if self.is_complete:
                self._is_kept = False  # the answer is whole; what follows it is not ours
            else:
                self._fail(BrokenAnswer("the answer is no HTTP"))

    def connection_lost(self, error: Exception | None) -> None:
        self._is_lost = True
        self._parser = None
        self._poll = None
        self.resume_writing()
        if not self._is_asked or self.is_complete:
            return
        if self._head is not None:
            if self.has_answered:
                self._fail(BrokenAnswer("the answer ended before its head did"))
            else:
                self._fail(Unreachable("the connection was closed before an answer came", is_sent=True))
        elif self._is_until_closed and error is None and self._broken is None:
            self._complete()
        else:
            self._fail(BrokenAnswer("the answer ended before its length was reached"))

    # Called by the parser

    def on_message_begin(self) -> None:
        if self.is_complete:
            self._is_kept = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head is None:  # a trailer, or something nobody asked for
            return
        self._count += 1
        if self._count > _MOST_HEADERS:
            self._fail(BrokenAnswer("the answer has too many headers"))
            return
        key, text = _lower(name), value.decode("latin-1")
        before = self._headers.get(key)
        self._headers[key] = text if before is None else f"{before}, {text}"

    def on_headers_complete(self) -> None:
        if self._head is None:
            return
        status = self._parser.get_status_code()
        if status < 200:
            self._interim += 1
            self._headers = {}
            if status < 100 or status == 101 or self._interim > _MOST_INTERIM:
                self._fail(BrokenAnswer("the answer does not begin"))
            return
        try:
            self._begin(status)
        except (BrokenAnswer, ProxyRefused) as error:
            self._fail(error)

    def _begin(self, status: int) -> None:
        if self.proxy is not None and status == LOGIN_WANTED:
            raise login_error(self.proxy)
        headers, is_head = self._headers, self._method == "HEAD"
        has_body = not is_head and status not in _NO_BODY
        is_chunked = False
        if "transfer-encoding" in headers:
            coding = headers["transfer-encoding"].strip().lower()
            is_chunked = coding == "chunked"
            if has_body and not is_chunked and coding != "identity":
                raise BrokenAnswer("the answer has a transfer coding that was not requested")
        self._is_until_closed = has_body and not is_chunked and "content-length" not in headers
        self._is_kept = self._parser.should_keep_alive() and not (is_head and "transfer-encoding" in headers)
        self._give_head(status, headers, has_body)
        if is_head:  # the parser waits for what it was told of
            self._parser = None
            self._complete()

    def on_body(self, piece: bytes) -> None:
        if self.is_complete:
            self._is_kept = False
        elif self._broken is None:
            self._pieces.append(piece)
            self._buffered += len(piece)
            self._quiet = 0
            self._wake()

    def on_message_complete(self) -> None:
        if self._head is None and self._broken is None:
            self._complete()

    def _fail(self, error: Exception) -> None:
        self._break(error)
        self.close()


async def check_length(body: AsyncIterable[bytes], length: int | None) -> AsyncGenerator[bytes, None]:
    """Yields the pieces of a body, none of them empty. Raises BadRequest when their length differs from the declared
    one."""
    sent = 0
    pieces = aiter(body)
    try:
        async for piece in pieces:
            sent += len(piece)
            if length is not None and sent > length:
                raise BadRequest(f"the body is longer than the {length} bytes it was said to have")
            if piece:
                yield piece
        if length is not None and sent < length:
            raise BadRequest(f"the body has {sent} bytes and was said to have {length}")
    finally:
        close = getattr(pieces, "aclose", None)
        if close is not None:
            await close()


@lru_cache(512)
def _lower(name: bytes) -> str:
    return name.decode("latin-1").lower()
