"""The server: it listens, has room for so many connections, and ends those that are too slow."""

from __future__ import annotations

import asyncio
import logging
import resource
from typing import Any

from ferrule.infra.tasks import eager_tasks
from ferrule.servers.http1.connection import Connection, Respond

_MOST_CONNECTIONS = 10_000
_READ_BYTES = 64 * 1024
"""What is read of a connection at once."""
_EVERY_SECONDS = 1.0
_TOGETHER = 16
"""Connections that are answered before any of them is written to."""
_log = logging.getLogger("ferrule.serve")


class HttpServer:
    """Listens, and hands requests to the application."""

    def __init__(
        self,
        respond: Respond,
        loop: asyncio.AbstractEventLoop,
        most_connections: int | None = None,
    ) -> None:
        """`respond` is called in a context of its own for each request."""
        self.respond = respond
        self.tasks = eager_tasks()
        self.loop = loop
        self.connections: dict[Connection, None] = {}
        """The oldest first."""
        self.buffer = memoryview(bytearray(_READ_BYTES))
        """What was just read of whichever connection. All share it: making room anew for every read would have the system map
        and unmap that room each time."""
        self.is_closing = False
        self._most = _room() if most_connections is None else most_connections
        self._listening: list[asyncio.Server] = []
        self._asking: list[Connection] = []
        self._ticking = loop.call_later(_EVERY_SECONDS, self._tick)

    async def listen(self, **where: Any) -> None:
        """Take connections; `where` as of `loop.create_server`."""
        self._listening.append(await self.loop.create_server(lambda: Connection(self), **where))

    def take(self, connection: Connection) -> bool:
        """True when there is room for another connection. One that asks nothing makes room, so that nobody keeps others out by
        just holding connections."""
        if self.is_closing:
            return False
        if len(self.connections) >= self._most:
            idle = next((one for one in self.connections if one.is_idle), None)
            if idle is None:
                return False
            del self.connections[idle]
            idle.abort()
        self.connections[connection] = None
        return True

    def let_go(self, connection: Connection) -> None:
        """A connection is over."""
        self.connections.pop(connection, None)

    def enlist(self, connection: Connection) -> None:
        """Have what a connection asks answered in the next turn."""
        if not self._asking:
            self.loop.call_soon(self._turn)
        self._asking.append(connection)

    def _turn(self) -> None:
        """Answer everybody who asks, and write to them afterwards. Going from one to the other with each of them costs more:
        whatever the processor has learned of our work it forgets while the system does its own."""
        asking, self._asking = self._asking, []
        for begin in range(0, len(asking), _TOGETHER):
            some = asking[begin : begin + _TOGETHER]
            for step in (Connection.answer, Connection.flush):
                for connection in some:
                    try:
                        step(connection)
                    except Exception:
                        _log.exception("a connection failed")
                        connection.abort()

    def _tick(self) -> None:
        now = self.loop.time()
        for connection in [one for one in self.connections if one.until < now]:
            connection.expire()
        self._ticking = self.loop.call_later(_EVERY_SECONDS, self._tick)

    async def aclose(self, within: float) -> None:
        """Take no more; let what is being answered end, for a while."""
        self.is_closing = True
        for server in self._listening:
            server.close()
        for connection in list(self.connections):
            connection.finish()
        until = self.loop.time() + within
        while self.connections and self.loop.time() < until:
            await asyncio.sleep(0.02)
        for connection in list(self.connections):
            connection.abort()
        self._ticking.cancel()


def _room() -> int:
    """How many connections there may be: the ledger and tools need files, too, and connections must not take the last ones."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_CONNECTIONS if files < 0 else max(16, min(_MOST_CONNECTIONS, files // 2))
