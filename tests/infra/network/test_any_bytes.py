"""Whatever comes back, a request ends: with an answer or one of the failures, and with its place given back."""

from __future__ import annotations

import asyncio
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.infra.network.client import Fetched
from ferrule.infra.network.request import BrokenAnswer, TooLong, Unreachable

from .servers import FakeSite, SitePeer, open_client, run, running_site

FRAGMENTS = st.sampled_from(
    [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 C\r\n\r\n", b"HTTP/1.0 404 N\r\n", b"HTTP/1.1 304 N\r\n", b"HTTP/1.1 101 S\r\n",
     b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"Content-Length: 99999\r\n", b"Transfer-Encoding: chunked\r\n",
     b"Transfer-Encoding: identity\r\n", b"Connection: close\r\n", b"Connection: upgrade\r\nUpgrade: x\r\n",
     b"Keep-Alive: timeout=0\r\n",
     b"Content-Encoding: gzip\r\n", b"Content-Encoding: deflate\r\n", b"Content-Encoding: br\r\n", b"A: b\r\n",
     b"A:\r\n", b" folded\r\n",
     b"\r\n", b"\r\n\r\n", b"5\r\nhello\r\n", b"0\r\n\r\n", b"0\r\nT: v\r\n\r\n", b"hello", b"\n", b"\r", b"\0",
     b":", b"x" * 3000,
     zlib.compress(b"hello"), b"\x1f\x8b\x08\0\0\0\0\0\0\3", b"\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0"]
)  # fmt: skip
ANSWERS = st.lists(st.one_of(FRAGMENTS, st.binary(max_size=30)), max_size=12)


@settings(deadline=None, max_examples=200)
@given(ANSWERS, st.sampled_from(["GET", "HEAD", "POST"]), st.booleans(), st.booleans())
def test_any_bytes_end_as_an_answer_or_a_failure(
    parts: list[bytes], method: str, together: bool, hangs_up: bool
) -> None:
    async def answer(there: FakeSite, peer: SitePeer) -> None:
        await peer.read()
        for part in [b"".join(parts)] if together else parts:
            await peer.write(part)
            await asyncio.sleep(0)
        if not hangs_up:
            await peer.reader.read()

    async def story() -> None:
        async with running_site(answer) as there, open_client(per_host=1) as http:
            for _ in range(2):
                try:
                    answered = await http.fetch(
                        method, there.url(), max_bytes=1000, timeout_seconds=5 if hangs_up else 0.02
                    )
                    assert isinstance(answered, Fetched) and len(answered.body) <= 1000
                except (Unreachable, BrokenAnswer, TooLong):
                    pass
                except TimeoutError:
                    assert not hangs_up  # the other side has the time, and the caller sets the limit
                assert http.count_requests(there.target()) == 0

    run(story())


@pytest.mark.parametrize("seed", range(3))
def test_any_cut_of_a_good_answer_is_an_answer_or_broken(seed: int) -> None:
    body = zlib.compress(b"hello " * 50)
    whole = (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
        % (len(body), body)
    )

    async def story() -> None:
        async with open_client() as http:
            for cut in range(seed, len(whole), 3):

                async def answer(there: FakeSite, peer: SitePeer, cut: int = cut) -> None:
                    await peer.read()
                    await peer.write(whole[:cut])

                async with running_site(answer) as there:
                    with pytest.raises((BrokenAnswer, Unreachable)):
                        await http.fetch("POST", there.url())
                    assert http.count_requests(there.target()) == 0

    run(story())
