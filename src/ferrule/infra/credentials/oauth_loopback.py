"""The redirect address on this machine (RFC 8252): one path of one port of 127.0.0.1, one kind of request.

It knows nothing of tokens: it passes on the parameters of the redirect, and the browser gets a page with one sentence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from html import escape
from urllib.parse import parse_qsl

from ferrule.infra.network.urls import BadUrl, Target, parse_url

CALLBACK_PATH = "/callback"
_LONGEST_HEAD = 32 * 1024
_HEAD_SECONDS = 10.0
_LOCAL = ("127.0.0.1", "localhost")

RedirectHandler = Callable[[str, dict[str, str]], Awaitable[str]]
"""Takes the redirect address and its parameters; returns a sentence for the user."""


def local_target(redirect_uri: str) -> Target | None:
    """Returns the port of this machine that a redirect address names; None for another machine, or an invalid address."""
    try:
        target = parse_url(redirect_uri)
    except BadUrl:
        return None
    return target if target.scheme == "http" and target.host in _LOCAL and "?" not in target.path else None


class Loopback:
    """One listening port."""

    def __init__(self, redirect_uri: str, answered: RedirectHandler) -> None:
        """`redirect_uri`: an address on this machine; empty for a free port."""
        self.redirect_uri = redirect_uri
        self._answered = answered
        self._server: asyncio.Server | None = None

    @property
    def is_open(self) -> bool:
        """True while it listens."""
        return self._server is not None

    async def open(self) -> None:
        """Starts to listen. Raises OSError when the port is taken."""
        target = local_target(self.redirect_uri)
        port = target.port if target is not None else 0
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, limit=_LONGEST_HEAD)
        if not self.redirect_uri:
            taken = self._server.sockets[0].getsockname()[1]
            self.redirect_uri = f"http://127.0.0.1:{taken}{CALLBACK_PATH}"

    async def aclose(self) -> None:
        """Stops listening."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
            await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            status, sentence = await self._answer(head)
            writer.write(_page(status, sentence))
            async with asyncio.timeout(_HEAD_SECONDS):
                await writer.drain()
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            pass  # whoever it was went away, or is no browser
        finally:
            writer.close()

    async def _answer(self, head: str) -> tuple[str, str]:
        lines = head.split("\r\n")
        words = lines[0].split(" ")
        if len(words) != 3 or words[0] != "GET" or not words[1].startswith("/"):
            return "405 Method Not Allowed", "Only a browser that comes back from a provider is answered here."
        path, _, query = words[1].partition("?")
        target = parse_url(self.redirect_uri)
        hosts = [line.partition(":")[2].strip().lower() for line in lines[1:] if line.lower().startswith("host:")]
        # A page elsewhere that made its name mean 127.0.0.1 comes with its own name.
        if hosts != [target.authority] or path != target.path:
            return "404 Not Found", "There is nothing here."
        brought = parse_qsl(query, keep_blank_values=True, max_num_fields=20)
        if len({name for name, _ in brought}) != len(brought):
            return "400 Bad Request", "The address says something twice; begin again."
        return "200 OK", await self._answered(self.redirect_uri, dict(brought))


def _page(status: str, sentence: str) -> bytes:
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Ferrule</title><p>{escape(sentence)}</p></html>'
    ).encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n"
        "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
