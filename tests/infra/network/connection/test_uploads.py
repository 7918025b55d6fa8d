"""Bodies in pieces go out as there is room for them, with a length or in chunks, and stop when nobody wants them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from ferrule.infra.network.request import BadRequest, BrokenAnswer, Unreachable
from tests.infra.network.servers import FakeSite, SitePeer, ok, open_client, run, running_site


class Pieces:
    """A body that tells how far it was asked for, and whether it was let go."""

    def __init__(self, count: int, size: int = 1000) -> None:
        self.count, self.size = count, size
        self.given = 0
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            for _ in range(self.count):
                yield b"x" * self.size
                self.given += self.size
        finally:
            self.is_closed = True


@pytest.mark.parametrize("length", [None, 5000])
def test_pieces_arrive_with_a_length_or_in_chunks(length: int | None) -> None:
    async def story() -> None:
        async with running_site(ok()) as there, open_client() as http:
            for _ in range(3):
                body = Pieces(5)
                assert (await http.fetch("POST", there.url(), body=body, length=length)).body == b"hello"
                assert there.asked[-1].body == b"x" * 5000 and body.is_closed
            assert there.connections == 1
            assert there.asked[0].header("content-length") == (None if length is None else "5000")
            assert there.asked[0].header("transfer-encoding") == ("chunked" if length is None else None)
            await http.fetch("PUT", there.url(), body=Pieces(0), length=0)
            await http.fetch("PUT", there.url(), body=Pieces(3, 0))
            assert [asked.body for asked in there.asked[-2:]] == [b"", b""]

    run(story())


@pytest.mark.parametrize("length", [4999, 5001])
def test_a_body_must_be_as_long_as_was_said(length: int) -> None:
    async def story() -> None:
        async with running_site(ok()) as there, open_client() as http:
            body = Pieces(5)
            with pytest.raises(BadRequest, match="said to have"):
                await http.fetch("POST", there.url(), body=body, length=length)
            assert body.is_closed and http.count_requests(there.target()) == 0 and not there.asked

    run(story())


def test_what_the_body_raises_is_what_the_sender_gets() -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"begin"
        raise LookupError("the file has gone")

    async def story() -> None:
        async with running_site(ok()) as there, open_client() as http:
            with pytest.raises(LookupError, match="the file has gone"):
                await http.fetch("POST", there.url(), body=broken())
            assert http.count_requests(there.target()) == 0 and not there.asked

    run(story())


def test_no_more_is_asked_for_than_can_be_sent() -> None:
    async def story() -> None:
        async def slow(there: FakeSite, peer: SitePeer) -> None:
            await peer.reader.readuntil(b"\r\n\r\n")
            await release.wait()
            await peer.reader.readexactly(64 * 1024**2)
            await peer.write(ok())
            await peer.read()

        release = asyncio.Event()
        async with running_site(slow) as there, open_client() as http:
            body = Pieces(1024, 65536)
            task = asyncio.create_task(http.fetch("POST", there.url(), body=body, length=64 * 1024**2))
            before = -1
            while before != body.given:
                before = body.given
                for _ in range(30):
                    await asyncio.sleep(0.001)
            assert body.given < 32 * 1024**2
            release.set()
            assert (await task).body == b"hello" and body.given == 64 * 1024**2

    run(story(), 60)


def test_cancelling_ends_the_body_too() -> None:
    async def story() -> None:
        async def stuck(there: FakeSite, peer: SitePeer) -> None:
            await peer.reader.readuntil(b"\r\n\r\n")
            began.set()
            await asyncio.Event().wait()

        began = asyncio.Event()
        async with running_site(stuck) as there, open_client() as http:
            body = Pieces(10_000, 65536)
            task = asyncio.create_task(http.fetch("POST", there.url(), body=body))
            await began.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while not body.is_closed:
                await asyncio.sleep(0)
            assert http.count_requests(there.target()) == 0

    run(story())


def test_an_answer_before_the_end_of_the_body_is_an_answer() -> None:
    async def story() -> None:
        async def early(there: FakeSite, peer: SitePeer) -> None:
            await peer.reader.readuntil(b"\r\n\r\n")
            await peer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
            await asyncio.Event().wait()

        async with running_site(early) as there, open_client() as http:
            body = Pieces(10_000, 65536)
            answer = await http.fetch("POST", there.url(), body=body)
            assert (answer.status, answer.body) == (413, b"big")
            while not body.is_closed:
                await asyncio.sleep(0)
            assert http.count_requests(there.target()) == 0
            await http.fetch("POST", there.url(), body=b"")
            assert there.connections == 2  # half a request stands on the first

    run(story())


def test_a_body_in_pieces_is_never_sent_twice() -> None:
    async def story() -> None:
        async def answer(there: FakeSite, peer: SitePeer) -> None:
            await peer.read()
            await peer.write(ok())
            await peer.reader.readuntil(b"\r\n\r\n")

        async with running_site(answer) as there, open_client() as http:
            await http.fetch("GET", there.url())
            with pytest.raises((Unreachable, BrokenAnswer)):
                await http.fetch("GET", there.url(), body=Pieces(3))
            assert there.connections == 1

    run(story())
