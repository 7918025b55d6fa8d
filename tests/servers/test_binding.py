"""The door as a whole: who may listen where, what refusals give away, and that a caller's credential goes nowhere."""

from __future__ import annotations

import asyncio
import logging
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.access.keys import Access
from ferrule.access.tokens import KeyLimits
from ferrule.infra.network.urls import is_loopback
from ferrule.model.approval import CALL
from ferrule.model.serving import GrantSettings, JwtSettings, OxpSettings, ServeSettings
from ferrule.servers.binding import find_bind_problem, list_bind_warnings
from tests.driven import driven
from tests.runtime.executors.rest.tools import ALLOW, definition
from tests.servers.issuer import issuing
from tests.servers.local_server import InProcessServer, running_process, running_server

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
ISSUER = JwtSettings(issuer="https://login.example.com")
PUBLIC = "https://tools.example.com"


async def call(stand: InProcessServer, secret: str, tool: str, arguments: dict[str, Any] | None = None) -> Any:
    """A tool call over MCP: its answer."""
    params = {"name": tool, "arguments": arguments or {}, "_meta": META}
    headers = {
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {secret}",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return await stand.ask("POST", "/mcp", body, headers)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "", "10.0.0.5", "tools.example.com", "192.168.1.1", "localhost.evil.com"]
)
def test_a_public_address_without_authentication_is_refused(host: str) -> None:
    """MCP-287"""
    settings = ServeSettings(host=host, auth=False)
    problem = find_bind_problem(settings)
    assert problem is not None and "--dangerously-open" in problem
    assert find_bind_problem(settings, is_danger_accepted=True) is None
    assert any("everybody" in warning for warning in list_bind_warnings(settings))
    assert find_bind_problem(ServeSettings(host=host)) is None


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.0.0.2", "LOCALHOST"])
def test_on_this_machine_alone_authentication_may_be_off(host: str) -> None:
    assert is_loopback(host)
    assert find_bind_problem(ServeSettings(host=host, auth=False)) is None
    assert list_bind_warnings(ServeSettings(host=host, auth=False)) == []


def test_an_open_server_that_others_come_to_through_a_proxy_is_refused() -> None:
    settings = ServeSettings(auth=False, public_url=PUBLIC)
    assert "public_url" in (find_bind_problem(settings) or "")
    assert find_bind_problem(settings, is_danger_accepted=True) is None


def test_one_open_server_is_as_open_as_all_of_them() -> None:
    settings = ServeSettings(host="0.0.0.0", oxp=OxpSettings(auth=("none",)))
    assert "serve.oxp" in (find_bind_problem(settings) or "")


def test_plain_http_where_others_can_listen_is_warned_of() -> None:
    assert any("plain HTTP" in warning for warning in list_bind_warnings(ServeSettings(host="0.0.0.0")))
    assert any(
        "plain HTTP" in warning for warning in list_bind_warnings(ServeSettings(public_url="http://tools.example.com"))
    )
    assert list_bind_warnings(ServeSettings(host="0.0.0.0", public_url=PUBLIC)) == []
    assert list_bind_warnings(ServeSettings(public_url="http://localhost:80")) == []


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ({"public_url": "tools.example.com"}, "public_url"),
        ({"public_url": "https://x/?a=1"}, "query"),
        ({"origins": ("*",)}, "every page"),
        ({"hosts": ("https://x",)}, "no host name"),
        ({"jwt": JwtSettings(issuer="http://login.example.com")}, "https"),
        ({"jwt": JwtSettings(issuer="login")}, "issuer cannot be used"),
        ({"jwt": JwtSettings(issuer="https://x.example", jwks_url="http://y.example")}, "jwks_url must be"),
        ({"jwt": JwtSettings(issuer="https://x.example", algorithms=("HS256",))}, "HS256"),
        ({"jwt": JwtSettings(issuer="https://x.example", algorithms=("none",))}, "'none'"),
        ({"jwt": JwtSettings(issuer="https://x.example", algorithms=())}, "empty"),
        ({"jwt": JwtSettings(issuer="https://x.example", name="a|b")}, "no name"),
        ({"jwt": JwtSettings(issuer="https://x.example", name="local")}, "local"),
        ({"jwt": JwtSettings(issuer="https://x.example", scopes={"x": "aprove"})}, "approve"),
        ({"jwt": (ISSUER, ISSUER)}, "twice"),
        ({"jwt": (ISSUER, JwtSettings(issuer="https://b.example", name="https://login.example.com"))}, "twice"),
        ({"jwt": ISSUER, "host": "0.0.0.0"}, "public_url"),
    ],
    ids=range(16),
)
def test_settings_that_cannot_work_are_refused_before_anything_listens(said: dict[str, Any], word: str) -> None:
    """MCP-281 among them"""
    assert word in (find_bind_problem(ServeSettings(**said)) or "")


