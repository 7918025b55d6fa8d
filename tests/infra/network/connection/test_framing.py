"""Where an answer begins and ends: what is clear is read, what could be read in two ways is refused."""

from __future__ import annotations

import asyncio

import pytest

from ferrule.infra.network.client import Fetched
from ferrule.infra.network.request import BrokenAnswer, TooLong
from tests.infra.network.servers import FakeSite, SitePeer, ok, open_client, run, running_site

HEAD = b"HTTP/1.1 200 OK\r\n"


async def answered(
    answer: bytes, method: str = "GET", *, hangs_up: bool = True, max_bytes: int = 10**6
) -> tuple[Fetched, int]:
    """What comes of an answer, and on how many connections two requests got it."""

    async def once(there: FakeSite, peer: SitePeer) -> None:
        while await peer.read() is not None:
            await peer.write(answer)
            if hangs_up:
                peer.writer.close()
                return

    async with running_site(once) as there, open_client(per_host=1) as http:
        try:
            first = await http.fetch(method, there.url(), max_bytes=max_bytes)
            second = await http.fetch(method, there.url(), max_bytes=max_bytes)
        finally:
            assert http.count_requests(there.target()) == 0
        assert first == second
        return first, there.connections


@pytest.mark.parametrize(
    ("answer", "method", "status", "body"),
    [
        (HEAD + b"\r\nuntil the end", "GET", 200, b"until the end"),
        (HEAD + b"\r\n", "GET", 200, b""),
        (HEAD + b"Transfer-Encoding: identity\r\n\r\nto the end", "GET", 200, b"to the end"),
        (b"HTTP/1.0 200 OK\r\n\r\nold", "GET", 200, b"old"),
        (
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: v\r\n\r\n",
            "GET",
            200,
            b"abcde",
        ),
        (HEAD + b"Content-Length: 3\r\nConnection: close\r\n\r\nabc", "GET", 200, b"abc"),
        (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "GET", 200, b""),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok(b"z"),
            "POST",
            200,
            b"z",
        ),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "GET", 204, b""),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "GET", 304, b""),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", "GET", 304, b""),
        (HEAD + b"Content-Length: 5\r\n\r\n", "HEAD", 200, b""),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", "HEAD", 200, b""),
        (HEAD + b"Content-Encoding: br\r\nContent-Length: 5\r\n\r\n", "HEAD", 200, b""),
        (HEAD + b"\r\n", "HEAD", 200, b""),
        (HEAD + b"Upgrade: h2c\r\nConnection: Upgrade, keep-alive\r\nContent-Length: 2\r\n\r\nhi", "GET", 200, b"hi"),
        (b"HTTP/1.1 999 Odd\r\nContent-Length: 1\r\n\r\nx", "GET", 999, b"x"),
    ],
)
def test_clear_answers_are_read(answer: bytes, method: str, status: int, body: bytes) -> None:
    fetched, _ = run(answered(answer, method))
    assert (fetched.status, fetched.body) == (status, body)
    assert "t" not in fetched.headers and "link" not in fetched.headers


@pytest.mark.parametrize(
    ("answer", "method"),
    [(ok(b"x"), "GET"), (ok(b""), "HEAD"), (b"HTTP/1.1 204 No Content\r\n\r\n", "GET"), (b"HTTP/1.1 304 N\r\n\r\n", "GET"),
     (HEAD + b"Content-Length: 5\r\n\r\n", "HEAD"), (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", "GET")],
)  # fmt: skip
def test_connections_of_answers_with_a_clear_end_are_kept(answer: bytes, method: str) -> None:
    assert run(answered(answer, method, hangs_up=False))[1] == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n", b"\0" * 100, b"<html>no</html>", b"HTTP/1.1 abc OK\r\n\r\n", b"HTTP/1.1 000 OK\r\n\r\n",
        b"HTTP/1.1 99 OK\r\n\r\n", b"HTTP/9.9 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        HEAD + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        HEAD + b"Content-Length: 3, 3\r\n\r\nabc", HEAD + b"Content-Length: -1\r\n\r\n", HEAD + b"Content-Length: 0x3\r\n\r\nabc",
        HEAD + b"Content-Length: +3\r\n\r\nabc", HEAD + b"Content-Length: 99999999999999999999\r\n\r\nabc",
        HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n", HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nab",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", HEAD + b"Content-Length: 9\r\n\r\nabc", HEAD + b"Content-Len",
        HEAD + b"Bad Header: x\r\n\r\n", HEAD + b"A : x\r\n\r\n", HEAD + b"A: x\r\n folded\r\n\r\n", HEAD + b"A: x\0y\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n", b"HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nx",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 11 + ok(), b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 103 Hints\r\nContent-Length: 5\r\n\r\nhello" + ok(),
        HEAD + b"A: b\r\n" * 300 + b"Content-Length: 0\r\n\r\n",
        HEAD + b"".join(b"A%d: b\r\n" % n for n in range(300)) + b"Content-Length: 0\r\n\r\n",
        HEAD + b"A: " + b"b" * 66000 + b"\r\nContent-Length: 0\r\n\r\n", HEAD + b"A: " + b"b" * 2_000_000,
        HEAD + b"A" * 2_000_000, b"HTTP/1.1 200 " + b"O" * 2_000_000, b"H" * 2_000_000, b"\r\n" * 1_000_000,
        (b"HTTP/1.1 103 Early\r\nA: " + b"b" * 9000 + b"\r\n\r\n") * 9 + ok(),
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nT: " + b"b" * 2_000_000,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"b" * 2_000_000,
    ],
)  # fmt: skip
def test_everything_else_is_a_broken_answer(answer: bytes) -> None:
    with pytest.raises(BrokenAnswer):
        run(answered(answer))


