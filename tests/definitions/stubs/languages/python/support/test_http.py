"""As much of HTTP as a client of Ferrule needs, over a connection that a test plays."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ferrule.definitions.stubs.languages.python.support.errors import TransportError
from ferrule.definitions.stubs.languages.python.support.http import Request, exchange


class Played:
    """The other side of a connection: what it says, and what it was told."""

    def __init__(self, said: bytes) -> None:
        self.said = said
        self.heard = b""
        self.is_closed = False
        self.place: tuple[Any, ...] = ()

    async def open(self, host: str, port: int, *, ssl: Any) -> tuple[asyncio.StreamReader, Played]:
        self.place = (host, port, ssl is not None)
        reader = asyncio.StreamReader()
        reader.feed_data(self.said)
        reader.feed_eof()
        return reader, self

    def write(self, data: bytes) -> None:
        self.heard += data

    async def drain(self) -> None:
        pass

    def close(self) -> None:
        self.is_closed = True


def asked(
    monkeypatch: pytest.MonkeyPatch, said: bytes, url: str = "http://host/base/", **headers: str
) -> tuple[int, bytes, Played]:
    """Status and body of the answer to a request."""
    played = Played(said)
    monkeypatch.setattr(asyncio, "open_connection", played.open)

    async def work() -> tuple[int, bytes]:
        async with exchange(url, Request("POST", "/v1/calls", headers, b"{}")) as answer:
            return answer.status, await answer.read()

    try:
        return (*asyncio.run(work()), played)
    finally:
        assert played.is_closed or not played.place


def test_a_request_has_a_head_and_a_body(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, played = asked(monkeypatch, b"HTTP/1.1 204 No Content\r\n\r\n", "http://me:pw@host:81/base/", **{"X-A": "b"})
    assert played.place == ("host", 81, False)
    assert played.heard == (
        b"POST /base/v1/calls HTTP/1.1\r\nHost: host:81\r\nConnection: close\r\nContent-Length: 2\r\nX-A: b\r\n\r\n{}"
    )


@pytest.mark.parametrize(
    ("said", "body"),
    [
        (b"Content-Length: 3\r\n\r\nabcd", b"abc"),
        (b"\r\nuntil the end", b"until the end"),
        (b"Transfer-Encoding: Chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", b"abcde"),
    ],
)
def test_a_body_ends_where_its_head_says(monkeypatch: pytest.MonkeyPatch, said: bytes, body: bytes) -> None:
    assert asked(monkeypatch, b"HTTP/1.1 200 OK\r\n" + said)[:2] == (200, body)


def test_an_answer_on_the_way_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    said = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Slow\r\nContent-Length: 1\r\n\r\nx"
    assert asked(monkeypatch, said)[:2] == (429, b"x")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "no HTTP server"),
        (b"", "no HTTP server"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "broke"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "cut off"),
        (
            b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 40_000 + b"\r\nZ: " + b"y" * 40_000 + b"\r\n\r\n",
            "too many headers",
        ),
    ],
)
def test_what_is_no_whole_answer_is_an_error_of_transport(
    monkeypatch: pytest.MonkeyPatch, said: bytes, words: str
) -> None:
    with pytest.raises(TransportError, match=words):
        asked(monkeypatch, said)


def test_a_header_cannot_carry_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="plain ASCII"):
        asked(monkeypatch, b"", **{"X-A": "b\r\nX-B: c"})


@pytest.mark.parametrize("url", ["ftp://host", "host", "http://"])
def test_what_is_no_address_is_refused_unasked(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    with pytest.raises(TransportError, match="no address of a server"):
        asked(monkeypatch, b"", url)


def test_a_server_that_cannot_be_reached_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(host: str, port: int, *, ssl: Any) -> Any:
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr(asyncio, "open_connection", refuse)

    async def work() -> None:
        async with exchange("http://host", Request("GET", "/", {})):
            pass

    with pytest.raises(TransportError, match="http://host cannot be reached"):
        asyncio.run(work())
