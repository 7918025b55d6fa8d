"""Names on the wire: legal, one for each tool, and mapped back (MCP-132, AT-261)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ferrule.model.tool import SafetyFacts, Tool, raw
from tests.servers.mcp.direct_client import RpcFailure, connected_client, in_loop

LEGAL = re.compile(r"[A-Za-z0-9_.-]{1,128}")
SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")
ODD = ["plain", "with space", "with/slash", "with_space", "größe", "größe!", "…", "x" * 200, "x" * 199 + "y", "a.b"]


def tool(name: str, namespace: str = "shop", **more: Any) -> Tool:
    return Tool(
        tool_id=f"{namespace}:{name}",
        namespace=namespace,
        name=name,
        description=f"Does {name[:20]}.",
        lifecycle="available",
        tool_kind="function",
        dialect="agent_tool",
        input_schema=raw({"type": "object"}),
        facts=SafetyFacts(is_read_only=True),
        **more,
    )


@in_loop
async def test_every_tool_has_a_legal_name_of_its_own(tmp_path: Path) -> None:
    async with connected_client(tmp_path, tools=[tool(name) for name in ODD]) as client:
        names = [one["name"] for one in await client.list_all("tools/list", "tools")]
        assert len(set(names)) == len(ODD)
        assert all(LEGAL.fullmatch(name) for name in names)
        assert {"plain", "with_space", "a.b"} <= set(names)  # who has a legal name keeps it


@in_loop
async def test_safe_names_are_short_and_have_no_dots(tmp_path: Path) -> None:
    async with connected_client(tmp_path, tools=[tool(name) for name in ODD], safe_names=True) as client:
        names = [one["name"] for one in await client.list_all("tools/list", "tools")]
        assert len(set(names)) == len(ODD)
        assert all(SAFE.fullmatch(name) for name in names)


@in_loop
async def test_a_name_stays_the_same_whatever_else_is_listed(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    async with connected_client(tmp_path / "one", tools=[tool("größe"), tool("x" * 200)]) as client:
        few = {one["name"] for one in await client.list_all("tools/list", "tools")}
    async with connected_client(
        tmp_path / "two", tools=[tool(name) for name in reversed(ODD) if name != "größe!"]
    ) as client:
        many = {one["name"] for one in await client.list_all("tools/list", "tools")}
    assert few <= many


@in_loop
async def test_calls_reach_the_tool_that_was_listed(tmp_path: Path) -> None:
    """Both kinds of names lead to one tool: the listed one, and the one the workspace knows it by."""
    async with connected_client(tmp_path, tools=[tool("with space"), tool("with_space")]) as client:
        exchange = await client.make_exchange()
        for listed in await client.list_all("tools/list", "tools"):
            result = await client.ask("tools/call", name=listed["name"], arguments={})
            assert result["isError"]  # nothing runs these tools here; that they were found is what counts
        for name in ("with space", "shop:with space"):
            assert (await client.ask("tools/call", name=name))["isError"]
        assert exchange.surface.surface.find("with space") is not None


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
@in_loop
async def test_a_hidden_tool_is_answered_like_an_unknown_one(tmp_path: Path, revision: str) -> None:
    (tmp_path / "policy.toml").write_text('[[rules]]\nid = "no"\ndecision = "deny"\ntool = "shop:hid den"\n')
    toml = '[policy]\nfile = "policy.toml"\n'
    async with connected_client(tmp_path, tools=[tool("hid den"), tool("open")], toml=toml) as client:
        client = client.with_revision(revision)
        await client.server.app.disable("shop:open", by="test")
        told = set()
        for name in ("hid_den", "hid den", "shop:hid den", "open", "nothing"):
            with pytest.raises(RpcFailure) as failed:
                await client.ask("tools/call", name=name)
            told.add((failed.value.code, str(failed.value).replace(name, "…")))
        assert len(told) == 1
        assert told.pop()[0] == -32602


@in_loop
async def test_two_namespaces_may_use_one_name(tmp_path: Path) -> None:
    """Each is listed by a name that leads to it alone."""
    async with connected_client(tmp_path, tools=[tool("find", "a"), tool("find", "b")]) as client:
        names = [one["name"] for one in await client.list_all("tools/list", "tools")]
        assert names == ["a.find", "b.find"]
