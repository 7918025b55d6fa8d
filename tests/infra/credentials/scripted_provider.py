"""A token endpoint that answers whatever a test wants: for what a real provider does not do on demand."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import parse_qsl

from ferrule.infra.credentials.oauth_records import OAuthProvider
from tests.infra.credentials.oauth_setup import OAuthSetup


class ScriptedProvider:
    """Gives `access-N` and `refresh-N`, unless `answers` holds something else."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any]] = []
        self.forms: list[dict[str, str]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.arrived = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._port = 0

    async def __aenter__(self) -> ScriptedProvider:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._server is not None
        self._server.close()

    @property
    def asked(self) -> int:
        """How often it was asked for tokens."""
        return len(self.forms)

    @property
    def settings(self) -> OAuthProvider:
        """What a workspace says about it."""
        return OAuthProvider(client_id="c", authorization_url=self.url("/authorize"), token_url=self.url("/token"))

    def url(self, path: str) -> str:
        """One of its addresses."""
        return f"http://127.0.0.1:{self._port}{path}"

    async def connect(self, here: OAuthSetup, **change: Any) -> None:
        """Let alice be connected, with tokens that differ from the usual ones."""
        challenge = await here.authorizations.begin("acme", "alice", ["read"])
        if change:
            self.answers = [(200, {**self._usual(), **change})]
        await here.authorizations.complete(challenge.state, "code")

    def _usual(self) -> dict[str, Any]:
        number = max(len(self.forms) - 1, 0)
        tokens = {"access_token": f"access-{number}", "refresh_token": f"refresh-{number}"}
        return {**tokens, "token_type": "bearer", "expires_in": 3600}

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = next(int(line.partition(":")[2]) for line in head.split("\r\n") if line.startswith("content-length:"))
        self.forms.append(dict(parse_qsl((await reader.readexactly(length)).decode())))
        if self.forms[-1]["grant_type"] == "refresh_token":
            self.arrived.set()
            await self.gate.wait()
        status, value = self.answers.pop(0) if self.answers else (200, self._usual())
        body = json.dumps({key: item for key, item in value.items() if item is not None} if value else value).encode()
        head = f"HTTP/1.1 {status} Odd\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()
