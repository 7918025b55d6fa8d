"""Sessions over HTTP: which session a request belongs to, and how its answer travels (sections 6 and 7).

A request is answered as one JSON object when nothing has to be told before, and as a stream of events as soon as something
has: progress, a log message, a question to the client, or that it takes a while. Work does not end with a connection (MCP-85).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextvars import copy_context
from typing import Any

from ferrule.infra.tasks import begin_elsewhere, resolve
from ferrule.servers.asgi import JSON, HttpAnswer, HttpRequest, HttpStream
from ferrule.servers.auth.callers import Caller
from ferrule.servers.mcp.methods.changes import hub_of
from ferrule.servers.mcp.methods.session_methods import agreed, initialized
from ferrule.servers.mcp.methods.subscriptions import follow_changes
from ferrule.servers.mcp.server import Exchange, McpService, RpcAnswer
from ferrule.servers.mcp.transports.session_ids import SessionIds
from ferrule.servers.mcp.transports.session_post import Post, encode_whole
from ferrule.servers.mcp.transports.session_store import HttpSession, SessionStore
from ferrule.servers.mcp.transports.streams import FROM_THE_BEGINNING, Carried, EventStream
from ferrule.servers.mcp.wire.answer_forms import HEADERS, Accepted
from ferrule.servers.mcp.wire.messages import (
    INVALID_REQUEST,
    Message,
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
from ferrule.servers.mcp.wire.params import read_params

SESSION = b"mcp-session-id"
_COMES_BACK_SECONDS = 10.0
"""How long a connection is held, at least, that takes up a stream again."""


class SessionEndpoint:
    """The revisions with sessions, at the path they share with the one without."""

    def __init__(self, server: McpService) -> None:
        self.server = server
        app = server.app
        settings = server.edge.settings
        ids = SessionIds(app.services.sealing.secret, app.root, idle_seconds=settings.mcp.session_seconds)
        self.store = SessionStore(settings, lambda: app.new_id("run"), ids)
        server.edge.ending.append(self.store.end_streams)
        server.edge.closing.append(self.store.aclose)

    # POST: one message, or several in the oldest revision

    def post(
        self, request: HttpRequest, caller: Caller, body: bytes, accepted: Accepted
    ) -> HttpAnswer | Awaitable[HttpAnswer | HttpStream]:
        """Answers one POST of an authenticated caller; returns something to await when it has to wait."""
        message: Message | None = None
        try:
            if is_batch(body):
                return self._answer_batch(request, caller, body, accepted)
            message = read_message(body, self.server.edge.settings.limits.depth)
            kind = message.kind
            if kind == "request" and message.method == "initialize":
                return self._initialize(caller, message)
            session = self._session(request, caller, message.readable_id)
            if isinstance(session, HttpAnswer):
                return session
            if kind == "request":
                return self._answer(request, session, caller, [message], accepted)
            _take(session, message, kind)
            return HttpAnswer(202)
        except RpcError as error:
            return _refused(id_of(message, error), error)

    def _answer_batch(
        self, request: HttpRequest, caller: Caller, body: bytes, accepted: Accepted
    ) -> HttpAnswer | Awaitable[HttpAnswer | HttpStream]:
        """Answers several messages in one body (MCP-21). Raises RpcError."""
        session = self._session(request, caller)
        if isinstance(session, HttpAnswer):
            return session
        messages = read_batch(body, session.revision, self.server.edge.settings.limits.depth)
        asked = [message for message in messages if message.kind == "request"]
        for message in messages:
            if message.kind != "request":
                _take(session, message, message.kind)
        return self._answer(request, session, caller, asked, accepted, is_batch=True) if asked else HttpAnswer(202)

    def _answer(
        self,
        request: HttpRequest,
        session: HttpSession,
        caller: Caller,
        messages: list[Message],
        accepted: Accepted,
        *,
        is_batch: bool = False,
    ) -> HttpAnswer | Awaitable[HttpAnswer | HttpStream]:
        """Answers requests, by JSON or by a stream. Raises Refused."""
        opened = [session.open_exchange(self.server, caller, message, read_params(message)) for message in messages]
        exchanges = [one for one in opened if isinstance(one, Exchange)]
        if len(exchanges) == len(opened):
            return self._run(request, session, messages, exchanges, accepted, is_batch=is_batch)
        return self._open_and_run(request, session, messages, opened, accepted, is_batch=is_batch)

    async def _open_and_run(
        self,
        request: HttpRequest,
        session: HttpSession,
        messages: list[Message],
        opened: list[Exchange | Awaitable[Exchange]],
        accepted: Accepted,
        *,
        is_batch: bool,
    ) -> HttpAnswer | HttpStream:
        exchanges = await asyncio.gather(*map(resolve, opened))
        return await resolve(self._run(request, session, messages, exchanges, accepted, is_batch=is_batch))

    def _run(
        self,
        request: HttpRequest,
        session: HttpSession,
        messages: list[Message],
        exchanges: list[Exchange],
        accepted: Accepted,
        *,
        is_batch: bool,
    ) -> HttpAnswer | Awaitable[HttpAnswer | HttpStream]:
        underway = session.underway
        if underway and any(underway.has(message.id) for message in messages):
            error = RpcError(INVALID_REQUEST, "a request with this id is being answered")
            return _refused(None if is_batch else messages[0].id, error)
        texts: list[bytes] = []
        post: Post | None = None
        with begin_elsewhere(unless_eager=True):
            for message, exchange in zip(messages, exchanges, strict=True):
                context = copy_context()  # one request of a batch leaves nothing in the context of the next
                answer = context.run(self.server.answer, exchange, message)
                if isinstance(answer, RpcAnswer):
                    texts.append(answer.text)
                    continue
                post = post or Post(session, self.server.edge.settings, accepted, texts, is_batch=is_batch)
                exchange.back = post
                post.start(exchange.request_id, answer, context)
        return encode_whole(texts, accepted, is_batch=is_batch) if post is None else self._wait_for(request, post)

    async def _wait_for(self, request: HttpRequest, post: Post) -> HttpAnswer | HttpStream:
        """Waits until it is known what the answer will be."""
        answer = await post.wait()
        if isinstance(answer, HttpAnswer):
            return answer
        seconds = self.server.settings.poll_after_seconds if answer.is_primed else 0.0
        return _streamed(request, answer, FROM_THE_BEGINNING, seconds)

    async def _initialize(self, caller: Caller, message: Message) -> HttpAnswer:
        """`initialize`: a session begins (MCP-4, MCP-72)."""
        try:
            revision, client = agreed(message)
        except RpcError as error:
            return HttpAnswer(200, error_text(message.id, error), [JSON])
        session = self.store.open(caller, revision, client)
        try:
            surface = await resolve(session.surface(self.server.edge, caller))
            exchange = Exchange(self.server, caller, surface, revision, message.id, client=client, session=session)
            result = encode(initialized(exchange))
        except BaseException:
            self.store.end(session)
            raise
        return HttpAnswer(200, result_text(message.id, result), [JSON, (SESSION, session.id.encode())])

    # GET: the session's own stream, or the rest of one that was begun before

    async def open_stream(self, request: HttpRequest, caller: Caller) -> HttpAnswer | HttpStream:
        """Answers a GET of an authenticated caller."""
        session = self._session(request, caller)
        if isinstance(session, HttpAnswer):
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
            return HttpAnswer(405, b"", [(b"allow", b"POST, DELETE")])  # nothing will ever be sent there (MCP-82)
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
        return HttpStream(200, Carried(reader, request, free), HEADERS)

    async def _follow_changes(self, session: HttpSession, caller: Caller) -> None:
        """Tell a session of changes, from the first time on that it listens; what it misses then waits for it (MCP-240)."""
        if not session.hears_changes:
            session.hears_changes = True
            surface = await resolve(session.surface(self.server.edge, caller))
            exchange = Exchange(
                self.server, caller, surface, session.revision, 0, client=session.client, session=session
            )
            session.closing.append(follow_changes(exchange, session.send))

    # DELETE

    def end(self, request: HttpRequest, caller: Caller) -> HttpAnswer:
        """Answers a DELETE of an authenticated caller: the session ends."""
        session = self._session(request, caller)
        if isinstance(session, HttpAnswer):
            return session
        self.store.delete(session)
        return HttpAnswer(200)

    def _session(
        self, request: HttpRequest, caller: Caller, request_id: RequestId | None = None
    ) -> HttpSession | HttpAnswer:
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


def _streamed(request: HttpRequest, stream: EventStream, after: int, seconds: float = 0.0) -> HttpStream:
    return HttpStream(200, Carried(stream.read(after, seconds), request), HEADERS)


def _refused(request_id: Any, error: RpcError) -> HttpAnswer:
    """What cannot be answered as a message of the session: an HTTP status, with the error for whoever reads it."""
    return HttpAnswer(error.status, error_text(request_id, error), [JSON])
