"""Results of four revisions: content, structured content, errors, blocks (MCP-141 to MCP-151, section 29)."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import ferrule
from ferrule.contracts.executor import ExecutionFailed, Output
from ferrule.model.failure import ERROR_CLASSES, MEANINGS, Stop, tool_error
from ferrule.servers.mcp.wire.results import describe_advice
from tests.servers.mcp.direct_client import REVISIONS, McpClient, connected_client, in_loop
from tests.servers.mcp.published_schemas import check_against_schema

MODERN, S11, S6, S3 = REVISIONS
PNG = base64.b64encode(b"\x89PNG").decode()
BLOCKS: tuple[dict[str, Any], ...] = (
    {"type": "text", "text": "hello", "annotations": {"audience": ["user"], "priority": 0.5}},
    {"type": "image", "data": PNG, "mimeType": "image/png"},
    {"type": "audio", "data": PNG, "mimeType": "audio/wav", "annotations": {"lastModified": "2026-01-01T00:00:00Z"}},
    {"type": "resource", "resource": {"uri": "test://x", "mimeType": "text/plain", "text": "x", "_meta": {"a/b": 1}}},
    {"type": "resource_link", "uri": "test://y", "name": "y", "_meta": {"a/b": 1}},
)


@ferrule.tool(read_only=True)
def gives(kind: str) -> Any:
    """Give a value."""
    values: dict[str, Any] = {
        "object": {"a": 1},
        "list": [1, 2],
        "number": 5,
        "flag": False,
        "text": "plain",
        "none": None,
    }
    return values[kind]


@ferrule.tool(read_only=True)
def numbers() -> list[int]:
    """Give numbers."""
    return [1, 2, 3]


@ferrule.tool(read_only=True)
def perhaps(given: bool) -> str | None:
    """Give a text, or nothing."""
    return "here" if given else None


@ferrule.tool(read_only=True)
def pair() -> dict[str, int]:
    """Give an object."""
    return {"a": 1, "b": 2}


@ferrule.tool(read_only=True)
def blocks() -> Output:
    """Give blocks of every type."""
    return Output(content=BLOCKS)


@ferrule.tool(read_only=True)
def large(structured: bool) -> Any:
    """Give more than is shown."""
    text = "many words " * 20_000
    return {"text": text} if structured else text


@ferrule.tool(read_only=True)
def many() -> dict[str, str]:
    """Give more than is shown, as promised."""
    return {"text": "many words " * 20_000}


@ferrule.tool(read_only=True)
def fails(how: str) -> dict[str, int]:
    """Fail."""
    if how == "late":
        raise ExecutionFailed("rate_limited", "the shop is busy", code="busy", retry_after=7)
    if how == "partly":
        raise ExecutionFailed("partial_failure", "one of two is done", output=Output({"done": 1}))
    raise RuntimeError("/secret/path/of/ours")


NATIVE = {"source": "mcp", "isError": False, "_meta": {"com.example/trace": [1, 2]}}
MASKED: dict[str, Any] = {
    "io.modelcontextprotocol/serverInfo": {"name": "behind", "version": "9"},
    "com.mcp.more/x": 1,
    "dev.ferrule/invocation": "inv_theirs",
    "dev.ferrule/state": "awaiting_approval",
    "com.example/mcp": 1,
}
"""What a server behind us may say of itself."""


@ferrule.tool(read_only=True)
def relayed() -> Output:
    """Give what another server gave."""
    return Output(
        {"a": 1}, content=({"type": "text", "text": "as it came", "com.example/x": 1},), native_refs=(NATIVE,)
    )


@ferrule.tool(read_only=True)
def pretends(fails: bool) -> Output:
    """Give what another server gave that says who it is."""
    given = Output("x", content=({"type": "text", "text": "x"},), native_refs=({**NATIVE, "_meta": MASKED},))
    if fails:
        raise ExecutionFailed("execution_failed", "it failed", output=given)
    return given


TOOLS = [relayed, pretends, gives, numbers, perhaps, pair, blocks, large, many, fails]


async def call(client: McpClient, revision: str, name: str, **arguments: Any) -> dict[str, Any]:
    """The result of a call, checked against the specification's own schema."""
    found: dict[str, Any] = await client.with_revision(revision).ask("tools/call", name=name, arguments=arguments)
    check_against_schema(revision, "CallToolResult", found)
    return found


