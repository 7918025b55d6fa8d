"""A second reading of MCP's requirements: what each sentence lets a client expect, asked of a server as a client would."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.errors import FerruleError
from ferrule.model.serving import ServeSettings
from ferrule.schema.validation.soundness import schema_defects
from tests.servers.local_server import WAIT_SECONDS, InProcessServer, running_server
from tests.servers.mcp.direct_client import in_loop
from tests.servers.mcp.modern_client import KEY, LOG_LEVEL, ModernClient, make_meta, read_messages
from tests.servers.mcp.published_schemas import check_against_schema
from tests.servers.mcp.sample_workspace import FORM, TASKS, add, open_wires, page, question, with_sample_server
from tests.servers.mcp.session_client import begin_session

RESULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "server/discover": ("DiscoverResult", {}),
    "tools/list": ("ListToolsResult", {}),
    "prompts/list": ("ListPromptsResult", {}),
    "resources/list": ("ListResourcesResult", {}),
    "resources/templates/list": ("ListResourceTemplatesResult", {}),
    "resources/read": ("ReadResourceResult", {"uri": "docs://static"}),
    "prompts/get": ("GetPromptResult", {"name": "hello", "arguments": {"name": "Ada"}}),
    "tools/call": ("CallToolResult", {"name": "add", "arguments": {"a": 1, "b": 2}}),
    "completion/complete": (
        "CompleteResult",
        {"ref": {"type": "ref/resource", "uri": "docs://page/{name}"}, "argument": {"name": "name", "value": "o"}},
    ),
}
CACHED = (
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)
_META_KEY = re.compile(
    r"(?:(?:[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)(?:\.[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*/)?"
    r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?"
)


@with_sample_server
async def test_every_result_of_every_revision_is_as_published(stand: InProcessServer) -> None:
    """MCP-15, MCP-26, MCP-96, MCP-97, MCP-105, MCP-158, MCP-159, MCP-160, MCP-185, MCP-196: with nothing declared by the
    client."""
    for revision, wire in (await open_wires(stand)).items():
        is_modern = revision == "2026-07-28"
        for method, (kind, params) in RESULTS.items():
            if method == "server/discover" and not is_modern:
                continue
            status, response = await wire.ask(method, params, {})
            result = response["result"]
            assert (status, response["jsonrpc"]) == (200, "2.0")
            check_against_schema(revision, kind, result)
            assert ("resultType" in result) == is_modern
            assert ("ttlMs" in result) == (is_modern and method in CACHED), (revision, method)
            if is_modern:
                assert result["resultType"] == "complete"
                assert set(result["_meta"][f"{KEY}serverInfo"]) >= {"name", "version"}
            if "ttlMs" in result:
                assert (type(result["ttlMs"]), result["ttlMs"] >= 0, result["cacheScope"]) == (int, True, "private")
            assert all(map(_META_KEY.fullmatch, result.get("_meta", {}))), "MCP-107"
    discovered = (await ModernClient(stand).ask("server/discover")).json()["result"]
    assert "serverInfo" not in discovered
    assert discovered["capabilities"]["logging"] == {}, "tools may log, so it is declared"


@with_sample_server
async def test_a_session_has_an_id_and_needs_no_capability(stand: InProcessServer) -> None:
    """MCP-73, MCP-96: everything is served to a client that declares nothing."""
    for revision in ("2025-11-25", "2025-06-18", "2025-03-26"):
        talk = await begin_session(stand, revision, {})
        assert re.fullmatch(r"[\x21-\x7e]{22,}", talk.id)
        said = "3" if revision == "2025-03-26" else '{"result":3}'
        assert (await talk.call("add", a=1, b=2))["content"][0]["text"] == said


@with_sample_server
async def test_one_message_is_one_post(stand: InProcessServer) -> None:
    """MCP-39: two messages in one body are none."""
    one = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": make_meta()}}).encode()
    sent = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
    for two in (one + one, one + b"\n" + one):
        reply = await stand.ask("POST", "/mcp", two, sent)
        assert (reply.status, reply.json()["error"]["code"]) == (400, -32700)


@with_sample_server
async def test_log_messages_are_for_who_asks_in_this_very_request(stand: InProcessServer) -> None:
    """MCP-102, MCP-178, MCP-183: and nothing else comes on a request's stream."""
    client = ModernClient(stand)
    for said, kinds in (
        ({}, set()),
        ({LOG_LEVEL: "info"}, {"notifications/message"}),
        ({"progressToken": 1}, {"notifications/progress"}),
        ({LOG_LEVEL: "warning"}, set()),
    ):
        told = read_messages(await client.ask("tools/call", {}, said, name="talks"))
        assert {each["method"] for each in told[:-1]} == kinds
        assert told[-1]["id"] == 1


