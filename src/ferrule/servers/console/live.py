"""Live updates: follows the ledger and notifies open pages which kinds of things are new.

A page is notified at most a few times a second and fetches the parts that changed: whatever the rate of calls, a
browser has little to do. A notification contains no data of any call.
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
from ferrule.servers.asgi import HttpRequest
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
"""The topics that pages receive for each kind of row."""
_OF_PEOPLE = ("delegated", "reminded", "input_given")
"""News of a call that changes its item in the inbox."""
EVERYTHING = frozenset(topic for topics in TOPICS.values() for topic in topics)


class LiveUpdates:
    """The open live pages of this process."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._open = Background(edge.settings.limits.streams)
        self._listeners: set[_Listener] = set()
        self._following: asyncio.Task[None] | None = None
        self._seq: int | None = None
        """The last row that was read; None while the ledger cannot be read."""
        edge.ending.append(self.aclose)

    async def listen(self, caller: Caller, request: HttpRequest) -> AsyncIterator[bytes]:
        """Returns server-sent events until the client leaves or its credential ends: `event: calls`, `inbox`,
        `catalog`, …, and `beat` while nothing happens. Raises Refused when its principal holds too many open, and
        TooLarge.
        """
        await resolve(request.read(0))
        with suppress(FerruleError):  # the follower logs it and retries
            return self._open.stream(caller, request, self._stream_news(await self._find_newest()))
        return self._open.stream(caller, request, self._stream_news(None))

    async def _stream_news(self, since: int | None) -> AsyncIterator[bytes]:
        """Yields what is new after a row, including what arrived before this page began to listen."""
        listener = _Listener()
        if self._following is None or self._following.done():
            self._seq = since
            self._following = asyncio.create_task(self._follow(), name="ferrule console follows the ledger")
        elif self._seq != since:
            listener.notify(EVERYTHING)
        # Nothing is awaited before this: a follower that finds no listener at its first step ends.
        self._listeners.add(listener)
        try:
            yield b"retry: 1000\nevent: beat\ndata: 0\n\n"
            while True:
                topics = await listener.next() or (("beat",) if self._seq is not None else ())
                yield b"".join(b"event: %s\ndata: 1\n\n" % topic.encode() for topic in topics) or b": no news\n\n"
        finally:
            self._listeners.discard(listener)

    async def _follow(self) -> None:
        """Notifies open pages while there are any. A ledger that cannot be read is retried; until then pages get no
        beat, so that they show themselves as stale.
        """
        while self._listeners:
            try:
                topics = await self._read_topics()
            except FerruleError as error:
                if self._seq is not None:
                    _log.warning("the console cannot follow the ledger: %s", error)
                self._seq = None
                await asyncio.sleep(_LOST_SECONDS)
                continue
            if topics:
                for listener in self._listeners:
                    listener.notify(topics)
                await asyncio.sleep(_EVERY_SECONDS)

    async def _read_topics(self) -> frozenset[str]:
        """Returns the topics of the rows since the last time. Raises FerruleError."""
        store = self._edge.app.store
        if self._seq is None:
            self._seq = await self._find_newest()
            return EVERYTHING
        if not await store.wait_after(self._seq, 2.0):
            return frozenset()
        rows = await store.rows_after(self._seq, _AT_ONCE)
        if len(rows) == _AT_ONCE:  # too many rows to look at one by one: refresh everything
            self._seq = await self._find_newest()
            return EVERYTHING
        if rows:
            self._seq = rows[-1].seq
        return frozenset(topic for row in rows for topic in _topics(row))

    async def _find_newest(self) -> int:
        rows = await self._edge.app.store.rows_before(None, 1)
        return rows[0].seq if rows else 0

    async def aclose(self) -> None:
        """Ends all streams; browsers reconnect by themselves when there is a server again."""
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
    """The topics that one page has not received yet. However slowly it reads, there are only a few."""

    def __init__(self) -> None:
        self._topics: set[str] = set()
        self._news = asyncio.Event()

    def notify(self, topics: frozenset[str]) -> None:
        self._topics |= topics
        self._news.set()

    async def next(self) -> tuple[str, ...]:
        """Returns the new topics; none when a beat is due."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_BEAT_SECONDS):
                await self._news.wait()
        self._news.clear()
        topics, self._topics = sorted(self._topics), set()
        return tuple(topics)
