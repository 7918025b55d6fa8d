"""One client's connection: what it sends becomes requests, which are answered one after the other."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextvars import copy_context
from itertools import chain
from typing import Any, Protocol

import httptools

from ferrule.pipeline.own_task import begun
from ferrule.servers.asgi import Answer, Header, Request, Stream
from ferrule.servers.http1.answer_text import head_text, refusal_text, whole_text
from ferrule.servers.http1.heads import Head, remember
from ferrule.servers.http1.request import Http1Request
from ferrule.servers.http1.targets import is_addressed, known_target, target_of

Respond = Callable[[Request], Awaitable[Answer | Stream | None]]
"""Answers a request; None when its client went away."""
Given = Answer | Awaitable[Answer | Stream | None] | None
RespondNow = Callable[[Request], Given]
"""Answers a request without waiting for anything. Gives its answer, or what is left to be awaited for it; None when nothing was
done."""

_HEAD_SECONDS, _BODY_SECONDS, _READING_SECONDS, _IDLE_SECONDS = 15.0, 60.0, 60.0, 75.0
_MOST_HEADERS, _HEAD_BYTES = 100, 32 * 1024
URL_BYTES = 32 * 1024
"""Of a target. Every query that the HTTP API's document allows fits in, whatever its letters."""
_LINE_BYTES = 64 * 1024
_HELD_BYTES = 64 * 1024
"""What is taken of a body before anybody wants it: nobody's bytes are held before it is known whose they are."""
_FRAMING = (b"content-length", b"transfer-encoding")
_METHODS = frozenset([b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"CONNECT", b"TRACE", b"PRI"])
"""What the parser is left alone with. With the last one HTTP/2 begins, and it is right to refuse that."""
_METHOD_BYTES = 32
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PIPELINED = _IN_A_ROW = 16
_TOGETHER_BYTES = 64 * 1024
"""Of answers that wait to be written with others; more are written at once."""
_LINGER_SECONDS, _LINGER_BYTES = 2.0, 8 * 1024**2
"""What is still taken, and thrown away, of a client that is not listened to any more: closing at once while it sends would
take the answer away from it."""
_NEVER = float("inf")
_log = logging.getLogger("ferrule.serve")


class Host(Protocol):
    """The server, as its connections see it."""

    respond: Respond
    respond_now: RespondNow | None
    loop: asyncio.AbstractEventLoop
    buffer: memoryview
    """What was just read of whichever connection."""
    is_closing: bool

    def take(self, connection: Connection) -> bool:
        """True when there is room for another connection."""

    def let_go(self, connection: Connection) -> None:
        """A connection is over."""

    def enlist(self, connection: Connection) -> None:
        """Have what a connection asks answered in the next turn."""


