"""One tool in four revisions (sections 11 and 29)."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import msgspec
import pytest

from ferrule.infra.lockfile.tools import make_imported_tool
from ferrule.model.tool import SafetyFacts, Tool, infer_facts, raw
from ferrule.model.upstreams import McpServerSettings
from ferrule.runtime.pipeline.arguments.validation import ArgumentProblem, Arguments
from ferrule.servers.mcp.wire.projection import output_schema, project_tool, wraps_output
from tests.servers.mcp.direct_client import REVISIONS

MODERN, S11, S6, S3 = REVISIONS
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def tool(**said: Any) -> Tool:
    given: dict[str, Any] = {
        "tool_id": "shop.find",
        "namespace": "shop",
        "name": "find",
        "description": "Finds.",
        "lifecycle": "available",
        "tool_kind": "function",
        "dialect": "aml",
        "input_schema": raw({"type": "object", "properties": {}}),
        **said,
    }
    return Tool(**given)


def project(one: Tool, revision: str, **hints: Any) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(project_tool(one, "find", revision, **hints)))
    return found


def test_members_that_a_revision_does_not_have_are_left_out() -> None:
    """MCP-131: no title, output schema, `_meta` or icons in the oldest; no icons in the one after."""
    icons = [
        {"src": "https://shop.example/i.png"},
        {"src": "javascript:alert(1)"},
        {"src": "http://shop.example/i.png"},
    ]
    one = tool(
        title="Find",
        output_schema=raw({"type": "object"}),
        search_hint="orders",
        payload=raw({"icons": icons}),
        facts=SafetyFacts(is_read_only=True),
    )
    basic = {"name", "description", "inputSchema", "annotations"}
    assert project(one, S3).keys() == basic
    assert project(one, S6).keys() == basic | {"title", "outputSchema", "_meta"}
    assert (
        project(one, S11).keys() == project(one, MODERN).keys() == basic | {"title", "outputSchema", "_meta", "icons"}
    )
    assert project(one, MODERN)["icons"] == icons[:1]  # MCP-291
    assert project(one, S3)["annotations"]["title"] == "Find"  # MCP-133


@pytest.mark.parametrize("revision", REVISIONS)
def test_only_declared_facts_are_hints(revision: str) -> None:
    """MCP-134: what was inferred from nothing is not told."""
    facts, unstated = infer_facts({"is_read_only": True})
    assert project(tool(facts=facts, inferred_facts=unstated), revision)["annotations"] == {"readOnlyHint": True}
    facts, unstated = infer_facts({})
    assert "annotations" not in project(tool(facts=facts, inferred_facts=unstated), revision)
    facts, unstated = infer_facts({"is_destructive": "classifier:shell", "is_open_world": False})
    hints = project(tool(facts=facts, inferred_facts=unstated, payload=raw({"idempotent": True})), revision)[
        "annotations"
    ]
    assert hints == {"openWorldHint": False, "idempotentHint": True}


def test_a_schema_is_passed_on_word_for_word() -> None:
    """MCP-135: every keyword of 2020-12 survives, also those nobody knows."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object"}},
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "to": {"$ref": "#/$defs/address"}},
        "allOf": [{"anyOf": [{"required": ["to"]}, {"required": ["region"]}]}],
        "if": {"required": ["to"]},
        "then": {"required": ["region"]},
        "additionalProperties": False,
        "x-own": [1.5, None],
    }
    for revision in REVISIONS:
        assert project(tool(input_schema=raw(schema)), revision)["inputSchema"] == schema


@pytest.mark.parametrize(
    "schema",
    [True, {}, {"properties": {"a": {}}}, {"type": ["object", "null"]}, {"$schema": DRAFT_7, "type": "object"}],
    ids=["true", "empty", "untyped", "several", "draft-07"],
)
def test_the_root_of_a_schema_is_an_object_of_the_latest_draft(schema: Any) -> None:
    """MCP-135, MCP-136."""
    written = project(tool(input_schema=raw(schema)), MODERN)["inputSchema"]
    assert written["type"] == "object"
    assert "$schema" not in written
    jsonschema_rs.Draft202012Validator(written)


OLD = {
    "$schema": DRAFT_7,
    "type": "object",
    "properties": {"pair": {"items": [{"type": "string"}, {"$ref": "#/definitions/count", "minimum": 9}]}},
    "dependencies": {"pair": ["reason"]},
    "definitions": {"count": {"type": "integer"}},
}
LATEST = {
    "type": "object",
    "properties": {"pair": {"prefixItems": [{"type": "string"}, {"$ref": "#/$defs/count"}]}},
    "dependentRequired": {"pair": ["reason"]},
    "$defs": {"count": {"type": "integer"}},
}


def test_a_schema_of_an_older_draft_is_said_in_the_words_of_the_latest() -> None:
    """MCP-136, MCP-137: a client reads it by 2020-12 and expects what calls are held against."""
    assert project(tool(input_schema=raw(OLD)), MODERN)["inputSchema"] == LATEST
    for revision in (MODERN, S11, S6):
        assert project(tool(output_schema=raw(OLD)), revision)["outputSchema"] == LATEST
    one = tool(
        output_schema=raw({"$schema": DRAFT_7, "$ref": "#/definitions/a", "definitions": {"a": {"items": [{}]}}})
    )
    assert wraps_output(one)
    assert output_schema(one, MODERN) == {"$ref": "#/$defs/a", "$defs": {"a": {"prefixItems": [{}]}}}


