"""Cursors: forged or changed ones are refused, each is of one method and one kind of caller, and they outlive the process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.model.tool import Tool
from tests.servers.mcp.direct_client import RpcFailure, connected_client, in_loop
from tests.servers.mcp.methods.views.test_names import tool


def tools(count: int) -> list[Tool]:
    return [tool(f"tool_{number}") for number in range(count)]


@pytest.mark.parametrize("cursor", ["x", "", "AAAA", "ä", "A" * 5000, 3, ["x"]])
@in_loop
async def test_a_forged_cursor_is_refused(tmp_path: Path, cursor: Any) -> None:
    """MCP-167."""
    async with connected_client(tmp_path, tools=tools(3), page_size=2) as client:
        with pytest.raises(RpcFailure) as failed:
            await client.ask("tools/list", cursor=cursor)
        assert failed.value.code == -32602


@in_loop
async def test_a_cursor_that_was_changed_is_refused(tmp_path: Path) -> None:
    async with connected_client(tmp_path, tools=tools(3), page_size=2) as client:
        cursor = (await client.ask("tools/list"))["nextCursor"]
        for changed in (cursor[:-4], cursor + "AAAA", cursor[:10] + ("A" if cursor[10] != "A" else "B") + cursor[11:]):
            with pytest.raises(RpcFailure) as failed:
                await client.ask("tools/list", cursor=changed)
            assert failed.value.code == -32602


@in_loop
async def test_a_cursor_is_of_one_method_and_one_kind_of_caller(tmp_path: Path) -> None:
    """MCP-168: not of another method, nor of another tenant."""
    given = [*tools(3), *(_prompt(number) for number in range(3))]
    async with connected_client(tmp_path, tools=given, page_size=2) as client:
        cursor = (await client.ask("tools/list"))["nextCursor"]
        for other, method in ((client, "prompts/list"), (client.with_principal("eve", "elsewhere"), "tools/list")):
            with pytest.raises(RpcFailure) as failed:
                await other.ask(method, cursor=cursor)
            assert failed.value.code == -32602
        assert (await client.with_principal("somebody").ask("tools/list", cursor=cursor))["tools"][0][
            "name"
        ] == "tool_2"


def _prompt(number: int) -> Any:
    @ferrule.prompt(name=f"prompt_{number}")
    def prompt() -> str:
        """A prompt."""
        return "hi"

    return prompt


@in_loop
async def test_a_cursor_outlives_the_process_that_gave_it(tmp_path: Path) -> None:
    """MCP-168: any replica of the workspace goes on with it, after a restart, too."""
    async with connected_client(tmp_path, tools=tools(5), page_size=2) as client:
        cursor = (await client.ask("tools/list"))["nextCursor"]
    async with connected_client(tmp_path, tools=tools(5), page_size=2) as client:
        assert [one["name"] for one in (await client.ask("tools/list", cursor=cursor))["tools"]] == ["tool_2", "tool_3"]