class Connection(asyncio.BufferedProtocol):
    """One client's connection. Its requests are answered one after the other."""

    def __init__(self, server: Host) -> None:
        self._server = server
        self._buffer = server.buffer
        self._loop = server.loop
        self._parser: Any = httptools.HttpRequestParser(self)
        self._transport: Any = None
        self.scope: dict[str, Any] = {}
        self._url = b""
        self._method = ""
        """The method of the request whose head is being read, where the parser is not told it."""
        self._headers: list[Header] = []
        self._unread_bytes = 0
        """What came since a head or a body got further: the parser keeps a line of any length until it ends."""
        self._is_between = True
        """True while the parser stands between two requests."""
        self._heads: dict[bytes, Head] = {}
        self._incoming: Http1Request | None = None
        """The request whose body is being read."""
        self._declined: Http1Request | None = None
        """The request that asked for another protocol, until its body is read in this one."""
        self._waiting: deque[Http1Request] = deque()
        self._current: Http1Request | None = None
        self._task: asyncio.Task[None] | None = None
        self._answers = bytearray()
        """What was answered in this turn and is not written yet."""
        self._is_body_wanted = False
        self._is_reading = True
        self._drained: asyncio.Future[None] | None = None
        self._failure = 0
        self._left_bytes = 0
        """What is still thrown away before the connection ends, while it is being ended."""
        self.until = _NEVER
        """When the client has been too slow with whatever is expected of it."""

    # The transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has come."""
        self._transport = transport
        self.scope = {"client": transport.get_extra_info("peername"), "server": transport.get_extra_info("sockname"),
                      "scheme": "https" if transport.get_extra_info("sslcontext") else "http"}  # fmt: skip
        self.until = self._loop.time() + _HEAD_SECONDS
        if not self._server.take(self):
            transport.write(refusal_text(503))  # type: ignore[attr-defined]
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._server.let_go(self)
        for request in (*self._waiting, *filter(None, (self._current, self._incoming))):
            request.lose()
        self._waiting.clear()
        # It and its parser and requests know each other: what is let go of here need not wait for the collector.
        self._parser = self._incoming = self._declined = None
        self.resume_writing()

    def pause_writing(self) -> None:
        """The client reads more slowly than it is written to."""
        if self._drained is None:
            self._drained = self._loop.create_future()
        self.until = self._loop.time() + _READING_SECONDS

    def resume_writing(self) -> None:
        """It has caught up."""
        drained, self._drained = self._drained, None
        self.until = _NEVER
        if drained is not None and not drained.done():
            drained.set_result(None)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where to put what is read."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """So many bytes were read."""
        self.data_received(self._buffer[:nbytes].tobytes())

    def data_received(self, data: bytes) -> None:
        """Some bytes of requests."""
        if self._failure:
            self._left_bytes -= len(data)
            if self._left_bytes < 0 and self._current is None:
                self._transport.abort()
            return
        if not (self._is_between and self._heads and self._is_known(data)):
            self._unread_bytes += len(data)
            try:
                self._feed(data)
                if self._unread_bytes > _LINE_BYTES:
                    self._fail(431)
            except httptools.HttpParserError:
                self._refuse(self._failure or 400)
                return
        if self._current is None and self._waiting:
            self._server.enlist(self)
        if len(self._waiting) > _PIPELINED:
            self._pause()

    def _is_known(self, data: bytes) -> bool:
        """True for a whole request whose head was read before: it is taken, and the parser need not see it."""
        end = data.find(b"\r\n\r\n") + 4
        head = self._heads.get(data[:end])
        if head is None or len(data) - end != head.length:
            return False
        request = Http1Request(self, head.method, head.path, head.query, head.headers, head.seen)
        request.is_kept = not self._server.is_closing
        request.of_known_head(data[end:])
        self._waiting.append(request)
        self.until = _NEVER
        return True

    def _feed(self, data: bytes) -> None:
        was_between = self._is_between
        if was_between:
            data = self._readable(data)
        try:
            self._parser.feed_data(data)
            if was_between and self._is_between:
                remember(self._heads, data, self._waiting[-1] if self._waiting else None)
            return
        except httptools.HttpParserUpgrade as upgrade:
            rest = memoryview(data)[upgrade.args[0] :]
        # Nothing is upgraded to here. The parser left the body for another protocol, so another parser reads it.
        while True:
            request = self._declined = self._waiting[-1]
            framing = [b"%b: %b\r\n" % each for each in request.headers if each[0] in _FRAMING]
            self._parser = httptools.HttpRequestParser(self)
            self._parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n" % b"".join(framing))
            try:
                self._parser.feed_data(rest)
                return
            except httptools.HttpParserUpgrade as upgrade:
                rest = rest[upgrade.args[0] :]

    def _readable(self, data: bytes) -> bytes:
        """The parser takes a method that it does not know for no HTTP. What a path can be asked for is not its to say: it is
        given one that it knows, and reads all the rest as strictly as ever."""
        method = data[: max(0, data.find(b" ", 0, _METHOD_BYTES + 1))]
        if method in _METHODS or not _TOKEN.fullmatch(method):
            return data
        self._method = method.decode("ascii")
        return b"POST" + data[len(method) :]

    def eof_received(self) -> bool:
        """A client that closes its half has gone: nobody waits for a long answer that way."""
        return False

    # The parser

    def on_message_begin(self) -> None:
        """Another request."""
        self._url, self._headers, self._unread_bytes = b"", [], 0
        self._is_between = False

    def on_url(self, url: bytes) -> None:
        """A part of its target."""
        self._url += url
        if len(self._url) > URL_BYTES:
            self._fail(414)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header."""
        headers = self._headers
        headers.append((name.lower(), value))
        if len(headers) > _MOST_HEADERS:
            self._fail(431)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        if self._declined is not None:
            self._incoming, self._declined = self._declined, None
            self._incoming.is_complete = False
            return
        try:
            url = self._url
            path, query, elsewhere = target_of(url) if b"?" in url else known_target(url)
        except (httptools.HttpParserInvalidURLError, UnicodeDecodeError):
            self._fail(400)
            return
        parser, headers = self._parser, self._headers
        if elsewhere is not None and not is_addressed(elsewhere, headers):
            self._fail(400)
        if sum(map(len, chain.from_iterable(headers))) > _HEAD_BYTES:
            self._fail(431)
        self._headers, self._unread_bytes = [], 0  # what follows the body is no header: nobody looked at it on the way
        unknown, self._method = self._method, ""
        request = Http1Request(self, unknown or parser.get_method().decode("ascii"), path, query, headers)
        # Whoever speaks strangely begins anew: what is remembered of a connection is what the parser was told.
        request.is_kept = parser.should_keep_alive() and not self._server.is_closing and not unknown
        for name, value in headers:
            if name == b"expect":
                request.expects = value.lower() == b"100-continue"
            elif name == b"transfer-encoding" and value.lower() != b"chunked":
                self._fail(501)
        if parser.get_http_version() == "1.0":
            request.is_kept = request.is_chunked = request.expects = False
        self._incoming = request
        self._is_body_wanted = False
        self._waiting.append(request)
        if self._current is None:
            self.until = self._loop.time() + _BODY_SECONDS

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._unread_bytes = 0
        if self._incoming is not None and self._incoming.put(body) > _HELD_BYTES and not self._is_body_wanted:
            self._pause()

    def on_message_complete(self) -> None:
        """The body is whole."""
        request, self._incoming = self._incoming, None
        self._unread_bytes = 0
        self._is_between = request is not None and request.is_kept
        if self._headers:
            self._headers = []
        if request is not None:
            request.complete()
            if request is self._current or self._waiting:
                self.until = _NEVER

    def _fail(self, status: int) -> None:
        self._failure = status
        raise httptools.HttpParserError

    # Answering

    def want_body(self) -> None:
        """Somebody who may send one is asked for the body."""
        self._is_body_wanted = True
        self.until = self._loop.time() + _BODY_SECONDS
        self._resume()

    def write(self, data: bytes | bytearray) -> None:
        """Send bytes, after what was answered before."""
        if self._answers:
            data, self._answers = self._answers + data, bytearray()
        if not self._transport.is_closing():
            self._transport.write(data)

    def drop(self) -> None:
        """End the connection at once, unless it has ended: asyncio does not take that in Python 3.11."""
        if self._parser is not None:
            self._transport.abort()

    def answer(self) -> None:
        """Answer requests as long as they are answered at once; what has to wait becomes a task. After a few it is the others'
        turn, however many were sent."""
        for _ in range(_IN_A_ROW):
            if not self._waiting or self._current is not None or self._task is not None:
                break
            request = self._current = self._waiting.popleft()
            given = self._given_now(request)
            if isinstance(given, Answer):
                self._keep(request, given)
            else:
                self._begin(self._answered(request, given))
        else:
            if self._waiting:
                self._server.enlist(self)
        if len(self._waiting) <= _PIPELINED:
            self._resume()

    def flush(self) -> None:
        """Write what was answered. A client that does not keep up is waited for before it is answered again."""
        if self._answers:
            self.write(b"")
            if self._drained is not None and self._task is None:
                self._begin(self._caught_up(self._drained))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        started = begun(work, self._loop)
        if isinstance(started, asyncio.Task):
            self._task = started
            started.add_done_callback(self._ended)

    def task_of(self, request: Http1Request) -> asyncio.Task[None] | None:
        """The task that answers a request, if it is this one's turn and it had to wait for something."""
        return self._task if request is self._current else None

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and task.exception() is not None:
            _log.error("a connection failed", exc_info=task.exception())
            self.drop()
        elif not self._transport.is_closing():
            self._go_on()

    def _go_on(self) -> None:
        """Answer what waits, out of turn."""
        self.answer()
        self.flush()

    def _given_now(self, request: Http1Request) -> Given:
        """What can be said at once to a request whose head is known."""
        server = self._server
        if request.seen is None or server.respond_now is None or not request.is_kept or server.is_closing:
            return None
        return copy_context().run(server.respond_now, request)

    def _keep(self, request: Http1Request, answer: Answer) -> None:
        """Take an answer that was given at once: it is written with the others of this turn."""
        self._current = None
        self._answers += whole_text(answer, is_bodiless=request.method == "HEAD", is_kept=True)
        self._rest()
        if len(self._answers) > _TOGETHER_BYTES:
            self.flush()

    async def _caught_up(self, drained: asyncio.Future[None]) -> None:
        """Wait until a client has read what was written to it."""
        await drained
        self._rest()

    def _rest(self) -> None:
        """A request is answered: its client may be idle now, for a while."""
        if self._incoming is None and not self._waiting:
            self.until = self._loop.time() + _IDLE_SECONDS

    async def _answered(self, request: Http1Request, given: Awaitable[Answer | Stream | None] | None) -> None:
        try:
            answer = await (self._server.respond(request) if given is None else given)
            if answer is None or self._transport.is_closing():
                if isinstance(answer, Stream):
                    await _closed(answer)
                elif self._failure and not self._transport.is_closing():  # its body is what could not be read
                    self._transport.abort() if request.has_begun else self._give_up(self._failure)
                return
            is_kept = request.is_kept and request.is_complete and not self._server.is_closing
            if request.has_begun:
                await answer.send(request.send)  # it ends what was begun
            elif isinstance(answer, Stream):
                await self._write_parts(request, answer)
            else:
                self._write_whole(request, answer, is_kept)
                if self._drained is not None:
                    await self._drained
            if not is_kept or self._server.is_closing:  # a stream may have outlived its server's wish to go on
                self._end(is_silent=request.is_complete)
            else:
                self._rest()
        finally:
            self._current = None

    def _write_whole(self, request: Http1Request, answer: Answer, is_kept: bool) -> None:
        self.write(whole_text(answer, is_bodiless=request.method == "HEAD", is_kept=is_kept))

    def begin(self, request: Http1Request, status: int, headers: Iterable[Header]) -> None:
        """Begin an answer in parts. HTTP/1.0 knows its end by that of the connection."""
        head = head_text(status, headers)
        head += b"transfer-encoding: chunked\r\n" if request.is_chunked else b""
        head += b"\r\n" if request.is_kept and request.is_complete else b"connection: close\r\n\r\n"
        self.write(head)
        self.until = _NEVER

    async def go_on(self, request: Http1Request, part: bytes, *, is_last: bool = False) -> None:
        """Another part of the answer; waits while the client does not keep up."""
        if request.method == "HEAD":
            return
        data = b"%x\r\n%b\r\n" % (len(part), part) if part and request.is_chunked else part
        self.write(data + b"0\r\n\r\n" if is_last and request.is_chunked else data)
        if self._drained is not None:
            await self._drained

    async def _write_parts(self, request: Http1Request, answer: Stream) -> None:
        """Write a stream. Its source is closed however it ends; a client that goes away ends it."""
        self.begin(request, answer.status, answer.headers)
        pumping = asyncio.ensure_future(self._pumped(request, answer))
        gone = asyncio.ensure_future(request.gone())
        try:
            await asyncio.wait({pumping, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (pumping, gone):
                task.cancel()
            results = await asyncio.gather(pumping, gone, return_exceptions=True)
            await _closed(answer)
        if isinstance(results[0], Exception):
            _log.error("a stream failed", exc_info=results[0])
            self.drop()  # so that nobody takes what came for the whole

    async def _pumped(self, request: Http1Request, answer: Stream) -> None:
        if request.method != "HEAD":
            async for part in answer.source:
                if part:
                    await self.go_on(request, part)
            await self.go_on(request, b"", is_last=True)

    # Reading

    def _pause(self) -> None:
        if self._is_reading and not self._transport.is_closing():
            self._is_reading = False
            self._transport.pause_reading()

    def _resume(self) -> None:
        if not self._is_reading and not self._transport.is_closing():
            self._is_reading = True
            self._transport.resume_reading()

    def _last(self) -> None:
        """Nothing after the requests so far is understood: the connection ends with their answers."""
        request = self._waiting[-1] if self._waiting else self._current
        if request is not None:
            request.is_kept = False

    def _refuse(self, status: int) -> None:
        """What came is no HTTP, or too much of it. Requests that came whole before it are answered, and nothing else is."""
        self._failure = status
        broken, self._incoming = self._incoming, None
        if broken is not None:
            broken.lose()
            if broken in self._waiting:
                self._waiting.remove(broken)
        self._last()
        if self._current is None and self._waiting:
            self._go_on()
        elif self._current is None:
            self._give_up(status)

    def _give_up(self, status: int) -> None:
        """Say that what came cannot be read, and listen no more."""
        self.write(refusal_text(status))
        self._end(is_silent=False)

    def _end(self, *, is_silent: bool) -> None:
        """End the connection; gently, unless its client has nothing more to say."""
        self._waiting.clear()
        if is_silent or self._transport.is_closing() or not self._transport.can_write_eof():
            self._transport.close()
            return
        self._failure = self._failure or 400
        self._left_bytes = _LINGER_BYTES
        self.until = self._loop.time() + _LINGER_SECONDS
        self._transport.write_eof()
        self._resume()

    def expire(self) -> None:
        """The client has been too slow."""
        if self._left_bytes:
            self._transport.abort()
        elif self.is_idle and self._incoming is None and not self._headers:
            self._transport.close()
        else:
            if self._drained is None and self._current is None:
                self.write(refusal_text(408))
            self._transport.abort() if self._drained is not None else self._transport.close()

    def finish(self) -> None:
        """The server stops: end after what is being answered."""
        self._last()
        if self._current is None and not self._waiting:
            self._transport.close()

    @property
    def is_idle(self) -> bool:
        """True while it has asked nothing that is not answered, and has taken its answers."""
        return self._current is None and not self._waiting and self._drained is None

    def abort(self) -> None:
        """End now."""
        self.drop()


async def _closed(answer: Stream) -> None:
    close = getattr(answer.source, "aclose", None)
    if close is not None:
        await close()
