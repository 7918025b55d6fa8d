"""A second reading of who may call, and of what callers may know of each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ferrule.access.keys import Access
from ferrule.model.approval import CALL
from ferrule.model.serving import McpSettings, ServeSettings
from ferrule.servers.mcp.wire.blocks import project_blocks
from tests.servers.local_server import InProcessServer, running_server
from tests.servers.mcp.direct_client import in_loop
from tests.servers.mcp.modern_client import ModernClient, make_body, make_headers, make_meta
from tests.servers.mcp.sample_workspace import EVERYTHING, POLICY, open_wires, with_sample_server
from tests.servers.mcp.session_client import REVISIONS, read_data

NOT_THERE = ("/register", "/authorize", "/token", "/sse", "/mcp/sse", "/.well-known/oauth-authorization-server")
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def keys(stand: InProcessServer, *names: str) -> list[ModernClient]:
    """A client each, with a key of its own."""
    access = Access(stand.app.root)
    owner = access.local_owner()
    return [ModernClient(stand, access.add(owner, name, [CALL])[1]) for name in names]


def _id_of(stand: InProcessServer, name: str) -> str:
    return stand.app.catalog.find_ids(name)[0]


@in_loop
async def test_authentication_is_everywhere_or_nowhere(tmp_path: Path) -> None:
    """MCP-267, MCP-269, MCP-283."""
    asked = ("POST", "/mcp", make_body("tools/list", {"_meta": make_meta()}), make_headers("tools/list"))
    async with running_server(tmp_path, tools=EVERYTHING, auth=True) as stand:
        replies = [
            await stand.ask(*asked),
            await stand.ask("POST", f"/mcp?access_token={stand.read_token()}", asked[2], asked[3]),
            await stand.ask("POST", "/mcp", b"{nope", make_headers("tools/list")),
            await stand.ask("GET", "/mcp", b"", {"Mcp-Session-Id": "x", "Accept": "text/event-stream"}),
            await stand.ask("DELETE", "/mcp", b"", {"Mcp-Session-Id": "x"}),
        ]
        assert [reply.status for reply in replies] == [401] * 5
        assert all("www-authenticate" in reply.headers for reply in replies)
    async with running_server(tmp_path, tools=EVERYTHING, auth=False) as stand:
        assert (await stand.ask(*asked)).status == 200


@with_sample_server
async def test_it_is_no_authorization_server_and_has_no_older_transport(stand: InProcessServer) -> None:
    """MCP-268, MCP-280, MCP-282, MCP-295, MCP-296: tokens come from elsewhere, no third party's login is fronted, no client is
    registered, and there is no `/sse`."""
    for path in NOT_THERE:
        for method in ("GET", "POST"):
            assert (await stand.ask(method, path)).status == 404, path


@in_loop
async def test_a_list_is_what_its_caller_may_see_and_knowing_a_name_is_no_right(tmp_path: Path) -> None:
    """MCP-160, MCP-163, MCP-164, MCP-279: hidden from the list, and unknown to who calls it all the same."""
    (tmp_path / "policy.toml").write_text(POLICY)
    async with running_server(tmp_path, tools=EVERYTHING, auth=True) as stand:
        (ada,) = keys(stand, "ada")
        before = (await ada.ask("tools/list")).json()["result"]
        assert before["cacheScope"] == "private"
        assert "add" in [tool["name"] for tool in before["tools"]]
        listening = ada.open("subscriptions/listen", notifications={"toolsListChanged": True})
        assert await listening.wait_for_status() == 200
        assert (await read_data(listening))["method"] == "notifications/subscriptions/acknowledged"
        tool_id = _id_of(stand, "add")
        await stand.app.disable(tool_id, by="owner", reason="not now")
        told = await read_data(listening)
        assert (told["method"], told["params"]["_meta"][SUBSCRIPTION]) == ("notifications/tools/list_changed", 1), (
            "MCP-106"
        )
        after = (await ada.ask("tools/list")).json()["result"]
        assert "add" not in [tool["name"] for tool in after["tools"]]
        refused = (await ada.call("add", {"a": 1, "b": 1}))["error"]
        assert refused == {**(await ada.call("nobody"))["error"], "message": "Unknown tool: add"}
        await listening.leave()
        await stand.app.enable(tool_id, by="owner")
        again = ada.open("subscriptions/listen", notifications={"toolsListChanged": True})
        await again.wait_for_status()
        assert (await read_data(again))["method"] == "notifications/subscriptions/acknowledged"
        await stand.app.disable(tool_id, by="owner", reason="MCP-238: what came in between is not told later")
        assert (await read_data(again))["method"] == "notifications/tools/list_changed"
        await again.leave()


@in_loop
async def test_a_handle_is_worth_nothing_to_somebody_else(tmp_path: Path) -> None:
    """MCP-156, MCP-285, MCP-292: a call that waits is looked up by who made it; each call has its entry in the audit."""
    (tmp_path / "policy.toml").write_text(POLICY)
    settings = ServeSettings(mcp=McpSettings(wait_seconds=0))
    async with running_server(tmp_path, tools=EVERYTHING, settings=settings) as stand:
        ada, bob = keys(stand, "ada", "bob")
        waiting = (await ada.call("pay", {"amount": 5}))["result"]
        handle = waiting["_meta"]["dev.ferrule/invocation"]
        mine = (await ada.call("ferrule_result", {"invocation_id": handle}))["result"]
        theirs = (await bob.call("ferrule_result", {"invocation_id": handle}))["result"]
        assert handle in mine["content"][0]["text"]
        assert theirs["isError"] is True and "pay" not in theirs["content"][0]["text"]
        await ada.call("add", {"a": 1, "b": 2})
        rows = await stand.app.store.rows_before(None, 50)
        assert {_id_of(stand, "pay"), _id_of(stand, "add")} <= {row.tool for row in rows}


CLASSES: tuple[dict[str, Any], ...] = (
    {"type": "text", "text": "t"},
    {"type": "json", "json": {"a": 1}},
    {"type": "image", "data": "AAAA", "media_type": "image/png"},
    {"type": "audio", "data": "AAAA", "media_type": "audio/wav"},
    {"type": "video", "data": "AAAA", "media_type": "video/mp4"},
    {"type": "file", "uri": "file:report", "media_type": "application/pdf"},
    {"type": "resource", "resource": {"uri": "docs://a", "text": "inside"}},
    {"type": "resource_link", "uri": "docs://a", "name": "a"},
    {"type": "citation", "source": "docs://a"},
    {"type": "diff", "diff": "-a\n+b"},
    {"type": "table", "rows": [[1, 2]]},
    {"type": "persisted_output_ref", "uri": "ferrule:out", "media_type": "text/plain", "size": 5},
    {"type": "somebody's own", "data": 5},
)
KNOWN = {"text", "image", "audio", "resource", "resource_link"}


@pytest.mark.parametrize("revision", ["2026-07-28", *REVISIONS])
def test_every_class_of_content_arrives(revision: str) -> None:
    """AT-216: as itself where the revision has it, else as a link or as text with all it said."""
    for block in CLASSES:
        (shown,) = project_blocks([block], revision)
        assert shown["type"] in (KNOWN - {"resource_link"} if revision == "2025-03-26" else KNOWN)
        if shown["type"] == "text" and block["type"] != "text":
            assert len(shown["text"]) > 2


@with_sample_server
async def test_an_embedded_resource_and_a_first_tool_without_arguments(stand: InProcessServer) -> None:
    """MCP-130, MCP-143: what a suite calls first, with no arguments, has a result and no error of the protocol."""
    for revision, wire in (await open_wires(stand)).items():
        _, response = await wire.ask("tools/call", {"name": "embeds"}, {})
        assert response["result"]["content"][0]["resource"]["uri"] == "docs://static", revision
        _, response = await wire.ask("tools/call", {"name": "add", "arguments": {}}, {})
        assert response["result"]["isError"] is True
