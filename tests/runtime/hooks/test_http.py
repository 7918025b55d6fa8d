"""Addresses as hooks: asked by a signed POST, once, where it is allowed, and their answers are bounded."""

from __future__ import annotations

import asyncio
import time

import pytest

from ferrule.contracts.hook import HookFailed
from ferrule.errors import SettingsError
from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Guard
from ferrule.infra.network.post import is_authentic
from ferrule.runtime.hooks.http import MAX_ANSWER_BYTES, HttpReach
from tests.infra.network.servers import open_client
from tests.runtime.hooks.fake_provider import running_provider, running_raw_server

SECRET = "a secret of some length"


def ask(url: str, message: bytes = b"{}", timeout_seconds: float = 10.0) -> bytes:
    async def story() -> bytes:
        async with open_client() as http:
            return await HttpReach(http, url, SECRET, timeout_seconds).ask(message)

    return asyncio.run(story())


def test_a_question_arrives_signed_and_its_answer_comes_back() -> None:
    with running_provider(lambda body: body[::-1]) as server:
        assert ask(server.url, b"abc") == b"cba"
    (asked,) = server.asked
    assert asked.path == "/ask?team=a"
    assert asked.headers["Host"] == f"127.0.0.1:{server.server_port}"
    assert is_authentic(SECRET.encode(), asked.headers["Ferrule-Signature"], asked.body, now=int(time.time()))


@pytest.mark.parametrize("status", [301, 302, 307, 400, 404, 500])
def test_anything_but_a_success_is_a_failure_and_no_redirect_is_followed(status: int) -> None:
    with (
        running_provider() as elsewhere,
        running_provider(lambda body: b"s3cret", status, Location=elsewhere.url) as server,
    ):
        with pytest.raises(HookFailed, match=f"127.0.0.1 answered {status}") as failed:
            ask(server.url)
        assert len(server.asked) == 1 and elsewhere.asked == []
    assert "s3cret" not in str(failed.value)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x=y\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
    ],
)
def test_answers_come_in_several_shapes_and_need_no_closed_connection(raw: bytes) -> None:
    with running_raw_server(raw, closes=False) as url:
        assert ask(url) == b"{}"


def test_an_answer_may_end_with_its_connection() -> None:
    with running_raw_server(b"HTTP/1.0 200 OK\r\n\r\n{}") as url:
        assert ask(url) == b"{}"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"hello\r\n\r\n",
        b"HTTP/1.1 2x0 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: a\r\n folded\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}xx",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (MAX_ANSWER_BYTES + 1),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n",
    ],
)
def test_what_is_no_answer_is_a_failure(raw: bytes) -> None:
    with running_raw_server(raw) as url, pytest.raises(HookFailed):
        ask(url)


def test_an_address_has_a_deadline() -> None:
    with (
        running_raw_server(b"HTTP/1.1 200 OK\r\n", closes=False) as url,
        pytest.raises(HookFailed, match=r"within 0\.1 s"),
    ):
        ask(url, timeout_seconds=0.1)


def test_a_private_address_that_is_not_listed_gets_nothing() -> None:
    async def story(port: int) -> None:
        guard = Guard(resolver=lambda host, port: ["127.0.0.1"])
        reach = HttpReach(Client(guard), f"https://hooks.example.com:{port}/", SECRET, 5.0)
        with pytest.raises(HookFailed, match="not a public address"):
            await reach.ask(b"{}")

    with running_provider() as server:
        asyncio.run(story(server.server_port))
        assert server.asked == []


@pytest.mark.parametrize(
    ("url", "secret", "says"),
    [
        ("http://example.com/", SECRET, "must use https"),
        ("ftp://example.com/", SECRET, "https"),
        ("https://u:s3cret@example.com/", SECRET, "user name or password"),
        ("https://example.com/", "s3cret", "at least 16 bytes"),
    ],
)
def test_an_address_that_cannot_be_used_is_a_settings_error(url: str, secret: str, says: str) -> None:
    with pytest.raises(SettingsError, match=says) as refused:
        HttpReach(Client(Guard()), url, secret)
    assert "s3cret" not in str(refused.value)
