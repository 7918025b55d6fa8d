"""What the server says of itself (sections 8 and 9), and what models are told through it."""

from __future__ import annotations

from pathlib import Path

import pytest

import ferrule
from ferrule.model.tool import raw
from tests.servers.mcp.direct_client import RpcFailure, connected_client, in_loop
from tests.servers.mcp.methods.views.test_names import tool

GUIDED = {"use_when": ["an order is asked for"], "avoid_when": ["it is paid"], "side_effects": ["Sends a mail"]}


@ferrule.prompt
def hello() -> str:
    """Says hello."""
    return "Hello"


@in_loop
async def test_capabilities_are_what_is_served(tmp_path: Path) -> None:
    """MCP-98, MCP-111, MCP-114: a method whose capability is not declared does not exist."""
    async with connected_client(tmp_path, tools=[tool("a")], toml='[results]\nstore = "none"\n') as client:
        capabilities = (await client.ask("server/discover"))["capabilities"]
        assert capabilities.keys() - {"extensions"} == {"tools", "logging"}
        for method in ("prompts/list", "resources/list", "resources/templates/list"):
            with pytest.raises(RpcFailure) as failed:
                await client.ask(method)
            assert failed.value.code == -32601
        for method, params in (("prompts/get", {"name": "x"}), ("resources/read", {"uri": "a:b"})):
            with pytest.raises(RpcFailure) as failed:
                await client.ask(method, **params)
            assert failed.value.code == -32601


@in_loop
async def test_what_there_is_is_declared(tmp_path: Path) -> None:
    async with connected_client(tmp_path, tools=[tool("a"), hello]) as client:
        capabilities = (await client.ask("server/discover"))["capabilities"]
        assert capabilities["prompts"] == capabilities["tools"] == {"listChanged": True}
        assert capabilities["resources"] == {"listChanged": True, "subscribe": True}
        assert capabilities["completions"] == {}


@in_loop
async def test_guidance_is_told_as_instructions(tmp_path: Path) -> None:
    """AML-76: of the tools that the caller sees, and of no others."""
    guided = tool("find", payload=raw({"use_guidance": GUIDED}))
    hidden = tool("hidden", payload=raw({"use_guidance": {"use_when": ["nobody looks"]}}))
    async with connected_client(tmp_path, tools=[guided, hidden, tool("plain")]) as client:
        await client.server.app.disable("shop:hidden", by="test")
        told = (await client.ask("server/discover"))["instructions"]
        assert told == (
            "## find\nUse it when:\n- an order is asked for\nDo not use it when:\n- it is paid\nSide effects:\n- Sends a mail"
        )


@in_loop
async def test_instructions_are_bounded_and_name_the_search(tmp_path: Path) -> None:
    many = [
        tool(f"tool_{number}", payload=raw({"tool_interface": {"always_load": True}, "use_guidance": GUIDED}))
        for number in range(500)
    ]
    toml = "[surface]\ndefer_above = 1\n"
    async with connected_client(tmp_path, tools=[*many, tool("deferred")], toml=toml) as client:
        told = (await client.ask("server/discover"))["instructions"]
        assert told.startswith("1 further tools are not listed: search_tools finds them")
        assert len(told) < 13_000
        assert told.endswith("(Descriptions of tools say the rest.)")


@in_loop
async def test_a_workspace_with_nothing_to_say_says_nothing(tmp_path: Path) -> None:
    async with connected_client(tmp_path, tools=[tool("a")]) as client:
        assert "instructions" not in await client.ask("server/discover")