def test_sound_settings_are_taken() -> None:
    local = JwtSettings(issuer="http://127.0.0.1:9000", name="dev")
    assert (
        find_bind_problem(
            ServeSettings(
                public_url=PUBLIC, jwt=(ISSUER, local), origins=("https://a.example",), hosts=("*.b.example",)
            )
        )
        is None
    )


def test_a_real_server_does_not_begin_in_the_open(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text("")
    words = [
        sys.executable,
        "-m",
        "ferrule",
        "serve",
        "--workspace",
        str(tmp_path),
        "--host",
        "0.0.0.0",
        "--port",
        "0",
        "--no-auth",
    ]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert ran.returncode != 0 and "--dangerously-open" in ran.stderr and "Traceback" not in ran.stderr


def test_a_real_server_checks_host_origin_and_token(tmp_path: Path) -> None:
    """MCP-44, MCP-45 over a real connection; and a token in the query is none."""

    def status(url: str, **headers: str) -> int:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=given), timeout=30) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code

    (tmp_path / "ferrule.toml").write_text("")
    with running_process(tmp_path) as server:
        secret = server.token(tmp_path)
        bearer = f"Bearer {secret}"
        tools = f"{server.url}/v1/tools"
        assert status(tools, Authorization=bearer) == 200
        assert status(tools) == 401
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(tools, headers={"X-Request-Id": "mine"}), timeout=30)
        with refused.value as error:
            assert (error.code, error.headers["X-Request-Id"]) == (401, "mine")
        assert status(f"{tools}?access_token={secret}") == 401
        assert status(tools, Authorization=bearer, Host="evil.example.com") == 421
        assert status(tools, Authorization=bearer, Origin="http://evil.example.com") == 403
        assert status(tools, Authorization=bearer, Origin="null") == 403
        assert status(tools, Authorization=bearer, Origin=server.url) == 200


@driven
async def test_a_key_for_what_the_catalog_lacks_is_refused_and_its_owner_can_see_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running_server(tmp_path, tools=[echo], auth=True) as stand:
        access = Access(tmp_path)
        for limits in (
            KeyLimits(agent="ghost-agent"),
            KeyLimits(role="ghost-role"),
            KeyLimits(surface="ghost-surface"),
        ):
            _, secret = access.add(access.local_owner(), "bot", [CALL], (), limits)
            with caplog.at_level(logging.WARNING):
                reply = await call(stand, secret, "echo")
            assert reply.status == 403 and b"ghost" not in reply.body
            assert "ghost" in caplog.text and "bot" in caplog.text
            caplog.clear()


@ferrule.tool(read_only=True)
def echo(text: str = "") -> str:
    """Say it again."""
    return text


@ferrule.tool(read_only=True)
def vault_door(text: str = "") -> str:
    """Nobody sees it."""
    return text


