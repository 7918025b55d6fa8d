"""Resources: declared by functions, and stored results of the caller's own (section 19)."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.servers.mcp.methods.resources import MOST_BYTES
from tests.servers.mcp.direct_client import REVISIONS, McpClient, RpcFailure, connected_client, in_loop
from tests.servers.mcp.published_schemas import check_against_schema

LARGE = "wörd " * 40_000


@ferrule.resource("docs://text", mime_type="text/markdown")
def text() -> str:
    """A text."""
    return "# Hello"


@ferrule.resource("docs://binary", mime_type="image/png")
def binary() -> bytes:
    """Bytes."""
    return b"\x89PNG"


@ferrule.resource("docs://many")
def many() -> list[Any]:
    """Several contents."""
    return [{"uri": "docs://many/1", "text": "one"}, {"uri": "docs://many/2", "blob": b"two", "mimeType": "x/y"}]


@ferrule.resource("docs://table")
def table() -> list[dict[str, int]]:
    """Any JSON."""
    return [{"a": 1}]


@ferrule.resource("docs://large")
def large() -> str:
    """Too large for a result."""
    return LARGE


@ferrule.resource("docs://fails")
def fails() -> str:
    """Fails."""
    raise RuntimeError("/etc/secret is unreadable")


@ferrule.resource("orders://{number}/{+path}{?lang}")
async def order(number: int, path: str, lang: str = "en") -> dict[str, Any] | None:
    """An order's papers."""
    return None if number == 404 else {"number": number, "path": path, "lang": lang}


@ferrule.resource("docs://asks")
async def asks(context: ferrule.Context) -> Any:
    """Asks whom it is for."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    params = {"message": "Who?", "requestedSchema": schema}
    return context.ask_client({"who": {"method": "elicitation/create", "params": params}}, state=b"s")


@asks.resume
async def _told(state: bytes, answer: dict[str, Any]) -> str:
    return f"For {answer['who']['content']['name']}"


@ferrule.tool(read_only=True)
def export(kind: str) -> Any:
    """Gives something large."""
    return LARGE


EVERYTHING = (text, binary, many, table, large, fails, order, asks, export)


async def read(client: McpClient, uri: str) -> list[dict[str, Any]]:
    result = await client.ask("resources/read", uri=uri)
    check_against_schema(client.revision, "ReadResourceResult", result)
    contents: list[dict[str, Any]] = result["contents"]
    return contents


@pytest.mark.parametrize("revision", REVISIONS)
@in_loop
async def test_what_a_function_gives_is_what_is_read(tmp_path: Path, revision: str) -> None:
    """MCP-195: text or bytes, with their types; several contents; JSON as JSON."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        client = client.with_revision(revision)
        assert await read(client, "docs://text") == [
            {"uri": "docs://text", "mimeType": "text/markdown", "text": "# Hello"}
        ]
        assert await read(client, "docs://binary") == [
            {"uri": "docs://binary", "mimeType": "image/png", "blob": "iVBORw=="}
        ]
        one, two = await read(client, "docs://many")
        assert (one["uri"], one["text"], two["uri"], two["mimeType"]) == (
            "docs://many/1",
            "one",
            "docs://many/2",
            "x/y",
        )
        assert b64decode(two["blob"]) == b"two"
        assert (await read(client, "docs://table"))[0] == {
            "uri": "docs://table",
            "mimeType": "application/json",
            "text": '[{"a":1}]',
        }
        assert (await read(client, "docs://large"))[0]["text"] == LARGE


@in_loop
async def test_reading_is_a_governed_call(tmp_path: Path) -> None:
    """On record under its tool, refused where the policy refuses it, gone from the list when it is switched off."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        app = client.server.app
        await read(client, "docs://text")
        await app.store.flush()
        rows = await app.store.rows_before(None, 1, kinds=("call", "ended"))
        assert rows[0].tool.endswith(".text")
        await app.disable(rows[0].tool, by="test")
        with pytest.raises(RpcFailure) as failed:
            await read(client, "docs://text")
        assert (failed.value.code, failed.value.data) == (-32602, {"uri": "docs://text"})
        assert "docs://text" not in {one["uri"] for one in await client.list_all("resources/list", "resources")}


@in_loop
async def test_a_template_gives_its_variables(tmp_path: Path) -> None:
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        (content,) = await read(client, "orders://7/a/b%20c?lang=de")
        assert content["text"] == '{"number":7,"path":"a/b c","lang":"de"}'
        assert (content["uri"], content["mimeType"]) == ("orders://7/a/b%20c?lang=de", "application/json")
        assert '"lang":"en"' in (await read(client, "orders://7/a"))[0]["text"]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    "uri",
    [
        "docs://nothing",
        "docs://text/",
        "DOCS://TEXT",
        "orders://404/a",
        "orders://x/a",
        "orders://7/../secret",
        "orders://7/a/%2e%2e/b",
        "orders://7/%2E%2E%2Fb",
        "orders://7/%252e%252e/b",
        "orders://7/a%5c..%5cb",
        "orders://7/a?lang=de&other=1",
        "orders://7/a?lang=de&lang=en",
        "orders://7/a%00b",
        "ferrule-payload:inv_1/0",
        "ferrule-payload:../../etc/passwd",
        "file:///etc/passwd",
        "no address",
        pytest.param("", id="empty"),
        pytest.param("x" * 10_000, id="long"),
    ],
)
@in_loop
async def test_where_nothing_is_there_is_an_error_with_the_address(tmp_path: Path, uri: str, revision: str) -> None:
    """MCP-197, MCP-198, MCP-201: never empty contents, and no way out of where a template belongs."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        with pytest.raises(RpcFailure) as failed:
            await client.with_revision(revision).ask("resources/read", uri=uri)
        assert failed.value.code == (-32602 if revision == "2026-07-28" else -32002)
        assert failed.value.data == {"uri": uri}


