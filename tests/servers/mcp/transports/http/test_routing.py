"""Which era a request belongs to, and what is looked at before anybody reads it (sections 1 and 4)."""

from __future__ import annotations

from typing import Any

import pytest

import ferrule
from ferrule.model.serving import LimitSettings, McpSettings, ServeSettings
from tests.servers.local_server import InProcessServer
from tests.servers.mcp.modern_client import KEY, VERSION, ModernClient, make_body, make_headers, make_meta, with_server


@ferrule.tool(read_only=True, inline=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


SETTINGS = ServeSettings(auth=False, limits=LimitSettings(body_bytes=20_000, depth=16))
stood = with_server(add, settings=SETTINGS)


def initialize(version: str = "2025-11-25") -> dict[str, Any]:
    client = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    return {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": client}


async def outcome(stand: InProcessServer, message: Any, given: dict[str, str]) -> tuple[int, int | None]:
    """Status and error code of an answer; the code is None for a result."""
    reply = await stand.ask("POST", "/mcp", message, given)
    return reply.status, reply.json().get("error", {}).get("code")


@stood
async def test_a_version_that_no_session_has_is_modern_even_nonsense(client: ModernClient) -> None:
    """MCP-2 (1), MCP-5, MCP-7: it says which versions are served."""
    stand = client.stand
    message = make_body("server/discover", {"_meta": {**make_meta(), f"{KEY}protocolVersion": "v999.0.0"}}, "one")
    reply = await stand.ask(
        "POST", "/mcp", message, {**make_headers("server/discover"), "MCP-Protocol-Version": "v999.0.0"}
    )
    error = reply.json()["error"]
    assert (reply.status, error["code"], reply.json()["id"]) == (400, -32022, "one")
    assert error["data"] == {"supported": [VERSION], "requested": "v999.0.0"}
    discovered = (await client.ask("server/discover")).json()["result"]
    assert set(error["data"]["supported"]) <= set(discovered["supportedVersions"])  # MCP-6


@stood
async def test_modern_meta_without_the_header_is_refused_as_modern(client: ModernClient) -> None:
    """MCP-2 (2), MCP-56."""
    stand = client.stand
    message = make_body("tools/list", {"_meta": make_meta()})
    assert await outcome(stand, message, {"Mcp-Method": "tools/list"}) == (400, -32020)


@stood
async def test_a_header_of_a_session_and_modern_meta_do_not_agree(client: ModernClient) -> None:
    """MCP-2 (3)."""
    stand = client.stand
    message = make_body("tools/list", {"_meta": make_meta()})
    reply = await stand.ask(
        "POST", "/mcp", message, make_headers("tools/list") | {"MCP-Protocol-Version": "2025-11-25"}
    )
    assert (reply.status, reply.json()["error"]["code"], reply.json()["id"]) == (400, -32020, 1)


@pytest.mark.parametrize("given", [{}, {"MCP-Protocol-Version": "2025-11-25"}], ids=["without", "with"])
@stood
async def test_everything_else_is_of_a_session(client: ModernClient, given: dict[str, str]) -> None:
    """MCP-2 (4), MCP-4: `initialize` with or without the header of a session."""
    stand = client.stand
    reply = await stand.ask("POST", "/mcp", initialize(), given)
    assert reply.status == 200
    assert reply.json()["result"]["protocolVersion"] == "2025-11-25"


@stood
async def test_both_eras_are_served_side_by_side(client: ModernClient) -> None:
    """MCP-1: nothing of one is remembered by the other."""
    stand = client.stand
    begun = await stand.ask("POST", "/mcp", initialize())
    session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
    modern = client
    for _ in range(2):
        listed = await stand.ask("POST", "/mcp", {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, session)
        assert "resultType" not in listed.json()["result"]
        again = await modern.ask("tools/list")
        assert again.json()["result"]["resultType"] == "complete"
        assert "mcp-session-id" not in again.headers  # MCP-67


@stood
async def test_the_handshake_does_not_exist_in_the_revision_without_sessions(client: ModernClient) -> None:
    """MCP-3."""
    stand = client.stand
    message = initialize(VERSION)
    message["params"]["_meta"] = make_meta()
    reply = await stand.ask("POST", "/mcp", message, make_headers("initialize"))
    assert (reply.status, reply.json()["error"]["code"], reply.json()["id"]) == (404, -32601, 7)
    assert "mcp-session-id" not in reply.headers


@with_server(add, settings=ServeSettings(auth=False, mcp=McpSettings(sessions=False)))
async def test_without_sessions_an_old_client_is_told_what_is_served(client: ModernClient) -> None:
    """MCP-13, MCP-12."""
    stand = client.stand
    reply = await stand.ask("POST", "/mcp", initialize())
    assert (reply.status, reply.json()["error"]["code"], reply.json()["id"]) == (400, -32022, 7)
    assert VERSION in reply.json()["error"]["message"]
    for version, given, asked in (
        ("2025-11-25", {}, "2025-11-25"),
        ("2025-06-18", {"MCP-Protocol-Version": "2025-03-26"}, "2025-06-18"),
    ):
        reply = await stand.ask("POST", "/mcp", initialize(version), given)
        assert reply.json()["error"]["data"] == {"supported": [VERSION], "requested": asked}
    listing = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
    for given, asked in (({"MCP-Protocol-Version": "2025-06-18"}, "2025-06-18"), ({}, "2025-03-26")):
        reply = await stand.ask("POST", "/mcp", listing, given)
        assert reply.json()["error"]["data"]["requested"] == asked
    assert (await stand.ask("GET", "/mcp")).status == 405
    assert (await client.ask("tools/list")).status == 200


@pytest.mark.parametrize(
    ("method", "given", "status", "allow"),
    [
        ("GET", {"MCP-Protocol-Version": VERSION}, 405, "POST"),
        ("DELETE", {"MCP-Protocol-Version": VERSION}, 405, "POST"),
        ("PUT", {"MCP-Protocol-Version": VERSION}, 405, "POST"),
        ("PUT", {}, 405, "GET, POST, DELETE"),
        ("PATCH", {}, 405, "GET, POST, DELETE"),
        ("GET", {"Accept": "application/json"}, 406, None),
    ],
    ids=range(6),
)
@stood
async def test_other_methods_of_http(
    client: ModernClient, method: str, given: dict[str, str], status: int, allow: str | None
) -> None:
    """MCP-38, MCP-47, MCP-68."""
    stand = client.stand
    reply = await stand.ask(method, "/mcp", b"", given)
    assert (reply.status, reply.headers.get("allow")) == (status, allow)


@stood
async def test_what_excludes_every_answer_or_is_no_json_is_refused_before_it_is_read(client: ModernClient) -> None:
    """MCP-40, MCP-41: as JSON, so that whoever tries eras can read it (MCP-12)."""
    stand = client.stand
    message, good = make_body("tools/list", {"_meta": make_meta()}), make_headers("tools/list")
    assert await outcome(stand, message, good | {"Accept": "text/plain"}) == (406, -32600)
    assert await outcome(stand, message, good | {"Content-Type": "text/plain"}) == (415, -32600)
    assert await outcome(stand, message, good | {"Accept": "*/*"}) == (200, None)


@stood
async def test_an_answer_is_a_stream_where_only_streams_are_taken(client: ModernClient) -> None:
    """MCP-40, MCP-42."""
    stand = client.stand
    message = make_body("tools/list", {"_meta": make_meta()})
    reply = await stand.ask("POST", "/mcp", message, make_headers("tools/list") | {"Accept": "text/event-stream"})
    assert (reply.status, reply.headers["content-type"], len(reply.events())) == (200, "text/event-stream", 1)


@stood
async def test_a_body_is_bounded(client: ModernClient) -> None:
    """MCP-48: its size before it is read, its depth before it is understood."""
    stand = client.stand
    good = make_headers("tools/call", "add")
    large = make_body("tools/call", {"name": "add", "arguments": {"a": "x" * 30_000}, "_meta": make_meta()})
    assert (await stand.ask("POST", "/mcp", large, good)).status == 413
    deep: Any = 1
    for _ in range(20):
        deep = [deep]
    for more in ({}, {"x": 1}):
        nested = make_body("tools/call", {"name": "add", "arguments": {"a": deep}, **more, "_meta": make_meta()})
        assert await outcome(stand, nested, good) == (400, -32700)
    beside = make_body(
        "tools/call", {"name": "add", "arguments": {"a": 1, "b": 1}, "_meta": {**make_meta(), "x": deep}}
    )
    assert await outcome(stand, beside, good) == (400, -32700)


@stood
async def test_a_client_that_vanishes_while_sending_is_no_failure(
    client: ModernClient, caplog: pytest.LogCaptureFixture
) -> None:
    """MCP-48, trap 10."""
    stand = client.stand
    scope = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "client": ("127.0.0.1", 1)}
    given = {**make_headers("tools/list"), "Host": "localhost:8787", "Content-Type": "application/json"}
    scope["headers"] = [(name.lower().encode(), value.encode()) for name, value in given.items()]
    coming = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])
    sent: list[Any] = []

    async def receive() -> Any:
        return next(coming)

    async def send(message: Any) -> None:
        sent.append(message)

    await stand.root(scope, receive, send)
    assert (sent, [record for record in caplog.records if record.levelname == "ERROR"]) == ([], [])