@in_loop
async def test_structured_content_is_what_a_revision_may_have(tmp_path: Path) -> None:
    """MCP-14, MCP-144, MCP-145, MCP-146, MCP-148: any value, an object, or none; the text says the same."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        for kind, value in {"object": {"a": 1}, "list": [1, 2], "number": 5, "flag": False}.items():
            for revision in REVISIONS:
                result = await call(client, revision, "gives", kind=kind)
                wrapped = value if isinstance(value, dict) else {"result": value}
                expected = {MODERN: value, S11: wrapped, S6: wrapped, S3: None}[revision]
                assert result.get("structuredContent") == expected
                assert json.loads(result["content"][0]["text"]) == (value if revision == S3 else expected)
                assert ("resultType" in result) is (revision == MODERN)
                assert "isError" not in result


@in_loop
async def test_with_an_output_schema_there_is_a_value_that_fits_it(tmp_path: Path) -> None:
    """MCP-144, MCP-145, MCP-147, MCP-148: texts and null are values; what a session lists as wrapped is wrapped. The text says
    the same JSON; a value that is text stands there as it is."""
    cases: list[tuple[str, dict[str, Any], Any]] = [
        ("numbers", {}, [1, 2, 3]),
        ("perhaps", {"given": True}, "here"),
        ("perhaps", {"given": False}, None),
        ("pair", {}, {"a": 1, "b": 2}),
    ]
    async with connected_client(tmp_path, tools=TOOLS) as client:
        for name, arguments, value in cases:
            for revision in (MODERN, S11, S6):
                listed = {
                    tool["name"]: tool for tool in await client.with_revision(revision).list_all("tools/list", "tools")
                }
                result = await call(client, revision, name, **arguments)
                is_wrapped = revision != MODERN and not isinstance(value, dict)
                assert result["structuredContent"] == ({"result": value} if is_wrapped else value)
                _fits(listed[name]["outputSchema"], result["structuredContent"])
                (said,) = result["content"]
                assert said["text"] == value or json.loads(said["text"]) == result["structuredContent"]
            assert "structuredContent" not in await call(client, S3, name, **arguments)


def _fits(schema: Any, value: Any) -> None:
    jsonschema_rs.validator_for(schema).validate(value)


@in_loop
async def test_blocks_are_those_that_a_revision_knows(tmp_path: Path) -> None:
    """MCP-142: the oldest has no links, no `_meta` and no `lastModified`."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        for revision in (MODERN, S11, S6):
            assert (await call(client, revision, "blocks"))["content"] == list(BLOCKS)
        oldest = (await call(client, S3, "blocks"))["content"]
        assert oldest[:2] == list(BLOCKS[:2])
        assert oldest[2] == {"type": "audio", "data": PNG, "mimeType": "audio/wav", "annotations": {}}
        assert oldest[3]["resource"] == {"uri": "test://x", "mimeType": "text/plain", "text": "x"}
        assert oldest[4] == {"type": "text", "text": "y: test://y"}


@in_loop
async def test_an_output_that_is_kept_elsewhere_is_a_preview_and_a_link(tmp_path: Path) -> None:
    """What is too long to be shown can be read as a resource, by whoever made the call."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        for revision in REVISIONS:
            result = await call(client, revision, "large", structured=False)
            text, link = result["content"]
            assert text["text"].startswith("many words")
            assert "isError" not in result
            assert "structuredContent" not in result
            if revision == S3:
                assert "ferrule-payload:" in link["text"]
                continue
            assert (link["type"], link["mimeType"]) == ("resource_link", "text/plain")
            whole = await client.with_revision(revision).ask("resources/read", uri=link["uri"])
            assert whole["contents"][0]["text"] == "many words " * 20_000
            assert link["size"] == len("many words " * 20_000)


@in_loop
async def test_a_promised_value_that_is_too_large_is_no_success_without_it(tmp_path: Path) -> None:
    """MCP-147: clients refuse a success that breaks its output schema; the model is told that the work is done."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        for revision in (MODERN, S11, S6):
            result = await call(client, revision, "many")
            assert result["isError"] is True
            assert "did its work" in result["content"][0]["text"]
            assert result["content"][-1]["type"] == "resource_link"
            assert "structuredContent" not in result
        assert "isError" not in await call(client, S3, "many")


