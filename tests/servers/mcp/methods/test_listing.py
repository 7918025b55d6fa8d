"""Lists: order, pages, bytes that are written once, and what each revision wants (sections 11 to 13)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.infra.tasks import resolve
from ferrule.model.tool import Tool
from ferrule.runtime.surface.catalogs import EmptyCatalog, JoinedCatalog
from ferrule.servers.mcp.methods.listing import get_lists, list_tools
from tests.servers.mcp.direct_client import REVISIONS, connected_client, in_loop
from tests.servers.mcp.methods.views.test_names import tool
from tests.servers.mcp.published_schemas import check_against_schema

LISTS = {
    ("tools/list", "tools"): "ListToolsResult",
    ("resources/list", "resources"): "ListResourcesResult",
    ("resources/templates/list", "resourceTemplates"): "ListResourceTemplatesResult",
    ("prompts/list", "prompts"): "ListPromptsResult",
}


def tools(count: int) -> list[Tool]:
    return [tool(f"tool_{number}") for number in range(count)]


@pytest.mark.parametrize("revision", REVISIONS)
@in_loop
async def test_a_list_is_walked_page_by_page_in_one_order(tmp_path: Path, revision: str) -> None:
    """MCP-129, MCP-166: the same each time; no cursor at the end."""
    async with connected_client(tmp_path, tools=tools(7), page_size=3) as client:
        client = client.with_revision(revision)
        pages = await client.list_pages("tools/list", "tools")
        assert [len(page) for page in pages] == [3, 3, 1]
        assert [one["name"] for page in pages for one in page] == [f"tool_{number}" for number in range(7)]
        assert await client.list_pages("tools/list", "tools") == pages


@in_loop
async def test_hints_and_members_are_those_of_the_revision(tmp_path: Path) -> None:
    """MCP-14, MCP-158, MCP-161."""
    async with connected_client(tmp_path, tools=tools(3), page_size=2, ttl_ms=5) as client:
        first = await client.ask("tools/list")
        last = await client.ask("tools/list", cursor=first["nextCursor"])
        for page in (first, last):
            assert (page["resultType"], page["ttlMs"], page["cacheScope"]) == ("complete", 5, "private")
            assert page["_meta"]["io.modelcontextprotocol/serverInfo"]["name"]
        assert (await client.with_revision("2025-11-25").ask("tools/list")).keys() == {"tools", "nextCursor"}


@in_loop
async def test_an_empty_list_is_a_list(tmp_path: Path) -> None:
    async with connected_client(tmp_path, tools=tools(1)) as client:
        await client.server.app.disable("shop:tool_0", by="test")
        assert (await client.ask("tools/list"))["tools"] == []


@in_loop
async def test_pages_are_written_once(tmp_path: Path) -> None:
    """The very same bytes, for everybody who sees the same."""
    async with connected_client(tmp_path, tools=tools(5), page_size=2) as client:
        exchange = await client.make_exchange()
        first = await resolve(list_tools(exchange, b"{}"))
        assert await resolve(list_tools(await client.make_exchange(), b'{"_meta":{}}')) is first
        assert await resolve(list_tools(await client.with_principal("other").make_exchange(), b"{}")) is first
        cursor = json.loads(first)["nextCursor"]
        asked = json.dumps({"cursor": cursor}).encode()
        second = await resolve(list_tools(exchange, asked))
        assert await resolve(list_tools(await client.make_exchange(), asked)) is second


def _prompt(number: int) -> Any:
    @ferrule.prompt(name=f"prompt_{number}")
    def prompt() -> str:
        """A prompt."""
        return "hi"

    return prompt


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        ([0, 1, 2, 3, 4, 5], ["tool_2", "tool_3"]),
        ([1, 2, 3, 4, 5], ["tool_2", "tool_3"]),
        ([0, 2, 3, 4, 5], ["tool_3", "tool_4"]),
        ([0, 9, 1, 2, 3], ["tool_2", "tool_3"]),
        ([0], []),
    ],
    ids=["the same", "one before is gone", "the one before is gone", "one before is new", "few are left"],
)
@in_loop
async def test_a_changed_catalog_gives_gaps_rather_than_errors(
    tmp_path: Path, left: list[int], expected: list[str]
) -> None:
    """MCP-168: the next page begins behind what the last one ended with, wherever that is now."""
    async with connected_client(tmp_path, tools=tools(6), page_size=2) as client:
        cursor = (await client.ask("tools/list"))["nextCursor"]
        remaining = [tool(f"tool_{number}") for number in left]
        client.server.app.adopt(JoinedCatalog(EmptyCatalog(), remaining))
        page = await client.ask("tools/list", cursor=cursor)
        assert [one["name"] for one in page["tools"]] == expected
        if "nextCursor" in page:
            await client.ask("tools/list", cursor=page["nextCursor"])


@in_loop
async def test_a_changed_tool_is_listed_at_once(tmp_path: Path) -> None:
    async with connected_client(tmp_path, tools=[tool("a")]) as client:
        assert "Does a." in str(await client.ask("tools/list"))
        client.server.app.adopt(JoinedCatalog(EmptyCatalog(), [tool("b")]))
        assert [one["name"] for one in (await client.ask("tools/list"))["tools"]] == ["b"]


@in_loop
async def test_ten_thousand_tools_are_bytes_and_nothing_more(tmp_path: Path) -> None:
    """A second walk gives the bytes of the first: none were written for it."""
    async with connected_client(tmp_path, tools=tools(10_000), toml="[surface]\ndefer_above = 100000\n") as client:
        assert len(await client.list_all("tools/list", "tools")) == 10_000
        lists = get_lists(client.server)
        written: list[int] = []
        lists._encode_page = lambda *args: written.append(1)  # type: ignore[method-assign,assignment]
        assert len(await client.list_all("tools/list", "tools")) == 10_000
        assert not written


@pytest.mark.parametrize("revision", REVISIONS)
@in_loop
async def test_every_list_is_what_the_published_schema_says(tmp_path: Path, revision: str) -> None:
    """MCP-127, MCP-193, MCP-194, MCP-203, by the specification's own schema."""
    async with connected_client(tmp_path, tools=_everything(), page_size=2) as client:
        client = client.with_revision(revision)
        for (method, member), kind in LISTS.items():
            result = await client.ask(method)
            assert result[member]
            check_against_schema(revision, kind, result)


def _everything() -> list[Any]:
    @ferrule.resource(
        "docs://a", title="A", size=3, audience=["user"], priority=0.5, last_modified="2026-01-01T00:00:00Z"
    )
    def a() -> str:
        """One."""
        return "abc"

    @ferrule.resource("docs://{name}", icons=[{"src": "https://example.com/i.png"}])
    def named(name: str) -> str:
        """By name."""
        return name

    return [tool("x", title="X"), tool("y"), tool("z"), a, named, _prompt(1), _prompt(2), _prompt(3)]
