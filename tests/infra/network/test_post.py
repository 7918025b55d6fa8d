"""One signed POST: who it is from can be checked, and of the answer no more is read than is wanted."""

from __future__ import annotations

import asyncio

import pytest

from ferrule.errors import SettingsError
from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.infra.network.post import (
    DELIVERY_HEADER,
    SIGNATURE_HEADER,
    Poster,
    PostFailed,
    PostReply,
    is_authentic,
    sign,
)
from tests.infra.network.servers import ok, open_client, run, running_site

SECRET = "a secret of some length"
NOW = 1_767_268_800


def posted(answer: bytes, *, limit: int = 100, delivery: str = "") -> tuple[PostReply, dict[str, str], bytes]:
    """What came back, and what the other side saw."""

    async def story() -> tuple[PostReply, dict[str, str], bytes]:
        async with running_site(answer) as there, open_client() as http:
            poster = Poster(http, there.url("/hook"), SECRET, max_reply_bytes=limit, clock=lambda: NOW)
            reply = await poster.post(b'{"a": 1}', delivery)
            (asked,) = there.asked
            assert asked.line == "POST /hook HTTP/1.1"
            return reply, dict(asked.headers), asked.body

    return run(story())


def test_a_body_arrives_with_a_signature_that_holds_for_it() -> None:
    reply, headers, body = posted(ok(b"thanks"), delivery="d-1\r\nX: y")
    assert reply == PostReply(200, b"thanks")
    header = headers[SIGNATURE_HEADER.lower()]
    assert is_authentic(SECRET.encode(), header, body, now=NOW)
    assert not is_authentic(SECRET.encode(), header, body + b" ", now=NOW)
    assert headers[DELIVERY_HEADER.lower()] == "d-1X: y" and "x" not in headers


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", PostReply(204, b"")),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", PostReply(200, b"ok")),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n1\r\nd\r\n0\r\n\r\n", PostReply(200, b"abcd")),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", PostReply(302, b"")),
    ],
    ids=["no body", "interim answers", "chunks", "a redirect is not followed"],
)  # fmt: skip
def test_answers_of_every_shape_are_read(answer: bytes, reply: PostReply) -> None:
    assert posted(answer)[0] == reply


@pytest.mark.parametrize(
    ("answer", "said", "is_final"),
    [
        (ok(b"x" * 101), "longer than 100 bytes", True),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFF\r\n" + b"x" * 101,
            "longer than 100 bytes",
            True,
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "no answer from 127.0.0.1", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1e3\r\n\r\n", "no answer from 127.0.0.1", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!", "no answer from 127.0.0.1", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "was not requested", False),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\nok", "was not requested", False),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "no answer from 127.0.0.1", False),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 20, "no answer from 127.0.0.1", False),
    ],
    ids=[
        "long",
        "long in chunks",
        "no chunk",
        "no length",
        "two lengths",
        "unknown coding",
        "packed oddly",
        "no HTTP",
        "interim without end",
    ],
)
def test_an_answer_that_is_too_long_or_none_is_a_failure(answer: bytes, said: str, is_final: bool) -> None:
    with pytest.raises(PostFailed, match=said) as failed:
        posted(answer)
    assert failed.value.is_final is is_final


def test_connections_are_kept_between_posts_and_a_lost_one_is_replaced() -> None:
    async def story() -> None:
        async with running_site(ok(b"thanks")) as there, open_client() as http:
            poster = Poster(http, there.url(), SECRET, max_reply_bytes=100)
            for _ in range(3):
                await poster.post(b"{}")
            assert there.connections == 1
            there.peers[0].abort()
            await asyncio.sleep(0.01)
            assert await poster.post(b"{}") == PostReply(200, b"thanks")
            assert there.connections == 2 and len(there.asked) == 4

    run(story())


def test_a_body_that_nobody_wants_is_not_read() -> None:
    assert posted(ok(b"x" * 5000), limit=0)[0] == PostReply(200, b"")


def test_a_signature_ends_with_its_window_and_several_may_be_given() -> None:
    secret, body = SECRET.encode(), b"{}"
    header = sign(secret, NOW, body)
    assert is_authentic(secret, f"v1=00,{header}", body, now=NOW + 300)
    assert not is_authentic(secret, header, body, now=NOW + 301)
    assert not is_authentic(secret, header, body, now=NOW - 301)
    assert not is_authentic(b"another secret here", header, body, now=NOW)
    assert not is_authentic(secret, f"{header},t={NOW + 1}", body, now=NOW)


def test_a_private_address_that_is_not_listed_gets_nothing_and_a_short_secret_is_refused() -> None:
    http = Client(Guard(resolver=lambda host, port: ["10.0.0.1"]))
    poster = Poster(http, "https://hook.example/", SECRET)
    with pytest.raises(PostFailed) as failed:
        run(poster.post(b""))
    assert failed.value.is_final
    with pytest.raises(SettingsError, match="16 bytes") as refused:
        Poster(http, "https://hook.example/", "short-canary")
    assert "canary" not in str(refused.value)
