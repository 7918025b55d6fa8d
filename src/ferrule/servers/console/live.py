"""What changes while somebody looks: the ledger is followed, and open pages are told which kinds of things are new.

A page is told that there is news, at most a few times a second, and fetches the parts that show it: whatever the rate of calls,
a browser has little to do. What is told holds nobody's data.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress

from ferrule.errors import FerruleError
from ferrule.infra.tasks import resolve
from ferrule.model.journal import StoredEntry
from ferrule.servers.api.background import Background
from ferrule.servers.asgi import Request
from ferrule.servers.auth.callers import Caller
from ferrule.servers.edge import Edge

_EVERY_SECONDS = 0.25
_BEAT_SECONDS = 10.0
_LOST_SECONDS = 1.0
_AT_ONCE = 500
_log = logging.getLogger("ferrule.serve")
TOPICS = {
    "call": ("calls",),
    "started": ("calls",),
    "ended": ("calls", "inbox"),
    "news": ("calls",),
    "parked": ("calls", "inbox"),
    "answered": ("calls", "inbox"),
    "unknown": ("calls", "inbox"),
    "catalog": ("catalog",),
    "policy": ("policy",),
    "switch": ("catalog", "inbox"),
}
"""What pages are told of each kind of row."""
_OF_PEOPLE = ("delegated", "reminded", "input_given")
"""News of a call that change what its item in the inbox says."""
EVERYTHING = frozenset(topic for topics in TOPICS.values() for topic in topics)


class Live:
    """Everybody in this process who looks at a live page."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._open = Background(edge.settings.limits.streams)
        self._listeners: set[_Listener] = set()
        self._following: asyncio.Task[None] | None = None
        self._seq: int | None = None
        """How far the ledger was followed; None while it cannot be read."""
        edge.ending.append(self.aclose)

    async def listen(self, caller: Caller, request: Request) -> AsyncIterator[bytes]:
        """Server-sent events until the client leaves or its credential ends: `event: calls`, `inbox`, `catalog`, …, and `beat`
        while nothing happens. Raises Refused when its principal holds too many open, and TooLarge."""
        await resolve(request.read(0))
        with suppress(FerruleError):  # the follower says so, and goes on trying
            return self._open.stream(caller, request, self._news(await self._newest()))
        return self._open.stream(caller, request, self._news(None))

    async def _news(self, since: int | None) -> AsyncIterator[bytes]:
        """What is new after a row. What came between the first look and now is told at once."""
        listener = _Listener()
        if self._following is None or self._following.done():
            self._seq = since
            self._following = asyncio.create_task(self._follow(), name="ferrule console follows the ledger")
        elif self._seq != since:
            listener.tell(EVERYTHING)
        self._listeners.add(listener)
        try:
            yield b"retry: 1000\nevent: beat\ndata: 0\n\n"
            while True:
                topics = await listener.next() or (("beat",) if self._seq is not None else ())
                yield b"".join(b"event: %s\ndata: 1\n\n" % topic.encode() for topic in topics) or b": no news\n\n"
        finally:
            self._listeners.discard(listener)

    async def _follow(self) -> None:
        """Tell everybody what is new while anybody listens. A ledger that cannot be read is tried again: until it can, pages
        are not told that all is well."""
        while self._listeners:
            try:
                topics = await self._next()
            except FerruleError as error:
                if self._seq is not None:
                    _log.warning("the console cannot follow the ledger: %s", error)
                self._seq = None
                await asyncio.sleep(_LOST_SECONDS)
                continue
            if topics:
                for listener in self._listeners:
                    listener.tell(topics)
                await asyncio.sleep(_EVERY_SECONDS)

    async def _next(self) -> frozenset[str]:
        """The kinds of what came since the last time. Raises FerruleError."""
        store = self._edge.app.store
        if self._seq is None:
            self._seq = await self._newest()
            return EVERYTHING
        if not await store.wait_after(self._seq, 2.0):
            return frozenset()
        rows = await store.rows_after(self._seq, _AT_ONCE)
        if len(rows) == _AT_ONCE:  # more than anybody could look at: everything is new
            self._seq = await self._newest()
            return EVERYTHING
        if rows:
            self._seq = rows[-1].seq
        return frozenset(topic for row in rows for topic in _topics(row))

    async def _newest(self) -> int:
        rows = await self._edge.app.store.rows_before(None, 1)
        return rows[0].seq if rows else 0

    async def aclose(self) -> None:
        """Everybody goes; browsers come back by themselves when there is a server again."""
        await self._open.aclose()
        if self._following is not None:
            self._following.cancel()
            with suppress(asyncio.CancelledError):
                await self._following


def _topics(row: StoredEntry) -> tuple[str, ...]:
    if row.kind == "news" and row.outcome in _OF_PEOPLE:
        return ("calls", "inbox")
    return TOPICS.get(row.kind, ())


class _Listener:
    """What one page has not been told yet. However slow it reads, that is a handful of words."""

    def __init__(self) -> None:
        self._topics: set[str] = set()
        self._news = asyncio.Event()

    def tell(self, topics: frozenset[str]) -> None:
        self._topics |= topics
        self._news.set()

    async def next(self) -> tuple[str, ...]:
        """What is new; nothing when nothing was for a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_BEAT_SECONDS):
                await self._news.wait()
        self._news.clear()
        topics, self._topics = sorted(self._topics), set()
        return tuple(topics)
