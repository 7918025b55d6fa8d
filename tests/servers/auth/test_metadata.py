"""What clients are told about authorization: the documents of RFC 9728 and the challenges of refusals (MCP-270 to MCP-276)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ferrule.model.serving import JwtSettings, McpSettings, ServeSettings
from tests.driven import driven
from tests.servers.local_server import Reply, running_server

ISSUER = JwtSettings(issuer="https://login.example.com")
WELL_KNOWN = "/.well-known/oauth-protected-resource"


async def got(
    folder: Path, settings: ServeSettings, path: str, method: str = "GET", host: str = "localhost:8787"
) -> Reply:
    async with running_server(folder, settings=settings) as stand:
        return await stand.ask(method, path, headers={"Host": host})


def read_challenge(reply: Reply) -> dict[str, str]:
    """The parts of a challenge."""
    challenge = reply.headers["www-authenticate"]
    assert challenge.startswith("Bearer ")
    return dict(re.findall(r'(\w+)="([^"]*)"', challenge))


@driven
async def test_the_documents_name_the_public_address_whatever_host_is_asked(tmp_path: Path) -> None:
    """MCP-271, MCP-272: both forms, for anybody, from the settings and not from the request."""
    settings = ServeSettings(public_url="HTTPS://Tools.Example.com:443/", jwt=ISSUER)
    for path in (WELL_KNOWN, f"{WELL_KNOWN}/mcp", f"{WELL_KNOWN}/mcp/"):
        for host in ("localhost:8787", "tools.example.com"):
            reply = await got(tmp_path, settings, path, host=host)
            assert reply.status == 200 and reply.headers["content-type"] == "application/json"
            assert reply.json() == {
                "resource": "https://tools.example.com/mcp",
                "authorization_servers": ["https://login.example.com"],
                "scopes_supported": ["call"],
                "bearer_methods_supported": ["header"],
                "resource_name": "Ferrule",
            }
    assert (await got(tmp_path, settings, f"{WELL_KNOWN}/other")).status == 404
    refused = await got(tmp_path, settings, WELL_KNOWN, "POST")
    assert (refused.status, refused.headers["allow"], refused.json()["code"]) == (
        405,
        "GET, HEAD",
        "method_not_allowed",
    )
    assert (await got(tmp_path, settings, WELL_KNOWN, host="evil.com")).status == 421


@driven
async def test_a_public_address_with_a_path_keeps_it(tmp_path: Path) -> None:
    settings = ServeSettings(public_url="https://example.com/tools/", jwt=ISSUER, mcp=McpSettings(path="/m"))
    for path in (f"{WELL_KNOWN}/tools/m", f"{WELL_KNOWN}/m", WELL_KNOWN):
        assert (await got(tmp_path, settings, path)).json()["resource"] == "https://example.com/tools/m"
    challenge = read_challenge(await got(tmp_path, settings, "/m"))
    assert challenge["resource_metadata"] == f"https://example.com{WELL_KNOWN}/tools/m"


@driven
async def test_a_local_server_goes_by_the_name_it_was_called_by_and_by_its_real_port(tmp_path: Path) -> None:
    settings = ServeSettings(jwt=ISSUER)
    for host in ("localhost:8787", "127.0.0.1:8787", "[::1]:8787"):
        assert (await got(tmp_path, settings, WELL_KNOWN, host=host)).json()["resource"] == f"http://{host}/mcp"
    reply = await got(tmp_path, settings, WELL_KNOWN, host="localhost:9999")
    assert reply.json()["resource"] == "http://localhost:8787/mcp"


@driven
async def test_without_an_authorization_server_there_is_no_document(tmp_path: Path) -> None:
    reply = await got(tmp_path, ServeSettings(), WELL_KNOWN)
    assert reply.status == 404
    reply = await got(tmp_path, ServeSettings(), "/mcp")
    assert reply.status == 401 and reply.headers["www-authenticate"] == 'Bearer realm="ferrule"'


@pytest.mark.parametrize(
    ("given", "status", "error"),
    [
        (None, 401, None),
        ("Basic dXNlcjpwYXNz", 401, None),
        ("Bearer", 400, "invalid_request"),
        ("Bearer ", 400, "invalid_request"),
        ("Bearer a b", 400, "invalid_request"),
        ("Bearer abc", 401, "invalid_token"),
        ("bearer frl_x_y", 401, "invalid_token"),
        ("Bearer frl_00000000_\xff\xfe", 401, "invalid_token"),
        ("\x00", 401, None),
    ],
    ids=["none", "basic", "no value", "blank", "two", "unknown", "key", "bytes", "zero"],
)
@driven
async def test_every_refusal_says_where_to_go(
    tmp_path: Path, given: str | None, status: int, error: str | None
) -> None:
    """MCP-270, MCP-276, MCP-278"""
    settings = ServeSettings(public_url="https://tools.example.com", jwt=ISSUER)
    async with running_server(tmp_path, settings=settings) as stand:
        reply = await stand.ask("POST", "/mcp", b"{}", {} if given is None else {"Authorization": given})
    assert reply.status == status
    challenge = read_challenge(reply)
    assert challenge.get("error") == error
    assert challenge["resource_metadata"] == f"https://tools.example.com{WELL_KNOWN}/mcp"
    assert challenge["scope"] == "call" and "offline_access" not in challenge["scope"]


@driven
async def test_scopes_are_called_as_the_issuer_calls_them(tmp_path: Path) -> None:
    issuer = JwtSettings(
        issuer="https://login.example.com", scopes={"api://tools/use": "call", "api://tools/x": "admin"}
    )
    settings = ServeSettings(public_url="https://tools.example.com", jwt=issuer)
    assert read_challenge(await got(tmp_path, settings, "/mcp"))["scope"] == "api://tools/use"
    assert (await got(tmp_path, settings, WELL_KNOWN)).json()["scopes_supported"] == ["api://tools/use"]


@driven
async def test_two_authorization_headers_are_one_too_many(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        token = f"Bearer {stand.read_token()}"
        reply = await stand.ask("POST", "/mcp", b"{}", [("Authorization", token), ("Authorization", token)])
        assert reply.status == 400
