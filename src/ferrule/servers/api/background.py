"""Work that outlives its request, and open streams: counted, kept alive and closed in order.

Routes stand above it. It does not know what the work or the streams are about.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

from ferrule.servers.asgi import HttpRequest
from ferrule.servers.auth.callers import Caller, Refused

_log = logging.getLogger("ferrule.serve")
_ALIVE_SECONDS = 15.0
Outcome = TypeVar("Outcome")


class Background:
    """The background work and open streams of one process."""

    def __init__(self, streams: int) -> None:
        """`streams`: how many one principal may hold open."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._streams: Counter[tuple[str, str]] = Counter()
        self._most_streams = streams
        self._closing = asyncio.Event()
        self._alone: dict[str, asyncio.Lock] = {}

    def start(self, work: Coroutine[Any, Any, Outcome]) -> asyncio.Task[Outcome]:
        """Starts work that goes on even when its client leaves."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._discard)
        return task

    def _discard(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        # Looked at, so that asyncio does not report it: nobody may be left to await this task.
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.debug("work behind a request ended with %r", error)

    def stream(self, caller: Caller, request: HttpRequest, source: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Returns a stream for a client: its parts as they arrive, keep-alive comments between them, ended when the
        client is gone. Raises Refused when its principal has too many open.
        """
        return self._keep_alive(self.require_stream_slot(caller), request, source)

    def require_stream_slot(self, caller: Caller) -> tuple[str, str]:
        """Raises Refused when the caller's principal has as many streams open as it may."""
        key = (caller.tenant, caller.identity.principal)
        if self._streams[key] >= self._most_streams:
            reason = f"{self._most_streams} streams are open already, and no more may be"
            raise Refused(429, reason, code="too_many_streams", retry_after=5)
        return key

    async def _keep_alive(
        self, key: tuple[str, str], request: HttpRequest, source: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        # Counted here and not by the check: a stream that is never read would never be taken off again.
        self._streams[key] += 1
        part: asyncio.Future[bytes | None] = asyncio.ensure_future(_next(source))
        ends: set[asyncio.Future[Any]] = {
            asyncio.ensure_future(request.wait_until_gone()),
            asyncio.ensure_future(self._closing.wait()),
        }
        try:
            while True:
                done, _ = await asyncio.wait({part, *ends}, timeout=_ALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                if done & ends:
                    return
                if part not in done:
                    yield b": the connection lives\n\n"
                    continue
                data = part.result()
                if data is None:
                    return
                yield data
                # Asked for only now, so a client that does not read stops its source.
                part = asyncio.ensure_future(_next(source))
        finally:
            self._streams[key] -= 1
            if not self._streams[key]:
                del self._streams[key]
            for waiting in (part, *ends):
                waiting.cancel()
            await asyncio.gather(part, *ends, return_exceptions=True)
            close = getattr(source, "aclose", None)
            if close is not None:
                await close()

    def lock_for(self, work: str) -> asyncio.Lock:
        """Returns the lock under which expensive work of this name runs once at a time."""
        return self._alone.setdefault(work, asyncio.Lock())

    async def aclose(self) -> None:
        """Ends every stream. Calls that go on are the app's to end."""
        self._closing.set()


async def _next(source: AsyncIterator[bytes]) -> bytes | None:
    """Returns the next part; None after the last. StopAsyncIteration stored in a future would keep its frames alive in
    a cycle.
    """
    return await anext(source, None)
