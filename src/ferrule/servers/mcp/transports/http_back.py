"""The way back of one request over HTTP in the revision without sessions: nothing, or a stream of events from the first thing
told on (MCP-54). And who watches over a request that takes its time.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import msgspec

from ferrule.servers.asgi import JSON, HttpAnswer, HttpRequest, Send
from ferrule.servers.mcp.server import McpService, RpcAnswer
from ferrule.servers.mcp.wire.answer_forms import HEADERS, KEEP_ALIVE, KEEP_ALIVE_SECONDS, Accepted, event
from ferrule.servers.mcp.wire.messages import INVALID_REQUEST, Params, RpcError

_QUIET_SECONDS = 0.02
"""So long, and at most twice as long, nobody looks whether the client is still there: most requests are answered by then."""


def encode_answered(answered: RpcAnswer, accepted: Accepted) -> HttpAnswer:
    """Encodes an answer before which nothing was told."""
    if not accepted.json and answered.status == 200:
        return HttpAnswer(200, event(answered.text), HEADERS)
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
    """Whoever answers."""
    is_begun: bool = False
    """True once something was sent: the status is 200 from then on."""
    is_gone: bool = False
    """True once the client went away; then the request's task is cancelled."""
    lock: asyncio.Lock | None = None
    timers: tuple[asyncio.TimerHandle, ...] = ()
    watching: tuple[asyncio.Task[None], ...] = ()
    is_pipe: ClassVar[bool] = False

    async def tell(self, text: bytes) -> None:
        """Send a notification about this request; the first one makes the answer a stream."""
        await self._put(event(text))

    async def ask(self, method: str, params: Params | None) -> Any:
        """There are no requests to the client in this revision (MCP-23)."""
        raise RpcError(INVALID_REQUEST, "this client is asked by its answers only")

    async def _put(self, text: bytes) -> None:
        send = self.request.send
        if send is None or not self.accepted.events:
            return
        if self.lock is None:
            self.lock = asyncio.Lock()
        async with self.lock:
            if not self.is_begun:
                self.is_begun = True
                await send({"type": "http.response.start", "status": 200, "headers": list(HEADERS)})
            await send({"type": "http.response.body", "body": text, "more_body": True})

    def end(self, answered: RpcAnswer) -> HttpAnswer:
        """Encodes the answer, or what is left of it."""
        return _Rest(200, event(answered.text)) if self.is_begun else encode_answered(answered, self.accepted)

    # When it takes its time

    def watch(self) -> None:
        """From here on: that the client is still there (MCP-71), and that it hears from us now and then (MCP-51)."""
        loop = asyncio.get_running_loop()
        self.timers = (loop.call_later(KEEP_ALIVE_SECONDS, self._keep_alive),)
        self.watching = (loop.create_task(self._wait_for_the_end()),)

    def stop(self) -> None:
        """The request is answered."""
        for timer in self.timers:
            timer.cancel()
        for task in self.watching:
            task.cancel()
        self.timers, self.watching = (), ()

    async def _wait_for_the_end(self) -> None:
        await self.request.gone()
        self.is_gone = True
        self.task.cancel()

    def _keep_alive(self) -> None:
        self.watching += (asyncio.get_running_loop().create_task(self._kept_alive()),)

    async def _kept_alive(self) -> None:
        while True:
            await self._put(KEEP_ALIVE)
            await asyncio.sleep(KEEP_ALIVE_SECONDS)


class _Rest(HttpAnswer):
    """The end of an answer that was begun."""

    __slots__ = ()

    async def send(self, send: Send) -> None:
        """Put it on the wire, and close it (MCP-52)."""
        await send({"type": "http.response.body", "body": self.body})


class Patience:
    """Requests that wait. One timer for all: one that does not wait for long costs no timer and no task of its own."""

    def __init__(self) -> None:
        self._young: set[HttpBack] = set()
        self._old: set[HttpBack] = set()
        self._is_ticking = False

    def add(self, back: HttpBack) -> None:
        """A request begins."""
        self._young.add(back)
        if not self._is_ticking:
            self._is_ticking = True
            asyncio.get_running_loop().call_later(_QUIET_SECONDS, self._tick)

    def remove(self, back: HttpBack) -> None:
        """A request is answered."""
        if back in self._young:
            self._young.remove(back)
        else:
            self._old.discard(back)
            back.stop()

    def _tick(self) -> None:
        late, self._old, self._young = self._old, self._young, set()
        for back in late:
            back.watch()
        self._is_ticking = bool(self._old)
        if self._is_ticking:
            asyncio.get_running_loop().call_later(_QUIET_SECONDS, self._tick)


def patience_of(server: McpService) -> Patience:
    """The requests of a server that were not answered yet."""
    patience = server.kept.get("patience")
    if patience is None:
        patience = server.kept["patience"] = Patience()
    found: Patience = patience
    return found
