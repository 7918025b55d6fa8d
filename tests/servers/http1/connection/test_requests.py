"""HTTP/1.1 as clients speak it, well and badly: over real connections."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.infra.tasks import resolve
from ferrule.servers.asgi import ClientGone, HttpAnswer, HttpRequest, HttpStream, TooLarge
from ferrule.servers.http1 import connection as http1_connection
from ferrule.servers.http1 import server as http1_server
from ferrule.servers.http1.server import HttpServer

LIMIT = 100_000
WAIT = 30.0


class Kitchen:
    """An application that does what a path says."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.closed = asyncio.Event()
        self.held = asyncio.Event()
        self.begun = 0

    async def respond(self, request: HttpRequest) -> HttpAnswer | HttpStream | None:
        self.begun += 1
        try:
            match request.path:
                case "/echo":
                    return HttpAnswer(200, await resolve(request.read(LIMIT)), [(b"x-query", request.query)])
                case "/method":
                    return HttpAnswer(200, request.method.encode() + b" " + await resolve(request.read(LIMIT)))
                case "/unread":
                    return HttpAnswer(401, b"no")
                case "/slow":
                    await self.held.wait()
                    return HttpAnswer(200, b"late")
                case "/left":
                    await resolve(request.read(LIMIT))
                    await request.wait_until_gone()
                    self.gone.set()
                    return None
                case "/parts":
                    return HttpStream(200, self._parts(), [(b"content-type", b"text/plain")])
                case "/begun":
                    assert request.send is not None
                    await request.send({"type": "http.response.start", "status": 200, "headers": []})
                    await request.send({"type": "http.response.body", "body": b"one ", "more_body": True})
                    return Finish()
                case "/endless":
                    return HttpStream(200, self._endless())
        except TooLarge:
            return HttpAnswer(413)
        except ClientGone:
            self.gone.set()
            return None
        return HttpAnswer(404)

    async def _parts(self) -> AsyncIterator[bytes]:
        for part in (b"one ", b"", b"two"):
            yield part
            await asyncio.sleep(0)

    async def _endless(self) -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 65_536
                await asyncio.sleep(0)
        finally:
            self.closed.set()


class Finish(HttpAnswer):
    """Ends an answer that was begun."""

    def __init__(self) -> None:
        super().__init__(200)

    async def send(self, send: Callable[[Any], Awaitable[None]]) -> None:
        await send({"type": "http.response.body", "body": b"two"})


