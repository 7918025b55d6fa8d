"""What only sessions have: the handshake, ping, the level of log messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ferrule.servers.mcp.methods.session_methods import read_initialize
from ferrule.servers.mcp.wire.messages import RpcError, encode, read_message
from tests.driven import driven
from tests.servers.mcp.session_client import (
    ALL,
    BOTH,
    REVISIONS,
    begin_session,
    make_initialize,
    running_session_server,
)

ASKED = (
    ("2025-11-25", "2025-11-25"),
    ("2025-06-18", "2025-06-18"),
    ("2025-03-26", "2025-03-26"),
    ("2026-07-28", "2025-11-25"),
    ("2024-11-05", "2025-11-25"),
    ("2031-01-01", "2025-11-25"),
    ("", "2025-11-25"),
    ("junk", "2025-11-25"),
)


@pytest.mark.parametrize(("asked", "given"), ASKED)
@driven
async def test_the_revision_is_agreed_on(tmp_path: Path, asked: str, given: str) -> None:
    """MCP-4, MCP-9: the one that was asked for where it has sessions and is served, else the newest of those."""
    async with running_session_server(tmp_path) as stand:
        for headers in ({}, {"MCP-Protocol-Version": "2025-11-25"}):
            reply = await stand.ask("POST", "/mcp", make_initialize(asked), {"Accept": BOTH, **headers})
            assert reply.status == 200
            assert reply.json()["result"]["protocolVersion"] == given


@driven
async def test_what_the_handshake_says(tmp_path: Path) -> None:
    """MCP-93, MCP-111: each revision's own words, and nothing of later ones (MCP-14)."""
    async with running_session_server(tmp_path) as stand:
        for revision in REVISIONS:
            reply = await stand.ask("POST", "/mcp", make_initialize(revision, request_id="i"), {"Accept": BOTH})
            assert reply.headers["content-type"] == "application/json"
            said = reply.json()
            assert said["id"] == "i"
            result = said["result"]
            assert result.keys() <= {"protocolVersion", "capabilities", "serverInfo", "instructions"}
            assert result["capabilities"]["tools"] == {"listChanged": True}
            assert result["capabilities"]["logging"] == {}
            assert "extensions" not in result["capabilities"]
            assert "tasks" not in result["capabilities"]
            assert {"name", "version"} <= result["serverInfo"].keys()
            assert ("title" in result["serverInfo"]) == (revision != "2025-03-26")


@pytest.mark.parametrize("missing", ["protocolVersion", "capabilities", "clientInfo"])
@driven
async def test_a_handshake_needs_all_its_parameters(tmp_path: Path, missing: str) -> None:
    """MCP-92: and no session is begun without."""
    async with running_session_server(tmp_path) as stand:
        wrongs: tuple[dict[str, Any], ...] = ({}, {missing: []}, {missing: 5}, {missing: None})
        for wrong in wrongs:
            said: dict[str, Any] = make_initialize()
            del said["params"][missing]
            said["params"] |= wrong
            reply = await stand.ask("POST", "/mcp", said, {"Accept": BOTH})
            assert reply.status == 200
            assert reply.json()["error"]["code"] == -32602
            assert "mcp-session-id" not in reply.headers


@driven
async def test_a_handshake_in_a_session_begins_another(tmp_path: Path) -> None:
    """A client that begins again gets a session of its own; the old one stays until it is ended."""
    async with running_session_server(tmp_path) as stand:
        talk = await begin_session(stand)
        reply = await talk.post(make_initialize())
        assert reply.status == 200
        assert reply.headers["mcp-session-id"] != talk.id
        assert (await talk.ask("ping"))["result"] == {}
        stale = await stand.ask("POST", "/mcp", make_initialize(), {"Accept": BOTH, "Mcp-Session-Id": "gone"})
        assert stale.status == 200


@driven
async def test_requests_before_initialized_are_answered(tmp_path: Path) -> None:
    """MCP-78, MCP-187: ping, and everything else."""
    async with running_session_server(tmp_path) as stand:
        reply = await stand.ask("POST", "/mcp", make_initialize(), {"Accept": BOTH})
        headers = {"Accept": BOTH, "Mcp-Session-Id": reply.headers["mcp-session-id"]}
        for method in ("ping", "tools/list"):
            asked = {"jsonrpc": "2.0", "id": 1, "method": method}
            assert "result" in (await stand.ask("POST", "/mcp", asked, headers)).json()


def features(revision: str, capabilities: dict[str, Any]) -> frozenset[str]:
    return read_initialize(read_message(encode(make_initialize(revision, capabilities)))).client


def test_what_a_client_can_be_asked_for_depends_on_its_revision() -> None:
    """MCP-112, MCP-207, MCP-210: elicitation from 2025-06-18, addresses and tools from 2025-11-25."""
    assert features("2025-11-25", ALL) == {"sampling", "sampling.tools", "elicitation", "elicitation.url", "roots"}
    assert features("2025-06-18", ALL) == {"sampling", "elicitation", "roots"}
    assert features("2025-03-26", ALL) == {"sampling", "roots"}
    assert features("2025-11-25", {"elicitation": {}}) == {"elicitation"}
    assert features("2025-11-25", {"elicitation": {"url": {}}}) == {"elicitation.url"}
    assert features("2025-11-25", {"sampling": True, "roots": [], "experimental": {"x": {}}}) == frozenset()
    assert features("2025-11-25", {"extensions": {"io.modelcontextprotocol/tasks": {}}}) == frozenset()


def test_a_handshake_without_parameters_says_so() -> None:
    """MCP-92."""
    with pytest.raises(RpcError) as raised:
        read_initialize(read_message(b'{"jsonrpc":"2.0","id":1,"method":"initialize"}'))
    assert raised.value.code == -32602


@driven
async def test_ping_and_levels_are_answered_with_nothing_at_all(tmp_path: Path) -> None:
    """MCP-14, MCP-182, MCP-187: the result has no members."""
    async with running_session_server(tmp_path) as stand:
        for revision in REVISIONS:
            talk = await begin_session(stand, revision)
            assert (await talk.ask("ping"))["result"] == {}
            for level in ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"):
                assert (await talk.ask("logging/setLevel", level=level))["result"] == {}
            for wrong in ("loud", 5, None, "INFO"):
                assert (await talk.ask("logging/setLevel", level=wrong))["error"]["code"] == -32602
            assert (await talk.ask("logging/setLevel"))["error"]["code"] == -32602
