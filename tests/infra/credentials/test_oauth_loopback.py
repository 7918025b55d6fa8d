"""The port a browser comes back to answers browsers that come back, and nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from ferrule.infra.credentials.oauth_loopback import Loopback, local_target
from tests.infra.credentials.oauth_setup import oauth_setup
from tests.infra.credentials.scripted_provider import ScriptedProvider


async def _ask(port: int, text: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(text.encode("latin-1"))
    await writer.drain()
    writer.write_eof()
    async with asyncio.timeout(5):
        answer = (await reader.read()).decode()
    writer.close()
    return answer


def _played(*requests: str | Callable[[int], str]) -> tuple[list[str], list[dict[str, str]]]:
    """What a port answers to these, and what was handed on."""
    brought: list[dict[str, str]] = []

    async def came(address: str, given: dict[str, str]) -> str:
        brought.append(given)
        return "<b>done</b>"

    async def story() -> list[str]:
        port = Loopback("", came)
        await port.open()
        target = local_target(port.redirect_uri)
        assert target is not None
        try:
            return [await _ask(target.port, one if isinstance(one, str) else one(target.port)) for one in requests]
        finally:
            await port.aclose()

    return asyncio.run(story()), brought


def _get(path: str, host: str = "127.0.0.1:{port}", method: str = "GET") -> Callable[[int], str]:
    return lambda port: f"{method} {path} HTTP/1.1\r\nHost: {host.format(port=port)}\r\n\r\n"


def test_a_browser_that_comes_back_is_answered_without_letting_its_words_in() -> None:
    (answer,), brought = _played(_get("/callback?code=a%2Fb&state=s&iss=https%3A%2F%2Fid.example.com"))
    assert answer.startswith("HTTP/1.1 200 ") and "&lt;b&gt;done&lt;/b&gt;" in answer
    assert "Cache-Control: no-store" in answer and "Referrer-Policy: no-referrer" in answer
    assert brought == [{"code": "a/b", "state": "s", "iss": "https://id.example.com"}]


@pytest.mark.parametrize(
    "request_text",
    [
        _get("/callback?code=a&state=s", method="POST"),
        _get("/callback/?code=a&state=s"),
        _get("/Callback?code=a&state=s"),
        _get("/?code=a&state=s"),
        _get("/callback?code=a&state=s", host="evil.example.com"),
        _get("/callback?code=a&state=s", host="localhost:{port}"),
        _get("/callback?code=a&state=s", host="127.0.0.1:{port}\r\nHost: evil.example.com"),
        _get("/callback?code=a&code=b&state=s"),
        _get("http://127.0.0.1/callback?code=a&state=s"),
        "\x16\x03\x01\x02\r\n\r\n",
        "GET\r\n\r\n",
        "GET /callback?code=a&state=s HTTP/1.1\r\n\r\n",
    ],
)
def test_whatever_else_asks_gets_nowhere(request_text: str | Callable[[int], str]) -> None:
    (answer,), brought = _played(request_text)
    assert answer.startswith(("HTTP/1.1 400 ", "HTTP/1.1 404 ", "HTTP/1.1 405 ")), answer
    assert brought == []


def test_a_head_without_an_end_is_cut_off() -> None:
    (answer, after), brought = _played("GET /callback HTTP/1.1\r\nX: " + "x" * 100_000, _get("/callback?state=s"))
    assert answer == "" and after.startswith("HTTP/1.1 200 ") and len(brought) == 1


def test_the_port_listens_no_longer_than_somebody_is_waited_for(tmp_path: Path) -> None:
    async def story() -> None:
        async with ScriptedProvider() as odd, oauth_setup(tmp_path, {"acme": odd.settings}) as here:
            challenge = await here.authorizations.begin("acme", "alice")
            again = await here.authorizations.begin("acme", "bob")
            ports = {
                word for one in (challenge, again) for word in one.url.split("&") if word.startswith("redirect_uri")
            }
            assert len(ports) == 1
            port = int(ports.pop().partition("127.0.0.1%3A")[2].partition("%2F")[0])
            assert "404" in await _ask(port, _get("/")(port))
            here.clock.advance(601)
            async with asyncio.timeout(10):
                while True:
                    try:
                        await _ask(port, _get("/")(port))
                    except OSError:
                        break
                    await asyncio.sleep(0.05)

    asyncio.run(story())