@in_loop
async def test_what_fails_says_no_more_than_a_tool_does(tmp_path: Path) -> None:
    """MCP-289."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        with pytest.raises(RpcFailure) as failed:
            await client.ask("resources/read", uri="docs://fails")
        assert failed.value.code == -32603
        assert "/etc/secret" not in str(failed.value)
        assert failed.value.data["errorClass"] == "execution_failed"


@in_loop
async def test_a_resource_may_ask_its_client_first(tmp_path: Path) -> None:
    """MCP-162, MCP-216: `input_required`, and an answer that nobody keeps."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        client.features = frozenset({"elicitation"})
        asked = await client.ask("resources/read", uri="docs://asks")
        assert asked["resultType"] == "input_required" and "ttlMs" not in asked
        answer = {"who": {"action": "accept", "content": {"name": "Ada"}}}
        state = asked["requestState"]
        done = await client.ask("resources/read", uri="docs://asks", requestState=state, inputResponses=answer)
        assert done["contents"][0]["text"] == "For Ada"
        assert (done["ttlMs"], done["cacheScope"]) == (0, "private")
        for other in ("docs://text", "docs://asks"):  # for another address, and a second time
            with pytest.raises(RpcFailure) as failed:
                await client.ask("resources/read", uri=other, requestState=state, inputResponses=answer)
            assert failed.value.code == -32602


async def stored(client: McpClient) -> str:
    """Has something stored; gives its address, as the result of the call names it."""
    result = await client.ask("tools/call", name="export", arguments={"kind": "a"})
    links = [block for block in result["content"] if block["type"] == "resource_link"]
    await client.server.app.store.flush()
    return str(links[0]["uri"])


@in_loop
async def test_a_stored_result_is_listed_and_read_by_its_owner_alone(tmp_path: Path) -> None:
    """MCP-202: somebody else's does not exist, listed or read."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        uri = await stored(client)
        (content,) = await read(client, uri)
        assert (content["text"], content["mimeType"], content["uri"]) == (LARGE, "text/plain", uri)
        listed = {one["uri"]: one for one in await client.list_all("resources/list", "resources")}
        assert listed[uri]["size"] == len(LARGE.encode())
        assert "docs://text" in listed
        for other in (client.with_principal("eve"), client.with_principal("local", "elsewhere")):
            assert uri not in {one["uri"] for one in await other.list_all("resources/list", "resources")}
            with pytest.raises(RpcFailure) as failed:
                await read(other, uri)
            assert failed.value.data == {"uri": uri}


@in_loop
async def test_copies_that_reading_made_are_no_results(tmp_path: Path) -> None:
    """Reading a large resource stores it for a while; that is nothing to list."""
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        await read(client, "docs://large")
        await client.server.app.store.flush()
        assert not [one for one in await client.list_all("resources/list", "resources") if "payload" in one["uri"]]


@in_loop
async def test_ranges_are_read_to_the_end_and_cut_between_characters(tmp_path: Path) -> None:
    async with connected_client(tmp_path, tools=EVERYTHING) as client:
        uri = await stored(client)
        parts, at = [], f"{uri}?offset=0&limit=50001"
        while at:
            (content,) = await read(client, at)
            parts.append(content["text"])
            at = content["_meta"].get("dev.ferrule/next")
        assert len(parts) == 5 and "".join(parts) == LARGE
        for wrong in ("?offset=-1", "?limit=x", "?offset=1&other=2", "?offset=99999999999999999999"):
            with pytest.raises(RpcFailure) as failed:
                await read(client, uri + wrong)
            assert failed.value.code == -32602


@in_loop
async def test_one_read_gives_no_more_than_so_many_bytes(tmp_path: Path) -> None:
    @ferrule.tool(read_only=True)
    def huge() -> str:
        """Gives more than one read."""
        return "x" * (MOST_BYTES + 10)

    async with connected_client(tmp_path, tools=[huge]) as client:
        result = await client.ask("tools/call", name="huge")
        uri = next(block["uri"] for block in result["content"] if block["type"] == "resource_link")
        (first,) = await read(client, uri)
        (rest,) = await read(client, first["_meta"]["dev.ferrule/next"])
        assert (len(first["text"]), len(rest["text"])) == (MOST_BYTES, 10)


@in_loop
async def test_results_and_long_addresses_have_pages_too(tmp_path: Path) -> None:
    """MCP-165: every list, whatever is in it."""

    def made(number: int) -> Any:
        @ferrule.resource(f"docs://{'x' * 3000}/{number}", name=f"long_{number}")
        def page() -> str:
            """A page."""
            return "a"

        return page

    async with connected_client(
        tmp_path, tools=[*(made(number) for number in range(3)), export], page_size=1
    ) as client:
        first, second = await stored(client), await stored(client)
        addresses = [one["uri"] for one in await client.list_all("resources/list", "resources")]
        assert len(addresses) == 5 and addresses[3:] == [second, first]  # the newest first
        await asyncio.sleep(0.15)
        third = await stored(client)
        await asyncio.sleep(0.15)
        page = await client.ask("resources/list")
        assert page["ttlMs"] <= 1000  # any call may add to it
        assert third in [one["uri"] for one in await client.list_all("resources/list", "resources")]
        assert len(await client.list_pages("resources/templates/list", "resourceTemplates")) == 1
