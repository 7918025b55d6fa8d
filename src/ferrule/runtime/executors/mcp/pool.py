"""The connections of one process: made when first needed, shared by calls, made anew when they broke."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.tasks import hear_failure

if TYPE_CHECKING:
    from ferrule.runtime.executors.mcp.connection import Connection

_MOST = 64
"""Connections that are kept; of those that nobody uses, the longest unused go first."""
Key = tuple[object, ...]


class Connections:
    """Everything that is connected to."""

    def __init__(self) -> None:
        self._open: OrderedDict[Key, Connection] = OrderedDict()
        self._opening: dict[Key, asyncio.Task[Connection]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._is_closed = False

    @asynccontextmanager
    async def using(self, key: Key, make: Callable[[], Connection], seconds: float) -> AsyncIterator[Connection]:
        """The connection of that key, in use. Raises ExecutionFailed when there is none to be had in so many seconds."""
        connection = await self._get(key, make, seconds)
        connection.calls += 1
        try:
            yield connection
        finally:
            connection.calls -= 1

    def drop(self, key: Key, connection: Connection) -> None:
        """Do not use it again."""
        if self._open.get(key) is connection:
            del self._open[key]
            self._end(connection)

    def give_up(self) -> None:
        """Wait no longer for those that are being opened: closing would, and some servers never answer."""
        for opening in self._opening.values():
            opening.cancel()

    async def aclose(self) -> None:
        """End all of them. Programs that were started for them are gone afterwards."""
        self._is_closed = True
        opening = list(self._opening.values())
        await asyncio.gather(*opening, return_exceptions=True)
        for connection in self._open.values():
            self._end(connection)
        self._open.clear()
        while self._closing:
            await asyncio.wait(self._closing)

    async def _get(self, key: Key, make: Callable[[], Connection], seconds: float) -> Connection:
        found = self._open.get(key)
        if found is not None and not found.is_closed:
            self._open.move_to_end(key)
            return found
        if found is not None:
            self.drop(key, found)
        if self._is_closed:
            raise ExecutionFailed("canceled", "the app is being closed")
        opening = self._opening.get(key)
        if opening is None:
            # A task of its own: a call that is cancelled leaves the connection to those who wait for it, too.
            opening = self._opening[key] = asyncio.create_task(self._connected(key, make(), seconds))
            opening.add_done_callback(hear_failure)
        return await asyncio.shield(opening)

    async def _connected(self, key: Key, connection: Connection, seconds: float) -> Connection:
        try:
            async with asyncio.timeout(seconds):
                await connection.open()
        except TimeoutError:
            self._end(connection)
            label = connection.upstream.label
            raise ExecutionFailed(
                "dependency_unavailable",
                f"the MCP server {label!r} did not answer within {seconds:g} seconds of starting",
                code="no_handshake",
            ) from None
        except BaseException:
            self._end(connection)
            raise
        finally:
            self._opening.pop(key, None)
        if self._is_closed:
            self._end(connection)
            raise ExecutionFailed("canceled", "the app is being closed")
        self._make_room()
        self._open[key] = connection
        return connection

    def _make_room(self) -> None:
        """Closes connections that nobody uses, the longest unused first, until one more is not too many."""
        for key, connection in list(self._open.items()):
            if len(self._open) < _MOST:
                return
            if not connection.calls:
                self.drop(key, connection)

    def _end(self, connection: Connection) -> None:
        task = asyncio.create_task(connection.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
