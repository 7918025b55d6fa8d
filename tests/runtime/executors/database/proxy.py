"""A TCP proxy in front of a database: counts connections, cuts them, holds back what is sent, goes away and comes back, or speaks
TLS in front."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

Judge = Callable[[bytes], bool]
"""Sees what a client sends; True cuts its connection there."""


class Proxy:
    """One, on a port of its own."""

    def __init__(self, port: int, judge: Judge = lambda data: False, tls: ssl.SSLContext | None = None) -> None:
        self._to = port
        self._judge = judge
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.connections = 0
        self.passing = asyncio.Event()
        """Cleared: whatever is sent goes nowhere, and nobody is told."""
        self.passing.set()
        self.port = 0

    async def start(self) -> None:
        """Listen; on the same port as before."""
        self._server = await asyncio.start_server(self._client, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Go away, and cut everything."""
        assert self._server is not None
        self._server.close()
        self.cut()
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.sleep(
                0
            )  # what has ended takes itself off in the next turn, and gathering it alone takes none

    def cut(self) -> None:
        """Cut what is there."""
        for writer in self._writers:
            writer.transport.abort()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        with suppress(OSError, asyncio.IncompleteReadError):
            if self._tls is not None:
                await reader.readexactly(8)  # PostgreSQL's wish for TLS
                writer.write(b"S")
                await writer.start_tls(self._tls)
            inner, outer = await asyncio.open_connection("127.0.0.1", self._to)
            ends = {writer, outer}
            self._writers |= ends
            try:
                pumps = [
                    asyncio.ensure_future(self._pump(reader, outer, self._judge)),
                    asyncio.ensure_future(self._pump(inner, writer, lambda data: False)),
                ]
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
                for pump in pumps:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
            finally:
                self._writers -= ends
                for end in ends:
                    end.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, judge: Judge) -> None:
        while data := await reader.read(65_536):
            if judge(data):
                return
            await self.passing.wait()
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def proxied(
    port: int, judge: Judge = lambda data: False, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Proxy]:
    """A proxy in front of a port."""
    proxy = Proxy(port, judge, tls)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()
