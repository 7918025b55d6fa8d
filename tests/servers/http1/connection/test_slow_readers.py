"""Clients that do not take their answers: they are waited for, for a while; nothing of theirs is lost before, and nobody pays."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress

import pytest

from ferrule.infra.tasks import resolve
from ferrule.servers.asgi import HttpAnswer, HttpRequest
from ferrule.servers.http1 import connection as http1_connection
from ferrule.servers.http1 import server as http1_server
from ferrule.servers.http1.connection import ServerConnection
from ferrule.servers.http1.server import HttpServer

WAIT = 20.0
SMALL = 16 * 1024
"""Of the system's own buffers, so that little is enough to fill them."""


class Kitchen:
    """Answers everything at once, with as many bytes as the path says; `/body` wants its body first."""

    def respond(self, request: HttpRequest) -> HttpAnswer | Awaitable[HttpAnswer]:
        return self.count(request) if request.path == "/body" else HttpAnswer(200, b"x" * int(request.path[1:]))

    async def count(self, request: HttpRequest) -> HttpAnswer:
        return HttpAnswer(200, b"%d bytes came" % len(await resolve(request.read(1 << 30))))


class Client:
    def __init__(self, taken: socket.socket) -> None:
        self.socket = taken
        self._loop = asyncio.get_running_loop()
        self.came = b""

    async def say(self, *texts: str) -> None:
        for text in texts:  # each in a packet of its own, so that heads are known
            await self._loop.sock_sendall(self.socket, text.encode())
            await asyncio.sleep(0.02)

    async def fill(self, size: int = 100_000) -> None:
        """Ask for more than is taken without being read."""
        await self.say(*[get(f"/{size}")] * 5)

    async def read(self, size: int = 1 << 16) -> bytes:
        data = await asyncio.wait_for(self._loop.sock_recv(self.socket, size), WAIT)
        self.came += data
        return data

    async def rest(self) -> bytes:
        """Everything until the end."""
        with suppress(ConnectionError):
            while await self.read():
                pass
        return self.came


def get(path: str, *lines: str) -> str:
    return f"GET {path} HTTP/1.1\r\n" + "".join(f"{line}\r\n" for line in ("Host: a", *lines)) + "\r\n"


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[HttpServer, Client]]:
    loop, kitchen = asyncio.get_running_loop(), Kitchen()
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)  # its connections have it, too
    server = HttpServer(kitchen.respond, loop)
    await server.listen(sock=listening)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
        taken.setblocking(False)
        await loop.sock_connect(taken, listening.getsockname())
        try:
            yield server, Client(taken)
        finally:
            await server.aclose(0.1)


async def the_connection(server: HttpServer) -> ServerConnection:
    async with asyncio.timeout(WAIT):
        while not server.connections:
            await asyncio.sleep(0.01)
    return next(iter(server.connections))


async def gone(server: HttpServer) -> None:
    async with asyncio.timeout(WAIT):
        while server.connections:
            await asyncio.sleep(0.02)


def limited(monkeypatch: pytest.MonkeyPatch, **seconds: float) -> None:
    monkeypatch.setattr(http1_server, "_EVERY_SECONDS", 0.05)
    for name in ("_HEAD_SECONDS", "_BODY_SECONDS", "_READING_SECONDS", "_IDLE_SECONDS", "_LINGER_SECONDS"):
        monkeypatch.setattr(http1_connection, name, seconds.get(name, 3600.0))


def test_a_body_that_nobody_asked_for_is_not_taken_while_answers_are_not() -> None:
    async def story() -> None:
        async with serving() as (server, client):
            connection = await the_connection(server)
            await client.fill()
            await client.say("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n")
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    await asyncio.get_running_loop().sock_sendall(client.socket, b"z" * 100_000_000)
            assert connection.reader.incoming is not None
            assert connection.reader.incoming.size < 1_000_000

    asyncio.run(story())


@pytest.mark.parametrize(
    "after", [("nonsense\r\n\r\n", "more of it\r\n\r\n"), ("nonsense\r\n\r\n",)], ids=["twice", "once"]
)
def test_what_was_asked_before_nonsense_is_answered_whole_however_late_it_is_read(
    after: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, _LINGER_SECONDS=0.2)

    async def story() -> None:
        async with serving() as (_, client):
            await client.fill()
            await client.say(get("/77"), get("/78"), *after)
            await asyncio.sleep(0.6)  # longer than anybody is listened to who has nothing to read
            came = await client.rest()
            assert [came.count(b"content-length: %d\r\n" % size) for size in (100_000, 77, 78)] == [5, 1, 1]
            assert came.count(b"x" * 100_000) == 5

    asyncio.run(story())


def test_nonsense_alone_after_an_answer_does_not_cut_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, _LINGER_SECONDS=0.2)

    async def story() -> None:
        async with serving() as (_, client):
            await client.say(get("/300000"), "nonsense\r\n\r\n")
            await asyncio.sleep(0.6)
            came = await client.rest()
            assert b"x" * 300_000 in came
            assert b"malformed_request" in came

    asyncio.run(story())


def test_asking_again_gives_nobody_more_time_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, _READING_SECONDS=1.0)

    async def story() -> None:
        async with serving() as (server, client):
            await client.fill()
            await client.say(get("/5"), "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
            await gone(server)

    asyncio.run(story())


def test_whoever_reads_late_still_has_to_send_a_body_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, _BODY_SECONDS=1.0)

    async def story() -> None:
        async with serving() as (server, client):
            await client.fill()
            await client.say("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab")
            assert (await client.rest()).count(b"x" * 100_000) == 5
            await gone(server)

    asyncio.run(story())


def test_a_connection_that_is_closed_does_not_wait_for_ever_to_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, _READING_SECONDS=1.0)

    async def story() -> None:
        async with serving() as (server, client):
            for size in range(20_000, 120_000, 10_000):
                await client.say(get(f"/{size}"))  # some of it stays with us, and it may be little
            await client.say(get("/5", "Connection: close"))
            await gone(server)

    asyncio.run(story())


def test_whoever_reads_slowly_gets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, _READING_SECONDS=0.8)

    async def story() -> None:
        async with serving() as (_, client):
            await client.say(get("/1500000", "Connection: close"))
            while await client.read(50_000):
                await asyncio.sleep(0.05)
            assert client.came.count(b"x") == 1_500_000

    asyncio.run(story())
