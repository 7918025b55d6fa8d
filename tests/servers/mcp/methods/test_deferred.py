"""Deferred tools: searched for, loaded and called, also by clients that never refresh their list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ferrule
from tests.servers.mcp.direct_client import McpClient, connected_client, in_loop

TOML = "[surface]\ndefer_above = 2\n"


def shop() -> list[Any]:
    @ferrule.tool(read_only=True, search_hint="money back")
    def refund(order: str) -> str:
        """Gives money back for an order."""
        return f"refunded {order}"

    @ferrule.tool(read_only=True)
    def find(order: str) -> str:
        """Finds an order."""
        return f"found {order}"

    @ferrule.tool(read_only=True)
    def ship(order: str) -> str:
        """Sends an order."""
        return f"sent {order}"

    return [refund, find, ship]


async def names(client: McpClient) -> list[str]:
    return [one["name"] for one in await client.list_all("tools/list", "tools")]


async def search(client: McpClient, query: str) -> Any:
    result = await client.ask("tools/call", name="search_tools", arguments={"query": query})
    return json.loads(result["content"][0]["text"])


@in_loop
async def test_what_is_deferred_is_found_loaded_and_called_by_its_name(tmp_path: Path) -> None:
    """A client that never asks for its list again calls what the search showed it."""
    async with connected_client(tmp_path, tools=shop(), toml=TOML) as client:
        assert await names(client) == ["search_tools", "call_tool"]
        found = await search(client, "money")
        assert found["match_details"][0]["name"] == "refund"
        refused = await client.ask("tools/call", name="refund", arguments={"order": "7"})
        assert refused["isError"] and "select:refund" in refused["content"][0]["text"]
        loaded = await search(client, "select:refund")
        assert loaded["loaded"][0]["input_schema"]["required"] == ["order"]
        called = await client.ask("tools/call", name="refund", arguments={"order": "7"})
        assert called["content"][0]["text"] == "refunded 7"


@in_loop
async def test_one_tool_calls_the_others_and_is_judged_as_they_are(tmp_path: Path) -> None:
    """`call_tool` is another way to write a call: the record, and every decision, is of the tool that was meant."""

    @ferrule.tool(read_only=True)
    def more() -> str:
        """Be there, so that enough is left to be deferred."""
        return "more"

    async with connected_client(tmp_path, tools=[*shop(), more], toml=TOML) as client:
        await search(client, "select:ship")
        arguments = {"name": "ship", "arguments": {"order": "9"}}
        called = await client.ask("tools/call", name="call_tool", arguments=arguments)
        assert called["content"][0]["text"] == "sent 9"
        app = client.server.app
        await app.store.flush()
        rows = await app.store.rows_before(None, 5, kinds=("call", "ended"))
        assert rows[0].tool.endswith(".ship")
        await app.disable(rows[0].tool, by="test")
        for name in ("ship", "none"):  # what may not be used is not told from what is not there
            gone = await client.ask("tools/call", name="call_tool", arguments={**arguments, "name": name})
            assert gone["isError"]
            assert gone["content"][0]["text"].startswith(f"Unknown tool: {name}. ")


@pytest.mark.parametrize("arguments", [{}, {"name": 3}, {"name": "ship", "other": 1}, {"arguments": {}}])
@in_loop
async def test_a_call_of_nothing_is_refused(tmp_path: Path, arguments: dict[str, Any]) -> None:
    """MCP-151: what a model filled in is answered to the model."""
    async with connected_client(tmp_path, tools=shop(), toml=TOML) as client:
        refused = await client.ask("tools/call", name="call_tool", arguments=arguments)
        assert refused["isError"]
        assert "the name of another tool" in refused["content"][0]["text"]


@in_loop
async def test_without_sessions_a_list_does_not_depend_on_what_was_asked(tmp_path: Path) -> None:
    """MCP-128: the same list after a search has loaded something; a session's own list has it."""
    async with connected_client(tmp_path, tools=shop(), toml=TOML) as client:
        before = await client.ask_raw("tools/list")
        await search(client, "select:refund")
        assert (await client.ask_raw("tools/list")).partition(b"result")[2] == before.partition(b"result")[2]
        session = client.with_revision("2025-11-25", object())
        await search(session, "select:refund")
        assert await names(session) == ["refund", "search_tools", "call_tool"]
        assert await names(client.with_revision("2025-11-25", object())) == ["search_tools", "call_tool"]


