"""Sessions over HTTP: which session a request belongs to, and how its answer travels (sections 6 and 7).

A request is answered as one JSON object when nothing has to be told before, and as a stream of events as soon as something
has: progress, a log message, a question to the client, or that it takes a while. Work does not end with a connection (MCP-85).
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from ferrule.app.surface import SurfaceHandle
from ferrule.servers.asgi import JSON, Answer, Request, Stream
from ferrule.servers.auth.callers import Caller
from ferrule.servers.mcp.methods.changes import hub_of
from ferrule.servers.mcp.methods.session_methods import agreed, initialized
from ferrule.servers.mcp.methods.subscriptions import follow_changes
from ferrule.servers.mcp.methods.tools_call import Begun, answered_at_once
from ferrule.servers.mcp.server import Exchange, McpServer, Silent
from ferrule.servers.mcp.transports.plain_calls import PlainCall, answer_plain, exchange_of, plain_session_call
from ferrule.servers.mcp.transports.session_ids import SessionIds
from ferrule.servers.mcp.transports.session_post import Post
from ferrule.servers.mcp.transports.session_store import HttpSession, SessionStore
from ferrule.servers.mcp.transports.streams import FROM_THE_BEGINNING, Carried, EventStream
from ferrule.servers.mcp.wire.answer_forms import HEADERS, accepted_by
from ferrule.servers.mcp.wire.messages import (
    INVALID_REQUEST,
    Message,
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

SESSION = b"mcp-session-id"
_COMES_BACK_SECONDS = 10.0
"""How long a connection is held, at least, that takes up a stream again."""


class SessionEndpoint:
    """The revisions with sessions, at the path they share with the one without."""

    def __init__(self, server: McpServer) -> None:
        self.server = server
        app = server.app
        settings = server.edge.settings
        ids = SessionIds(app.services.sealing.secret, app.root, idle_seconds=settings.mcp.session_seconds)
        self.store = SessionStore(settings, lambda: app.new_id("run"), ids)
        server.edge.ending.append(self.store.end_streams)
        server.edge.closing.append(self.store.aclose)

    async def __call__(self, request: Request, caller: Caller) -> Answer | Stream:
        """Answer one request of an authenticated caller."""
        match request.method:
            case "POST":
                return await self._posted(request, caller)
            case "GET":
                return await self._opened(request, caller)
            case "DELETE":
                return self._ended(request, caller)
        return Answer(405, b"", [(b"allow", b"GET, POST, DELETE")])

    # POST: one message, or several in the oldest revision

    async def _posted(self, request: Request, caller: Caller) -> Answer | Stream:
        limits = self.server.edge.settings.limits
        body = await request.body(limits.body_bytes)
        call = plain_session_call(body)
        if call is not None:
            session = self._session(request, caller, call.id)
            if isinstance(session, Answer):
                return session
            surface = session.handle(caller)
            if surface is not None and not session.underway.has(call.id):
                return await self._called(request, session, caller, surface, call)
        message: Message | None = None
        try:
            if is_batch(body):
                return await self._batch(request, caller, body)
            message = decoded(body, limits.depth)
            kind = message.kind
            if kind == "request" and message.method == "initialize":
                return await self._begun(caller, message)
            session = self._session(request, caller, message.readable_id)
            if isinstance(session, Answer):
                return session
            if kind == "request":
                return await self._answered(request, session, caller, [message])
            _take(session, message, kind)
            return Answer(202)
        except RpcError as error:
            return _refused(id_of(message, error), error)

    def at_once(self, request: Request, caller: Caller, body: bytes) -> Answer | Awaitable[Answer | Stream] | None:
        """Answer a plain call whose client takes JSON: gives the answer, or what is left to be awaited for it. None when nothing
        was done."""
        call = plain_session_call(body)
        session = None if call is None else self._session(request, caller)
        if call is None or session is None or isinstance(session, Answer) or session.log_level is not None:
            return None
        surface = session.handle(caller)
        if surface is None or session.underway.has(call.id):
            return None
        begun = answered_at_once(self.server, caller, surface, session.revision, call.id, call.params)
        if isinstance(begun, bytes):
            return Answer(200, begun, (JSON,))
        return self._called(request, session, caller, surface, call, begun)

    async def _called(
        self,
        request: Request,
        session: HttpSession,
        caller: Caller,
        surface: SurfaceHandle,
        call: PlainCall,
        begun: Begun | None = None,
    ) -> Answer | Stream:
        """Answer a call that is plainly right, or the rest of it."""
        post = self._post(request, session)
        post.begin(call.id, answer_plain(self.server, session, caller, surface, call, post, begun))
        return await self._told(request, post)

    async def _begun(self, caller: Caller, message: Message) -> Answer:
        """`initialize`: a session begins (MCP-4, MCP-72)."""
        try:
            revision, client = agreed(message)
        except RpcError as error:
            return Answer(200, error_text(message.id, error), [JSON])
        session = self.store.open(caller, revision, client)
        try:
            surface = await session.surface(self.server.edge, caller)
            exchange = Exchange(caller, surface, revision, message.id, Silent(), client=client, session=session)
            result = encode(initialized(self.server, exchange))
        except BaseException:
            self.store.end(session)
            raise
        return Answer(200, result_text(message.id, result), [JSON, (SESSION, session.id.encode())])

    async def _answered(
        self, request: Request, session: HttpSession, caller: Caller, messages: list[Message], *, is_batch: bool = False
    ) -> Answer | Stream:
        """Answer requests, by JSON or by a stream."""
        for message in messages:
            if session.underway.has(message.id):
                raise RpcError(INVALID_REQUEST, "a request with this id is being answered")
        post = self._post(request, session, is_batch=is_batch)
        for message in messages:
            exchange = await exchange_of(self.server.edge, session, caller, message, post)
            post.begin(message.id, self.server.answer(exchange, message), message.method)
        return await self._told(request, post)

    def _post(self, request: Request, session: HttpSession, *, is_batch: bool = False) -> Post:
        accepted = accepted_by(next((value for name, value in request.headers if name == b"accept"), None))
        return Post(session, self.server.edge.settings, accepted, is_batch=is_batch)

    async def _told(self, request: Request, post: Post) -> Answer | Stream:
        """The answer, as soon as it is known what it will be."""
        if not post.is_complete:
            await post.decided()
        if post.stream is None:
            return post.whole()
        seconds = self.server.settings.poll_after_seconds if post.stream.is_primed else 0.0
        return _streamed(request, post.stream, FROM_THE_BEGINNING, seconds)

    async def _batch(self, request: Request, caller: Caller, body: bytes) -> Answer | Stream:
        """Several messages in one body (MCP-21)."""
        session = self._session(request, caller)
        if isinstance(session, Answer):
            return session
        messages = batch_of(body, session.revision, self.server.edge.settings.limits.depth)
        asked = [message for message in messages if message.kind == "request"]
        for message in messages:
            if message.kind != "request":
                _take(session, message, message.kind)
        return await self._answered(request, session, caller, asked, is_batch=True) if asked else Answer(202)

    # GET: the session's own stream, or the rest of one that was begun before

    async def _opened(self, request: Request, caller: Caller) -> Answer | Stream:
        session = self._session(request, caller)
        if isinstance(session, Answer):
            return session
        last = request.header(b"last-event-id")
        if last:
            found = session.streams.found(last)
            if found is None:
                return _refused(None, RpcError(INVALID_REQUEST, "there is no such event to go on from"))
            stream, after = found
            seconds = self.server.settings.poll_after_seconds if stream.is_primed else 0.0
            return _streamed(request, stream, after, max(seconds, _COMES_BACK_SECONDS) if seconds else 0.0)
        if not self.server.settings.changes:
            return Answer(405, b"", [(b"allow", b"POST, DELETE")])  # nothing will ever be sent there (MCP-82)
        own = session.streams.own
        if own.reader is not None:
            return _refused(None, RpcError(INVALID_REQUEST, "the session has a stream of its own open", status=409))
        free = hub_of(self.server).take_place(caller)
        reader = own.read(own.sent)
        try:
            await self._follow_changes(session, caller)
        except BaseException:
            reader.detach()
            free()
            raise
        return Stream(200, Carried(reader, request, free), HEADERS)

    async def _follow_changes(self, session: HttpSession, caller: Caller) -> None:
        """Tell a session of changes, from the first time on that it listens; what it misses then waits for it (MCP-240)."""
        if not session.hears_changes:
            session.hears_changes = True
            surface = await session.surface(self.server.edge, caller)
            exchange = Exchange(caller, surface, session.revision, 0, Silent(), client=session.client, session=session)
            session.closing.append(follow_changes(self.server, exchange, session.send))

    # DELETE

    def _ended(self, request: Request, caller: Caller) -> Answer:
        session = self._session(request, caller)
        if isinstance(session, Answer):
            return session
        self.store.delete(session)
        return Answer(200)

    def _session(self, request: Request, caller: Caller, request_id: RequestId | None = None) -> HttpSession | Answer:
        """The session a request names, or why there is none (MCP-74, MCP-75)."""
        named = request.header(SESSION)
        if not named:
            message = "the header Mcp-Session-Id is missing; initialize gives one"
            return _refused(request_id, RpcError(INVALID_REQUEST, message))
        session = self.store.find(named, caller)
        if session is None:
            message = "there is no such session; initialize again"
            return _refused(request_id, RpcError(INVALID_REQUEST, message, status=404))
        return session


def _take(session: HttpSession, message: Message, kind: str) -> None:
    if kind == "notification":
        session.heard(message)
    else:
        session.underway.answered(message)


def _streamed(request: Request, stream: EventStream, after: int, seconds: float = 0.0) -> Stream:
    return Stream(200, Carried(stream.read(after, seconds), request), HEADERS)


def _refused(request_id: Any, error: RpcError) -> Answer:
    """What cannot be answered as a message of the session: an HTTP status, with the error for whoever reads it."""
    return Answer(error.status, error_text(request_id, error), [JSON])
