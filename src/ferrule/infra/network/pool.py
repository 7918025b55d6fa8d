"""What is kept for one host between requests: its idle connections, and the places of those that may use one at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from ferrule.infra.network.connection import Connection

if TYPE_CHECKING:
    from ferrule.infra.network.http2 import Http2Connection


class Host:
    """One scheme, host and port. A place is taken before a connection is, and given back when the answer was read."""

    __slots__ = ("_is_closed", "_waiting", "free", "http2", "idle", "is_http1", "opening", "places")

    def __init__(self, places: int) -> None:
        self.places = self.free = places
        self.idle: deque[Connection] = deque()
        self.http2: Http2Connection | None = None
        self.is_http1 = False
        """True once it turned out that it does not speak HTTP/2."""
        self.opening: asyncio.Future[None] | None = None
        """Set while the first connection is made; whether others are needed is known then."""
        self._is_closed = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def is_unused(self) -> bool:
        """True when nothing would be lost with it."""
        return self.free == self.places and not self.idle and self.http2 is None

    async def take(self) -> None:
        """Wait for a place; who came first gets the first."""
        if self.free:
            self.free -= 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():
                self.give()  # it was handed over at the same moment
            elif waiter in self._waiting:
                self._waiting.remove(waiter)
            raise

    def give(self) -> None:
        """Give a place back, to whoever has waited longest."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.free += 1

    def give_back(self, connection: Connection | None) -> None:
        """Give a place back, and the connection if it can be used again."""
        if connection is not None and not self._is_closed:
            self.idle.append(connection)
        elif connection is not None:
            connection.close()
        self.give()

    def close_idle(self, idle_seconds: float) -> None:
        """Close what has been idle for longer, or is not there any more."""
        kept = []
        for connection in self.idle:
            if connection.is_usable(idle_seconds):
                kept.append(connection)
            else:
                connection.close()
        self.idle = deque(kept)
        if self.http2 is not None and not self.http2.is_usable(idle_seconds):
            self.http2.drain()
            self.http2 = None

    def close(self) -> None:
        """Close what is idle, and everything else as soon as it is."""
        self._is_closed = True
        for connection in self.idle:
            connection.close()
        self.idle.clear()
        if self.http2 is not None:
            self.http2.drain()
            self.http2 = None
