"""One client's connection: what it sends becomes requests, which are answered one after the other."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextvars import Context, copy_context
from typing import Any, Protocol, TypeAlias

from ferrule.infra.tasks import EagerTasks
from ferrule.servers.asgi import Header, HttpAnswer, HttpRequest, HttpStream
from ferrule.servers.http1.answer_text import head_text, refusal_text, whole_text
from ferrule.servers.http1.reader import MalformedRequest, RequestReader
from ferrule.servers.http1.request import Http1Request

Response: TypeAlias = HttpAnswer | Awaitable[HttpAnswer | HttpStream | None]
"""An answer, or something to await for one, which gives None when the client went away."""
Respond: TypeAlias = Callable[[HttpRequest], Response]
"""Answers a request."""

_HEAD_SECONDS, _BODY_SECONDS, _READING_SECONDS, _IDLE_SECONDS = 15.0, 60.0, 60.0, 75.0
_HELD_BYTES = 64 * 1024
"""What is taken of a body before anybody wants it: nobody's bytes are held before it is known whose they are."""
_PIPELINED = _IN_A_ROW = 16
_TOGETHER_BYTES = 64 * 1024
"""Of answers that wait to be written with others; more are written at once."""
_LINGER_SECONDS, _LINGER_BYTES = 2.0, 8 * 1024**2
"""What is still taken, and thrown away, of a client that is not listened to any more: closing at once while it sends would
take the answer away from it."""
_LEAST_READ_BYTES = 64 * 1024
"""What a client takes of its answers in the time it has for reading, if it is just slow."""
_NEVER = float("inf")
_log = logging.getLogger("ferrule.serve")


class ConnectionHost(Protocol):
    """The server, as its connections see it."""

    respond: Respond
    tasks: EagerTasks
    loop: asyncio.AbstractEventLoop
    now: float
    """When it last looked at the clock, within a second."""
    buffer: memoryview
    """What was just read of whichever connection."""
    is_closing: bool

    def take(self, connection: ServerConnection) -> bool:
        """True when there is room for another connection."""

    def remove(self, connection: ServerConnection) -> None:
        """A connection is over."""

    def schedule(self, connection: ServerConnection) -> None:
        """Have what a connection asks answered in the next turn."""


