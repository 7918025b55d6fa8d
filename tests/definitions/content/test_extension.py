"""What a document carries of a tool beside its own words: compared, written, read back, and never trusted further than said."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.definitions.content.extension import (
    apply_extension,
    build_extension,
    find_bad_members,
    find_differences,
    restore_tool,
)
from ferrule.model.tool import FACT_NAMES, SafetyFacts, Tool, raw
from tests.definitions.dialects.tools import VALUES, tools


def make_tool(**fields: Any) -> Tool:
    usual: dict[str, Any] = {
        "tool_id": "shop.send",
        "namespace": "shop",
        "name": "send",
        "description": "Sends.",
        "lifecycle": "available",
        "tool_kind": "function",
        "dialect": "oxp",
        "inferred_facts": FACT_NAMES,
        "input_schema": raw({"type": "object", "properties": {"a/b": {"type": "string", "format": "email"}}}),
    }
    return Tool(**usual | fields)


def test_differences_name_fields_facts_and_places() -> None:
    other = make_tool(
        title="Send",
        facts=SafetyFacts(is_destructive=True),
        input_schema=raw({"properties": {"a/b": {"type": "string"}}, "type": "object", "required": []}),
    )
    assert find_differences(make_tool(), other) == [
        "title",
        "facts.is_destructive",
        "input_schema/properties/a~1b/format",
        "input_schema/required",
    ]


@pytest.mark.parametrize(
    ("one", "other", "is_same"), [(1, 1.0, True), (1, True, False), ([], {}, False), (2**80, 2**80, True)]
)
def test_values_are_compared_not_bytes(one: Any, other: Any, is_same: bool) -> None:
    mine, theirs = make_tool(input_schema=raw({"const": one})), make_tool(input_schema=raw({"const": other}))
    assert (find_differences(mine, theirs) == []) is is_same


@given(tools(), tools())
def test_what_is_carried_makes_any_tool_the_other_one(tool: Tool, back: Tool) -> None:
    """AT-3, AT-257: whatever a document says by itself, the tool comes back whole."""
    back = msgspec.structs.replace(back, approval_required=False, max_calls_per_run=None)
    again = restore_tool(back, build_extension(tool, back))
    assert find_differences(tool, again) == []
    assert (again.dialect, again.payload) == (tool.dialect, tool.payload) or tool.dialect == back.dialect


def test_nothing_is_carried_of_a_tool_that_is_all_there() -> None:
    assert build_extension(make_tool(), make_tool()) == {}


def test_what_somebody_changed_since_counts() -> None:
    """The document's own words win over what was carried, once they are other words."""
    tool, back = make_tool(lifecycle="retired", owner="post"), make_tool(lifecycle="disabled", owner="shop")
    extension = build_extension(tool, back)
    assert extension == {
        "owner": "post",
        "lifecycle": "retired",
        "instead_of": {"owner": "shop", "lifecycle": "disabled"},
    }
    changed = restore_tool(make_tool(lifecycle="available", owner="shop"), extension)
    assert (changed.lifecycle, changed.owner) == ("available", "post")


@pytest.mark.parametrize(
    ("fields", "extension", "expected"),
    [
        ({"approval_required": True}, {"approval_required": False}, {"approval_required": True}),
        ({}, {"approval_required": True}, {"approval_required": True}),
        ({"max_calls_per_run": 2}, {"max_calls_per_run": 9}, {"max_calls_per_run": 2}),
        ({"max_calls_per_run": 9}, {"max_calls_per_run": 2}, {"max_calls_per_run": 2}),
        ({"lifecycle": "disabled"}, {"lifecycle": "available"}, {"lifecycle": "disabled"}),
        ({"lifecycle": "draft"}, {"lifecycle": "deprecated"}, {"lifecycle": "draft"}),
        ({}, {"lifecycle": "retired"}, {"lifecycle": "retired"}),
        ({}, {"tool_kind": "openapi_operation"}, {"tool_kind": "openapi_operation"}),
        ({"title": "Send"}, {"title": "Other"}, {"title": "Send"}),
        ({"credentials": raw(["a"])}, {"credentials": ["b"]}, {"credentials": raw(["a"])}),
        ({"inferred_facts": ()}, {"facts": {"is_read_only": True}}, {"facts": SafetyFacts()}),
        ({}, {"facts": {"is_read_only": True}}, {"facts": SafetyFacts(is_read_only=True)}),
    ],
)
def test_an_extension_loosens_nothing_the_document_says(
    fields: dict[str, Any], extension: dict[str, Any], expected: dict[str, Any]
) -> None:
    tool = restore_tool(make_tool(**fields), extension)
    assert {name: getattr(tool, name) for name in expected} == expected


def test_a_fact_that_is_stated_there_is_stated() -> None:
    tool = apply_extension(make_tool(), {"facts": {"is_read_only": True}})
    assert "is_read_only" not in tool.inferred_facts and len(tool.inferred_facts) == len(FACT_NAMES) - 1


def test_in_a_workspace_form_identity_schemas_and_credentials_stay() -> None:
    extension = {
        "tool_id": "other",
        "namespace": "other",
        "name": "other",
        "version": "9.0.0",
        "input_schema": True,
        "output_schema": {},
        "credentials": {"environment": ["A"]},
        "origin": {"dialect": "aml", "payload": {"tool_id": "x"}},
        "aliases": ["post"],
    }
    assert apply_extension(make_tool(), extension) == msgspec.structs.replace(make_tool(), aliases=("post",))


@given(st.dictionaries(st.sampled_from([*Tool.__struct_fields__, "origin", "instead_of", "external_mappings"]), VALUES))
def test_no_extension_does_harm(extension: dict[str, Any]) -> None:
    """Hostile members are passed over and told; never a traceback."""
    tool = restore_tool(make_tool(approval_required=True), extension)
    assert tool.approval_required
    for member in ("dialect", "payload"):
        assert member not in extension or any(found.member == member for found in find_bad_members(extension))


def test_misfits_are_told() -> None:
    extension = {
        "tool_kind": "quantum",
        "facts": {"is_nice": True, "strict": 1},
        "aliases": "a",
        "colour": 1,
        "origin": {},
    }
    assert [found.member for found in find_bad_members(extension)] == [
        "tool_kind",
        "facts.is_nice",
        "facts.strict",
        "aliases",
        "colour",
        "origin",
    ]
    assert [found.member for found in find_bad_members([])] == [""]
