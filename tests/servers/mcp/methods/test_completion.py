"""Completion (section 18)."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any, Literal

import pytest

import ferrule
from tests.servers.mcp.direct_client import REVISIONS, McpClient, RpcFailure, connected_client, in_loop
from tests.servers.mcp.published_schemas import check_against_schema


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


def cities(value: str, arguments: dict[str, str]) -> list[str]:
    return [
        city for city in {"de": ["Berlin", "Bonn"], "fr": ["Brest"]}[arguments["country"]] if city.startswith(value)
    ]


async def numbers(value: str) -> list[str]:
    return [f"{value}{number}" for number in range(101)]


def broken(value: str) -> list[str]:
    raise RuntimeError("no")


@ferrule.prompt(complete={"country": ["de", "fr", "Ede"], "city": cities, "broken": broken})
def travel(
    country: str, city: str, broken: str = "", size: Size = Size.SMALL, kind: Literal["a", "b"] = "a", fast: bool = True
) -> str:
    """Plans a journey."""
    return f"{country} {city}"


@ferrule.resource("orders://{number}", complete={"number": numbers})
def order(number: str) -> str:
    """An order."""
    return number


PROMPT = {"type": "ref/prompt", "name": "travel"}


async def values(client: McpClient, ref: dict[str, str], name: str, value: str, **context: Any) -> list[str]:
    result = await client.ask(
        "completion/complete", ref=ref, argument={"name": name, "value": value}, context={"arguments": context}
    )
    check_against_schema(client.revision, "CompleteResult", result)
    found: list[str] = result["completion"]["values"]
    return found


@pytest.mark.parametrize("revision", REVISIONS)
@in_loop
async def test_values_come_from_lists_functions_and_types(tmp_path: Path, revision: str) -> None:
    """MCP-189: what fits what was typed, best first; with what is known already."""
    async with connected_client(tmp_path, tools=[travel, order]) as client:
        client = client.with_revision(revision)
        assert await values(client, PROMPT, "country", "d") == ["de", "Ede"]
        assert await values(client, PROMPT, "country", "") == ["de", "fr", "Ede"]
        assert await values(client, PROMPT, "city", "Bo", country="de") == ["Bonn"]
        assert await values(client, PROMPT, "kind", "") == ["a", "b"]
        assert await values(client, PROMPT, "size", "l") == ["large", "small"]
        assert await values(client, PROMPT, "fast", "t") == ["true"]


@in_loop
async def test_no_more_than_a_hundred(tmp_path: Path) -> None:
    """MCP-190."""
    async with connected_client(tmp_path, tools=[travel, order]) as client:
        ref = {"type": "ref/resource", "uri": "orders://{number}"}
        result = await client.ask("completion/complete", ref=ref, argument={"name": "number", "value": "7"})
        completion = result["completion"]
        assert (len(completion["values"]), completion["total"], completion["hasMore"]) == (100, 101, True)


@pytest.mark.parametrize(
    ("ref", "name"),
    [
        ({"type": "ref/prompt", "name": "nothing"}, "country"),
        (PROMPT, "nothing"),
        ({"type": "ref/resource", "uri": "other://{number}"}, "number"),
        ({"type": "ref/other", "name": "travel"}, "country"),
        ({"name": "travel"}, "country"),
    ],
)
@in_loop
async def test_what_is_not_there_cannot_be_completed(tmp_path: Path, ref: dict[str, str], name: str) -> None:
    """MCP-191."""
    async with connected_client(tmp_path, tools=[travel, order]) as client:
        with pytest.raises(RpcFailure) as failed:
            await client.ask("completion/complete", ref=ref, argument={"name": name, "value": ""})
        assert failed.value.code == -32602


@in_loop
async def test_finding_values_is_a_governed_call(tmp_path: Path) -> None:
    """MCP-192: on record, and of no use to whoever may not see the prompt."""
    async with connected_client(tmp_path, tools=[travel, order]) as client:
        await values(client, PROMPT, "city", "B", country="fr")
        app = client.server.app
        await app.store.flush()
        rows = await app.store.rows_before(None, 1, kinds=("call", "ended"))
        assert rows[0].tool.endswith(".travel.complete.city")
        with pytest.raises(RpcFailure) as failed:
            await values(client, PROMPT, "broken", "x")
        assert failed.value.code == -32603
        await app.disable(rows[0].tool.removesuffix(".complete.city"), by="test")
        with pytest.raises(RpcFailure) as failed:
            await values(client, PROMPT, "city", "B", country="fr")
        assert failed.value.code == -32602


@in_loop
async def test_addresses_of_stored_results_are_not_guessed(tmp_path: Path) -> None:
    async with connected_client(tmp_path, tools=[order]) as client:
        ref = {"type": "ref/resource", "uri": "ferrule-payload:{invocation}/{number}{?offset,limit}"}
        assert await values(client, ref, "invocation", "inv_") == []
