"""Streams end with the credential they were opened by."""

from __future__ import annotations

import asyncio
import http.client
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from ferrule.access.keys import Access
from ferrule.infra.tasks import resolve
from ferrule.model.approval import CALL
from ferrule.model.serving import JwtSettings, LimitSettings, ServeSettings
from ferrule.servers.asgi import HttpRequest
from ferrule.servers.auth.gate import GuardedGate
from tests.driven import driven
from tests.servers.issuer import RESOURCE, issuing
from tests.servers.local_server import running_process


async def silence() -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


def bearing(secret: str) -> HttpRequest:
    headers = [(b"host", b"tools.example.com"), (b"authorization", f"Bearer {secret}".encode())]
    return HttpRequest({"method": "GET", "path": "/mcp", "headers": headers}, silence)


@driven
async def test_a_revoked_key_ends_what_it_holds_open_and_nothing_else(tmp_path: Path) -> None:
    access = Access(tmp_path)
    owner = access.local_owner()
    (token, revoked), (_, kept) = access.add(owner, "ada", [CALL]), access.add(owner, "bob", [CALL])
    gate = GuardedGate(ServeSettings(hosts=("tools.example.com",)), access)
    requests = [bearing(revoked), bearing(kept)]
    for request in requests:
        await resolve(gate.caller(request))
    one, other = [asyncio.create_task(request.wait_until_gone()) for request in requests]
    await asyncio.sleep(0)
    began = time.monotonic()
    access.revoke(owner, token.id)
    await one
    assert time.monotonic() - began < 10 and not other.done()
    other.cancel()
    await asyncio.gather(other, return_exceptions=True)
    await gate.aclose()


@driven
async def test_what_an_expired_token_began_may_come_to_an_end(tmp_path: Path) -> None:
    now = time.time()
    async with issuing() as issuer:
        settings = ServeSettings(
            public_url="https://tools.example.com",
            jwt=JwtSettings(issuer=issuer.url, leeway_seconds=0),
            limits=LimitSettings(request_seconds=60),
        )
        gate = GuardedGate(settings, Access(tmp_path), clock=lambda: now)
        request = bearing(issuer.token(aud=RESOURCE, exp=int(now) + 30, iat=None))
        await resolve(gate.caller(request))
        held = asyncio.create_task(request.wait_until_gone())
        await asyncio.sleep(0)
        now += 31
        gate._watch._look()
        await asyncio.sleep(0)
        assert not held.done()
        now += 60
        gate._watch._look()
        await held
        await gate.aclose()


@driven
async def test_a_request_whose_key_was_revoked_before_it_stays_open_does_not(tmp_path: Path) -> None:
    access = Access(tmp_path)
    owner = access.local_owner()
    token, secret = access.add(owner, "ada", [CALL])
    gate = GuardedGate(ServeSettings(hosts=("tools.example.com",)), access)
    request = bearing(secret)
    await resolve(gate.caller(request))
    access.revoke(owner, token.id)
    gate._look(time.time())
    await request.wait_until_gone()
    await gate.aclose()


def test_a_real_connection_is_closed_when_its_key_is_revoked(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text("")
    access = Access(tmp_path)
    token, secret = access.add(access.local_owner(), "ada", [CALL])
    with running_process(tmp_path) as server:
        host = server.url.removeprefix("http://")
        connection = http.client.HTTPConnection(host, timeout=30)
        body = (
            b'{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{'
            b'"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},'
            b'"io.modelcontextprotocol/clientCapabilities":{}}}}'
        )
        headers = {
            "Authorization": f"Bearer {secret}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "subscriptions/listen",
        }
        connection.request("POST", "/mcp", body, headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        assert answer.headers["content-type"] == "text/event-stream"
        access.revoke(access.local_owner(), token.id)
        began = time.monotonic()
        with suppress(http.client.IncompleteRead, ConnectionError):
            answer.read()
        assert time.monotonic() - began < 20
        connection.close()
