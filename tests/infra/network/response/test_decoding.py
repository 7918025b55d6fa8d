"""Packed answers are unpacked as they come; a bomb costs what is allowed and no more; damage is told."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.infra.network.request import BrokenAnswer, TooLong
from ferrule.infra.network.response import find_decoder
from tests.infra.network.servers import FakeSite, SitePeer, ok, open_client, run, running_site


def gz(body: bytes) -> bytes:
    """Packed, without the time: names of tests are made of it."""
    return gzip.compress(body, mtime=0)


TEXT = b'{"rows": [' + b'{"id": 12345, "name": "somebody"}, ' * 20_000 + b"]}"


def compress(coding: str, body: bytes) -> bytes:
    if coding == "raw":
        squeeze = zlib.compressobj(wbits=-15)
        return squeeze.compress(body) + squeeze.flush()
    return gz(body) if "gzip" in coding else zlib.compress(body)


async def fetch_decoded(body: bytes, coding: str, max_bytes: int = 10**7, *, in_pieces: bool = False) -> bytes:
    async with running_site(ok(body, f"Content-Encoding: {coding}")) as there, open_client() as http:
        try:
            response = await http.send("GET", there.target())
            assert "content-encoding" not in response.headers or coding == "identity"
            if in_pieces:
                return b"".join([piece async for piece in response.pieces(max_bytes)])
            return await response.read(max_bytes)
        finally:
            assert http.count_requests(there.target()) == 0


@pytest.mark.parametrize("in_pieces", [True, False])
@pytest.mark.parametrize(
    ("coding", "how"),
    [("gzip", "gzip"), ("GZIP", "gzip"), ("x-gzip", "gzip"), ("deflate", "deflate"), ("deflate", "raw"),
     ("gzip, identity", "gzip")],
)  # fmt: skip
def test_packed_answers_are_unpacked(coding: str, how: str, in_pieces: bool) -> None:
    for body in (TEXT, b"x", b""):
        assert run(fetch_decoded(compress(how, body), coding, in_pieces=in_pieces)) == body


def test_what_is_not_packed_stays_as_it_is() -> None:
    assert run(fetch_decoded(TEXT, "identity")) == TEXT
    assert run(fetch_decoded(b"", "gzip")) == b""  # an empty body has no wrapping


def test_all_members_of_a_gzip_body_are_read() -> None:
    assert run(fetch_decoded(gz(b"one ") + gz(b"") + gz(TEXT), "gzip")) == b"one " + TEXT
    assert run(fetch_decoded(gz(b"one") + b"\0" * 100, "gzip")) == b"one"


@pytest.mark.parametrize(
    ("body", "coding"),
    [(gz(TEXT)[:-1], "gzip"), (gz(TEXT)[:5], "gzip"), (b"\x1f", "gzip"), (b"plain text", "gzip"),
     (gz(TEXT)[:-8] + b"\0" * 8, "gzip"), (gz(TEXT) + b"garbage", "gzip"), (TEXT, "deflate"),
     (gz(TEXT)[:200] + b"\xff" * 50 + gz(TEXT)[250:], "gzip"), (zlib.compress(TEXT)[:-1], "deflate"),
     (zlib.compress(TEXT) + b"more", "deflate"), (TEXT, "br"), (TEXT, "zstd"), (TEXT, "compress"), (TEXT, "gzip, gzip"),
     (TEXT, "gzip, br"), (TEXT, "nonsense"), (gz(b"") * 2000, "gzip"), (gz(b"x") + b"\x1f", "gzip")],
)  # fmt: skip
def test_damage_and_unknown_codings_are_told(body: bytes, coding: str) -> None:
    for in_pieces in (True, False):
        with pytest.raises(BrokenAnswer):
            run(fetch_decoded(body, coding, in_pieces=in_pieces))


def bomb(megabytes: int) -> bytes:
    squeeze = zlib.compressobj(9, wbits=31)
    return b"".join(squeeze.compress(bytes(1024**2)) for _ in range(megabytes)) + squeeze.flush()


BOMB = bomb(256)


@pytest.mark.parametrize("in_pieces", [True, False])
def test_a_bomb_costs_what_is_allowed_and_a_buffer(in_pieces: bool) -> None:
    assert len(BOMB) < 300_000
    tracemalloc.start()
    try:
        with pytest.raises(TooLong):
            run(fetch_decoded(BOMB, "gzip", 1_000_000, in_pieces=in_pieces))
        assert tracemalloc.get_traced_memory()[1] < 6_000_000  # the server's copies of the bomb among it
    finally:
        tracemalloc.stop()


def test_a_bomb_is_stopped_by_how_well_it_is_packed() -> None:
    """Whoever sets no limit, or a large one, does not pay for it either."""

    async def story() -> None:
        async with running_site(ok(BOMB, "Content-Encoding: gzip")) as there, open_client() as http:
            response = await http.send("GET", there.target())
            size = 0
            with pytest.raises(TooLong):
                async for piece in response.pieces():
                    assert len(piece) <= 65536
                    size += len(piece)
            assert size <= 17 * 1024**2
            with pytest.raises(TooLong):
                await http.fetch("GET", there.url(), max_bytes=2**30)
            assert http.count_requests(there.target()) == 0

    run(story())


def test_limits_are_about_what_is_read() -> None:
    assert run(fetch_decoded(compress("gzip", TEXT), "gzip", len(TEXT))) == TEXT
    for in_pieces in (True, False):
        with pytest.raises(TooLong):
            run(fetch_decoded(compress("gzip", TEXT), "gzip", len(TEXT) - 1, in_pieces=in_pieces))


def test_input_that_unpacks_to_nothing_does_not_go_on_for_ever() -> None:
    async def story() -> None:
        async def answer(there: FakeSite, peer: SitePeer) -> None:
            await peer.read()
            await peer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n\x78\x9c")
            while True:
                await peer.write(b"\x00\x00\x00\xff\xff" * 10_000)  # stored blocks of no bytes

        async with running_site(answer) as there, open_client() as http:
            with pytest.raises(TooLong):
                await http.fetch("GET", there.url(), max_bytes=1000)

    run(story())


def test_pieces_are_unpacked_before_the_body_has_ended() -> None:
    async def story() -> None:
        step = asyncio.Event()

        async def answer(there: FakeSite, peer: SitePeer) -> None:
            await peer.read()
            squeeze = zlib.compressobj(wbits=31)
            await peer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
            for line in (b"one\n", b"two\n"):
                await peer.write(squeeze.compress(line) + squeeze.flush(zlib.Z_SYNC_FLUSH))
                await step.wait()
            await peer.write(squeeze.flush())

        async with running_site(answer) as there, open_client() as http:
            response = await http.send("GET", there.target())
            pieces = response.pieces()
            assert await anext(pieces) == b"one\n"
            step.set()
            assert b"".join([piece async for piece in pieces]) == b"two\n"

    run(story())


@given(st.binary(max_size=4000), st.sampled_from(["gzip", "deflate", "raw"]), st.data())
def test_however_a_body_is_cut_it_unpacks_to_the_same(body: bytes, how: str, data: st.DataObject) -> None:
    decoder = find_decoder("deflate" if how == "raw" else how)
    assert decoder is not None
    rest, got = compress(how, body), b""
    while rest:
        size = data.draw(st.integers(1, 50))
        got += b"".join(decoder.unpack(rest[:size]))
        rest = rest[size:]
    decoder.end()
    assert got == body and decoder.given == len(body)


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate"]))
def test_any_bytes_unpack_or_are_broken(body: bytes, coding: str) -> None:
    decoder = find_decoder(coding)
    assert decoder is not None
    try:
        b"".join(decoder.unpack(body))
        decoder.end()
    except BrokenAnswer:
        pass
