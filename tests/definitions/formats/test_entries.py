"""Lists of functions as people have them: in all wrappers, with members nobody knows, and broken (AT-27, AT-257, AT-278)."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.format import WriteOptions
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.definitions.formats.openai import CHAT
from ferrule.model.diagnostic import Severity
from ferrule.model.native_definition import native_refs
from ferrule.model.value import JsonValue
from tests.definitions.formats.lists import BARE, CHAT_TOOL, FLAT, OLD_DECLARATION, SCHEMA

CLAUDE = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "input_schema": SCHEMA,
    "cache_control": {"type": "ephemeral"},
    "input_examples": [{"city": "Oslo"}],
    "eager_input_streaming": True,
}
DECLARATION = {
    "name": "get_weather",
    "description": "The weather.",
    "parametersJsonSchema": SCHEMA,
    "behavior": "BLOCKING",
}
CONVERSE = {"toolSpec": {"name": "get_weather", "inputSchema": {"json": SCHEMA}, "strict": False, "x-new": 1}}
MCP = {
    "name": "get_weather",
    "title": "Weather",
    "description": "The weather.",
    "inputSchema": SCHEMA,
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True, "title": "W"},
    "icons": [{"src": "https://example.com/i.png"}],
    "execution": {"taskSupport": "optional"},
    "_meta": {"com.example/x": 1},
}


def wrap(tool: Any) -> list[Any]:
    """A tool in what people keep lists in."""
    request = {
        "model": "m",
        "messages": [{"role": "user", "content": "hi", "name": "ann"}],
        "tools": [tool],
        "stream": True,
    }
    return [tool, [tool], {"tools": [tool]}, request, {"custom_id": "1", "body": request}]


GEMINI_WRAPPERS: list[Any] = [
    [{"functionDeclarations": [DECLARATION]}],
    {"tools": [{"function_declarations": [DECLARATION]}], "contents": []},
    {"functionDeclarations": [DECLARATION]},
    DECLARATION,
]
CASES: list[Any] = [
    *(("openai", document, CHAT_TOOL) for document in wrap(CHAT_TOOL)),
    *(("openai", document, BARE) for document in [BARE, [BARE], {"functions": [BARE], "model": "m"}]),
    *(("openai-responses", document, FLAT) for document in wrap(FLAT)),
    *(("anthropic", document, CLAUDE) for document in wrap(CLAUDE)),
    *(("gemini", document, DECLARATION) for document in GEMINI_WRAPPERS),
    ("gemini", {"functionDeclarations": [OLD_DECLARATION]}, OLD_DECLARATION),
    ("gemini", [OLD_DECLARATION], OLD_DECLARATION),
    ("bedrock", {"toolConfig": {"tools": [CONVERSE, {"cachePoint": {"type": "default"}}]}}, CONVERSE),
    ("bedrock", {"tools": [CONVERSE]}, CONVERSE),
    *(("mcp", document, MCP) for document in [MCP, [MCP], {"tools": [MCP], "nextCursor": "x"}]),
    ("mcp", {"jsonrpc": "2.0", "id": 1, "result": {"tools": [MCP]}}, MCP),
]


@pytest.mark.parametrize(("name", "document", "definition"), CASES)
def test_a_tool_is_recognised_read_and_written_as_it_was(name: str, document: JsonValue, definition: JsonValue) -> None:
    recognised = next(form for form in FORMATS if form.detect(document))
    assert recognised.name == name
    reading = recognised.read(document, "weather", {})
    assert not [finding for finding in reading.findings if finding.severity is Severity.ERROR]
    (read,) = reading.tools
    assert at(document, read.path) == definition
    assert read.tool.namespace == "weather"
    assert native_refs(read.tool)[0]["source"] == name  # AT-27
    writing = recognised.write([read.tool], WriteOptions())
    assert definition in unwrap(writing.value)
    assert {loss.field for loss in writing.losses} <= {"namespace", "tool_id"}


def list_entries(value: Any) -> list[Any]:
    return list(value)


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def unwrap(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = value["tools"]
    found: list[Any] = value[0].get("functionDeclarations", value)
    return found


BROKEN: list[tuple[str, Any, tuple[str | int, ...]]] = [
    ("openai", 5, ()),
    ("openai", {"type": "function"}, ("name",)),
    ("openai", {"type": "function", "function": []}, ("function",)),
    ("openai", {"type": "function", "function": {"name": ""}}, ("name",)),
    ("openai", {"type": "function", "function": {"name": "\ud800"}}, ("name",)),
    ("openai", {"type": "function", "function": {"name": "x" * 300}}, ("name",)),
    ("openai", {"type": 5, "function": {"name": "x"}}, ("type",)),
    ("openai", {"type": "function", "function": {"name": "x", "description": 5}}, ("description",)),
    ("openai", {"type": "function", "function": {"name": "x", "parameters": []}}, ()),
    ("openai", {"type": "function", "function": {"name": "x", "parameters": {"type": "nonsense"}}}, ()),
    ("openai", {"type": "function", "function": {"name": "x", "parameters": {"$ref": "#/$defs/none"}}}, ()),
    ("openai", {"type": "function", "function": {"name": "x", "parameters": {"pattern": "("}}}, ()),
    ("anthropic", {"name": "x"}, ("input_schema",)),
    ("anthropic", {"name": "x", "input_schema": "{}"}, ()),
    ("gemini", {"name": "x", "parameters": "none"}, ()),
    ("bedrock", {"toolSpec": {"name": "x"}}, ("toolSpec", "inputSchema")),
    ("bedrock", {"toolSpec": 1}, ("toolSpec",)),
    ("mcp", {"name": "x"}, ()),
    ("mcp", {"name": "no good", "inputSchema": {}}, ()),
    ("mcp", {"inputSchema": {}}, ()),
]


@pytest.mark.parametrize(("name", "broken", "path"), BROKEN)
def test_what_cannot_be_read_is_told_and_takes_nothing_with_it(
    name: str, broken: Any, path: tuple[str | int, ...]
) -> None:
    good = {"openai": CHAT_TOOL, "anthropic": CLAUDE, "gemini": DECLARATION, "bedrock": CONVERSE, "mcp": MCP}[name]
    reading = FORMATS.get(name).read([broken, good, broken], "", {})
    assert [read.path for read in reading.tools] == [(1,)]
    assert [finding.path for finding in reading.findings] == [(0, *path), (2, *path)]
    assert all(finding.severity is Severity.ERROR for finding in reading.findings)


def test_tools_of_the_provider_are_passed_over_and_told() -> None:
    for name, foreign in [
        ("openai", {"type": "web_search"}),
        ("openai-responses", {"type": "mcp", "server_label": "x"}),
        ("anthropic", {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}),
        ("gemini", {"googleSearch": {}}),
        ("bedrock", {"cachePoint": {"type": "default"}}),
    ]:
        reading = FORMATS.get(name).read([foreign], "", {})
        assert not reading.tools
        assert [finding.severity for finding in reading.findings] == [Severity.INFO]


def test_two_tools_of_one_name_are_one_too_many() -> None:
    reading = CHAT.read([CHAT_TOOL, CHAT_TOOL], "", {})
    assert [read.path for read in reading.tools] == [(0,)]
    assert "two tools called 'get_weather'" in reading.findings[0].message


@pytest.mark.parametrize("value", [None, 5, "x", True, {}, {"a": 1}, [[]], {"tools": {"tools": {"tools": 1}}}])
def test_a_document_without_tools_is_nobodys(value: JsonValue) -> None:
    for form in FORMATS:
        assert not form.detect(value)
    for name in ("openai", "anthropic", "gemini", "bedrock", "mcp"):
        reading = FORMATS.get(name).read(value, "", {})
        assert not reading.tools
        assert reading.findings


def test_nesting_without_end_is_an_answer_like_any_other() -> None:
    deep: Any = {"type": "object"}
    for _ in range(3000):
        deep = {"type": "object", "properties": {"a": deep}}
    for name, tool in [
        ("openai", {"type": "function", "function": {"name": "x", "parameters": deep}}),
        ("anthropic", {"name": "x", "input_schema": deep}),
        ("gemini", {"name": "x", "parameters": deep}),
        ("gemini", {"name": "x", "parametersJsonSchema": deep}),
        ("mcp", {"name": "x", "inputSchema": deep}),
    ]:
        reading = FORMATS.get(name).read([tool], "", {})
        assert not reading.tools
        assert "nested too deeply" in reading.findings[0].message
