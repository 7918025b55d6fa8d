"""Where requests are addressed to, and which pages may send them: Host, Origin and CORS (MCP-44, MCP-45, MCP-47)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.model.serving import ServeSettings
from ferrule.servers.asgi import Header, HttpRequest
from ferrule.servers.auth.callers import Refused
from ferrule.servers.auth.hosts import Door, find_host_problem, find_origin_problem
from tests.driven import driven
from tests.servers.local_server import Reply, running_server

APP = "https://app.example.com"


async def never() -> dict[str, object]:
    raise AssertionError("the door reads no body")


def request(*headers: tuple[str, str], method: str = "POST") -> HttpRequest:
    pairs = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    return HttpRequest({"method": method, "path": "/mcp", "headers": pairs}, never)


def admitted(settings: ServeSettings, *headers: tuple[str, str]) -> tuple[Header, ...] | int:
    """The headers for the answer, or the status of the refusal; asked twice, since the door remembers."""
    door = Door(settings)
    answers: list[tuple[Header, ...] | int] = []
    for _ in range(2):
        try:
            answers.append(door.admit(request(*headers)))
        except Refused as refused:
            answers.append(refused.status)
    assert answers[0] == answers[1]
    return answers[0]


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8787",
        "127.0.0.1:1",
        "[::1]:8787",
        "[::1]",
        "LOCALHOST:80",
        "localhost.",
        "127.0.0.1:65535",
    ],
)
def test_a_local_server_answers_to_its_own_names_with_any_port(host: str) -> None:
    assert admitted(ServeSettings(), ("Host", host)) == ()


@pytest.mark.parametrize(
    "host",
    [
        "evil.example.com", "evil.example.com:8787", "localhost.evil.com", "127.0.0.1.evil.com", "evil.com#localhost",
        "localhost@evil.com", "evil.com/localhost", "localhost:", "localhost:99999", "", " ", "a b", "0.0.0.0", "10.0.0.1",
        "localhost/", "localhost:80/x", "[::2]", "[::1", "*", "xn--localhost", "löcalhost", "localhost\x00", "localhost,evil.com",
    ],
)  # fmt: skip
def test_any_other_name_is_a_misdirected_request(host: str) -> None:
    assert admitted(ServeSettings(), ("Host", host)) == 421


def test_a_request_without_a_host_or_with_two_is_refused() -> None:
    assert admitted(ServeSettings()) == 400
    assert admitted(ServeSettings(), ("Host", "localhost"), ("Host", "localhost")) == 400
    assert admitted(ServeSettings(), ("Host", "localhost"), ("Host", "evil.com")) == 400


def test_hosts_of_the_settings_and_of_the_public_address_count() -> None:
    settings = ServeSettings(hosts=("tools.internal", "*.example.org"), public_url="https://tools.example.com/x")
    for host in (
        "tools.internal",
        "Tools.Internal:444",
        "tools.example.com",
        "a.example.org",
        "b.a.example.org:1",
        "localhost",
    ):
        assert admitted(settings, ("Host", host)) == ()
    for host in ("example.org", "evilexample.org", "example.com", "x.tools.example.com"):
        assert admitted(settings, ("Host", host)) == 421
    assert admitted(ServeSettings(hosts=("*",)), ("Host", "anything.example")) == ()


def test_a_server_that_listens_everywhere_answers_to_addresses_but_not_to_names() -> None:
    for bound in ("0.0.0.0", "::"):
        settings = ServeSettings(host=bound)
        assert admitted(settings, ("Host", "10.1.2.3:8787")) == ()
        assert admitted(settings, ("Host", "[fd00::1]")) == ()
        assert admitted(settings, ("Host", "evil.example.com")) == 421
    assert admitted(ServeSettings(host="10.1.2.3"), ("Host", "10.1.2.3")) == ()
    assert admitted(ServeSettings(host="10.1.2.3"), ("Host", "10.1.2.4")) == 421


def test_programs_come_without_an_origin_and_our_own_pages_with_ours() -> None:
    for host, origin in (
        ("localhost:8787", "http://localhost:8787"),
        ("127.0.0.1", "http://127.0.0.1"),
        ("[::1]:1", "http://[::1]:1"),
    ):
        assert admitted(ServeSettings(), ("Host", host)) == ()
        assert admitted(ServeSettings(), ("Host", host), ("Origin", origin)) == ()


@pytest.mark.parametrize(
    "origin",
    [
        "null", "http://evil.com", "https://evil.com", "http://localhost:1", "http://localhost", "file://", "", "localhost:8787",
        "http://localhost:8787/", "http://localhost:8787.evil.com", "http://localhost:8787@evil.com", "chrome-extension://abc",
        "http://127.0.0.1:8787", "http://localhost:8787 http://evil.com",
    ],
)  # fmt: skip
def test_any_other_origin_is_refused(origin: str) -> None:
    """MCP-44"""
    assert admitted(ServeSettings(), ("Host", "localhost:8787"), ("Origin", origin)) == 403


def test_two_origins_are_refused() -> None:
    pair = (("Origin", "http://localhost:8787"), ("Origin", "http://localhost:8787"))
    assert admitted(ServeSettings(), ("Host", "localhost:8787"), *pair) == 403


def test_behind_a_proxy_our_origin_is_the_public_one_alone() -> None:
    settings = ServeSettings(public_url="https://tools.example.com")
    host = ("Host", "tools.example.com")
    assert admitted(settings, host, ("Origin", "https://tools.example.com")) == ()
    assert admitted(settings, host, ("Origin", "http://tools.example.com")) == 403
    assert admitted(settings, host, ("Origin", "https://tools.example.com:444")) == 403


def test_requests_of_other_pages_that_hide_their_origin_are_refused() -> None:
    host = ("Host", "localhost:8787")
    for site, status in (("cross-site", 403), ("same-origin", ()), ("same-site", ()), ("none", ())):
        assert admitted(ServeSettings(), host, ("Sec-Fetch-Site", site)) == status
    assert admitted(ServeSettings(), host, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")) == ()


def test_what_is_remembered_is_bounded() -> None:
    door = Door(ServeSettings(origins=(APP,)))
    for port in range(1, 2000):
        host = ("Host", f"localhost:{port}")
        assert door.admit(request(host)) == ()
        door.admit(request(host, ("Origin", APP)))
    assert len(door._known_hosts) <= 256 and len(door._known_origins) <= 256


def test_settings_that_make_no_sense_are_named() -> None:
    for origin in (
        "*",
        "null",
        "app.example.com",
        "https://app.example.com/",
        "https://app.example.com/x",
        "https://",
        "",
    ):
        assert find_origin_problem(origin) is not None
    for origin in (APP, "http://localhost:5173", "vscode-webview://abc", "chrome-extension://abcdef"):
        assert find_origin_problem(origin) is None
    for host in ("https://x", "x/y", "x:80", "", "a b"):
        assert find_host_problem(host) is not None
    for host in ("*", "*.example.com", "example.com", "10.0.0.1", "::1"):
        assert find_host_problem(host) is None


async def ask(folder: Path, method: str, origin: str, **headers: str) -> Reply:
    settings = ServeSettings(origins=(APP, "vscode-webview://abc"))
    async with running_server(folder, settings=settings) as stand:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return await stand.ask(method, "/mcp", headers={"Origin": origin, **given})


@driven
async def test_a_configured_origin_is_told_that_it_may_call(tmp_path: Path) -> None:
    """MCP-47"""
    wanted = "authorization, content-type, mcp-protocol-version, Mcp-Param-Region, x-evil, last-event-id"
    reply = await ask(
        tmp_path, "OPTIONS", APP, Access_Control_Request_Method="POST", Access_Control_Request_Headers=wanted
    )
    assert reply.status == 204 and reply.body == b""
    assert reply.headers["access-control-allow-origin"] == APP
    assert reply.headers["vary"] == "Origin"
    assert "POST" in reply.headers["access-control-allow-methods"]
    allowed = reply.headers["access-control-allow-headers"].lower().split(", ")
    assert allowed == ["authorization", "content-type", "mcp-protocol-version", "mcp-param-region", "last-event-id"]
    assert "access-control-allow-credentials" not in reply.headers


@driven
async def test_refusals_can_be_read_by_a_configured_origin_too(tmp_path: Path) -> None:
    reply = await ask(tmp_path, "POST", APP)
    assert reply.status == 401
    assert reply.headers["access-control-allow-origin"] == APP
    exposed = reply.headers["access-control-expose-headers"]
    assert "WWW-Authenticate" in exposed and "Mcp-Session-Id" in exposed
    assert (await ask(tmp_path, "POST", "vscode-webview://abc")).status == 401


@driven
async def test_nobody_else_learns_anything_from_a_preflight(tmp_path: Path) -> None:
    for origin in ("https://evil.com", "null", "https://app.example.com.evil.com", "http://app.example.com"):
        reply = await ask(tmp_path, "OPTIONS", origin, Access_Control_Request_Method="POST")
        assert reply.status == 403
        assert not [name for name in reply.headers if name.startswith("access-control")]


@driven
async def test_without_configured_origins_cors_is_closed(tmp_path: Path) -> None:
    async with running_server(tmp_path, auth=True) as stand:
        reply = await stand.ask("OPTIONS", "/mcp", headers={"Access-Control-Request-Method": "POST"})
        assert (reply.status, reply.headers["allow"]) == (405, "GET, POST, DELETE")
        assert not [name for name in reply.headers if name.startswith("access-control")]
        reply = await stand.ask("POST", "/mcp", headers={"Origin": "http://localhost:8787"})
        assert reply.status == 401
        assert not [name for name in reply.headers if name.startswith("access-control")]
