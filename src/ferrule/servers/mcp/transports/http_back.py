"""The way back of one request over HTTP in the revision without sessions: a stream of events from the first
notification on (MCP-54), else nothing; and the watch over requests that take long."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import msgspec

from ferrule.servers.asgi import JSON, HttpAnswer, HttpRequest, Send
from ferrule.servers.mcp.server import McpService, RpcAnswer
from ferrule.servers.mcp.wire.answer_forms import HEADERS, KEEP_ALIVE, KEEP_ALIVE_SECONDS, Accepted, encode_event
from ferrule.servers.mcp.wire.messages import INVALID_REQUEST, Params, RpcError

_QUIET_SECONDS = 0.02
"""Requests younger than this, at most twice this, are not watched for a lost client: most are answered by then."""


def encode_answer(answered: RpcAnswer, accepted: Accepted) -> HttpAnswer:
    """Encodes an answer that no notification came before."""
    if not accepted.json and answered.status == 200:
        return HttpAnswer(200, encode_event(answered.text), HEADERS)
    if answered.retry_after is None:
        return HttpAnswer(answered.status, answered.text, (JSON,))
    wait = str(max(1, round(answered.retry_after))).encode()
    return HttpAnswer(answered.status, answered.text, (JSON, (b"retry-after", wait)))


class HttpBack(msgspec.Struct, eq=False):
    """The way back, for one request that has to wait.

    The garbage collector has to see it: the tasks it holds lead back to it.
    """

    request: HttpRequest
    accepted: Accepted
    task: asyncio.Task[Any]
    """The task that answers."""
    is_begun: bool = False
    """True once something was sent: the status is 200 from then on."""
    is_gone: bool = False
    """True once the client disconnected; then the request's task is cancelled."""
    lock: asyncio.Lock | None = None
    timers: tuple[asyncio.TimerHandle, ...] = ()
    watching: tuple[asyncio.Task[None], ...] = ()
    is_pipe: ClassVar[bool] = False

    async def tell(self, text: bytes) -> None:
        """Sends a notification about this request; the first one makes the answer a stream."""
        await self._put(encode_event(text))

    async def ask(self, method: str, params: Params | None) -> Any:
        """Refuses: this revision has no requests to the client (MCP-23)."""
        raise RpcError(INVALID_REQUEST, "this client is asked by its answers only")

    async def _put(self, text: bytes) -> None:
        send = self.request.send
        if send is None or not self.accepted.events:
            return
        if self.lock is None:
            self.lock = asyncio.Lock()
        # Notifications and signs of life come from different tasks, and the first one begins the answer.
        async with self.lock:
            if not self.is_begun:
                self.is_begun = True
                await send({"type": "http.response.start", "status": 200, "headers": list(HEADERS)})
            await send({"type": "http.response.body", "body": text, "more_body": True})

    def end(self, answered: RpcAnswer) -> HttpAnswer:
        """Encodes the answer, or the end of its stream."""
        return _StreamEnd(200, encode_event(answered.text)) if self.is_begun else encode_answer(answered, self.accepted)

    # When it takes its time

    def watch(self) -> None:
        """Watches for a lost client (MCP-71), and sends it signs of life (MCP-51)."""
        loop = asyncio.get_running_loop()
        self.timers = (loop.call_later(KEEP_ALIVE_SECONDS, self._begin_keep_alive),)
        self.watching = (loop.create_task(self._cancel_when_gone()),)

    def stop(self) -> None:
        """Stops watching."""
        for timer in self.timers:
            timer.cancel()
        for task in self.watching:
            task.cancel()
        self.timers, self.watching = (), ()

    async def _cancel_when_gone(self) -> None:
        await self.request.wait_until_gone()
        # Before the cancellation: by this the request knows that its client left, and that nobody else ended it.
        self.is_gone = True
        self.task.cancel()

    def _begin_keep_alive(self) -> None:
        self.watching += (asyncio.get_running_loop().create_task(self._send_keep_alives()),)

    async def _send_keep_alives(self) -> None:
        while True:
            await self._put(KEEP_ALIVE)
            await asyncio.sleep(KEEP_ALIVE_SECONDS)


class _StreamEnd(HttpAnswer):
    """The end of a stream."""

    __slots__ = ()

    async def send(self, send: Send) -> None:
        """Sends the last event and closes the stream (MCP-52)."""
        await send({"type": "http.response.body", "body": self.body})


class WaitingRequests:
    """The requests that wait. They share one timer: a short wait costs no timer and no task of its own."""

    def __init__(self) -> None:
        self._young: set[HttpBack] = set()
        self._old: set[HttpBack] = set()
        self._is_ticking = False

    def add(self, back: HttpBack) -> None:
        """Adds a request."""
        self._young.add(back)
        if not self._is_ticking:
            self._is_ticking = True
            asyncio.get_running_loop().call_later(_QUIET_SECONDS, self._tick)

    def remove(self, back: HttpBack) -> None:
        """Removes a request that is answered."""
        if back in self._young:
            self._young.remove(back)
        else:
            self._old.discard(back)
            back.stop()

    def _tick(self) -> None:
        # A request is young for the rest of one tick and old for one more; after that it is watched.
        late, self._old, self._young = self._old, self._young, set()
        for back in late:
            back.watch()
        self._is_ticking = bool(self._old)
        if self._is_ticking:
            asyncio.get_running_loop().call_later(_QUIET_SECONDS, self._tick)


def get_waiting_requests(server: McpService) -> WaitingRequests:
    """Returns the waiting requests of a server."""
    patience = server.kept.get("patience")
    if patience is None:
        patience = server.kept["patience"] = WaitingRequests()
    found: WaitingRequests = patience
    return found