@driven
async def test_a_hidden_tool_looks_exactly_like_an_unknown_one(tmp_path: Path) -> None:
    """In every protocol: the same status, the same headers, the same body but for the name that was asked for."""
    async with running_server(tmp_path, tools=[echo, vault_door], auth=True) as stand:
        await stand.app.disable(_tool_id(stand, "vault_door"), by="test")
        secret = stand.read_token()
        shown = await call(stand, secret, "echo", {"text": "hi"})
        assert shown.status == 200 and b"hi" in shown.body
        known, unknown = await call(stand, secret, "vault_door"), await call(stand, secret, "vault_dooz")
        assert known.status == unknown.status and known.headers == unknown.headers
        assert known.body == unknown.body.replace(b"vault_dooz", b"vault_door")
        for method, path, body in (
            ("GET", "/v1/tools/NAME", ""),
            ("POST", "/v1/calls", '{"tool": "NAME"}'),
            ("POST", "/v1/batches", '{"calls": [{"tool": "NAME"}]}'),
            ("POST", "/v1/selection", '{"names": ["NAME"]}'),
            ("POST", "/v1/search", '{"query": "select:NAME"}'),
            ("POST", "/oxp/tools/call", f'{{"request": {{"tool_id": "{stand.app.name}.NAME", "input": {{}}}}}}'),
            ("POST", "/oxp/tools/call", f'{{"request": {{"tool_id": "{stand.app.name}.NAME@1.0.0", "input": {{}}}}}}'),
        ):
            one, two = [await _told(stand, secret, method, path, body, name) for name in ("vault_door", "vault_dooz")]
            assert one == two, path
        listed = [
            await stand.ask("GET", path, b"", {"Authorization": f"Bearer {secret}"})
            for path in ("/v1/tools", "/oxp/tools")
        ]
        assert all(
            reply.status == 200 and b"echo" in reply.body and b"vault_door" not in reply.body for reply in listed
        )


async def _told(stand: InProcessServer, secret: str, method: str, path: str, body: str, name: str) -> tuple[int, str]:
    """A status and a body, without the name that was asked for and without what differs between any two requests."""
    headers = {"Authorization": f"Bearer {secret}"}
    reply = await stand.ask(method, path.replace("NAME", name), body.replace("NAME", name).encode(), headers)
    plain = re.sub(r"(inv|req|res|sea|srf|bat|run)_[0-9a-z]+|\d{4}-\d\d-\d\dT[\d:.]+Z?", "…", reply.body.decode())
    return reply.status, plain.replace(name, "NAME")


def _tool_id(stand: InProcessServer, name: str) -> str:
    return next(listed.tool.tool_id for listed in stand.app.catalog.list_preferred() if listed.tool.name == name)


@driven
async def test_no_upstream_ever_sees_the_credential_a_caller_came_with(tmp_path: Path) -> None:
    """MCP-274: neither a key nor an access token goes on, to a REST service or anywhere else."""
    seen: list[bytes] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(
            b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\nConnection: close\r\n\r\n{"ok":true}'
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(upstream, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    (tmp_path / "tools").mkdir()
    written = definition("GET /status", base_url=f"http://127.0.0.1:{port}", tool_id="get-status")
    (tmp_path / "tools/get-status.tool.md").write_text(written)
    (tmp_path / "policy.toml").write_text(ALLOW)
    async with issuing() as issuer:
        settings = ServeSettings(
            jwt=JwtSettings(issuer=issuer.url, audience="urn:tools"), grants=(GrantSettings(group="x", refuse=True),)
        )
        toml = f'[network]\nallow = ["127.0.0.1:{port}"]\n'
        async with running_server(tmp_path, settings=settings, toml=toml) as stand:
            token = issuer.token(aud="urn:tools")
            for secret in (stand.read_token(), token):
                reply = await call(stand, secret, "get-status")
                assert reply.status == 200 and b'"isError":true' not in reply.body, reply.body
    server.close()
    await server.wait_closed()
    assert len(seen) == 2
    for head in seen:
        assert b"authorization" not in head.lower()
        for secret in (stand.read_token(), token, token.split(".")[2]):
            assert secret.encode() not in head
