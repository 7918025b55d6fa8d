"""MCP over a pipe: one JSON message a line, every revision, decided for each message (section 3).

The lines of one read are taken in order. A request that is answered at once is answered at once; one that takes its time goes
on by itself, and the next line is looked at meanwhile (MCP-37).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import msgspec

from ferrule.app.surface import SurfaceHandle
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.mcp.methods.session_methods import agreed, initialized, sessionless
from ferrule.servers.mcp.methods.subscriptions import follow_changes
from ferrule.servers.mcp.methods.tools_call import METHOD, Begun, answered_at_once, finished
from ferrule.servers.mcp.server import Exchange, McpServer, Silent
from ferrule.servers.mcp.transports.modern import checked
from ferrule.servers.mcp.transports.modern import exchange_of as modern_exchange_of
from ferrule.servers.mcp.transports.pipe import Answer, Job, Pipe, Relay
from ferrule.servers.mcp.transports.plain_calls import (
    Call,
    PlainCall,
    PlainMeta,
    answer_plain,
    exchange_of,
    plain_line,
    plain_session_call,
)
from ferrule.servers.mcp.transports.sessions import Session, Underway, cancelled_id
from ferrule.servers.mcp.wire.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    META_VERSION,
    MODERN,
    Message,
    Params,
    RequestId,
    RpcError,
    batch_of,
    decoded,
    encode,
    error_text,
    id_of,
    is_batch,
    result_text,
)

_log = logging.getLogger("ferrule.mcp")
_MODERN_MARK = META_VERSION.encode()


class StdioConversation:
    """One client at the other end of a pipe. It is the way back of the requests of its session, too."""

    is_pipe = True

    def __init__(self, server: McpServer, caller: Caller, pipe: Pipe, new_run: Callable[[], str]) -> None:
        self._server = server
        self._caller = caller
        self._pipe = pipe
        self._new_run = new_run
        self._run_id = new_run()
        self._loop = asyncio.get_running_loop()
        self._depth = server.edge.settings.limits.depth
        self._within = server.edge.settings.limits.request_seconds
        self.underway = Underway()
        """Of both eras: they share the pipe."""
        self._session: Session | None = None
        self._told_only = _ToldOnly(self)
        self._relay = Relay(self._jobs_in, self._waits, pipe.flush, pipe.room)

    def begin(self) -> None:
        """Answer from now on."""
        self._relay.begin()
        self._pipe.begin(self._relay.take)

    def _jobs_in(self, line: bytes | None) -> list[Job]:
        """The requests in a line; None for one that was too long. The rest of it is done."""
        message: Message | None = None
        try:
            session = self._session
            if line is not None and _MODERN_MARK in line and (plain := plain_line(line, self._depth)) is not None:
                self._refuse_in_use(plain[0].id)
                return self._called_plainly(*plain)
            if line is not None and session is not None and (call := plain_session_call(line)) is not None:
                self._refuse_in_use(call.id)
                return self._called(session, call)
            if line is None:
                raise RpcError(INVALID_REQUEST, "the line has more bytes than are taken here")
            if is_batch(line):
                return self._jobs_of(line)
            message = decoded(line, self._depth)
            if message.kind != "request":
                self._hear(message)
                return []
            self._refuse_in_use(message.id)
            return [Job(message.id, message.method, self._answered(message), self._send)]
        except RpcError as error:
            is_silent = message is not None and type(message.method) is str and message.id is msgspec.UNSET
            if not is_silent:  # a notification gets no response, whatever is wrong with it (MCP-19)
                self._send(error_text(id_of(message, error), error))
            return []

    def _jobs_of(self, line: bytes) -> list[Job]:
        """The requests in a batch (MCP-21). Raises RpcError."""
        messages = batch_of(line, self._session.revision if self._session is not None else None, self._depth)
        asked = [message for message in messages if message.kind == "request"]
        for message in asked:
            self._refuse_in_use(message.id)
        for message in messages:
            if message.kind != "request":
                self._hear(message)
        batch = _Batch(self._send, len(asked))
        return [Job(message.id, message.method, self._answered(message), batch.answer) for message in asked]

    def _refuse_in_use(self, request_id: RequestId) -> None:
        """Two requests that cannot be told apart are not answered (MCP-17). Raises RpcError."""
        if self.underway.has(request_id):
            error = RpcError(INVALID_REQUEST, "a request with this id is being answered")
            error.request_id = request_id
            raise error

    def _waits(self, job: Job, task: asyncio.Task[bytes]) -> None:
        """A request takes its time. Every one can be cancelled, but not the handshake (MCP-94)."""
        if job.method != "initialize":
            self.underway.add(job.request_id, task)
        task.add_done_callback(lambda _: job.answer(b"" if self.underway.is_dropped(task) else task.result()))

    def _hear(self, message: Message) -> None:
        """What is no request."""
        if message.kind == "response":
            self.underway.answered(message)
        else:
            self._heard(message)

    def _heard(self, message: Message) -> None:
        if message.method == "notifications/cancelled":
            self.underway.cancel(cancelled_id(message))
        elif self._session is not None:
            self._session.heard(message)
            if self._session.is_initialized and not self._session.hears_changes:
                self._follow_changes(self._session)

    def _follow_changes(self, session: Session) -> None:
        """Tell the session of changes, from now on (MCP-78, MCP-240)."""
        surface = session.current
        if surface is not None and self._server.settings.changes:
            exchange = Exchange(
                self._caller, surface, session.revision, 0, Silent(), client=session.client, session=session
            )
            session.hears_changes = True
            session.closing.append(follow_changes(self._server, exchange, self._send))

    # Which rules a request goes by (MCP-10)

    async def _answered(self, message: Message) -> bytes:
        try:
            if message.method == "server/discover" or _is_modern(message):
                return await self._modern(message)
            if message.method == "initialize":
                if not self._server.settings.sessions:
                    raise sessionless(message)
                return await self._initialize(message)
            session = self._session
            if session is None:
                if message.method == "ping":
                    return result_text(message.id, b"{}")
                raise RpcError(INVALID_REQUEST, "initialize comes first, or _meta that says which revision it is")
            exchange = await exchange_of(self._server.edge, session, self._caller, message, self)
            return (await self._server.answer(exchange, message)).text
        except RpcError as error:
            return error_text(message.id, error)
        except Refused as refused:
            return error_text(message.id, RpcError(INTERNAL_ERROR, refused.reason))
        except Exception:  # a mistake of ours: the client learns that there was one, the log what it was
            _log.exception("%s could not be answered", message.method)
            return error_text(message.id, RpcError(INTERNAL_ERROR, "the server failed; its log tells why"))

    async def _initialize(self, message: Message) -> bytes:
        revision, client = agreed(message)
        session = Session("", self._caller, revision, client, self._pipe.send, run_id=self._new_run())
        session.underway = self.underway
        surface = await session.surface(self._server.edge, self._caller)
        exchange = Exchange(self._caller, surface, revision, message.id, Silent(), client=client, session=session)
        result = encode(initialized(self._server, exchange))
        if self._session is not None:
            await self._session.aclose()
        self._session = session
        return result_text(message.id, result)

    async def _modern(self, message: Message) -> bytes:
        said = checked(message)
        surface = await self._server.edge.surface(self._caller, said.run_id or self._run_id, "mcp")
        exchange = modern_exchange_of(message, said, self._caller, surface, self._told_only)
        return (await self._server.answer(exchange, message)).text

    def _called_plainly(self, call: Call, meta: PlainMeta) -> list[Job]:
        """A call of the revision without sessions that is plainly right: answered, or what is left to do of it."""
        surface = self._server.edge.handle(self._caller, meta.said.run or self._run_id, "mcp")
        begun = self._begun(surface, MODERN, call) if surface is not None and meta.is_bare else None
        if isinstance(begun, bytes):
            self._send(begun)
            return []
        return [Job(call.id, METHOD, self._gone_on_plainly(call, meta, begun), self._send)]

    def _begun(self, surface: SurfaceHandle, revision: str, call: Call | PlainCall) -> bytes | Begun | None:
        """Make a call in a context of its own, as far as it goes without waiting."""
        return copy_context().run(answered_at_once, self._server, self._caller, surface, revision, call.id, call.params)

    async def _gone_on_plainly(self, call: Call, meta: PlainMeta, begun: Begun | None) -> bytes:
        said, edge = meta.said, self._server.edge
        try:
            run_id = said.run or self._run_id
            surface = edge.handle(self._caller, run_id, "mcp") or await edge.surface(self._caller, run_id, "mcp")
        except Refused as refused:
            return error_text(call.id, RpcError(INTERNAL_ERROR, refused.reason))
        exchange = Exchange(
            self._caller,
            surface,
            MODERN,
            call.id,
            self._told_only,
            client=meta.client,
            progress_token=said.progress_token,
            idempotency_key=said.idempotency_key,
            traceparent=said.traceparent,
        )
        work = finished(self._server, exchange, call.params, begun)
        return (await self._server.answered(exchange, METHOD, work)).text

    def _called(self, session: Session, call: PlainCall) -> list[Job]:
        """The same in a session."""
        surface = session.current
        assert surface is not None
        begun = self._begun(surface, session.revision, call) if session.log_level is None else None
        if isinstance(begun, bytes):
            self._send(begun)
            return []
        return [Job(call.id, METHOD, self._gone_on(session, surface, call, begun), self._send)]

    async def _gone_on(self, session: Session, surface: SurfaceHandle, call: PlainCall, begun: Begun | None) -> bytes:
        return (await answer_plain(self._server, session, self._caller, surface, call, self, begun)).text

    def _send(self, text: bytes) -> None:
        if text:
            # Between two JSON tokens; inside of strings there are none (MCP-28).
            self._pipe.send(text.replace(b"\n", b" ") if b"\n" in text else text)

    async def tell(self, text: bytes) -> None:
        """Send a notification; wait while the client does not read."""
        self._send(text)
        await self._pipe.drained()

    async def ask(self, method: str, params: Params | None) -> Any:
        """Ask the client of the session. Raises RpcError."""
        assert self._session is not None
        return await self._session.ask(self._send, method, params, self._within)

    async def finished(self, within: float) -> None:
        """Wait until everything is answered, but not for long."""
        until = self._loop.time() + within
        while (self.underway or not self._relay.is_idle) and self._loop.time() < until:
            await asyncio.sleep(0.005)

    async def aclose(self) -> None:
        """Stop what is being answered."""
        self._relay.aclose()
        if self._session is not None:
            await self._session.aclose()
        left = self.underway.aclose()
        if left:
            await asyncio.wait(left, timeout=1)


class _ToldOnly:
    """The way back in the revision without sessions: its clients are never asked anything (MCP-23, MCP-34)."""

    is_pipe = True

    def __init__(self, conversation: StdioConversation) -> None:
        self.tell = conversation.tell

    async def ask(self, method: str, params: Params | None) -> Any:
        """Nobody can be asked."""
        raise RpcError(INVALID_REQUEST, "this client cannot be asked here")


class _Batch:
    """Gathers the responses to the requests of one batch."""

    def __init__(self, send: Answer, count: int) -> None:
        self._send = send
        self._left = count
        self._texts: list[bytes] = []

    def answer(self, text: bytes) -> None:
        """One of them; empty for a request that needs none any more."""
        self._left -= 1
        if text:
            self._texts.append(text)
        if not self._left and self._texts:
            self._send(b"[%b]" % b",".join(self._texts))


class _Asked(msgspec.Struct, gc=False):
    meta: Any = msgspec.field(default=None, name="_meta")


def _is_modern(message: Message) -> bool:
    """True for a request that names its revision itself (MCP-10)."""
    params = message.params
    if not isinstance(params, msgspec.Raw) or _MODERN_MARK not in bytes(params):
        return False
    try:
        meta = msgspec.json.decode(params, type=_Asked).meta
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(meta, dict) and META_VERSION in meta