class ServerConnection(asyncio.BufferedProtocol):
    """One client's connection. Its requests are answered one after the other."""

    def __init__(self, server: ConnectionHost) -> None:
        self._server = server
        self._buffer = server.buffer
        self._loop = server.loop
        self.reader = RequestReader(self)
        self._transport: Any = None
        self.scope: dict[str, Any] = {}
        self._waiting: deque[Http1Request] = deque()
        self._current: Http1Request | None = None
        self._task: asyncio.Task[None] | None = None
        self._owes_answer = False
        """True while a task has an answer to deliver."""
        self._answers = bytearray()
        """What was answered in this turn and is not written yet."""
        self._is_body_wanted = self._is_body_held = False
        self._is_reading = True
        self._drained: asyncio.Future[None] | None = None
        """Done when the client has read what was written to it; None while it keeps up."""
        self._unread_bytes = 0
        self._failure = 0
        self._is_over = False
        self._left_bytes: int | None = None
        """What is still thrown away before the connection ends, while it is being ended."""
        self._until = _NEVER
        """When the client has been too slow to send what is expected of it, or to leave."""
        self._read_until = _NEVER
        """When it has been too slow to read."""

    # The transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has come."""
        self._transport = transport
        self.scope = {"client": transport.get_extra_info("peername"), "server": transport.get_extra_info("sockname"),
                      "scheme": "https" if transport.get_extra_info("sslcontext") else "http"}  # fmt: skip
        self._until = self._loop.time() + _HEAD_SECONDS
        if not self._server.take(self):
            transport.write(refusal_text(503))  # type: ignore[attr-defined]
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._server.remove(self)
        for request in (*self._waiting, *filter(None, (self._current, self.reader.incoming))):
            request.lose()
        self._waiting.clear()
        self.reader.close()
        # Before resume_writing, which wakes a waiting task: nothing may be scheduled for a client that is gone.
        self._is_over = True
        self.resume_writing()

    def pause_writing(self) -> None:
        """The client reads more slowly than it is written to."""
        if self._drained is None:
            self._drained = self._loop.create_future()
        self._unread_bytes = self._transport.get_write_buffer_size()
        self._read_until = self._loop.time() + _READING_SECONDS

    def resume_writing(self) -> None:
        """It has caught up."""
        drained, self._drained = self._drained, None
        self._read_until = _NEVER
        if drained is not None and not drained.done():
            drained.set_result(None)
        if self._left_bytes is not None:
            self._until = self._loop.time() + _LINGER_SECONDS
        elif self._current is None and not self._is_over:
            self._rest()
            self._server.schedule(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where to put what is read."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Takes so many bytes, which were read into the buffer."""
        # A copy: the next read of any connection overwrites the shared buffer.
        self.data_received(self._buffer[:nbytes].tobytes())

    def data_received(self, data: bytes) -> None:
        """Takes some bytes of requests."""
        if self._failure:
            self._throw_away(data)
            return
        try:
            self.reader.take(data)
        except MalformedRequest as problem:
            self._refuse(problem.status)
            return
        if self._waiting and self._current is None and self._drained is None:
            self._server.schedule(self)
        if len(self._waiting) > _PIPELINED:
            self._pause()

    def _throw_away(self, data: bytes) -> None:
        if self._left_bytes is not None:
            self._left_bytes -= len(data)
            if self._left_bytes < 0:
                self._transport.abort()

    def eof_received(self) -> bool:
        """A client that closes its half has gone: nobody waits for a long answer that way."""
        return False

    # The reader

    @property
    def is_kept(self) -> bool:
        """False when it ends with the next answer, whatever its client says."""
        return not self._server.is_closing

    def take_request(self, request: Http1Request) -> None:
        """Takes a request that came with its body."""
        if self._server.is_closing:
            request.is_kept = False
        self._waiting.append(request)
        self._until = _NEVER

    def begin_request(self, request: Http1Request) -> None:
        """The head of a request is whole."""
        self._is_body_wanted = False
        self._waiting.append(request)
        if self._current is None:
            self._until = self._loop.time() + _BODY_SECONDS

    def note_waiting_body(self, size: int) -> None:
        """So much of the body of the last request waits to be taken."""
        if size > _HELD_BYTES and not self._is_body_wanted:
            self._is_body_held = True
            self._pause()

    def complete(self, request: Http1Request) -> None:
        """The body of a request is whole."""
        self._is_body_held = False
        if request is self._current or self._waiting:
            self._until = _NEVER

    # Answering

    def want_body(self) -> None:
        """Asks the client for the body, now that its caller may send one."""
        self._is_body_wanted, self._is_body_held = True, False
        self._until = self._loop.time() + _BODY_SECONDS
        self._resume()

    def write(self, data: bytes | bytearray) -> None:
        """Send bytes, after what was answered before."""
        if self._answers:
            data, self._answers = self._answers + data, bytearray()
        if not self._transport.is_closing():
            self._transport.write(data)

    def drop(self) -> None:
        """End the connection at once, unless it has ended: asyncio does not take that in Python 3.11."""
        if not self._is_over:
            self._transport.abort()

    def answer(self) -> None:
        """Answers requests as long as they are answered at once, and their client takes the answers; one that has to wait
        becomes a task, in the context in which it began. After a few it is the others' turn, however many were sent."""
        server, waiting, left = self._server, self._waiting, _IN_A_ROW
        while waiting and self._current is None and self._task is None and self._drained is None:
            if not left:
                server.schedule(self)
                break
            left -= 1
            request = self._current = waiting.popleft()
            context = copy_context()  # of its own, so that what a tool sets is not seen by the next request
            response = server.tasks.begin(context, server.respond, request)
            if isinstance(response, HttpAnswer) and self._goes_on_after(request):
                self._keep(request, response)
            else:
                self._start(request, response, context)
        if not self._is_reading and len(waiting) <= _PIPELINED:
            self._resume()

    def flush(self) -> None:
        """Writes what was answered."""
        answers = self._answers
        if answers:
            self._answers = bytearray()  # first, so that `write` has nothing to put before them
            self.write(answers)

    def _start(self, request: Http1Request, response: Response, context: Context) -> None:
        self._owes_answer = True
        self._task = self._server.tasks.go_on(self._deliver(request, response), context)
        self._task.add_done_callback(self._end_task)

    def task_of(self, request: Http1Request) -> asyncio.Task[None] | None:
        """The task that answers a request, if it is this one's turn and it had to wait for something."""
        return self._task if request is self._current else None

    def _end_task(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if task.cancelled() and self._owes_answer:  # a tool cancelled its own task: nobody waits for an answer in vain
            self.drop()
        elif not task.cancelled() and task.exception() is not None:
            _log.error("a connection failed", exc_info=task.exception())
            self.drop()
        elif self._waiting and not self._transport.is_closing():
            self._server.schedule(self)

    def _goes_on_after(self, request: Http1Request) -> bool:
        """True when the connection goes on after the answer to a request."""
        return request.is_kept and request.is_complete and not self._server.is_closing

    def _keep(self, request: Http1Request, answer: HttpAnswer) -> None:
        """Keeps an answer after which the connection goes on: it is written with the others of a turn."""
        self._current, self._owes_answer = None, False
        self._answers += whole_text(answer, is_bodiless=request.method == "HEAD", is_kept=True)
        self._rest()
        if len(self._answers) > _TOGETHER_BYTES:
            self.flush()

    def _rest(self) -> None:
        """Gives an idle client its time: a request is answered."""
        if self.reader.incoming is None and not self._waiting and self._left_bytes is None:
            self._until = self._server.now + _IDLE_SECONDS

    async def _deliver(self, request: Http1Request, response: Response) -> None:
        """Waits for the answer to a request, and writes it."""
        try:
            answer = response if isinstance(response, HttpAnswer) else await response
            if answer is None or self._transport.is_closing():
                if isinstance(answer, HttpStream):
                    await _closed(answer)
                elif self._failure and not self._transport.is_closing():  # its body is what could not be read
                    self._transport.abort() if request.has_begun else self._give_up(self._failure)
                return
            is_kept = self._goes_on_after(request)
            if request.has_begun:
                await answer.send(request.send)  # it ends what was begun
            elif isinstance(answer, HttpStream):
                await self._write_parts(request, answer)
            elif is_kept:
                self._keep(request, answer)
                self._server.schedule(self)  # it is not the turn of this connection
                return
            else:
                self.write(whole_text(answer, is_bodiless=request.method == "HEAD", is_kept=False))
                if self._drained is not None:
                    await self._drained
            if not is_kept or self._server.is_closing:  # a stream may have outlived its server's wish to go on
                self._end(is_silent=request.is_complete and not self._failure)
            else:
                self._rest()
            self._owes_answer = False
        finally:
            self._current = None

    def begin(self, request: Http1Request, status: int, headers: Iterable[Header]) -> None:
        """Begin an answer in parts. HTTP/1.0 knows its end by that of the connection."""
        head = head_text(status, headers)
        head += b"transfer-encoding: chunked\r\n" if request.is_chunked else b""
        head += b"\r\n" if request.is_kept and request.is_complete else b"connection: close\r\n\r\n"
        self.write(head)
        self._until = _NEVER

    async def go_on(self, request: Http1Request, part: bytes, *, is_last: bool = False) -> None:
        """Another part of the answer; waits while the client does not keep up."""
        if request.method == "HEAD":
            return
        # An empty chunk is the end of a chunked body, so an empty part must not become one.
        data = b"%x\r\n%b\r\n" % (len(part), part) if part and request.is_chunked else part
        self.write(data + b"0\r\n\r\n" if is_last and request.is_chunked else data)
        if self._drained is not None:
            await self._drained

    async def _write_parts(self, request: Http1Request, answer: HttpStream) -> None:
        """Writes a stream. Its source is closed however it ends; a client that goes away ends it."""
        self.begin(request, answer.status, answer.headers)
        pumping = asyncio.ensure_future(self._pump(request, answer))
        gone = asyncio.ensure_future(request.wait_until_gone())
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

    async def _pump(self, request: Http1Request, answer: HttpStream) -> None:
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
        if not self._is_reading and not self._is_body_held and not self._transport.is_closing():
            self._is_reading = True
            self._transport.resume_reading()

    def _last(self) -> None:
        """Makes the connection end with the answers to the requests so far."""
        request = self._waiting[-1] if self._waiting else self._current
        if request is not None:
            request.is_kept = False

    def _refuse(self, status: int) -> None:
        """Refuses bytes that are no HTTP, or too many. Answers the requests that came whole before them, and nothing else."""
        self._failure = status
        broken, self.reader.incoming = self.reader.incoming, None
        if broken is not None:
            # Wakes whoever reads its body: the rest will not come.
            broken.lose()
            if broken in self._waiting:
                self._waiting.remove(broken)
        self._last()
        if self._current is None and self._waiting:
            self._server.schedule(self)
        elif self._current is None:
            self._give_up(status)

    def _give_up(self, status: int) -> None:
        """Answers that the bytes cannot be read, and listens no more."""
        self.write(refusal_text(status))
        self._end(is_silent=False)

    def _end(self, *, is_silent: bool) -> None:
        """Ends the connection; gently, unless its client has nothing more to say."""
        self._waiting.clear()
        if is_silent or self._transport.is_closing() or not self._transport.can_write_eof():
            self._close()
            return
        # Any failure makes `data_received` throw away what still comes.
        self._failure = self._failure or 400
        self._left_bytes = _LINGER_BYTES
        # Whoever has not read the answer yet is given the time to.
        self._until = _NEVER if self._drained is not None else self._loop.time() + _LINGER_SECONDS
        self._is_body_held = False
        # Only our half is closed, and reading goes on: unread bytes would make the system reset the connection,
        # and the client would lose the answer.
        self._transport.write_eof()
        self._resume()

    def _close(self) -> None:
        """Ends the connection when its client has read what was written."""
        self._until = self._loop.time() + _READING_SECONDS
        self._transport.close()

    @property
    def until(self) -> float:
        """When the client has been too slow with whatever is expected of it."""
        return min(self._until, self._read_until)

    def expire(self) -> None:
        """Ends a connection whose client has been too slow."""
        now = self._loop.time()
        is_asking = self._current is not None or self.reader.incoming is not None or bool(self.reader.headers)
        if self._read_until <= now and not self._is_taking(now):
            self._transport.abort()
        elif self._until > now:
            return
        elif self._left_bytes is not None or self._transport.is_closing():
            self._transport.abort()
        elif is_asking:
            # Amid another answer a 408 would be read as part of that one.
            if self._drained is None and self._current is None:
                self.write(refusal_text(408))
            # close() waits until the client has read everything; one that does not read never lets it end.
            self._transport.abort() if self._drained is not None else self._close()
        elif self._drained is None:
            self._close()

    def _is_taking(self, now: float) -> bool:
        """True for a client that reads, if slowly: it is given more time."""
        left = self._transport.get_write_buffer_size()
        if left > self._unread_bytes - _LEAST_READ_BYTES:
            return False
        self._unread_bytes, self._read_until = left, now + _READING_SECONDS
        return True

    def finish(self) -> None:
        """Ends the connection after the request in progress: the server stops."""
        self._last()
        if self._current is None and not self._waiting:
            self.flush()
            self._close()

    @property
    def is_idle(self) -> bool:
        """True while it has asked nothing that is not answered, and has taken its answers."""
        return self._current is None and not self._waiting and not self._answers and self._drained is None

    def abort(self) -> None:
        """End now."""
        self.drop()


async def _closed(answer: HttpStream) -> None:
    close = getattr(answer.source, "aclose", None)
    if close is not None:
        await close()
