"""Pool of connections to MCP servers: opened when first needed, shared by calls, replaced when they break."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ferrule.contracts.executor import ExecutionFailed
from ferrule.infra.tasks import hear_failure

if TYPE_CHECKING:
    from ferrule.runtime.executors.mcp.connection import McpConnection

_MOST = 64
"""The largest number of connections; idle ones are closed first, least recently used before others."""
Key = tuple[object, ...]


class ConnectionPool:
    """The open connections of one process."""

    def __init__(self) -> None:
        self._open: OrderedDict[Key, McpConnection] = OrderedDict()
        self._opening: dict[Key, asyncio.Task[McpConnection]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._is_closed = False

    @asynccontextmanager
    async def using(self, key: Key, make: Callable[[], McpConnection], seconds: float) -> AsyncIterator[McpConnection]:
        """Yields the connection of a key, opened if needed. Raises ExecutionFailed when it cannot be opened in time."""
        connection = await self._get(key, make, seconds)
        connection.calls += 1
        try:
            yield connection
        finally:
            connection.calls -= 1

    def drop(self, key: Key, connection: McpConnection) -> None:
        """Removes a connection from the pool and closes it."""
        if self._open.get(key) is connection:
            del self._open[key]
            self._close_in_background(connection)

    def give_up(self) -> None:
        """Cancels connections that are being opened: `aclose` would wait for them, and some servers never answer."""
        for opening in self._opening.values():
            opening.cancel()

    async def aclose(self) -> None:
        """Closes all connections. Programs that were started for them have ended afterwards."""
        self._is_closed = True
        opening = list(self._opening.values())
        await asyncio.gather(*opening, return_exceptions=True)
        for connection in self._open.values():
            self._close_in_background(connection)
        self._open.clear()
        while self._closing:
            await asyncio.wait(self._closing)

    async def _get(self, key: Key, make: Callable[[], McpConnection], seconds: float) -> McpConnection:
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
            # A task of its own: other calls may wait for this connection when the one that needed it first is cancelled.
            opening = self._opening[key] = asyncio.create_task(self._open_connection(key, make(), seconds))
            opening.add_done_callback(hear_failure)
        return await asyncio.shield(opening)

    async def _open_connection(self, key: Key, connection: McpConnection, seconds: float) -> McpConnection:
        try:
            async with asyncio.timeout(seconds):
                await connection.open()
        except TimeoutError:
            self._close_in_background(connection)
            label = connection.upstream.label
            raise ExecutionFailed(
                "dependency_unavailable",
                f"the MCP server {label!r} did not answer within {seconds:g} seconds of starting",
                code="no_handshake",
            ) from None
        except BaseException:
            self._close_in_background(connection)
            raise
        finally:
            self._opening.pop(key, None)
        # It was closed while this was being opened.
        if self._is_closed:
            self._close_in_background(connection)
            raise ExecutionFailed("canceled", "the app is being closed")
        self._make_room()
        self._open[key] = connection
        return connection

    def _make_room(self) -> None:
        """Closes idle connections, least recently used first, until there is room for another."""
        for key, connection in list(self._open.items()):
            if len(self._open) < _MOST:
                return
            if not connection.calls:
                self.drop(key, connection)

    def _close_in_background(self, connection: McpConnection) -> None:
        task = asyncio.create_task(connection.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