def test_a_head_of_exactly_the_limit_with_a_long_body_is_read() -> None:
    body = b"x" * 900_000
    end = b"\r\nContent-Length: %d\r\n\r\n" % len(body)
    head = HEAD + b"A: " + b"b" * (64 * 1024 - len(HEAD) - 3 - len(end)) + end
    assert len(head) == 64 * 1024
    assert run(answered(head + body))[0].body == body
    with pytest.raises(BrokenAnswer, match="too long"):
        run(answered(head.replace(b"A: ", b"A: b") + body))


@pytest.mark.parametrize("is_told", [True, False])
def test_a_body_over_the_limit_is_not_read_to_its_end(is_told: bool) -> None:
    async def story() -> None:
        async def endless(there: FakeSite, peer: SitePeer) -> None:
            await peer.read()
            await peer.write(HEAD + (b"Content-Length: 99999999999\r\n\r\n" if is_told else b"\r\n"))
            while True:
                await peer.write(b"x" * 65536)

        async with running_site(endless) as there, open_client() as http:
            with pytest.raises(TooLong, match="longer than 1000 bytes") as caught:
                await http.fetch("GET", there.url(), max_bytes=1000)
            assert caught.value.limit == 1000 and http.count_requests(there.target()) == 0
            await there.is_gone.wait()
        assert (await answered(ok(b"x" * 1000), max_bytes=1000))[0].body == b"x" * 1000
        with pytest.raises(TooLong):
            await answered(ok(b"x" * 1001), max_bytes=1000)

    run(story())


def test_a_reset_in_the_body_is_told_after_what_came() -> None:
    async def story() -> None:
        async def answer(there: FakeSite, peer: SitePeer) -> None:
            await peer.read()
            await peer.write(HEAD + b"Content-Length: 9\r\n\r\nhel")
            await taken.wait()
            peer.writer.transport.get_extra_info("socket").setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")  # SO_LINGER: reset
            peer.abort()

        taken = asyncio.Event()
        async with running_site(answer) as there, open_client() as http:
            response = await http.send("GET", there.target())
            pieces = response.pieces()
            assert await anext(pieces) == b"hel"
            taken.set()
            with pytest.raises(BrokenAnswer, match="ended before its length"):
                await anext(pieces)
            assert http.count_requests(there.target()) == 0

    run(story())


def test_pieces_come_as_they_are_sent() -> None:
    async def story() -> None:
        step = asyncio.Event()

        async def answer(there: FakeSite, peer: SitePeer) -> None:
            await peer.read()
            await peer.write(HEAD + b"Transfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n")
            for number in range(3):
                await step.wait()
                step.clear()
                await peer.write(b"3\r\n%d\r\n\r\n" % number)
            await peer.write(b"0\r\n\r\n")
            await peer.read()

        async with running_site(answer) as there, open_client() as http:
            response = await http.send("GET", there.target())
            step.set()
            got = []
            async for piece in response.pieces():
                got.append(piece)
                step.set()
            assert got == [b"0\r\n", b"1\r\n", b"2\r\n"]

    run(story())


def test_an_answer_in_single_bytes_is_read() -> None:
    async def story() -> None:
        whole = ok(b"hello", "A: b", "A: c")

        async def answer(there: FakeSite, peer: SitePeer) -> None:
            await peer.read()
            for byte in whole:
                await peer.write(bytes([byte]))
                await asyncio.sleep(0)
            await peer.read()

        async with running_site(answer) as there, open_client() as http:
            answered = await http.fetch("GET", there.url())
            assert answered.body == b"hello" and answered.headers["a"] == "b, c"

    run(story())
