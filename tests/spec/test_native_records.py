"""Sections 16 and 17 of the Agent Tool standard: what a call is called where it really happened, and what was said there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ferrule.contracts.executor import Output
from ferrule.model.persistence import ResultSettings
from tests.spec.aml_app import NONE, running_aml_app, tool_file
from tests.spec.running_app import RunningApp, make_tool, run_async, running_app
from tests.spec.test_compiled import compile_declaration, emit_records
from tests.spec.tool_server import running_tool_server

RESULT: dict[str, Any] = {
    "content": [
        {"type": "text", "text": "hi", "annotations": {"audience": ["user"], "priority": 0.5}, "_meta": {"a": 1}},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        {"type": "resource_link", "uri": "file:///a", "name": "a", "mimeType": "text/plain", "size": 3},
        {"type": "resource", "resource": {"uri": "file:///b", "mimeType": "text/plain", "text": "b"}},
    ],
    "structuredContent": {"n": 1.5, "deep": {"null": None, "list": [1, "x"]}, "big": 12345678901234567890},
    "isError": False,
    "_meta": {"vendor.example/trace": "t-1", "x": {"y": [1]}},
}
SOURCES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "mcp": (
        {"server_id": "files", "tool_name": "read_file"},
        {
            "mcp_session_id": "s-1",
            "mcp_protocol_version": "2025-06-18",
            "method": "tools/call",
            "jsonrpc_request_id": 7,
        },
    ),
    "openapi": (
        {"operation_id": "getOrder", "method": "GET", "path": "/orders/{id}", "server_url": "https://shop.example"},
        {"security_scheme_refs": ["bearer"], "request_id": "r-1"},
    ),
    "function_calling": (
        {"function_name": "get_order", "strict": True, "defer_loading": False},
        {"tool_call_id": "call_1", "tool_choice": "auto", "parallel_tool_calls": True},
    ),
    "a2a": (
        {"agent_card_url": "https://peer.example/card", "agent_skill_id": "translate"},
        {"task_id": "t-1", "context_id": "c-1", "message_id": "m-1", "artifact_id": "a-1"},
    ),
    "cli": (
        {"command_id": "lint", "env_policy_ref": "env:minimal", "sandbox_ref": "sandbox:strict"},
        {"argv_ref": "argv:1", "cwd_ref": "cwd:1", "exit_code": 0, "signal": None},
    ),
    "browser": (
        {"browser_session_id": "b-1"},
        {"page_id": "p-1", "action_id": "click", "observation_ref": "obs:1", "screenshot_ref": "shot:1"},
    ),
    "telemetry": (
        {"tool_name": "search"},
        {"trace_id": "0af7", "span_id": "b7ad", "request_id": "r-1", "duration_ms": 3, "result_size_bytes": 10},
    ),
}


def mcp(url: str) -> dict[str, str]:
    return tool_file("far-tool", {"type": "mcp", "url": url, "tool_name": "far_tool", "credentials": NONE})


async def map_result(on: RunningApp, result: Any) -> dict[str, Any]:
    """All that the record of a call says about what it was called at the server."""
    found: dict[str, Any] = {}
    for each in (await on.read_record(result))["external_mappings"]:
        assert each["source"] == "mcp"
        found |= each
    return found


@pytest.mark.parametrize("is_error", [False, True])
def test_at_260_what_an_mcp_server_gave_is_kept_word_for_word(is_error: bool) -> None:
    """AT-260: blocks, structure, `isError` and `_meta`, of failures too."""

    @run_async
    async def story() -> None:
        given = {**RESULT, "isError": is_error}
        async with (
            running_tool_server(lambda _: {"result": given}, revision="2025-06-18", tools=("far_tool",)) as server,
            running_aml_app(mcp(server.url)) as on,
        ):
            result = await on.call("far-tool", {}, wait=15)
            assert result.status == ("failed" if is_error else "succeeded")
            assert [dict(block) for block in result.content] == given["content"]
            assert result.structured_content == given["structuredContent"]
            kept = await map_result(on, result)
            assert (kept["isError"], kept["_meta"]) == (is_error, given["_meta"])

    story()


@run_async
async def test_at_256_a_large_answer_of_an_mcp_server_is_fetched_by_its_reference() -> None:
    """AT-256: whole, though the model is shown a piece of it."""
    long = {"content": [{"type": "text", "text": "word " * 20_000 + "the end"}]}
    async with (
        running_tool_server(lambda _: {"result": long}, revision="2025-06-18", tools=("far_tool",)) as server,
        running_aml_app(mcp(server.url), results=ResultSettings(max_inline_bytes=1_000)) as on,
    ):
        result = await on.call("far-tool", {}, wait=15)
        assert result.status == "succeeded", result.error
        assert len(str(result.content)) < 20_000
        assert result.native_output_ref is not None
        fetched = await on.surface.payload(result.native_output_ref)
        assert long["content"][0]["text"] in fetched.decode()


@run_async
async def test_at_196_an_error_of_the_protocol_is_no_failure_of_the_tool() -> None:
    """AT-196: two classes, each with the server's own word; the ids of request, session, server and revision are kept."""
    answers = iter([
        {"error": {"code": -32603, "message": "broken inside"}},
        {"result": {"content": [{"type": "text", "text": "no such file"}], "isError": True}},
        {"error": {"code": -32602, "message": "path is missing"}},
    ])  # fmt: skip
    async with (
        running_tool_server(lambda _: next(answers), revision="2025-06-18", tools=("far_tool",)) as server,
        running_aml_app(mcp(server.url)) as on,
    ):
        told = []
        for _ in range(3):
            result = await on.call("far-tool", {}, wait=15)
            assert result.error is not None
            told.append((result.error.error_class, result.error.native_error_ref))
        assert told == [
            ("dependency_unavailable", "mcp:-32603"),
            ("execution_failed", "mcp:isError"),
            ("invalid_arguments", "mcp:-32602"),
        ]
        kept = await map_result(on, result)
    numbers = [each.message["id"] for each in server.list_requests("tools/call")]
    assert kept["jsonrpc_request_id"] == numbers[-1]
    assert (kept["mcp_session_id"], kept["mcp_protocol_version"]) == ("session-1", "2025-06-18")
    assert (kept["method"], kept["tool_name"]) == ("tools/call", "far_tool")
    assert kept["server_id"] in server.url


