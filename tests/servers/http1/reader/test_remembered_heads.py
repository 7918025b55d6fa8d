"""Heads that a client says again: what is remembered of them never changes an answer."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.infra.tasks import resolve
from ferrule.servers.asgi import HttpAnswer, HttpRequest, TooLarge
from ferrule.servers.http1.connection import ServerConnection
from ferrule.servers.http1.server import HttpServer

LIMIT = 40
_REQUEST_ID = re.compile(rb"req_[0-9a-f]{24}")


async def echo(request: HttpRequest) -> HttpAnswer:
    """What came, whole."""
    try:
        body = await resolve(request.read(LIMIT))
    except TooLarge:
        return HttpAnswer(413)
    said = b"|".join(b"%b=%b" % header for header in request.headers)
    return HttpAnswer(
        200, b"%b %b?%b %b %b" % (request.method.encode(), request.path.encode(), request.query, said, body)
    )


class Wire:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written = b""
        self.is_closed = False

    def get_extra_info(self, name: str) -> Any:
        return None

    def write(self, data: bytes) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.is_closed

    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None:
        self.is_closed = True

    abort = write_eof = close

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


async def feed_connection(pieces: list[bytes], *, remembers: bool) -> tuple[bytes, bool, int]:
    """What a connection writes for these pieces, whether it ended, and how many heads were known."""
    server = HttpServer(echo, asyncio.get_running_loop())
    connection, wire = ServerConnection(server), Wire()
    connection.connection_made(wire)  # type: ignore[arg-type]
    known = 0
    recognized = connection.reader.take_known

    def is_known(data: bytes) -> bool:
        nonlocal known
        found = remembers and recognized(data)
        known += found
        return found

    connection.reader.take_known = is_known  # type: ignore[method-assign]
    for piece in pieces:
        if not wire.is_closed:
            connection.data_received(piece)
        for _ in range(4):
            await asyncio.sleep(0)
    await server.aclose(0)
    return wire.written, wire.is_closed, known


def write_request(body: bytes, *lines: str, method: str = "POST", path: str = "/a?b=c", version: str = "1.1") -> bytes:
    head = "".join(f"{line}\r\n" for line in ("Host: h", *lines))
    return f"{method} {path} HTTP/{version}\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


BODIES = (b"", b"x", b"ab", b"yz", b"\r\n\r\n", b"POST / HTTP/1.1\r\n\r\n", b"q" * (LIMIT + 1))
LINES: tuple[tuple[str, ...], ...] = (
    (), ("Authorization: Bearer one",), ("Authorization: Bearer two",), ("Connection: close",), ("Expect: 100-continue",),
    ("Upgrade: x", "Connection: Upgrade"), ("X: 1", "X: 2"),
)  # fmt: skip
CHUNKED = b"POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
ODD = (CHUNKED, b"GET /b HTTP/1.1\r\nHost: h\r\n\r\n", b"\r\n", b"nonsense\r\n\r\n",
       b"FOO /a HTTP/1.1\r\nHost: h\r\n\r\n", b"FOO" + write_request(b"ab")[4:])  # fmt: skip


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(ODD))
    return write_request(
        draw(st.sampled_from(BODIES)),
        *draw(st.sampled_from(LINES)),
        version=draw(st.sampled_from(("1.1", "1.1", "1.0"))),
    )


@st.composite
def conversations(draw: st.DrawFn) -> list[bytes]:
    """Requests, some of them again and again, whole or cut anywhere, alone or together."""
    few = draw(st.lists(requests(), min_size=1, max_size=3))
    said = draw(st.lists(st.sampled_from(few), min_size=1, max_size=8))
    pieces: list[bytes] = []
    for one in said:
        how = draw(st.integers(0, 3))
        if how == 0 and pieces:
            pieces[-1] += one
        elif how == 1:
            cut = draw(st.integers(0, len(one)))
            pieces += [part for part in (one[:cut], one[cut:]) if part]
        else:
            pieces.append(one)
    return pieces


@settings(max_examples=300, deadline=None)
@given(conversations())
def test_what_is_remembered_changes_no_answer(pieces: list[bytes]) -> None:
    async def both() -> None:
        told, ended, _ = await feed_connection(pieces, remembers=True)
        again, ended_again, _ = await feed_connection(pieces, remembers=False)
        assert (_REQUEST_ID.sub(b"", told), ended) == (_REQUEST_ID.sub(b"", again), ended_again)

    asyncio.run(both())


@pytest.mark.parametrize(("line", "known"), [((), 4), (("Expect: 100-continue",), 0)], ids=["usual", "asks first"])
def test_a_head_is_read_once(line: tuple[str, ...], known: int) -> None:
    pieces = [write_request(body, *line) for body in (b"ab", b"cd", b"ef", b"gh", b"ij")]
    told, _, found = asyncio.run(feed_connection(pieces, remembers=True))
    assert found == known
    assert [told.count(body) for body in (b" ab", b" cd", b" ij")] == [1, 1, 1]


def test_few_heads_are_remembered() -> None:
    """So a connection that varies its head costs no more than others."""
    pieces = [write_request(b"ab", f"X: {number}") for number in range(50)]

    async def held() -> int:
        server = HttpServer(echo, asyncio.get_running_loop())
        connection = ServerConnection(server)
        connection.connection_made(Wire())  # type: ignore[arg-type]
        for piece in pieces:
            connection.data_received(piece)
            for _ in range(4):
                await asyncio.sleep(0)
        await server.aclose(0)
        return len(connection.reader.heads)

    assert asyncio.run(held()) == 2
