"""Words of MCP for what a tool is: its schema, hints about its safety, its icons."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ferrule.definitions.formats.mcp_words import build_annotations, build_input_schema, list_icons
from ferrule.model.tool import FACT_NAMES, SafetyFacts, raw
from tests.definitions.formats.shop import tool, write_tools


def test_mcp_tells_declared_facts_alone() -> None:
    facts = SafetyFacts(is_read_only=True, is_destructive=False, is_open_world=False)
    stated = tool(
        facts=facts, inferred_facts=tuple(n for n in FACT_NAMES if n not in ("is_read_only", "is_open_world"))
    )
    assert write_tools("mcp", stated)["tools"][0]["annotations"] == {"readOnlyHint": True, "openWorldHint": False}
    assert "annotations" not in write_tools("mcp", tool(facts=facts))["tools"][0]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object", "title": "T"}, {"type": "object", "title": "T"}),
        ({"properties": {"a": {}}}, {"type": "object", "properties": {"a": {}}}),
        (
            {"type": "string", "maxLength": 3},
            {"type": "object", "properties": {"input": {"type": "string", "maxLength": 3}}, "required": ["input"]},
        ),
        (True, {"type": "object"}),
    ],
)
def test_the_root_of_a_schema_is_an_object(schema: Any, expected: Any) -> None:
    assert json.loads(bytes(build_input_schema(tool(input_schema=raw(schema))))) == expected


def test_an_idempotent_tool_says_so_beside_its_facts() -> None:
    stated = tool(facts=SafetyFacts(is_read_only=True), inferred_facts=())
    assert build_annotations(stated, is_idempotent=True)["idempotentHint"] is True
    assert "idempotentHint" not in build_annotations(stated, is_idempotent=False)


def test_icons_are_taken_from_addresses_that_run_nothing() -> None:
    good = [{"src": "HTTPS://example.com/i.png"}, {"src": "data:image/png;base64,AA"}]
    bad = [{"src": "javascript:x"}, {"src": "http://example.com/i.png"}, {"src": "data:text/html,x"}, {}, 5]
    assert list_icons([*bad, *good]) == good
    assert len(list_icons(good * 20)) == 16
    assert list_icons("x") == []
