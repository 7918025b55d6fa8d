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
from ferrule.model.journal import StoredEntry
from ferrule.servers.edge import Edge

_EVERY_SECONDS = 0.25
_BEAT_SECONDS = 10.0
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
        self._listeners: set[_Listener] = set()
        self._following: asyncio.Task[None] | None = None
        self._is_closed = False
        edge.ending.append(self.aclose)

    async def listen(self) -> AsyncIterator[bytes]:
        """Server-sent events until the client leaves: `event: calls`, `inbox`, `catalog`, …, and `beat` while nothing happens."""
        listener = _Listener()
        self._listeners.add(listener)
        if self._following is None or self._following.done():
            self._following = asyncio.create_task(self._follow(), name="ferrule console follows the ledger")
        try:
            yield b"retry: 1000\nevent: beat\ndata: 0\n\n"
            while not self._is_closed:
                topics = await listener.next()
                yield b"".join(b"event: %s\ndata: 1\n\n" % topic.encode() for topic in topics or ("beat",))
        finally:
            self._listeners.discard(listener)

    async def _follow(self) -> None:
        store = self._edge.app.store
        try:
            seq = await self._newest()
            while self._listeners:
                if not await store.wait_after(seq, 2.0):
                    continue
                rows = await store.rows_after(seq, _AT_ONCE)
                if len(rows) == _AT_ONCE:  # more than anybody could look at: everything is new
                    seq, topics = await self._newest(), EVERYTHING
                elif rows:
                    seq = rows[-1].seq
                    topics = frozenset(topic for row in rows for topic in _topics(row))
                else:
                    continue
                if not topics:
                    continue
                for listener in self._listeners:
                    listener.tell(topics)
                await asyncio.sleep(_EVERY_SECONDS)
        except FerruleError as error:  # pages ask again, and see what is wrong
            _log.warning("the console cannot follow the ledger: %s", error)

    async def _newest(self) -> int:
        rows = await self._edge.app.store.rows_before(None, 1)
        return rows[0].seq if rows else 0

    async def aclose(self) -> None:
        """Everybody goes; browsers come back by themselves when there is a server again."""
        self._is_closed = True
        for listener in self._listeners:
            listener.tell(frozenset())
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

    async def next(self) -> list[str]:
        """What is new; nothing when nothing was for a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_BEAT_SECONDS):
                await self._news.wait()
        self._news.clear()
        topics, self._topics = sorted(self._topics), set()
        return topics
