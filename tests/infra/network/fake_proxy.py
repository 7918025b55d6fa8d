"""A small real proxy on this machine: opens tunnels, passes plain requests on, and remembers what it was asked for."""

from __future__ import annotations

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from ferrule.infra.network.proxies import Proxies, Proxy
from ferrule.infra.network.urls import parse_url


class FakeProxy:
    """Resolves every name to this machine: what a proxy resolves is its own."""

    def __init__(self, login: str = "", says: bytes = b"") -> None:
        self.port = 0
        self.login = login
        self.says = says
        """Instead of doing anything."""
        self.asked: list[str] = []
        """First lines."""
        self.heads: list[bytes] = []
        self.connections = 0

    def proxies(self, *, login: str = "", host: str = "127.0.0.1", scheme: str = "http", direct: str = "") -> Proxies:
        """Settings that name it for everything."""
        shown = f"Basic {b64encode(login.encode()).decode()}" if login else ""
        proxy = Proxy(parse_url(f"{scheme}://{host}:{self.port}"), shown)
        return Proxies(proxy, proxy)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self._one(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        line, _, rest = head.decode("latin-1").partition("\r\n")
        self.asked.append(line)
        self.heads.append(head)
        method, place, _ = line.split(" ", 2)
        wanted = f"Proxy-Authorization: Basic {b64encode(self.login.encode()).decode()}\r\n"
        if self.says:
            writer.write(self.says)
            await writer.drain()
            return not self.says.startswith(b"close")
        if self.login and wanted not in rest:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 6\r\n\r\nlog in")
            await writer.drain()
            return True
        if method == "CONNECT":
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", int(place.rpartition(":")[2]))
            writer.write(b"HTTP/1.1 200 Connection established\r\nVia: relay\r\n\r\n")
            try:
                await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
            finally:
                far_writer.transport.abort()
            return False
        target = parse_url(place)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", target.port)
        far_writer.write(f"{method} {target.path} HTTP/1.1\r\n{rest.replace(wanted, '')}".encode("latin-1"))
        length = next((int(each[15:]) for each in rest.split("\r\n") if each.lower().startswith("content-length:")), 0)
        far_writer.write(await reader.readexactly(length))
        answer = await far_reader.readuntil(b"\r\n\r\n")
        size = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        writer.write(answer + await far_reader.readexactly(size))
        await writer.drain()
        far_writer.transport.abort()
        return True


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def running_proxy(
    login: str = "", says: bytes = b"", tls: ssl.SSLContext | None = None
) -> AsyncIterator[FakeProxy]:
    """A proxy, for as long as the block runs."""
    relay = FakeProxy(login, says)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(asyncio.CancelledError):
            await relay.serve(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    relay.port = server.sockets[0].getsockname()[1]
    try:
        yield relay
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
