"""The HTTP server: listens, bounds the number of connections, and ends those that are too slow."""

from __future__ import annotations

import asyncio
import logging
import resource
from typing import Any

from ferrule.infra.tasks import eager_tasks
from ferrule.servers.http1.connection import Respond, ServerConnection

_MOST_CONNECTIONS = 10_000
_READ_BYTES = 64 * 1024
"""The size of one read from a connection."""
_EVERY_SECONDS = 1.0
_TOGETHER = 16
"""Connections that are answered before any of them is written to."""
_log = logging.getLogger("ferrule.serve")


class HttpServer:
    """Listens, and passes requests to the application."""

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
        self.connections: dict[ServerConnection, None] = {}
        """The oldest first."""
        self.buffer = memoryview(bytearray(_READ_BYTES))
        """The bytes just read of any connection. All share it: allocating for every read would have the system map and
        unmap memory each time."""
        self.is_closing = False
        self._most = _find_most_connections() if most_connections is None else most_connections
        self._listening: list[asyncio.Server] = []
        self._asking: list[ServerConnection] = []
        self.now = loop.time()
        """When it last ticked: exact enough for idle connections, without a look at the clock for each answer."""
        self._ticking = loop.call_later(_EVERY_SECONDS, self._tick)

    async def listen(self, **where: Any) -> None:
        """Accepts connections; `where` as of `loop.create_server`."""
        self._listening.append(await self.loop.create_server(lambda: ServerConnection(self), **where))

    def take(self, connection: ServerConnection) -> bool:
        """Returns True when there is room for another connection. An idle one makes room, so that holding connections
        open does not keep others out."""
        if self.is_closing:
            return False
        if len(self.connections) >= self._most:
            idle = next((one for one in self.connections if one.is_idle), None)
            if idle is None:
                return False
            # abort() reports the loss in a later turn; until then the connection would still count.
            del self.connections[idle]
            idle.abort()
        self.connections[connection] = None
        return True

    def remove(self, connection: ServerConnection) -> None:
        """Removes a connection that has ended."""
        self.connections.pop(connection, None)

    def schedule(self, connection: ServerConnection) -> None:
        """Schedules a connection's requests for the next turn."""
        if not self._asking:
            self.loop.call_soon(self._turn)
        self._asking.append(connection)

    def _turn(self) -> None:
        """Answers all scheduled connections, and writes to them afterwards. Alternating costs more: each system call
        evicts our work from the processor's caches."""
        # Taken first: what is scheduled meanwhile belongs to the next turn.
        asking, self._asking = self._asking, []
        for begin in range(0, len(asking), _TOGETHER):
            some = asking[begin : begin + _TOGETHER]
            for step in (ServerConnection.answer, ServerConnection.flush):
                for connection in some:
                    try:
                        step(connection)
                    except Exception:
                        _log.exception("a connection failed")
                        connection.abort()

    def _tick(self) -> None:
        now = self.now = self.loop.time()
        for connection in [one for one in self.connections if one.until < now]:
            connection.expire()
        self._ticking = self.loop.call_later(_EVERY_SECONDS, self._tick)

    async def aclose(self, within: float) -> None:
        """Stops accepting; waits a while for requests in flight."""
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


def _find_most_connections() -> int:
    """Returns the limit for connections: the ledger and tools need files, too, and connections must not take the last
    ones."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_CONNECTIONS if files < 0 else max(16, min(_MOST_CONNECTIONS, files // 2))
