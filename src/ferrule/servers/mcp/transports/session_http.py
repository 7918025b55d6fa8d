"""Sessions over HTTP: finds the session of a request, and picks the form of its answer (sections 6 and 7).

A request is answered as one JSON object, or as a stream of events as soon as something has to be sent before: progress,
a log message, a question to the client, or a sign of life. Work does not end with a connection (MCP-85).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextvars import copy_context
from typing import Any

from ferrule.infra.tasks import begin_elsewhere, resolve
from ferrule.servers.asgi import JSON, HttpAnswer, HttpRequest, HttpStream
from ferrule.servers.auth.callers import Caller
from ferrule.servers.mcp.methods.changes import get_hub
from ferrule.servers.mcp.methods.session_methods import encode_initialize, read_initialize
from ferrule.servers.mcp.methods.subscriptions import follow_changes
from ferrule.servers.mcp.server import Exchange, McpService, RpcAnswer
from ferrule.servers.mcp.transports.session_ids import SessionIds
from ferrule.servers.mcp.transports.session_post import Post, encode_whole
from ferrule.servers.mcp.transports.session_store import HttpSession, SessionStore
from ferrule.servers.mcp.transports.streams import FROM_THE_BEGINNING, EventStream, StreamBody
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
"""How long, at least, a connection that resumes a stream is held."""


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
            session = self._find_session(request, caller, message.readable_id)
            if isinstance(session, HttpAnswer):
                return session
            if kind == "request":
                return self._answer(request, session, caller, [message], accepted)
            _deliver(session, message, kind)
            return HttpAnswer(202)
        except RpcError as error:
            return _encode_error(id_of(message, error), error)

    def _answer_batch(
        self, request: HttpRequest, caller: Caller, body: bytes, accepted: Accepted
    ) -> HttpAnswer | Awaitable[HttpAnswer | HttpStream]:
        """Answers several messages in one body (MCP-21). Raises RpcError."""
        session = self._find_session(request, caller)
        if isinstance(session, HttpAnswer):
            return session
        messages = read_batch(body, session.revision, self.server.edge.settings.limits.depth)
        asked = [message for message in messages if message.kind == "request"]
        for message in messages:
            if message.kind != "request":
                _deliver(session, message, message.kind)
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
        # Usually every surface is current, and the requests are answered without a task.
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
            return _encode_error(None if is_batch else messages[0].id, error)
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
        """Waits until the answer's form is decided."""
        answer = await post.wait()
        if isinstance(answer, HttpAnswer):
            return answer
        seconds = self.server.settings.poll_after_seconds if answer.is_primed else 0.0
        return _make_stream(request, answer, FROM_THE_BEGINNING, seconds)

    async def _initialize(self, caller: Caller, message: Message) -> HttpAnswer:
        """Answers `initialize`: begins a session (MCP-4, MCP-72)."""
        try:
            revision, client = read_initialize(message)
        except RpcError as error:
            # 200 all the same: sessions tell errors of a message in the body (MCP-76).
            return HttpAnswer(200, error_text(message.id, error), [JSON])
        session = self.store.open(caller, revision, client)
        try:
            surface = await resolve(session.surface(self.server.edge, caller))
            exchange = Exchange(self.server, caller, surface, revision, message.id, client=client, session=session)
            result = encode(encode_initialize(exchange))
        except BaseException:
            self.store.end(session)
            raise
        return HttpAnswer(200, result_text(message.id, result), [JSON, (SESSION, session.id.encode())])

    # GET: the session's own stream, or the rest of one that was begun before

    async def open_stream(self, request: HttpRequest, caller: Caller) -> HttpAnswer | HttpStream:
        """Answers a GET of an authenticated caller."""
        session = self._find_session(request, caller)
        if isinstance(session, HttpAnswer):
            return session
        last = request.header(b"last-event-id")
        if last:
            found = session.streams.find_event(last)
            if found is None:
                return _encode_error(None, RpcError(INVALID_REQUEST, "there is no such event to go on from"))
            stream, after = found
            seconds = self.server.settings.poll_after_seconds if stream.is_primed else 0.0
            return _make_stream(request, stream, after, max(seconds, _COMES_BACK_SECONDS) if seconds else 0.0)
        if not self.server.settings.changes:
            return HttpAnswer(405, b"", [(b"allow", b"POST, DELETE")])  # nothing will ever be sent there (MCP-82)
        own = session.streams.own
        if own.reader is not None:
            return _encode_error(
                None, RpcError(INVALID_REQUEST, "the session has a stream of its own open", status=409)
            )
        free = get_hub(self.server).take_stream_slot(caller)
        # Attached before anything is awaited, so that a second GET finds it and gets the 409 above.
        reader = own.read(own.sent)
        try:
            await self._follow_changes(session, caller)
        except BaseException:
            reader.detach()
            free()
            raise
        return HttpStream(200, StreamBody(reader, request, free), HEADERS)

    async def _follow_changes(self, session: HttpSession, caller: Caller) -> None:
        """Notifies a session of changes, from the first time it listens; later changes wait for it (MCP-240)."""
        if not session.hears_changes:
            session.hears_changes = True
            surface = await resolve(session.surface(self.server.edge, caller))
            exchange = Exchange(
                self.server, caller, surface, session.revision, 0, client=session.client, session=session
            )
            session.closing.append(follow_changes(exchange, session.send))

    # DELETE

    def end(self, request: HttpRequest, caller: Caller) -> HttpAnswer:
        """Answers a DELETE of an authenticated caller: ends the session."""
        session = self._find_session(request, caller)
        if isinstance(session, HttpAnswer):
            return session
        self.store.delete(session)
        return HttpAnswer(200)

    def _find_session(
        self, request: HttpRequest, caller: Caller, request_id: RequestId | None = None
    ) -> HttpSession | HttpAnswer:
        """Returns the session that a request names, or the error (MCP-74, MCP-75)."""
        named = request.header(SESSION)
        if not named:
            message = "the header Mcp-Session-Id is missing; initialize gives one"
            return _encode_error(request_id, RpcError(INVALID_REQUEST, message))
        session = self.store.find(named, caller)
        if session is None:
            message = "there is no such session; initialize again"
            return _encode_error(request_id, RpcError(INVALID_REQUEST, message, status=404))
        return session


def _deliver(session: HttpSession, message: Message, kind: str) -> None:
    if kind == "notification":
        session.take_notification(message)
    else:
        session.underway.take_answer(message)


def _make_stream(request: HttpRequest, stream: EventStream, after: int, seconds: float = 0.0) -> HttpStream:
    return HttpStream(200, StreamBody(stream.read(after, seconds), request), HEADERS)


def _encode_error(request_id: Any, error: RpcError) -> HttpAnswer:
    """Encodes an error outside of any session: an HTTP status, with the error as its body."""
    return HttpAnswer(error.status, error_text(request_id, error), [JSON])
