"""One POST of a session being answered: JSON, unless a notification makes it a stream (MCP-42, MCP-83)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import Context
from typing import Any

from ferrule.model.serving import ServeSettings
from ferrule.servers.asgi import JSON, HttpAnswer
from ferrule.servers.mcp.server import RpcAnswer
from ferrule.servers.mcp.transports.session_store import HttpSession
from ferrule.servers.mcp.transports.streams import EventStream
from ferrule.servers.mcp.wire import answer_forms
from ferrule.servers.mcp.wire.answer_forms import Accepted
from ferrule.servers.mcp.wire.messages import INVALID_REQUEST, Params, RequestId, RpcError

_STREAMS_AFTER_SECONDS = 2.0
"""After how long an answer becomes a stream without any notification: it shows that the connection lives, and the
client can resume it."""
_PRIMES = "2025-11-25"
"""Clients of earlier revisions fail on an empty event (MCP-88)."""


def encode_whole(texts: list[bytes], accepted: Accepted, *, is_batch: bool = False) -> HttpAnswer:
    """Encodes responses that no notification came before: one JSON text, unless the client refuses JSON or prefers a
    stream. A cancelled request has no response (MCP-173), so the body is empty."""
    if not texts:
        return HttpAnswer(200, b"", answer_forms.HEADERS)
    body = b"[%b]" % b",".join(texts) if is_batch else texts[0]
    is_json = accepted.json and (is_batch or not accepted.prefers_events)
    return (
        HttpAnswer(200, body, (JSON,))
        if is_json
        else HttpAnswer(200, answer_forms.encode_event(body), answer_forms.HEADERS)
    )


class Post:
    """The answer to one POST that has to wait. It is the way back of its requests, too."""

    is_pipe = False

    def __init__(
        self, session: HttpSession, settings: ServeSettings, accepted: Accepted, texts: list[bytes], *, is_batch: bool
    ) -> None:
        """`texts`: responses to those requests that did not have to wait."""
        self._session = session
        self._accepted = accepted
        self._is_batch = is_batch
        self._within = settings.limits.request_seconds
        poll = settings.mcp.poll_after_seconds
        self._streams_after = min(poll, _STREAMS_AFTER_SECONDS) if poll else _STREAMS_AFTER_SECONDS
        self._loop = asyncio.get_running_loop()
        self._open = 0
        """The number of requests in flight."""
        self._waiter: asyncio.Future[None] = self._loop.create_future()
        """Done when the answer's form is decided."""
        self._texts = texts
        """Responses, while there is no stream."""
        self.stream: EventStream | None = None

    def start(self, request_id: RequestId, work: Coroutine[Any, Any, RpcAnswer], context: Context) -> None:
        """Answers a request that has to wait, in a task that survives the connection (MCP-85)."""
        self._open += 1
        self._session.underway.start(request_id, work, context, self._finish)

    def _finish(self, text: bytes) -> None:
        self._open -= 1
        if text and self.stream is not None:
            self.stream.put(text, is_needed=True)
        elif text:
            self._texts.append(text)
        if not self._open:
            if self.stream is not None:
                self._session.streams.end(self.stream)
            self._decide()

    async def wait(self) -> HttpAnswer | EventStream:
        """Waits until the answer's form is decided: whole, or a stream."""
        timer = self._loop.call_later(self._streams_after, self._begin) if self._accepted.events else None
        try:
            await self._waiter
        finally:
            if timer is not None:
                timer.cancel()
        return (
            encode_whole(self._texts, self._accepted, is_batch=self._is_batch) if self.stream is None else self.stream
        )

    def _begin(self) -> EventStream:
        """Makes the answer a stream."""
        if self.stream is None:
            session = self._session
            self.stream = session.streams.begin(is_primed=session.revision >= _PRIMES)
            for text in self._texts:
                self.stream.put(text, is_needed=True)
            self._texts = []
            self._decide()
        return self.stream

    def _decide(self) -> None:
        if not self._waiter.done():
            self._waiter.set_result(None)

    # The way back (exchange.Back)

    async def tell(self, text: bytes) -> None:
        """Sends a notification about one of the requests."""
        if self._accepted.events:
            self._begin().put(text)

    async def ask(self, method: str, params: Params | None) -> Any:
        """Asks the client. Raises RpcError."""
        if not self._accepted.events:
            raise RpcError(INVALID_REQUEST, "the client cannot be asked: its request takes no stream of events")
        return await self._session.ask(self._put, method, params, self._within)

    def _put(self, text: bytes) -> None:
        self._begin().put(text, is_needed=True)