class Client:
    """A connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(self, text: str | bytes) -> None:
        self.writer.write(text.encode() if isinstance(text, str) else text)

    async def answer(self, *, is_head: bool = False) -> tuple[int, dict[str, str], bytes]:
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), WAIT)
        first, *lines = head.decode().strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        status = int(first.split()[1])
        if is_head or status in (204, 304):
            return status, headers, b""
        if headers.get("transfer-encoding") == "chunked":
            return status, headers, await self._chunks()
        if "content-length" in headers:
            return (
                status,
                headers,
                await asyncio.wait_for(self.reader.readexactly(int(headers["content-length"])), WAIT),
            )
        return status, headers, await asyncio.wait_for(self.reader.read(), WAIT)

    async def _chunks(self) -> bytes:
        found = b""
        while True:
            size = int((await asyncio.wait_for(self.reader.readline(), WAIT)).strip(), 16)
            part = await asyncio.wait_for(self.reader.readexactly(size + 2), WAIT)
            if not size:
                return found
            found += part[:-2]

    async def is_closed(self) -> bool:
        try:
            return await asyncio.wait_for(self.reader.read(1), WAIT) == b""
        except ConnectionResetError:
            return True


@asynccontextmanager
async def serving() -> AsyncIterator[tuple[Kitchen, HttpServer, Callable[[], Awaitable[Client]]]]:
    kitchen = Kitchen()
    server = HttpServer(kitchen.respond, asyncio.get_running_loop(), most_connections=5)
    await server.listen(host="127.0.0.1", port=0)
    port = server._listening[0].sockets[0].getsockname()[1]
    made: list[Client] = []

    async def connect() -> Client:
        made.append(Client(*await asyncio.open_connection("127.0.0.1", port)))
        return made[-1]

    try:
        yield kitchen, server, connect
    finally:
        for client in made:
            client.writer.close()
        await server.aclose(1)
        for client in made:
            with suppress(OSError):
                await client.writer.wait_closed()


def play(story: Callable[[Kitchen, HttpServer, Callable[[], Awaitable[Client]]], Awaitable[None]]) -> None:
    async def main() -> None:
        async with serving() as (kitchen, server, connect):
            await asyncio.wait_for(story(kitchen, server, connect), 2 * WAIT)

    asyncio.run(main())


Connect = Callable[[], Awaitable[Client]]


def test_requests_of_one_connection_are_answered_in_order() -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client = await connect()
        for number in range(40):  # more than are held at once
            client.send(f"POST /echo?n={number} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{number:02}")
        for number in range(40):
            status, headers, body = await client.answer()
            assert (status, headers["x-query"], body) == (200, f"n={number}", b"%02d" % number)

    play(story)


def test_a_body_may_come_in_pieces_and_in_chunks() -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client = await connect()
        for piece in ("POST /echo HTTP/1.1\r\nHo", "st: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nab", "cd\r\n"):
            client.send(piece)
            await asyncio.sleep(0.01)
        client.send("2\r\nef\r\n0\r\n\r\n")
        assert (await client.answer())[2] == b"abcdef"

    play(story)


def test_a_client_that_asks_first_is_told_to_go_on() -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client = await connect()
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.send("ok")
        assert (await client.answer())[2] == b"ok"

    play(story)


def test_whoever_is_refused_before_the_body_never_has_it_read() -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client = await connect()
        client.send("POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
        status, headers, _ = await client.answer()
        assert (status, headers["connection"]) == (401, "close")
        assert await client.is_closed()

    play(story)


@pytest.mark.parametrize("is_chunked", [True, False], ids=["chunks", "length"])
def test_a_body_beyond_the_limit_is_not_taken(is_chunked: bool) -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client = await connect()
        how = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {LIMIT + 1}"
        client.send(f"POST /echo HTTP/1.1\r\nHost: a\r\n{how}\r\n\r\n")
        if is_chunked:
            for _ in range(LIMIT // 10_000 + 1):
                client.send(b"2710\r\n" + b"x" * 10_000 + b"\r\n")
        assert (await client.answer())[0] == 413

    play(story)


@pytest.mark.parametrize("size", [300_000, 6_000_000])
def test_somebody_who_goes_on_sending_still_has_the_answer(size: int) -> None:
    """Closing while bytes come would reset the connection, and take the answer with it."""

    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client = await connect()
        client.send(f"POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n")
        client.send(b"x" * size)
        await asyncio.wait_for(client.writer.drain(), WAIT)
        status, headers, _ = await client.answer()
        assert (status, headers["connection"]) == (401, "close")
        assert await client.is_closed()
        assert kitchen.begun == 1

    play(story)


def test_an_answer_in_parts_ends_and_the_connection_stays() -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client = await connect()
        for path in ("/parts", "/begun"):
            client.send(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")
            assert (await client.answer())[2] == b"one two"

    play(story)


def test_a_client_of_1_0_gets_its_answer_and_an_end() -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        for path, body in (("/parts", b"one two"), ("/echo", b"")):
            client = await connect()
            client.send(f"GET {path} HTTP/1.0\r\n\r\n")
            status, headers, found = await client.answer()
            assert (status, found) == (200, body)
            assert "transfer-encoding" not in headers
            assert await client.is_closed()

    play(story)


@pytest.mark.parametrize("path", ["/echo", "/parts"])
def test_a_head_has_no_body(path: str) -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client = await connect()
        client.send(f"HEAD {path} HTTP/1.1\r\nHost: a\r\n\r\nGET /echo HTTP/1.1\r\nHost: a\r\n\r\n")
        assert (await client.answer(is_head=True))[0] == 200
        assert (await client.answer())[0] == 200

    play(story)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"GET / HTTP/9.9\r\nHost: a\r\n\r\n", 400),
        (b"GET /\xff\xfe%ff HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", 400),
        (b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
        (b"GET /" + b"a" * 33_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\n" + b"X-A: " + b"b" * 40_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: b\r\n" % number for number in range(200)) + b"\r\n", 431),
    ],
    ids=[
        "tls",
        "version",
        "path",
        "both lengths",
        "two lengths",
        "negative",
        "long target",
        "long head",
        "many headers",
    ],
)
def test_what_is_no_request_is_refused_and_the_connection_ends(text: bytes, status: int) -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client = await connect()
        client.send(text)
        told, headers, body = await client.answer()
        problem = json.loads(body)
        assert (told, problem["status"]) == (status, status)
        assert headers["content-type"] == "application/problem+json"
        assert set(problem) == {"type", "title", "status", "code", "detail", "request_id"}
        assert problem["request_id"] == headers["x-request-id"]
        assert await client.is_closed()
        assert kitchen.begun == 0

    play(story)


@pytest.mark.parametrize("method", ["FOO", "get", "PROPFIND", "M-SEARCH", "SETUP", "A" * 32])
def test_a_method_that_nobody_knows_is_for_the_application_to_refuse(method: str) -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client = await connect()
        client.send(f"{method} /method?a=b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi")
        assert (await client.answer())[2] == f"{method} hi".encode()
        assert await client.is_closed()

    play(story)


def test_a_method_that_nobody_knows_may_come_in_pieces_and_is_not_mistaken_for_another() -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        rest = "/method HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"
        client = await connect()
        for _ in range(3):
            client.send(f"POST {rest}")
            assert (await client.answer())[2] == b"POST hi"
        client.send("FOO /method HTT")
        await asyncio.sleep(0.02)
        client.send(rest.removeprefix("/method HTT"))
        assert (await client.answer())[2] == b"FOO hi"
        assert await client.is_closed()

    play(story)


@pytest.mark.parametrize(
    "text",
    [b"FOO", b"FOO /", b"F\x00O / HTTP/1.1\r\nHost: a\r\n\r\n",
     b"F(O) / HTTP/1.1\r\nHost: a\r\n\r\n", b"FOO / HTTP/1.1\r\nHost : a\r\n\r\n", b"FOO / HTTP/9.9\r\n\r\n",
     b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"A" * 33 + b" / HTTP/1.1\r\nHost: a\r\n\r\n",
     b"FOO / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     b"FOO / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"],
)  # fmt: skip
def test_nothing_else_is_taken_with_a_method_that_nobody_knows(text: bytes) -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client = await connect()
        client.send(text)
        client.writer.write_eof()
        answer = await asyncio.wait_for(client.reader.read(), WAIT)
        assert not answer or answer.startswith(b"HTTP/1.1 400 ")
        assert kitchen.begun == 0

    play(story)


def test_nonsense_after_a_request_does_not_disturb_its_answer() -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client = await connect()
        client.send(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        while not kitchen.begun:
            await asyncio.sleep(0.01)
        client.send(b"\x00\x01nonsense\r\n\r\n")
        await asyncio.sleep(0.05)
        kitchen.held.set()
        assert (await client.answer())[2] == b"late"
        assert await client.is_closed()

    play(story)


def test_a_client_that_leaves_is_noticed() -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client = await connect()
        client.send(b"POST /left HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        while not kitchen.begun:
            await asyncio.sleep(0.01)
        client.writer.close()
        await asyncio.wait_for(kitchen.gone.wait(), WAIT)

    play(story)


def test_a_client_that_leaves_while_it_sends_is_no_error() -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client = await connect()
        client.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
        while not kitchen.begun:
            await asyncio.sleep(0.01)
        client.writer.close()
        await asyncio.wait_for(kitchen.gone.wait(), WAIT)

    play(story)


def test_a_stream_ends_with_its_client_and_waits_for_one_that_does_not_read() -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client = await connect()
        client.send(b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")
        await client.reader.readuntil(b"\r\n\r\n")
        connection = next(iter(server.connections))
        while connection._drained is None:
            await asyncio.sleep(0.01)
        assert not kitchen.closed.is_set()
        client.writer.close()
        await asyncio.wait_for(kitchen.closed.wait(), WAIT)

    play(story)


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("_HEAD_SECONDS", b"GET / HTTP/1.1\r\nHos"),
        ("_HEAD_SECONDS", b""),
        ("_BODY_SECONDS", b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nab"),
        ("_IDLE_SECONDS", b"GET /echo HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("_READING_SECONDS", b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n"),
    ],
    ids=["head", "nothing", "body", "idle", "reading"],
)
def test_a_slow_client_loses_its_connection(name: str, sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http1_connection, name, 0.3)
    monkeypatch.setattr(http1_server, "_EVERY_SECONDS", 0.1)

    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client = await connect()
        client.send(sent)
        if name != "_READING_SECONDS":
            await asyncio.wait_for(client.reader.read(), WAIT)
        while server.connections:
            await asyncio.sleep(0.02)

    play(story)


def test_more_connections_than_there_is_room_for_are_told_so() -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        held = [await connect() for _ in range(5)]
        for client in held:
            client.send(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        while kitchen.begun < 5:
            await asyncio.sleep(0.01)
        late = await connect()
        status, headers, body = await late.answer()
        assert (status, headers["retry-after"], json.loads(body)["code"]) == (503, "5", "too_many_connections")
        kitchen.held.set()
        held[0].writer.close()
        while len(server.connections) > 4:
            await asyncio.sleep(0.01)
        again = await connect()
        again.send(b"GET /echo HTTP/1.1\r\nHost: a\r\n\r\n")
        assert (await again.answer())[0] == 200

    play(story)


def test_what_is_being_answered_ends_before_the_server_does() -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        busy, idle = await connect(), await connect()
        idle.send(b"GET /echo HTTP/1.1\r\nHost: a\r\n\r\n")
        await idle.answer()
        busy.send(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        while kitchen.begun < 2:
            await asyncio.sleep(0.01)
        closing = asyncio.create_task(server.aclose(WAIT))
        assert await idle.is_closed()
        kitchen.held.set()
        status, headers, body = await busy.answer()
        assert (status, headers["connection"], body) == (200, "close", b"late")
        await closing

    play(story)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=60), min_size=1, max_size=6))
def test_no_bytes_at_all_hurt_the_server(pieces: list[bytes]) -> None:
    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client, other = await connect(), await connect()
        for piece in pieces:
            client.send(piece)
        other.send(b"GET /echo HTTP/1.1\r\nHost: a\r\n\r\n")
        assert (await other.answer())[0] == 200

    play(story)


def test_what_has_ended_may_be_told_to_end_again() -> None:
    """Closed while something was still to be written, asyncio's transport does not take it any more."""

    async def story(kitchen: Kitchen, server: HttpServer, connect: Connect) -> None:
        client = await connect()
        await asyncio.sleep(0.05)
        (connection,) = server.connections
        connection.write(b"x" * 8 * 1024**2)
        connection._transport.close()
        while await client.reader.read(2**20):
            pass
        await asyncio.sleep(0.05)
        assert not server.connections
        connection.abort()
        connection.drop()

    play(story)
