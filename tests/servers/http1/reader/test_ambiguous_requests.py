"""Attacks on the wire itself: what one reader of HTTP takes for something else than another, and lines that never end."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from ferrule.infra.tasks import resolve
from ferrule.servers.asgi import ClientGone, HttpAnswer, HttpRequest
from ferrule.servers.http1 import server as http1_server
from ferrule.servers.http1.server import HttpServer
from tests.driven import driven

WAIT = 30.0
CHUNKED = b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


class Witness:
    """An application that only notes what it was asked."""

    def __init__(self) -> None:
        self.seen: list[HttpRequest] = []
        self.port = 0
        self.server: HttpServer

    async def respond(self, request: HttpRequest) -> HttpAnswer | None:
        self.seen.append(request)
        try:
            return HttpAnswer(200, await resolve(request.read(1_000_000)))
        except ClientGone:
            return None

    async def told(self, data: bytes) -> bytes:
        """All that comes back until the server ends the connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(data)
            with suppress(ConnectionError):
                return await asyncio.wait_for(reader.read(), WAIT)
            return b""
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


@asynccontextmanager
async def listening() -> AsyncIterator[Witness]:
    witness = Witness()
    server = witness.server = HttpServer(witness.respond, asyncio.get_running_loop())
    await server.listen(host="127.0.0.1", port=0)
    witness.port = server._listening[0].sockets[0].getsockname()[1]
    try:
        yield witness
    finally:
        await server.aclose(0)


@driven
async def test_what_follows_a_body_is_no_header() -> None:
    """A proxy that checks headers does not check trailers; a credential or a Host must not come by them (RFC 9110, 6.5)."""
    hidden = b"0\r\nAuthorization: Bearer stolen\r\nHost: evil\r\nMcp-Session-Id: other\r\n\r\n"
    async with listening() as witness:
        closing = CHUNKED.replace(b"Host: x", b"Host: x\r\nConnection: close")
        assert b" 200 " in await witness.told(closing + b"4\r\nabcd\r\n" + hidden)
        names = [name for name, _ in witness.seen[0].headers]
        assert names == [b"host", b"connection", b"transfer-encoding"]


@pytest.mark.parametrize(
    "chunks",
    [b"-4\r\nabcd\r\n", b"0x4\r\nabcd\r\n", b"4;a\nabcd\r\n", b"4\r\nabcdXX", b"FFFFFFFFFFFFFFFFF\r\n", b"zz\r\n"],
    ids=["minus", "prefix", "bare line feed", "no end", "too large", "no number"],
)
@driven
async def test_a_body_that_cannot_be_read_is_answered_at_once(chunks: bytes) -> None:
    """Nobody holds a connection for a minute with one bad byte, and nothing is done with half a body."""
    async with listening() as witness:
        for data in (CHUNKED + chunks, CHUNKED + b"2\r\nab\r\n" + chunks):
            assert (await witness.told(data)).startswith(b"HTTP/1.1 400 ")
    assert all(not request._body for request in witness.seen)


@driven
async def test_a_body_that_breaks_while_it_is_read_is_answered_too() -> None:
    async with listening() as witness:
        reader, writer = await asyncio.open_connection("127.0.0.1", witness.port)
        writer.write(CHUNKED + b"2\r\nab\r\n")
        while not witness.seen:  # it waits for the rest of the body
            await asyncio.sleep(0.005)
        writer.write(b"zz\r\n")
        assert (await asyncio.wait_for(reader.read(), WAIT)).startswith(b"HTTP/1.1 400 ")
        writer.close()


@driven
async def test_requests_before_a_broken_one_are_answered() -> None:
    """Whoever gets bytes in behind somebody's request does not take the answer away."""
    good = b"GET /good HTTP/1.1\r\nHost: x\r\n\r\n"
    async with listening() as witness:
        assert (await witness.told(good * 3 + b"\x00\x01\x02")).count(b" 200 OK") == 3
        closing = good.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        assert (await witness.told(closing + good)).count(b" 200 OK") == 1


@pytest.mark.parametrize(
    "begun",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\nX: ",
        b"GET / HTTP/1.1\r\nHost: x\r\nX",
        CHUNKED + b"0\r\nX: ",
        CHUNKED + b"4;ext=",
    ],
    ids=["value", "name", "trailer", "chunk extension"],
)
@driven
async def test_a_line_that_never_ends_is_not_kept(begun: bytes) -> None:
    """The parser would keep it all, and copy it with every part that comes."""
    async with listening() as witness:
        reader, writer = await asyncio.open_connection("127.0.0.1", witness.port)
        sent = 0
        with suppress(ConnectionError):
            writer.write(begun)
            while not reader.at_eof() and sent < 64 * 1024**2:
                writer.write(b"a" * 65536)
                sent += 65536
                await writer.drain()
                with suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(100), 0.001)
        assert sent < 32 * 1024**2
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


@pytest.mark.parametrize("coding", [b"xchunked", b"gzip, chunked", b"chunked, identity", b"identity"])
@driven
async def test_only_chunks_are_a_transfer_encoding(coding: bytes) -> None:
    """What is coded in a way that is not undone here is not taken for a body."""
    async with listening() as witness:
        answer = await witness.told(CHUNKED.replace(b": chunked", b": " + coding) + b"4\r\nabcd\r\n0\r\n\r\n")
        assert answer.startswith((b"HTTP/1.1 501 ", b"HTTP/1.1 400 "))
        assert not witness.seen


