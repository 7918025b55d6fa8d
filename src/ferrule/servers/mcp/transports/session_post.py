"""One POST of a session being answered: JSON while nothing had to be told, a stream from the first thing on (MCP-42, MCP-83)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from ferrule.model.serving import ServeSettings
from ferrule.servers.asgi import JSON, Answer
from ferrule.servers.mcp.server import Answered
from ferrule.servers.mcp.transports.session_store import HttpSession
from ferrule.servers.mcp.transports.sessions import set_off
from ferrule.servers.mcp.transports.streams import EventStream
from ferrule.servers.mcp.wire import answer_forms
from ferrule.servers.mcp.wire.answer_forms import Accepted
from ferrule.servers.mcp.wire.messages import INVALID_REQUEST, Params, RequestId, RpcError

_STREAMS_AFTER_SECONDS = 2.0
"""After how long an answer becomes a stream even though nothing was told: it shows that the connection lives, and the client can
come back for it."""
_PRIMES = "2025-11-25"
"""Clients before it stumble over an event that says nothing (MCP-88)."""


class Post:
    """The answer to one POST, on its way. It is the way back of the requests in it, too."""

    is_pipe = False

    def __init__(self, session: HttpSession, settings: ServeSettings, accepted: Accepted, *, is_batch: bool) -> None:
        self._session = session
        self._accepted = accepted
        self._is_batch = is_batch
        self._within = settings.limits.request_seconds
        poll = settings.mcp.poll_after_seconds
        self._streams_after = min(poll, _STREAMS_AFTER_SECONDS) if poll else _STREAMS_AFTER_SECONDS
        self._loop = asyncio.get_running_loop()
        self._open = 0
        """Requests that are still being answered."""
        self._waiter: asyncio.Future[None] | None = None
        self.texts: list[bytes] = []
        """Responses, while there is no stream."""
        self.stream: EventStream | None = None

    @property
    def is_complete(self) -> bool:
        """True when there is nothing to wait for any more."""
        return not self._open

    def begin(self, request_id: RequestId, work: Coroutine[Any, Any, Answered], method: str = "tools/call") -> None:
        """Begin to answer a request."""
        answered = set_off(method, work, self._loop)
        if isinstance(answered, Answered):
            self._answer(answered.text)
            return
        self._open += 1
        self._session.underway.add(request_id, answered)
        answered.add_done_callback(self._ended)

    def _answer(self, text: bytes) -> None:
        if self.stream is None:
            self.texts.append(text)
        else:
            self.stream.put(text, is_needed=True)

    def _ended(self, task: asyncio.Task[Answered]) -> None:
        self._open -= 1
        if not self._session.underway.is_dropped(task):
            self._answer(task.result().text)
        if not self._open:
            if self.stream is not None:
                self._session.streams.end(self.stream)
            self._decide()

    async def decided(self) -> None:
        """Wait until it is known how the answer travels."""
        self._waiter = self._loop.create_future()
        timer = self._loop.call_later(self._streams_after, self._begin) if self._accepted.events else None
        try:
            if self.stream is None:
                await self._waiter
        finally:
            if timer is not None:
                timer.cancel()

    def whole(self) -> Answer:
        """The answer, where nothing had to be told before: one JSON text, unless the client takes no JSON, or prefers a stream.
        A request that was cancelled has no response (MCP-173), so nothing follows the status."""
        if not self.texts:
            return Answer(200, b"", answer_forms.HEADERS)
        body = b"[%b]" % b",".join(self.texts) if self._is_batch else self.texts[0]
        is_json = self._accepted.json and (self._is_batch or not self._accepted.prefers_events)
        return Answer(200, body, [JSON]) if is_json else Answer(200, answer_forms.event(body), answer_forms.HEADERS)

    def _begin(self) -> EventStream:
        """From here on it is a stream."""
        if self.stream is None:
            session = self._session
            self.stream = session.streams.begin(is_primed=session.revision >= _PRIMES)
            for text in self.texts:
                self.stream.put(text, is_needed=True)
            self.texts = []
            self._decide()
        return self.stream

    def _decide(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # The way back (exchange.Back)

    async def tell(self, text: bytes) -> None:
        """Send a notification about one of the requests."""
        if self._accepted.events:
            self._begin().put(text)

    async def ask(self, method: str, params: Params | None) -> Any:
        """Ask the client. Raises RpcError."""
        if not self._accepted.events:
            raise RpcError(INVALID_REQUEST, "the client cannot be asked: its request takes no stream of events")
        return await self._session.ask(self._put, method, params, self._within)

    def _put(self, text: bytes) -> None:
        self._begin().put(text, is_needed=True)
