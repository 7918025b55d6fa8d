"""Answers that are given at once: those of a turn are written together, in order, and only to clients who take them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar

import pytest

from ferrule.servers.asgi import HttpAnswer, HttpRequest
from ferrule.servers.http1.connection import ServerConnection
from ferrule.servers.http1.server import HttpServer

WAIT = 20.0
LARGE = b"x" * 200_000


class Kitchen:
    """Answers some paths at once, and others when they are let go on."""

    server: HttpServer

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.goes_on = asyncio.Event()

    async def respond_later(self, request: HttpRequest) -> HttpAnswer:
        await self.goes_on.wait()
        return HttpAnswer(200, request.path.encode())

    def respond(self, request: HttpRequest) -> HttpAnswer | Awaitable[HttpAnswer]:
        self.asked.append(request.path)
        if request.path == "/broken":
            raise RuntimeError("a mistake of ours")
        if request.path == "/later":
            return self.respond_later(request)
        return HttpAnswer(200, LARGE if request.path == "/large" else request.path.encode())


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def ask(self, path: str) -> None:
        self.writer.write(f"GET {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n".encode())

    async def answer(self) -> bytes:
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), WAIT)
        length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
        return await asyncio.wait_for(self.reader.readexactly(length), WAIT)


@asynccontextmanager
async def serving(count: int = 1) -> AsyncIterator[tuple[Kitchen, list[Client]]]:
    kitchen = Kitchen()
    server = HttpServer(kitchen.respond, asyncio.get_running_loop())
    kitchen.server = server
    await server.listen(host="127.0.0.1", port=0)
    port = server._listening[0].sockets[0].getsockname()[1]
    clients = [Client(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(count)]
    try:
        yield kitchen, clients
    finally:
        for client in clients:
            client.writer.close()
        await server.aclose(1)
        for client in clients:
            with suppress(OSError):
                await client.writer.wait_closed()


async def seen(kitchen: Kitchen, count: int) -> None:
    async with asyncio.timeout(WAIT):
        while len(kitchen.asked) < count:
            await asyncio.sleep(0.005)


def test_what_is_asked_while_another_answer_is_waited_for_is_answered_in_order() -> None:
    async def story() -> None:
        async with serving() as (kitchen, [client]):
            client.ask("/later")
            await seen(kitchen, 1)
            for _ in range(5):
                client.ask("/now")
                await asyncio.sleep(0.02)  # each in a packet of its own
            assert kitchen.asked == ["/later"]
            kitchen.goes_on.set()
            assert [await client.answer() for _ in range(6)] == [b"/later", *[b"/now"] * 5]
            assert kitchen.asked == ["/later", *["/now"] * 5]

    asyncio.run(story())


def test_everybody_of_a_turn_is_answered_before_anybody_is_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with serving(3) as (kitchen, clients):
            done: list[str] = []
            respond, write = kitchen.respond, ServerConnection.write

            def answered(request: HttpRequest) -> HttpAnswer | Awaitable[HttpAnswer]:
                done.append("answered")
                return respond(request)

            def written(connection: ServerConnection, data: bytes | bytearray) -> None:
                done.append("written")
                write(connection, data)

            monkeypatch.setattr(ServerConnection, "write", written)
            kitchen.server.respond = answered
            for connection in kitchen.server.connections:  # as if it were read in one turn of the event loop
                connection.data_received(b"GET /now HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
            assert [await client.answer() for client in clients] == [b"/now"] * 3
            assert done == ["answered"] * 3 + ["written"] * 3

    asyncio.run(story())


def test_a_client_that_does_not_read_is_not_answered_until_it_does() -> None:
    async def story() -> None:
        async with serving() as (kitchen, [client]):
            asked = 0
            while asked < 200 and len(kitchen.asked) > asked - 10:
                client.ask("/large")
                asked += 1
                await asyncio.sleep(0.005)
            assert asked < 200, "answers were made that nobody takes"
            answered = len(kitchen.asked)
            await asyncio.sleep(0.1)
            assert len(kitchen.asked) == answered
            assert [len(await client.answer()) for _ in range(asked)] == [len(LARGE)] * asked

    asyncio.run(story())


def test_a_mistake_in_one_connection_does_not_touch_the_others_of_its_turn(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with serving(9) as (_, clients):
            for number, client in enumerate(clients):
                client.ask("/broken" if number == 4 else "/now")
            broken, others = clients[4], clients[:4] + clients[5:]
            assert [await client.answer() for client in others] == [b"/now"] * 8
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await broken.answer()

    with caplog.at_level(logging.ERROR, "ferrule.serve"):
        asyncio.run(story())
    assert [record.message for record in caplog.records] == ["a connection failed"]


def test_a_request_that_waits_goes_on_in_the_context_in_which_it_began() -> None:
    number: ContextVar[int] = ContextVar("number", default=0)
    seen_first: list[int] = []

    async def respond_later() -> HttpAnswer:
        await asyncio.sleep(0)
        return HttpAnswer(200, b"%d" % number.get())

    def respond(request: HttpRequest) -> Awaitable[HttpAnswer]:
        seen_first.append(number.get())
        number.set(len(seen_first))
        return respond_later()

    async def story() -> None:
        async with serving() as (kitchen, [client]):
            kitchen.server.respond = respond
            for path in ("/a", "/b"):
                client.ask(path)
            assert [await client.answer() for _ in range(2)] == [b"1", b"2"]
            assert seen_first == [0, 0], "a request left something behind for the next one"

    asyncio.run(story())


def test_a_request_that_is_canceled_before_its_task_starts_still_ends_in_its_own_way() -> None:
    ended: list[str] = []

    async def respond_later() -> HttpAnswer:
        ended.append("started")
        try:
            await asyncio.sleep(WAIT)
        finally:
            ended.append("let go")
        return HttpAnswer(200)

    def respond(request: HttpRequest) -> HttpAnswer | Awaitable[HttpAnswer]:
        if request.path == "/now":
            return HttpAnswer(200, b"next")
        assert request.task is None

        def cancel() -> None:
            assert request.task is not None
            request.task.cancel()

        asyncio.get_running_loop().call_soon(cancel)  # before the task that is about to be made has its turn
        return respond_later()

    async def story() -> None:
        async with serving(2) as (kitchen, [client, other]):
            kitchen.server.respond = respond
            client.ask("/canceled")
            client.ask("/now")
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await client.answer()  # the next answer would be taken for that of the first request
            assert ended == ["started", "let go"]
            other.ask("/now")
            assert await other.answer() == b"next"

    asyncio.run(story())


def test_a_server_that_stops_writes_what_it_has_answered() -> None:
    async def story() -> None:
        loop = asyncio.get_running_loop()
        stopping = asyncio.Event()

        async def respond_and_stop(request: HttpRequest) -> HttpAnswer:
            loop.call_soon(stopping.set)
            await asyncio.sleep(0)
            return HttpAnswer(200, request.path.encode())

        server = HttpServer(respond_and_stop, loop)
        await server.listen(host="127.0.0.1", port=0)
        client = Client(*await asyncio.open_connection(*server._listening[0].sockets[0].getsockname()))
        client.ask("/last")
        await stopping.wait()
        [connection] = server.connections
        while connection._current is not None or not connection._answers:  # it is kept for the next turn
            await asyncio.sleep(0)
        assert not connection.is_idle
        await server.aclose(1)
        assert await client.answer() == b"/last"
        client.writer.close()
        await client.writer.wait_closed()

    asyncio.run(asyncio.wait_for(story(), WAIT))
