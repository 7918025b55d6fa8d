"""Work that outlives the request it came by, and streams that are open: counted, and let go of in order."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

from ferrule.servers.asgi import Request
from ferrule.servers.auth.callers import Caller, Refused

_log = logging.getLogger("ferrule.serve")
_ALIVE_SECONDS = 15.0
Given = TypeVar("Given")


class Background:
    """What goes on in one process besides answering."""

    def __init__(self, streams: int) -> None:
        """`streams`: how many one principal may hold open."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._streams: Counter[tuple[str, str]] = Counter()
        self._most_streams = streams
        self._closing = asyncio.Event()
        self._alone: dict[str, asyncio.Lock] = {}

    def keep(self, work: Coroutine[Any, Any, Given]) -> asyncio.Task[Given]:
        """Let something go on, whoever waits for it or does not."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.debug("work behind a request ended with %r", error)

    def stream(self, caller: Caller, request: Request, source: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """A stream for a client: its parts as they come, signs of life between them, and an end when the client is gone.
        Raises Refused when its principal has too many already."""
        return self._alive(self.demand_room(caller), request, source)

    def demand_room(self, caller: Caller) -> tuple[str, str]:
        """Raises Refused when a caller's principal has as many streams open as it may."""
        key = (caller.tenant, caller.identity.principal)
        if self._streams[key] >= self._most_streams:
            reason = f"{self._most_streams} streams are open already, and no more may be"
            raise Refused(429, reason, code="too_many_streams", retry_after=5)
        return key

    async def _alive(
        self, key: tuple[str, str], request: Request, source: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        self._streams[key] += 1
        part: asyncio.Future[bytes | None] = asyncio.ensure_future(_next(source))
        ends: set[asyncio.Future[Any]] = {
            asyncio.ensure_future(request.gone()),
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
                given = part.result()
                if given is None:
                    return
                yield given
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

    def alone(self, work: str) -> asyncio.Lock:
        """Work that takes much: whoever wants it too has to wait."""
        return self._alone.setdefault(work, asyncio.Lock())

    async def aclose(self) -> None:
        """End every stream. Calls that go on are the app's to end."""
        self._closing.set()


async def _next(source: AsyncIterator[bytes]) -> bytes | None:
    """The next part; None after the last. An exception instead would hold whoever gets it, who holds it in turn."""
    return await anext(source, None)
