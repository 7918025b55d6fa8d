"""Servers on this machine that answer exactly what a test says, and remember what they saw."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.infra.network.urls import Target, parse_url

T = TypeVar("T")


class ReceivedRequest:
    """One request as it arrived."""

    def __init__(self, head: str, body: bytes) -> None:
        self.line, *lines = head.split("\r\n")
        self.method, self.path, _ = self.line.split(" ", 2)
        self.headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        self.body = body

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)


class FakeSite:
    """Answers with `answer`: bytes for every request, or a function that is given the connection."""

    def __init__(self, answer: bytes | Callable[[FakeSite, SitePeer], Awaitable[None]]) -> None:
        self.answer = answer
        self.port = 0
        self.connections = 0
        self.asked: list[ReceivedRequest] = []
        self.peers: list[SitePeer] = []
        self.is_gone = asyncio.Event()
        """Set when a client has hung up."""

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def target(self, path: str = "/") -> Target:
        return parse_url(self.url(path))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        peer = SitePeer(self, reader, writer)
        self.peers.append(peer)
        try:
            if isinstance(self.answer, bytes):
                while await peer.read() is not None:
                    await peer.write(self.answer)
            else:
                await self.answer(self, peer)
            writer.close()  # what was written still goes out
            await writer.wait_closed()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            peer.abort()
            self.is_gone.set()


class SitePeer:
    """One connection, seen from the server."""

    def __init__(self, site: FakeSite, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.site = site
        self.reader = reader
        self.writer = writer

    async def read(self) -> ReceivedRequest | None:
        """The next request with its body; None when the client has gone."""
        try:
            head = (await self.reader.readuntil(b"\r\n\r\n"))[:-4].decode("latin-1")
        except asyncio.IncompleteReadError:
            return None
        asked = ReceivedRequest(head, b"")
        if asked.header("transfer-encoding") == "chunked":
            while size := int(await self.reader.readline(), 16):
                asked.body += await self.reader.readexactly(size)
                await self.reader.readexactly(2)
            await self.reader.readexactly(2)
        elif length := int(asked.header("content-length") or 0):
            asked.body = await self.reader.readexactly(length)
        self.site.asked.append(asked)
        return asked

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def abort(self) -> None:
        with suppress(AttributeError):  # asyncio of Python 3.11, where the connection was closed to its end before
            self.writer.transport.abort()


@asynccontextmanager
async def running_site(
    answer: bytes | Callable[[FakeSite, SitePeer], Awaitable[None]],
    tls: ssl.SSLContext | None = None,
    host: str = "127.0.0.1",
) -> AsyncIterator[FakeSite]:
    """A server of HTTP/1.1, for as long as the block runs."""
    made = FakeSite(answer)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(asyncio.CancelledError):
            await made.serve(reader, writer)

    server = await asyncio.start_server(serve, host, 0, ssl=tls)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


@asynccontextmanager
async def open_client(*allowed: str, **options: Any) -> AsyncIterator[Client]:
    """A client that may reach this machine."""
    made = Client(Guard(allowed or ("127.0.0.1",)), **options)
    try:
        yield made
    finally:
        await made.aclose()


def run(story: Coroutine[Any, Any, T], seconds: float = 20.0) -> T:
    """Tell a story within bounds. An exception that asyncio would only log fails it, unless the network is to blame."""
    logged: list[dict[str, Any]] = []

    async def bounded() -> T:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: logged.append(context))
        async with asyncio.timeout(seconds):
            return await story

    result = asyncio.run(bounded())
    assert not [context for context in logged if not isinstance(context.get("exception"), OSError)], logged
    return result


def ok(body: bytes = b"hello", *headers: str) -> bytes:
    """A plain answer."""
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
