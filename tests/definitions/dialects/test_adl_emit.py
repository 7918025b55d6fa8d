"""Tools written as an ADL manifest, and what it cannot say."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ferrule.model.tool import Tool
from tests.definitions.dialects.emitting import emit_adl
from tests.definitions.dialects.manifests import compile_manifest, manifest


def test_emit_reports_what_adl_cannot_say() -> None:
    tool = Tool(
        tool_id="x",
        namespace="n",
        name="send-mail",
        description="Send a mail",
        lifecycle="deprecated",
        tool_kind="function",
        dialect="aml",
        version="1.0.0",
        owner="mail team",
        output_schema=msgspec.Raw(b"{}"),
        approval_required=True,
    )
    value: Any
    value, losses, demands = emit_adl(tool)
    assert value["spec"]["tools"] == [
        {
            "id": "send_mail",
            "name": "send_mail",
            "description": "Send a mail",
            "tags": ["function"],
            "schema": {"type": "object"},
        }
    ]
    assert {loss.field for loss in losses} == {
        "tool_id", "name", "title", "tags", "owner", "output_schema", "lifecycle", "approval_required", "inferred_facts",
        "input_schema/type",
    }  # fmt: skip
    assert {loss.instead for loss in losses} == {"extension"}
    assert [found.rule for found in demands] == ["ADL-3"]
    (again,) = compile_manifest(value).tools
    assert (again.owner, again.lifecycle, again.approval_required) == ("mail team", "deprecated", True)


def test_a_name_taken_by_a_built_in_is_changed() -> None:
    tool = Tool(
        tool_id="x",
        namespace="n",
        name="read",
        description="d",
        lifecycle="available",
        tool_kind="function",
        dialect="aml",
    )
    value: Any = emit_adl(tool).value
    assert value["spec"]["tools"][0]["id"] == "read_"


texts = st.text(min_size=1, max_size=12)


@given(texts, texts, st.lists(texts, max_size=2))
def test_what_other_dialects_emit_is_stable_after_one_turn(name: str, description: str, tags: list[str]) -> None:
    foreign = Tool(
        tool_id="x",
        namespace="n",
        name=name,
        description=description,
        lifecycle="available",
        tool_kind="function",
        dialect="oxp",
        tags=tuple(tags),
        input_schema=msgspec.Raw(b'{"type":"object"}'),
    )
    value: Any = emit_adl(foreign).value
    (tool,) = compile_manifest(manifest(tools=value["spec"]["tools"])).tools
    again: Any = emit_adl(tool).value
    assert again["spec"]["tools"] == value["spec"]["tools"]
    assert tool.description == (description if description.strip() else tool.name) and tool.tool_kind == "function"
