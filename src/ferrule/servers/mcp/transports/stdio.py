"""MCP over a pipe: one JSON message a line, every revision, decided for each message (section 3).

Lines are taken in order. A request is answered at once; one that has to wait goes on in a task of its own, while the
next line is read (MCP-37). Only lines after an `initialize` wait until that is answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import copy_context
from typing import Any

import msgspec

from ferrule.app.surface import SurfaceHandle
from ferrule.infra.tasks import eager_tasks, resolve
from ferrule.servers.auth.callers import Caller
from ferrule.servers.mcp.methods.session_methods import encode_initialize, read_initialize, sessions_off_error
from ferrule.servers.mcp.methods.subscriptions import follow_changes
from ferrule.servers.mcp.server import Back, Exchange, McpService, RpcAnswer, encode_failure
from ferrule.servers.mcp.transports.modern import check_request, names_version, open_exchange, set_surface
from ferrule.servers.mcp.transports.pipe import LineQueue, Pipe
from ferrule.servers.mcp.transports.sessions import Finish, McpSession, OpenRequests, read_cancelled_id
from ferrule.servers.mcp.wire.messages import (
    INVALID_REQUEST,
    Message,
    Params,
    RequestId,
    RpcError,
    encode,
    error_text,
    id_of,
    is_batch,
    read_batch,
    read_message,
    result_text,
)
from ferrule.servers.mcp.wire.params import RequestParams, RoutedParams, read_params


class StdioConversation:
    """One client at the other end of a pipe. It is the way back of its session's requests, too."""

    is_pipe = True

    def __init__(self, server: McpService, caller: Caller, pipe: Pipe, new_run: Callable[[], str]) -> None:
        self._server = server
        self._caller = caller
        self._pipe = pipe
        self._new_run = new_run
        self._run_id = new_run()
        self._loop = asyncio.get_running_loop()
        self._tasks = eager_tasks()
        self._depth = server.edge.settings.limits.depth
        self._within = server.edge.settings.limits.request_seconds
        self.underway = OpenRequests()
        """Of both eras: they share the pipe."""
        self._session: McpSession | None = None
        self._handshake: asyncio.Task[RpcAnswer] | None = None
        """The task that answers `initialize`."""
        self._told_only = _NotifyOnly(self)
        self._lines = LineQueue(self._take, self._find_obstacle)

    def begin(self) -> None:
        """Starts to answer."""
        self._pipe.begin(self._lines.put)

    def _find_obstacle(self) -> asyncio.Future[Any] | None:
        """Returns what the next line has to wait for: a handshake, or a client that does not read."""
        return self._handshake or self._pipe.room()

    def _take(self, line: bytes | None) -> None:
        """Takes one line; None stands for one that was too long."""
        message: Message | None = None
        try:
            if line is None:
                raise RpcError(INVALID_REQUEST, "the line has more bytes than are taken here")
            if line[:1] != b"{" and is_batch(line):
                self._take_batch(line)
                return
            message = read_message(line, self._depth)
            # One table for the ids of both eras: they share the pipe.
            if message.kind == "request":
                if message.id in self.underway.answering:
                    self._refuse_in_use(message.id)
                self._start(message, self._send)
            else:
                self._hear(message)
        except RpcError as error:
            is_silent = message is not None and type(message.method) is str and message.id is msgspec.UNSET
            if not is_silent:  # a notification gets no response, whatever is wrong with it (MCP-19)
                self._send(error_text(id_of(message, error), error))

    def _take_batch(self, line: bytes) -> None:
        """Takes several messages in one line (MCP-21). Raises RpcError."""
        messages = read_batch(line, self._session.revision if self._session is not None else None, self._depth)
        asked = [message for message in messages if message.kind == "request"]
        # All ids before anything is done: a batch is refused whole or not at all.
        for message in asked:
            self._refuse_in_use(message.id)
        for message in messages:
            if message.kind != "request":
                self._hear(message)
        batch = _Batch(self._send, len(asked))
        for message in asked:
            self._start(message, batch.put)

    def _refuse_in_use(self, request_id: RequestId) -> None:
        """Refuses a second request with the id of one in flight (MCP-17). Raises RpcError."""
        if self.underway.has(request_id):
            error = RpcError(INVALID_REQUEST, "a request with this id is being answered")
            error.request_id = request_id
            raise error

    def _hear(self, message: Message) -> None:
        """Takes a response or a notification."""
        if message.kind == "response":
            self.underway.take_answer(message)
        elif message.method == "notifications/cancelled":
            self.underway.cancel(read_cancelled_id(message))
        elif self._session is not None:
            self._session.take_notification(message)
            if self._session.is_initialized and not self._session.hears_changes:
                self._follow_changes(self._session)

    def _follow_changes(self, session: McpSession) -> None:
        """Notifies the session of changes, from now on (MCP-78, MCP-240)."""
        surface = session.current
        if surface is not None and self._server.settings.changes:
            exchange = Exchange(
                self._server, self._caller, surface, session.revision, 0, client=session.client, session=session
            )
            session.hears_changes = True
            session.closing.append(follow_changes(exchange, self._send))

    # Requests

    def _start(self, message: Message, finish: Finish) -> None:
        """Answers a request in a context of its own: now, or in a task when it has to wait."""
        context = copy_context()  # of its own, so that what a tool sets is not seen by the next request
        answered = self._tasks.begin(context, self._answer, message)
        if isinstance(answered, RpcAnswer):
            finish(answered.text)
        elif message.method == "initialize":  # the one request that cannot be cancelled (MCP-94)
            self._handshake = self._loop.create_task(answered, context=context)
            # Added before any line waits for it, so the response is sent before the lines behind it are taken.
            self._handshake.add_done_callback(self._end_handshake)
        else:
            self.underway.start(message.id, answered, context, finish)

    def _end_handshake(self, task: asyncio.Task[RpcAnswer]) -> None:
        self._handshake = None
        if not task.cancelled():
            self._send(task.result().text)

    def _answer(self, message: Message) -> RpcAnswer | Coroutine[Any, Any, RpcAnswer]:
        """Answers a request by the rules of its era (MCP-10); a failure becomes an error response."""
        try:
            params = read_params(message)
            if message.method == "server/discover" or names_version(params):
                return self._run(message, self._open_modern(message, params), self._told_only)
            if message.method == "initialize":
                if not self._server.settings.sessions:
                    raise sessions_off_error(message)
                return self._initialize(message)
            if self._session is not None:
                opened = self._session.open_exchange(self._server, self._caller, message, params)
                return self._run(message, opened, self)
            if message.method == "ping":
                return RpcAnswer(result_text(message.id, b"{}"))
            raise RpcError(INVALID_REQUEST, "initialize comes first, or _meta that says which revision it is")
        except Exception as error:
            return encode_failure(message.id, message.method, error)

    def _open_modern(self, message: Message, params: RequestParams | RoutedParams) -> Exchange | Awaitable[Exchange]:
        exchange = open_exchange(self._server, self._caller, message, params)
        check_request(exchange, message, params)
        surface = self._server.edge.surface(self._caller, exchange.meta.run or self._run_id, "mcp")
        if isinstance(surface, SurfaceHandle):
            return set_surface(exchange, surface)
        return self._wait_for_surface(exchange, surface)

    async def _wait_for_surface(self, exchange: Exchange, surface: Awaitable[SurfaceHandle]) -> Exchange:
        return set_surface(exchange, await surface)

    def _run(
        self, message: Message, opened: Exchange | Awaitable[Exchange], back: Back
    ) -> RpcAnswer | Coroutine[Any, Any, RpcAnswer]:
        if not isinstance(opened, Exchange):
            return self._open_and_run(message, opened, back)
        opened.back = back
        return self._server.answer(opened, message)

    async def _open_and_run(self, message: Message, opened: Awaitable[Exchange], back: Back) -> RpcAnswer:
        try:
            return await resolve(self._run(message, await opened, back))
        except Exception as error:
            return encode_failure(message.id, message.method, error)

    async def _initialize(self, message: Message) -> RpcAnswer:
        try:
            revision, client = read_initialize(message)
            session = McpSession("", self._caller, revision, client, self._pipe.send, run_id=self._new_run())
            session.underway = self.underway
            surface = await resolve(session.surface(self._server.edge, self._caller))
            exchange = Exchange(
                self._server, self._caller, surface, revision, message.id, client=client, session=session
            )
            result = encode(encode_initialize(exchange))
            if self._session is not None:
                # This also stops requests in flight: the sessions of a pipe share `underway`.
                await self._session.aclose()
            self._session = session
            return RpcAnswer(result_text(message.id, result))
        except Exception as error:
            return encode_failure(message.id, message.method, error)

    def _send(self, text: bytes) -> None:
        if text:
            # Between two JSON tokens; inside of strings there are none (MCP-28).
            self._pipe.send(text.replace(b"\n", b" ") if b"\n" in text else text)

    async def tell(self, text: bytes) -> None:
        """Sends a notification; waits while the client does not read."""
        self._send(text)
        await self._pipe.drain()

    async def ask(self, method: str, params: Params | None) -> Any:
        """Asks the client of the session. Raises RpcError."""
        assert self._session is not None
        return await self._session.ask(self._send, method, params, self._within)

    async def wait_until_idle(self, within: float) -> None:
        """Waits until everything is answered, at most `within` seconds."""
        until = self._loop.time() + within
        while (self.underway or self._handshake or not self._lines.is_idle) and self._loop.time() < until:
            await asyncio.sleep(0.005)

    async def aclose(self) -> None:
        """Stops requests in flight."""
        self._lines.close()
        left = self.underway.aclose()
        if self._handshake is not None:
            self._handshake.cancel()
            left.append(self._handshake)
        if self._session is not None:
            await self._session.aclose()
        if left:
            await asyncio.wait(left, timeout=1)


class _NotifyOnly:
    """The way back in the revision without sessions: its clients are never asked anything (MCP-23, MCP-34)."""

    is_pipe = True

    def __init__(self, conversation: StdioConversation) -> None:
        self.tell = conversation.tell

    async def ask(self, method: str, params: Params | None) -> Any:
        """Refuses: this revision has no requests to the client."""
        raise RpcError(INVALID_REQUEST, "this client cannot be asked here")


class _Batch:
    """Gathers the responses to the requests of one batch."""

    def __init__(self, send: Finish, count: int) -> None:
        self._send = send
        self._left = count
        self._texts: list[bytes] = []

    def put(self, text: bytes) -> None:
        """Takes one response; empty for a cancelled request."""
        self._left -= 1
        if text:
            self._texts.append(text)
        if not self._left and self._texts:
            self._send(b"[%b]" % b",".join(self._texts))