def test_a_text_is_a_field_of_an_object() -> None:
    """A tool that takes one text instead of fields can be called all the same."""
    written = project(tool(input_schema=raw({"type": "string", "maxLength": 9})), MODERN)["inputSchema"]
    assert written["properties"] == {"input": {"type": "string", "maxLength": 9}}


NODE = {"type": "object", "properties": {"next": {"$ref": "#"}}}
LISTED = {"type": "array", "items": {"$ref": "#/$defs/node"}, "$defs": {"node": {"type": "object"}}}
NESTED = {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"$ref": "#"}]}}


@pytest.mark.parametrize(
    ("schema", "value", "is_wrapped"),
    [
        ({"type": "object"}, {"a": 1}, False),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object"}}}, {}, False),
        ({"anyOf": [{"type": "object"}, {"type": "object"}]}, {}, False),
        (NODE, {"next": {}}, False),
        (LISTED, [{}], True),
        (NESTED, [1, [2, [3]]], True),
        ({"type": "string"}, "x", True),
        ({}, 3, True),
        ({"anyOf": [{"type": "object"}, {"type": "null"}]}, None, True),
    ],
    ids=["object", "reference", "any", "recursive", "list", "recursive list", "text", "anything", "or nothing"],
)
def test_output_that_is_no_object_is_wrapped_for_sessions(schema: Any, value: Any, is_wrapped: bool) -> None:
    """MCP-144, MCP-145: the schema and the value agree, and references still lead where they did."""
    one = tool(output_schema=raw(schema))
    assert wraps_output(one) is is_wrapped
    assert output_schema(one, MODERN) == schema
    assert output_schema(one, S3) is None  # MCP-146
    for revision in (S6, S11):
        written = output_schema(one, revision)
        assert written["type"] == "object"
        validator = jsonschema_rs.Draft202012Validator(written)
        assert validator.is_valid({"result": value} if is_wrapped else value)
        assert not validator.is_valid({"result": {"unlike": 1}} if schema == {"type": "string"} else [])


def test_an_upstream_speaks_in_its_own_words_and_is_marked() -> None:
    """MCP-288: native members verbatim, annotations not taken for ours; what we do not offer is not passed on."""
    definition: dict[str, Any] = {
        "name": "search",
        "title": "Search",
        "description": "Searches.",
        "inputSchema": {"type": "object", "$schema": DRAFT_7},
        "annotations": {"readOnlyHint": True, "title": "Look"},
        "icons": [{"src": "data:image/png;base64,AAAA", "sizes": ["16x16"]}, {"src": "file:///etc/passwd"}],
        "execution": {"taskSupport": "required"},
        "_meta": {"acme/rank": 3},
        "acme": {"kept": True},
    }
    one = make_imported_tool("acme", McpServerSettings(url="https://acme.example/mcp"), definition)
    modern = project(one, MODERN)
    assert modern["annotations"] == definition["annotations"]
    assert modern["_meta"]["acme/rank"] == 3
    assert modern["_meta"]["dev.ferrule/upstream"] == {"server": "acme", "tool": "search", "annotations": "untrusted"}
    assert modern["icons"] == definition["icons"][:1]
    assert modern["acme"] == {"kept": True}
    assert "execution" not in modern and "$schema" not in modern["inputSchema"]
    assert project(one, S3).keys() == {"name", "description", "inputSchema", "annotations"}
    nameless = make_imported_tool(
        "acme", McpServerSettings(url="https://acme.example/mcp"), {"name": "x", "inputSchema": {}}
    )
    assert project(nameless, MODERN)["description"]  # the suite, and models, want one


def test_guidance_reaches_the_description_and_is_bounded() -> None:
    """AML-76: when to use it, when not, what it does to the world."""
    guidance = {"use_when": ["asked for\n an order"], "avoid_when": ["it is paid"], "side_effects": "Sends a mail"}
    text = project(tool(payload=raw({"use_guidance": guidance})), MODERN)["description"]
    assert text == (
        "Finds.\n\nUse it when:\n- asked for an order\nDo not use it when:\n- it is paid\nSide effects:\n- Sends a mail"
    )
    many = {"use_when": [f"reason {number} of many" for number in range(1000)]}
    assert len(project(tool(payload=raw({"use_guidance": many})), MODERN)["description"]) < 2100


class _Refused(Exception):
    """Somebody tried to reach the network."""


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}},
        {"type": "object", "$ref": "file:///etc/passwd"},
    ],
    ids=["network", "file"],
)
def test_a_reference_to_elsewhere_is_never_followed(schema: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """MCP-138: nothing is fetched, and nothing is taken for granted: every call of such a tool is refused."""

    def connect(*args: Any, **named: Any) -> Any:
        raise _Refused

    monkeypatch.setattr("socket.socket.connect", connect)
    one = tool(input_schema=raw(schema))
    assert project(one, MODERN)["inputSchema"] == schema
    assert isinstance(Arguments.of(one).parse(b'{"a": 1}'), ArgumentProblem)


def test_a_schema_that_is_nested_without_end_is_no_trouble() -> None:
    """MCP-139."""
    deep = msgspec.Raw(b'{"type":"object","properties":{"a":' + b'{"items":' * 9000 + b"{}" + b"}" * 9002)
    one = tool(input_schema=deep, output_schema=deep)
    text = msgspec.json.encode(project_tool(one, "find", MODERN))
    assert b'"name":"find"' in text
    assert isinstance(Arguments.of(one).parse(b"{}"), ArgumentProblem)
