"""OXP: recognised by content, compiled fail-closed, emitted with what is lost."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.contracts.dialect import Definition
from ferrule.definitions.dialects.oxp import DIALECT
from ferrule.model.document import Source
from ferrule.model.outline import ToolOutline
from ferrule.model.tool import FACT_NAMES, SafetyFacts
from tests.definitions.dialects.emitting import emit_oxp
from tests.definitions.dialects.oxp_definitions import TOOL, compile_definition, document

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "value",
    [
        TOOL,
        [TOOL],
        {"tools": [TOOL]},
        {"items": [TOOL]},
        {"tools": []},
        {"$schema": "urn:oxp:1.0", "tools": []},
        *({key: member for key, member in TOOL.items() if key != dropped} for dropped in TOOL),
        TOOL | {"id": "Mail"},
        TOOL | {"input_schema": 3, "output_schema": "x"},
    ],
)
def test_definitions_are_recognised_even_with_mistakes(value: Any) -> None:
    assert DIALECT.detect(document(value))


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        None,
        "text",
        {"tools": [{"name": "a", "description": "b", "inputSchema": {}, "outputSchema": {}}]},
        [{"type": "function", "function": {"name": "a", "parameters": {}}}],
        [{"name": "a", "description": "b", "input_schema": {"type": "object"}}],
        {"name": "pkg", "version": "1.0.0", "description": "b", "dependencies": {}},
        {"tool_id": "A.B@1.0.0", "call_id": "1", "input": {}},
        {"call_id": "1", "success": True, "value": 1},
        {"$schema": "urn:oxp:1.0", "request": {"tool_id": "A.B"}},
        {"$schema": "https://example.org/x", "tools": []},
        {"tools": ["hammer"]},
        {"schema_version": "0.2.0", "interface_id": "i", "tool_id": "t", "name": "n", "output_schema": {}},
    ],
)
def test_other_json_is_not_claimed(value: Any) -> None:
    text = document(value)
    assert not DIALECT.detect(text)
    assert not DIALECT.claims_name(text.source)


def test_a_broken_text_is_known_by_its_words() -> None:
    broken = json.dumps(TOOL)[:-1].encode()
    assert DIALECT.claims_name(Source("mail.json", broken))
    assert not DIALECT.claims_name(Source("mail.txt", broken))
    assert not DIALECT.claims_name(Source("other.json", b'{"name": "x", "version": '))


def test_definitions_know_their_paths() -> None:
    text = document({"tools": [TOOL, 7, TOOL]})
    definitions, findings = DIALECT.definitions(text)
    assert [definition.path for definition in definitions] == [("tools", 0), ("tools", 2)]
    assert [(finding.rule, finding.path) for finding in findings] == [("OXP-1", ("tools", 1))]


def test_outline_takes_the_id_apart() -> None:
    (outline,) = DIALECT.outline(document(TOOL), Definition("oxp.tool", (), TOOL), "ws")
    assert isinstance(outline, ToolOutline)
    assert (outline.namespace, outline.tool_id, outline.version) == ("Mail", "Mail.GetUnread", "1.2.0")


@given(st.dictionaries(st.sampled_from(sorted(TOOL)), values))
def test_outline_never_fails(changes: dict[str, Any]) -> None:
    value = TOOL | changes
    text = document(value)
    for definition in DIALECT.definitions(text)[0]:
        assert list(DIALECT.outline(text, definition, "ws"))


def test_compiled_facts_are_fail_closed_and_inferred() -> None:
    (tool,) = compile_definition(TOOL)
    assert (tool.namespace, tool.name, tool.title) == ("Mail", "Mail_GetUnread", "Get Unread")
    assert tool.facts == SafetyFacts() and tool.facts.is_open_world is True
    assert tool.inferred_facts == FACT_NAMES
    assert tool.credentials is not None and b"MAIL_KEY" in bytes(tool.credentials)
    assert msgspec.json.decode(tool.input_schema) == TOOL["input_schema"]["parameters"]


def test_no_output_is_no_output_schema() -> None:
    (tool,) = compile_definition(TOOL | {"output_schema": None})
    assert tool.output_schema is None
    assert emit_oxp(tool).value == TOOL | {"output_schema": None}


@given(
    st.dictionaries(st.text(min_size=1), values, max_size=3), st.dictionaries(st.text(min_size=1), values, max_size=3)
)
def test_parse_emit_parse_is_stable_and_keeps_unknown_fields(inner: dict[str, Any], outer: dict[str, Any]) -> None:
    value = TOOL | {
        "input_schema": outer | TOOL["input_schema"],
        "requirements": inner,
        "output_schema": {"x-more": inner},
    }
    first = compile_definition(value)
    emitted, losses, _ = emit_oxp(first[0])
    assert emitted == value
    assert not losses
    assert compile_definition(emitted) == first
