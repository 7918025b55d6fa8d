"""The fields of a definition that no canonical field holds are named, by dialect."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.content.native_fields import list_native_fields
from ferrule.model.tool import Tool, raw


def tool(dialect: str, payload: Any) -> Tool:
    return Tool(
        tool_id="t",
        namespace="n",
        name="t",
        description="",
        lifecycle="available",
        tool_kind="function",
        dialect=dialect,
        payload=raw(payload),
    )


@pytest.mark.parametrize(
    ("dialect", "payload", "names"),
    [
        (
            "aml",
            {"tool_id": "t", "meta": {"name": "T", "audience": "x"}, "transport": {"type": "x"}},
            ["meta.audience", "transport"],
        ),
        ("aml", {"meta": "odd", "x-ferrule": {}}, []),
        (
            "oxp",
            {"id": "t", "input_schema": {"parameters": {}, "strict": True}, "x-a": 1},
            ["input_schema.strict", "x-a"],
        ),
        (
            "oxp",
            {"id": "t", "input_schema": {"type": "object", "title": "T"}},
            ["input_schema.type", "input_schema.title"],
        ),
        ("adl", {"tool": {"id": "t", "inject": ["logger"]}, "config": {}}, ["tool.inject", "config"]),
        (
            "agent_tool",
            {"tool_id": "t", "permission_profile": {"risk_level": "low", "approval_required": True}, "annotations": {}},
            ["permission_profile.risk_level", "annotations"],
        ),
        ("python", {"input_contract": {}, "idempotent": True}, ["idempotent"]),
        (
            "openai",
            {"definition": {"type": "function", "function": {"name": "t", "x-inner": 1}, "x-outer": 1}},
            ["x-outer", "x-inner"],
        ),
        ("mcp", {"definition": {"name": "t", "inputSchema": {}, "icons": []}}, ["icons"]),
        ("aml", [], []),
    ],
)
def test_what_only_the_dialect_says_has_a_name(dialect: str, payload: Any, names: list[str]) -> None:
    assert list(list_native_fields(tool(dialect, payload))) == names


def test_a_field_comes_with_what_is_said() -> None:
    assert list_native_fields(tool("aml", {"transport": {"type": "x"}})) == {"transport": {"type": "x"}}