@in_loop
async def test_what_failed_says_so_and_what_helps(tmp_path: Path) -> None:
    """MCP-149, MCP-151, MCP-289: no structured content, no paths of ours, and advice that a model can follow."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        for revision in REVISIONS:
            late = await call(client, revision, "fails", how="late")
            assert late["isError"] is True
            assert "structuredContent" not in late
            text = late["content"][0]["text"]
            assert "the shop is busy" in text
            assert "[rate_limited, busy]" in text
            assert "Wait 7 seconds" in text
            facts = late["_meta"]["dev.ferrule/error"]
            assert facts == {
                "class": "rate_limited",
                "code": "busy",
                "recoverability": "retry_later",
                "retrySafe": True,
                "retryAfterSeconds": 7,
            }
            broken = await call(client, revision, "fails", how="badly")
            assert "/secret/path" not in json.dumps(broken)
            unfit = await call(client, revision, "fails", wrong=1)
            assert unfit["isError"] is True
            assert "'how' is missing" in unfit["content"][0]["text"]


@in_loop
async def test_what_was_achieved_comes_after_what_went_wrong(tmp_path: Path) -> None:
    """MCP-149."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        result = await call(client, MODERN, "fails", how="partly")
        assert result["content"][0]["text"].startswith("one of two is done")
        assert json.loads(result["content"][1]["text"]) == {"done": 1}
        assert "structuredContent" not in result


@pytest.mark.parametrize("kind", ERROR_CLASSES)
@pytest.mark.parametrize("has_run", [False, True])
def test_every_class_of_error_has_advice(kind: Any, has_run: bool) -> None:
    """MCP-151: and nobody is told to repeat what may have acted."""
    error = tool_error(Stop(kind, "no"), has_run=has_run, is_repeatable=False)
    words = describe_advice(error)
    assert words.startswith(f"[{kind}]")
    assert ("may have acted" in words) is (has_run and not error.retry.retry_safe)
    if has_run and MEANINGS[kind].recoverability in ("retry", "retry_later"):
        assert "can be made again" not in words


@in_loop
async def test_what_another_server_gave_is_passed_on_as_it_came(tmp_path: Path) -> None:
    """MCP-142, section 29: blocks and `_meta` verbatim, beside what is ours."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        for revision in REVISIONS:
            result = await call(client, revision, "relayed")
            assert result["content"] == [{"type": "text", "text": "as it came", "com.example/x": 1}]
            assert result["_meta"]["com.example/trace"] == [1, 2]
            assert result["_meta"]["dev.ferrule/invocation"].startswith("inv_")
            assert result.get("structuredContent") == (None if revision == S3 else {"a": 1})


@in_loop
async def test_a_server_behind_us_is_not_taken_for_us(tmp_path: Path) -> None:
    """MCP-14, MCP-105, MCP-107: each name stands once, and who answers is who is asked."""
    async with connected_client(tmp_path, tools=TOOLS) as client:
        for revision in REVISIONS:
            for fails in (False, True):
                meta = (await call(client, revision, "pretends", fails=fails))["_meta"]
                assert meta["dev.ferrule/invocation"] != "inv_theirs"
                assert "dev.ferrule/state" not in meta and "com.mcp.more/x" not in meta
                assert meta["com.example/mcp"] == 1
                assert meta.get("io.modelcontextprotocol/serverInfo", {}).get("name") != "behind"
                assert ("io.modelcontextprotocol/serverInfo" in meta) is (revision == MODERN)
