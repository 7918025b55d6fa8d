"""For providers that take any keyword, only what their parsers stumble over is changed."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.schema.fitting.light import Light
from ferrule.schema.fitting.steps import CannotFit
from tests.schema.fitting.providers import provider

TEXT = {"type": "string"}


def light(root: Any = None, written_for: int = 2020, **rules: Any) -> Light:
    """The walk over a schema for a provider that takes any keyword."""
    return Light({} if root is None else root, provider(accepted=None, **rules), written_for)


def walked(schema: Any, written_for: int = 2020, **rules: Any) -> dict[str, Any]:
    """A schema below the root, as it can be sent."""
    return light(schema, written_for, **rules).adapt(schema, "properties/a", 2)


@pytest.mark.parametrize(
    "schema",
    [
        TEXT,
        {"type": "object", "properties": {"a": {"anyOf": [TEXT, {"not": TEXT}]}}, "patternProperties": {"x": TEXT}},
        {"type": "array", "prefixItems": [TEXT], "items": False, "contains": TEXT},
        {"if": TEXT, "then": {"minLength": 1}, "dependentRequired": {"a": ["b"]}},
    ],
)
def test_what_is_taken_stays_as_it_is(schema: dict[str, Any]) -> None:
    state = light(schema)
    assert state.adapt(schema, "properties/a", 2) == schema
    assert state.changes == []


def test_a_schema_without_anything_to_look_at_is_handed_on_itself() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "description": "d"}, "b": TEXT}}
    assert walked(schema) is schema


def test_truth_values_become_schemas() -> None:
    assert (walked(True), walked(False)) == ({}, {"not": {}})
    with pytest.raises(CannotFit, match="properties/a: it is no schema"):
        walked("string")


def test_items_and_properties_are_filled_in_where_they_are_needed() -> None:
    assert walked({"type": "array"}) == {"type": "array"}
    assert walked({"type": "array"}, needs_items=True) == {"type": "array", "items": {}}
    assert walked({"type": ["array", "null"], "items": False}, needs_items=True)["items"] == {"not": {}}
    assert walked({"type": "object"}, needs_properties=True) == {"type": "object", "properties": {}}


def test_lists_by_position_are_called_as_the_providers_draft_calls_them() -> None:
    old = {"type": "array", "items": [TEXT], "additionalItems": False}
    new = {"type": "array", "prefixItems": [TEXT], "items": False}
    assert walked(old, 7, draft=2020) == new
    assert walked(new, 2020, draft=7) == old


def test_bounds_of_draft_4_become_numbers() -> None:
    assert walked({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 4) == {
        "type": "integer",
        "exclusiveMinimum": 1,
    }


def test_keywords_that_came_later_say_nothing_in_an_older_schema() -> None:
    state = light({}, 7)
    assert state.adapt({"type": "array", "prefixItems": [TEXT], "items": TEXT}, "a", 2) == {
        "type": "array",
        "items": TEXT,
    }
    assert [(change.path, change.instead) for change in state.changes] == [("a/prefixItems", "dropped")]


def test_dependencies_have_one_keyword_in_draft_7() -> None:
    required, schemas = {"a": ["b"]}, {"c": TEXT}
    assert walked({"dependentRequired": required, "dependentSchemas": schemas}, draft=7) == {
        "dependencies": {"a": ["b"], "c": TEXT}
    }
    both = walked({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"a": TEXT}}, draft=7)
    assert both == {"allOf": [{"dependencies": {"a": ["b"]}}, {"dependencies": {"a": TEXT}}]}


def test_what_would_refuse_more_is_loosened_where_a_draft_cannot_say_all_of_it() -> None:
    schema = {"oneOf": [{"unevaluatedProperties": False}, TEXT], "not": TEXT}
    assert walked(schema, draft=7) == {"anyOf": [{"unevaluatedProperties": False}, TEXT]}
    assert walked(schema) == schema


def test_what_is_referred_to_stands_under_definitions() -> None:
    root: dict[str, Any] = {
        "properties": {"a": {"type": "object", "properties": {"b": TEXT}}},
        "definitions": {"Old": {"type": "array"}},
    }
    state = light(root, needs_items=True)
    schema = {"anyOf": [{"$ref": "#/properties/a"}, {"$ref": "#/definitions/Old"}]}
    assert state.adapt(schema, "properties/c", 2) == {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/definitions/Old"}]}
    assert state.collect_definitions() == {
        "$defs": {"a": root["properties"]["a"]},
        "definitions": {"Old": {"type": "array", "items": {}}},
    }


def test_a_schema_that_refers_to_itself_ends() -> None:
    root = {"$defs": {"Tree": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}
    state = light(root)
    assert state.adapt({"$ref": "#/$defs/Tree"}, "properties/a", 2) == {"$ref": "#/$defs/Tree"}
    assert state.collect_definitions() == root


def test_a_schema_nested_too_deep_is_unfit() -> None:
    deep: dict[str, Any] = dict(TEXT)
    for _ in range(70):
        deep = {"type": "array", "items": deep}
    with pytest.raises(CannotFit, match="nested more than 60 levels deep"):
        walked(deep)
