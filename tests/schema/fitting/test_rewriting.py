"""A schema is rewritten for a provider with rules: by its type, its alternatives and its references."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.schema.fitting.steps import KEEP, CannotFit, Items, Members
from tests.schema.fitting.providers import PLAIN, rewriting

TEXT = {"type": "string"}
TREE: dict[str, Any] = {
    "type": "object",
    "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
    "required": ["children"],
}
FOREST: dict[str, Any] = {"$defs": {"Tree": TREE, "Name": TEXT}}


def fitted(schema: Any, root: Any = None, **rules: Any) -> dict[str, Any] | None:
    """A schema somewhere below the root, rewritten."""
    node = rewriting(root, **rules).node(schema, "properties/a", 2)
    return None if node is None else node[0]


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        (True, {}),
        ({}, {}),
        (False, None),
        ({"type": []}, None),
        ({"type": "unheard-of"}, None),
        ({"allOf": [TEXT, {"type": "integer"}]}, None),
        ({"minLength": 1}, {"type": "string", "description": "At least 1 characters"}),
        ({"allOf": [TEXT, {"description": "d"}]}, {"type": "string", "description": "d"}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"const": 1}, {"type": "integer", "enum": [1]}),
    ],
)
def test_a_schema_is_taken_as_it_is_meant(schema: Any, found: dict[str, Any] | None) -> None:
    assert fitted(schema) == found


def test_what_is_no_schema_is_unfit_at_its_place() -> None:
    with pytest.raises(CannotFit, match="properties/a: it is no schema"):
        fitted("string")


def test_the_many_plain_schemas_are_handed_on_themselves() -> None:
    for plain in ({**TEXT, "description": "d"}, {"type": "array", "items": TEXT}, {**TEXT, "enum": ["a", "b"]}):
        assert fitted(plain) is plain


@pytest.mark.parametrize("listed", [["a", "a"], ["a", 1], []])
def test_a_list_of_values_that_is_not_plain_is_looked_at(listed: list[Any]) -> None:
    schema = {**TEXT, "enum": listed}
    assert fitted(schema) != schema


def test_several_types_become_branches_where_types_are_not_listed_or_say_more() -> None:
    schema = {"type": ["string", "integer"], "description": "d"}
    branches = [{"type": "string"}, {"type": "integer"}]
    assert fitted(schema, allows_type_lists=False) == {"anyOf": branches, "description": "d"}
    bounded = fitted({"type": ["string", "integer"], "minimum": 1}, accepted=PLAIN | {"minimum"})
    assert bounded == {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 1}]}


def test_keywords_beside_alternatives_hold_for_each_of_them() -> None:
    schema = {
        "type": "object",
        "properties": {"kind": TEXT},
        "anyOf": [{"required": ["kind"], "properties": {"a": TEXT}}, {}],
    }
    found = fitted(schema)
    assert found is not None
    assert [sorted(branch["properties"]) for branch in found["anyOf"]] == [["a", "kind"], ["kind"]]


def test_two_lists_of_alternatives_are_combined() -> None:
    schema = {"allOf": [{"anyOf": [{"const": 1}, {"const": 2}]}, {"anyOf": [{"const": 2}, {"const": 3}]}]}
    assert fitted(schema) == {"type": "integer", "enum": [2]}


def test_a_reference_is_kept_with_its_definition() -> None:
    state = rewriting({"$defs": {"a b": {**TEXT, "minLength": 1}}})
    assert state.node({"$ref": "#/$defs/a%20b"}, "", 2) == ({"$ref": "#/$defs/a_b"}, KEEP)
    assert state.collect_definitions() == {"a_b": {"type": "string", "description": "At least 1 characters"}}


def test_words_beside_a_reference_stand_around_it() -> None:
    assert fitted({"$ref": "#/$defs/Name", "description": "d"}, FOREST) == {
        "anyOf": [{"$ref": "#/$defs/Name"}],
        "description": "d",
    }
    assert fitted({"$ref": "#/$defs/Name", "minLength": 1}, FOREST) == {
        "type": "string",
        "description": "At least 1 characters",
    }


def test_references_are_written_out_where_a_provider_takes_none() -> None:
    assert fitted({"type": "array", "items": {"$ref": "#/$defs/Name"}}, FOREST, refs="resolved") == {
        "type": "array",
        "items": TEXT,
    }


def test_a_schema_that_refers_to_itself_is_written_out_twice_where_it_may_not() -> None:
    state = rewriting(FOREST, is_recursion_allowed=False)
    node = state.node({"$ref": "#/$defs/Tree"}, "", 1)
    assert node is not None
    inner = node[0]["properties"]["children"]["items"]["properties"]["children"]
    assert inner == {"type": "array", "items": {}}
    assert [change.why for change in state.changes] == ["Acme takes no schema that refers to itself"]


def test_steps_of_a_schema_that_refers_to_itself_lead_back() -> None:
    optional = {**TREE, "required": []}
    state = rewriting({"$defs": {"Tree": optional}}, is_all_required=True)
    node = state.node({"$ref": "#/$defs/Tree"}, "", 2)
    assert node is not None
    members = state.steps[node[1]]
    assert isinstance(members, Members) and members.members[0].is_absent_null
    items = state.steps[members.members[0].step]
    assert isinstance(items, Items)
    assert state.steps[items.rest] == members


def test_a_schema_nested_too_deep_is_cut_and_not_followed() -> None:
    deep: dict[str, Any] = dict(TEXT)
    for _ in range(100):
        deep = {"type": "array", "items": deep, "minItems": 0}
    state = rewriting()
    assert state.node(deep, "", 1) is not None
    assert any("nested more than 60 levels deep" in change.why for change in state.changes)