@with_sample_server
async def test_a_task_tells_no_progress(stand: InProcessServer) -> None:
    """MCP-254, MCP-255, MCP-258, MCP-260: nothing before the handle; only calls become tasks; removed methods are gone."""
    client = ModernClient(stand)
    reply = await client.ask("tools/call", TASKS, {"progressToken": 1, LOG_LEVEL: "debug"}, name="job")
    (told,) = read_messages(reply)
    assert told["result"]["resultType"] == "task"
    for method, params in (("prompts/get", RESULTS["prompts/get"][1]), ("resources/read", {"uri": "docs://static"})):
        assert (await client.ask(method, TASKS, **params)).json()["result"]["resultType"] == "complete"
    for method in ("tasks/list", "tasks/result"):
        gone = await stand.ask(
            "POST",
            "/mcp",
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"taskId": "x", "_meta": make_meta(TASKS)}},
            {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method},
        )
        assert (gone.status, gone.json()["error"]["code"]) == (404, -32601)
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        unnamed = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"taskId": "x", "_meta": make_meta(TASKS)}}
        sent = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
        for named in ({}, {"Mcp-Name": "y"}):
            refused = await stand.ask("POST", "/mcp", unnamed, {**sent, **named})
            assert (refused.status, refused.json()["error"]["code"]) == (400, -32020)


@with_sample_server
async def test_a_question_is_written_as_the_revision_wants(stand: InProcessServer) -> None:
    """MCP-217, MCP-293: a method and its parameters, no id; the state is a text; no caching hints."""
    client = ModernClient(stand)
    result = (await client.call("who", capabilities=FORM))["result"]
    check_against_schema("2026-07-28", "InputRequiredResult", result)
    assert result["inputRequests"] == {"name": question()}
    assert not {"ttlMs", "cacheScope", "content", "taskId"} & result.keys()


@in_loop
async def test_an_address_that_was_accepted_is_asked_again_until_it_is_done(tmp_path: Path) -> None:
    """MCP-228 is the tool's to decide: what it is given says only that a person agreed, and it may ask once more."""
    answers = []

    @ferrule.tool(read_only=True)
    async def opens(context: ferrule.Context) -> Any:
        """Sends a person somewhere."""
        return context.ask_client({"go": _address()}, state=b"1")

    @opens.resume
    async def _went(state: bytes, answer: dict[str, Any], context: ferrule.Context) -> Any:
        answers.append(answer["go"])
        return "done" if len(answers) == 2 else context.ask_client({"go": _address()}, state=b"2")

    url: dict[str, Any] = {"elicitation": {"url": {}}}
    async with running_server(tmp_path, tools=[opens]) as stand:
        client = ModernClient(stand)
        result = (await client.call("opens", capabilities=url))["result"]
        for kind in ("input_required", "complete"):
            assert "elicitationId" not in json.dumps(result)
            more = {"inputResponses": {"go": {"action": "accept"}}, "requestState": result["requestState"]}
            result = (await client.call("opens", capabilities=url, **more))["result"]
            assert result["resultType"] == kind


def _address() -> dict[str, Any]:
    params = {"mode": "url", "message": "Pay there", "url": "https://example.com/pay"}
    return {"method": "elicitation/create", "params": params}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"password": {"type": "string"}}},
        {"type": "object", "properties": {"nested": {"type": "object", "properties": {}}}},
    ],
    ids=["a secret", "a nested form"],
)
def test_a_form_that_nobody_may_be_shown_fails_the_tool(tmp_path: Path, schema: dict[str, Any]) -> None:
    """MCP-209, MCP-212: the person is not asked, and the caller learns that the tool is at fault."""

    @ferrule.tool(read_only=True)
    async def asks(context: ferrule.Context) -> Any:
        """Asks for what it should not."""
        return context.ask_client({"it": question(schema)})

    @asks.resume
    async def _on(state: bytes, answer: dict[str, Any], context: ferrule.Context) -> str:
        raise AssertionError("nobody was asked")

    async def test() -> None:
        async with running_server(tmp_path, tools=[asks]) as stand:
            result = (await ModernClient(stand).call("asks", capabilities=FORM))["result"]
            assert (result["resultType"], result["isError"]) == ("complete", True)
            assert "its owner must fix it" in result["content"][0]["text"]

    asyncio.run(asyncio.wait_for(test(), WAIT_SECONDS))


@in_loop
async def test_who_embeds_resources_declares_them(tmp_path: Path) -> None:
    """MCP-143, MCP-98: results are kept as resources, so a server with tools has them; prompts it has not."""
    async with running_server(tmp_path, tools=[add, page]) as stand:
        client = ModernClient(stand)
        declared = (await client.ask("server/discover")).json()["result"]["capabilities"]
        assert "resources" in declared and "prompts" not in declared
        assert (await client.ask("prompts/list")).status == 404


def test_a_schema_that_is_unsound_or_mirrors_a_secret_is_found_when_it_is_loaded() -> None:
    """MCP-137, MCP-155."""
    assert schema_defects({"type": "objekt"})
    (defect,) = schema_defects({"type": "object", "properties": {"api_key": {"type": "string", "x-mcp-header": "Key"}}})
    assert "no secret is one" in defect.message


@pytest.mark.parametrize("line", ["ttl_ms = -1", "ttl_ms = 1.5", 'ttl_ms = "1"'])
def test_a_hint_that_is_no_whole_number_is_refused(tmp_path: Path, line: str) -> None:
    """MCP-159."""
    (tmp_path / "ferrule.toml").write_text(f"[serve.mcp]\n{line}\n")

    async def test() -> None:
        async with ferrule.open(tmp_path):
            pass

    with pytest.raises(FerruleError, match="ttl_ms"):
        asyncio.run(test())


def test_nobody_far_away_by_default() -> None:
    """MCP-46, MCP-287."""
    assert (ServeSettings().host, ServeSettings().auth, ServeSettings().origins) == ("127.0.0.1", True, ())