@driven
async def test_a_whole_address_names_the_host_that_is_checked() -> None:
    """Host is what the door looks at, so a target that says another one is refused (RFC 9112, 3.2.2)."""
    rest = b" HTTP/1.1\r\nHost: x:80\r\nConnection: close\r\n\r\n"
    async with listening() as witness:
        for target in (b"http://evil/a", b"http://x/a", b"http://y@x:80/a"):
            assert (await witness.told(b"GET " + target + rest)).startswith(b"HTTP/1.1 400 ")
        assert not witness.seen
        assert b" 200 " in await witness.told(b"GET http://X:80/a" + rest)
        assert witness.seen[0].path == "/a"


@pytest.mark.parametrize(
    "data",
    [
        b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /evil",
        b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
        b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length : 4\r\n\r\nabcd",
        b"GET /a HTTP/1.1\r\nHost: x\r\nX: a\r\n Authorization: b\r\n\r\n",
        b"GET /a HTTP/1.1\nHost: x\n\n",
        b"GET /a HTTP/1.1\r\nHost: x\nAuthorization: y\r\n\r\n",
        b"GET /a HTTP/1.1\r\nHost: x\rX: y\r\n\r\n",
        b"GET /a HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n",
        b"CONNECT evil:80 HTTP/1.1\r\nHost: x\r\n\r\nGET /evil HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    ids=["both lengths", "two lengths", "space", "fold", "bare lf", "lf in head", "cr in head", "nul", "connect"],
)
@driven
async def test_requests_that_two_readers_read_differently_are_refused(data: bytes) -> None:
    async with listening() as witness:
        assert (await witness.told(data)).startswith(b"HTTP/1.1 400 ")
        assert not witness.seen


@driven
async def test_many_requests_in_one_write_do_not_keep_others_waiting() -> None:
    """Answers that are there at once are given a few in a row; then it is somebody else's turn. All are answered."""
    request = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"
    async with listening() as witness:
        in_a_row, most, loop = 0, 0, asyncio.get_running_loop()

        def turn() -> None:
            nonlocal in_a_row, most
            most, in_a_row = max(most, len(witness.seen) - in_a_row), len(witness.seen)
            if len(witness.seen) < 2000:
                loop.call_soon(turn)

        turn()
        closing = request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        assert (await witness.told(request * 1999 + closing)).count(b" 200 OK") == 2000
        assert most <= 64


@driven
async def test_a_request_that_wants_another_protocol_is_answered_in_this_one() -> None:
    """Some clients offer HTTP/2 with every first request. What they send is neither lost nor taken for another request."""
    offer = b"POST /a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
    bodies = (b"Content-Length: 4\r\n\r\nabcd", b"Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n")
    last = b"GET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    async with listening() as witness:
        sent = b"".join(offer + body for body in bodies) + offer + b"\r\n" + last
        assert (await witness.told(sent)).count(b" 200 OK") == 4
        found = [(request.path, await resolve(request.read(10))) for request in witness.seen]
        assert found == [("/a", b"abcd"), ("/a", b"abcd"), ("/a", b""), ("/b", b"")]


@driven
async def test_a_body_in_very_small_parts_takes_no_more_room_than_it_has_bytes() -> None:
    size = 100_000
    async with listening() as witness:
        reader, writer = await asyncio.open_connection("127.0.0.1", witness.port)
        writer.write(CHUNKED + b"1\r\na\r\n" * size)
        await writer.drain()
        while not witness.seen or witness.seen[0]._size < size:  # type: ignore[attr-defined]  # of this server
            await asyncio.sleep(0.005)
        assert len(witness.seen[0]._chunks) < 100  # type: ignore[attr-defined]
        writer.write(b"0\r\n\r\n")
        answer = await asyncio.wait_for(reader.readuntil(b"a" * size), WAIT)
        assert b" 200 OK" in answer
        writer.close()


@driven
async def test_whoever_only_holds_connections_keeps_nobody_out() -> None:
    """Where there is no more room, connections that ask nothing go, the oldest first; those that wait for an answer stay."""
    async with listening() as witness:
        witness.server._most = 3
        held = [await asyncio.open_connection("127.0.0.1", witness.port) for _ in range(3)]
        held[0][1].write(CHUNKED + b"1\r\na\r\n")
        while not witness.seen:
            await asyncio.sleep(0.005)
        closing = b"GET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        assert b" 200 OK" in await witness.told(closing)
        with suppress(ConnectionError):
            assert await asyncio.wait_for(held[1][0].read(), WAIT) == b""
        held[0][1].write(b"0\r\n\r\n")
        assert b" 200 OK" in await asyncio.wait_for(held[0][0].readuntil(b"\r\n\r\na"), WAIT)
        for _, writer in held:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


def test_connections_leave_files_for_everything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (1024, 4096))
    assert http1_server._find_most_connections() == 512
    monkeypatch.setattr(resource, "getrlimit", lambda which: (-1, -1))
    assert http1_server._find_most_connections() == 10_000