@pytest.mark.parametrize("source", SOURCES)
def test_at_258_the_ids_of_each_source_are_on_the_declaration_and_on_the_call(source: str, tmp_path: Path) -> None:
    """AT-258, AT-257: static ones on the tool, those of one call on its record, in the names of their source."""
    static, each_call = ({"source": source, **fields} for fields in SOURCES[source])
    assert emit_records(compile_declaration(tmp_path, external_mappings=[static]))[0]["external_mappings"] == [static]

    @run_async
    async def story() -> None:
        script = {"shop.search": Output("done", native_refs=(each_call,))}
        async with running_app(make_tool(external_mappings=[static]), script=script) as on:
            result = await on.call()
            record = await on.read_record(result)
            assert record["external_mappings"] == [static, each_call]
            assert record["invocation_id"] == result.invocation_id

    story()


def test_at_262_several_mappings_of_one_tool_survive(tmp_path: Path) -> None:
    """AT-262, AT-263: in their order, those of unknown sources and with unknown fields too."""
    mappings = [
        {"source": "mcp", "server_id": "files", "tool_name": "read", "x-vendor": {"deep": [1, None]}},
        {"source": "openapi", "operation_id": "readFile"},
        {"source": "quantum", "native_id": "Q7", "entangled_with": ["Q8"]},
    ]
    assert emit_records(compile_declaration(tmp_path, external_mappings=mappings))[0]["external_mappings"] == mappings

    @run_async
    async def story() -> None:
        async with running_app(make_tool(external_mappings=mappings)) as on:
            assert (await on.read_record(await on.call()))["external_mappings"] == mappings

    story()


@pytest.mark.parametrize(
    "mapping",
    [
        {"source": "openapi", "operationId": "readFile"},
        {"source": "openapi", "operation_id": "readFile"},
        {"source": "mcp", "server_name": "files", "tool_name": "readFile"},
        {"source": "mcp", "server_id": "files", "tool_name": "readFile"},
    ],
)
def test_at_264_both_spellings_of_a_key_are_taken_and_kept(mapping: dict[str, str], tmp_path: Path) -> None:
    """AT-264: as it was written, and rules find the tool by either."""
    assert emit_records(compile_declaration(tmp_path, external_mappings=[mapping]))[0]["external_mappings"] == [mapping]

    @run_async
    async def story() -> None:
        denied = '[[rules]]\nid = "no"\ndecision = "deny"\nnative_id = "readFile"\n'
        async with running_app(make_tool(external_mappings=[mapping]), policy=denied) as on:
            result = await on.call()
            assert (result.error and result.error.error_class) == "permission_denied"
            assert not on.has_run
        other = {"source": mapping["source"], "tool_name": "writeFile"}
        async with running_app(make_tool(external_mappings=[other]), policy=f'mode = "trusted"\n{denied}') as on:
            assert (await on.call()).status == "succeeded"

    story()


@run_async
async def test_at_259_the_number_of_a_request_stands_beside_our_own_id() -> None:
    """AT-259: both are there, and differ."""
    async with (
        running_tool_server(lambda _: {"result": RESULT}, revision="2025-06-18", tools=("far_tool",)) as server,
        running_aml_app(mcp(server.url)) as on,
    ):
        result = await on.call("far-tool", {}, wait=15)
        kept = await map_result(on, result)
    assert json.dumps(kept["jsonrpc_request_id"]) != result.invocation_id
    assert kept["jsonrpc_request_id"] == server.list_requests("tools/call")[0].message["id"]