@in_loop
async def test_a_search_counts_in_every_process_of_the_workspace(tmp_path: Path) -> None:
    """What another process showed this caller can be called here; what it showed somebody else cannot."""
    async with connected_client(tmp_path, tools=shop(), toml=TOML) as one:
        await search(one, "select:refund")
        await one.server.app.store.flush()
        async with connected_client(tmp_path, tools=shop(), toml=TOML) as two:
            called = await two.ask("tools/call", name="refund", arguments={"order": "1"})
            assert called["content"][0]["text"] == "refunded 1"
            for other in (two.with_principal("eve"), two.with_principal("local", "elsewhere")):
                assert (await other.ask("tools/call", name="refund", arguments={"order": "1"}))["isError"]


@pytest.mark.parametrize("is_declared", [False, True], ids=["by the settings", "by the client"])
@in_loop
async def test_a_client_that_defers_by_itself_gets_everything_with_hints(tmp_path: Path, is_declared: bool) -> None:
    """Its list has every schema, so every tool can be called; our own search is not in its way."""
    settings: dict[str, Any] = {} if is_declared else {"deferred": "list"}
    async with connected_client(tmp_path, tools=shop(), toml=TOML, **settings) as client:
        client.features = frozenset({"dev.ferrule/defer-loading"}) if is_declared else frozenset()
        listed = await client.list_all("tools/list", "tools")
        assert [one["name"] for one in listed] == ["refund", "find", "ship"]
        assert listed[0]["_meta"] == {"anthropic/searchHint": "money back", "dev.ferrule/deferLoading": True}
        called = await client.ask("tools/call", name="find", arguments={"order": "3"})
        assert called["content"][0]["text"] == "found 3"


@in_loop
async def test_a_tool_of_the_same_name_keeps_it(tmp_path: Path) -> None:
    @ferrule.tool(read_only=True)
    def call_tool() -> str:
        """Is somebody's own."""
        return "mine"

    async with connected_client(tmp_path, tools=[*shop(), call_tool], toml=TOML) as client:
        assert await names(client) == ["search_tools", "ferrule_call_tool"]
        await search(client, "select:call_tool")
        assert (await client.ask("tools/call", name="call_tool"))["content"][0]["text"] == "mine"
        arguments = {"name": "call_tool", "arguments": {}}
        assert (await client.ask("tools/call", name="ferrule_call_tool", arguments=arguments))["content"][0][
            "text"
        ] == "mine"


@in_loop
async def test_loaded_tools_are_marked_for_clients_that_defer_by_themselves(tmp_path: Path) -> None:
    async with connected_client(tmp_path, tools=shop(), toml=TOML) as client:
        listed = await client.list_all("tools/list", "tools")
        assert all(one["_meta"]["anthropic/alwaysLoad"] for one in listed)
        assert "_meta" not in (await client.with_revision("2025-03-26").list_all("tools/list", "tools"))[0]
        assert "- refund: money back" in listed[0]["description"]


@in_loop
async def test_a_list_with_everything_stays_the_same_whatever_was_called(tmp_path: Path) -> None:
    """A session of a client that defers by itself: calling a tool loads it, which its list has no use for."""
    async with connected_client(tmp_path, tools=shop(), toml=TOML, deferred="list") as modern:
        client = modern.with_revision("2025-11-25", object())
        before = await client.list_all("tools/list", "tools")
        await client.ask("tools/call", name="ship", arguments={"order": "3"})
        assert await client.list_all("tools/list", "tools") == before
