"""Two schemas of one value become one that takes what both take."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.model.value import MISSING
from ferrule.schema.merging import NEVER, Merger, bounds_in_numbers, is_same, join_operands

OPEN = {"type": "object", "properties": {"a": {}}}
CLOSED = {"type": "object", "properties": {"a": {}}, "additionalProperties": False}
OTHER_CLOSED = {"type": "object", "properties": {"b": {}}, "additionalProperties": False}


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ({}, {"type": "string"}, {"type": "string"}),
        ({"type": "string"}, {}, {"type": "string"}),
        ({"minimum": 1, "maximum": 9}, {"minimum": 3, "maximum": 20}, {"minimum": 3, "maximum": 9}),
        ({"minLength": 5}, {"minLength": 2}, {"minLength": 5}),
        ({"type": ["string", "null"]}, {"type": "string"}, {"type": "string"}),
        ({"type": ["string", "null"]}, {"type": ["null", "string"]}, {"type": ["string", "null"]}),
        ({"type": "integer"}, {"type": "number"}, {"type": "integer"}),
        ({"type": "number"}, {"type": ["integer", "null"]}, {"type": "integer"}),
        ({"enum": [1, 2, 3]}, {"enum": [3, 2]}, {"enum": [2, 3]}),
        ({"enum": [1, "a"]}, {"enum": [True, "a"]}, {"enum": ["a"]}),
        ({"enum": [[0], {"a": False}, 2]}, {"enum": [[False], {"a": 0}, 2.0]}, {"enum": [2]}),
        ({"const": 1}, {"const": 1.0}, {"const": 1}),
        (
            {"minProperties": 1, "maxProperties": 9},
            {"minProperties": 2, "maxProperties": 8},
            {"minProperties": 2, "maxProperties": 8},
        ),
        ({"uniqueItems": False}, {"uniqueItems": True}, {"uniqueItems": True}),
        ({"title": "one", "x-note": 1}, {"title": "other", "x-note": 2}, {"title": "one", "x-note": 1}),
        ({"required": ["a", "b"]}, {"required": ["b", "c"]}, {"required": ["a", "b", "c"]}),
        ({"description": "one"}, {"description": "other"}, {"description": "other"}),
        ({"items": True}, {"items": {"type": "string"}}, {"items": {"type": "string"}}),
        ({"items": {"minimum": 1}}, {"items": False}, {"items": False}),
        ({"allOf": [{"minimum": 1}]}, {"allOf": [{"maximum": 2}]}, {"allOf": [{"minimum": 1}, {"maximum": 2}]}),
        (
            {"properties": {"a": {"minLength": 1}}},
            {"properties": {"a": {"maxLength": 5}, "b": {}}},
            {"properties": {"a": {"minLength": 1, "maxLength": 5}, "b": {}}},
        ),
    ],
)
def test_keywords_are_put_together(one: dict[str, Any], other: dict[str, Any], both: dict[str, Any]) -> None:
    assert Merger().merge(one, other) == both


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"type": "string"}, {"type": "array"}),
        ({"enum": ["a"]}, {"enum": ["b"]}),
        ({"pattern": "a"}, {"pattern": "b"}),
        ({"const": 1}, {"const": True}),
        ({"const": [1]}, {"const": [True]}),
        ({"enum": [1]}, {"enum": [True]}),
        ({"not": {"const": 1}}, {"not": {"const": True}}),
        ({"minimum": "odd"}, {"minimum": 1}),
    ],
)
def test_what_cannot_be_put_together_stands_side_by_side(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert Merger().merge(one, other) == {**one, "allOf": [other]}


def test_a_closed_half_lets_the_members_of_the_other_in() -> None:
    merged = Merger().merge(CLOSED, {"properties": {"b": {}}})
    assert "additionalProperties" not in merged and set(merged["properties"]) == {"a", "b"}
    assert Merger().merge(CLOSED, OTHER_CLOSED)["additionalProperties"] is False
    assert Merger().merge(CLOSED, OPEN)["additionalProperties"] is False


def test_neither_schema_is_changed() -> None:
    one: dict[str, Any] = {"properties": {"a": {"minimum": 1}}, "required": ["a"]}
    other: dict[str, Any] = {"properties": {"a": {"minimum": 2}}, "required": ["b"]}
    Merger().merge(one, other)
    assert one == {"properties": {"a": {"minimum": 1}}, "required": ["a"]}
    assert other == {"properties": {"a": {"minimum": 2}}, "required": ["b"]}


def nested(depth: int, leaf: dict[str, Any]) -> dict[str, Any]:
    """A schema inside of lists."""
    for _ in range(depth):
        leaf = {"items": leaf}
    return leaf


def test_schemas_nested_very_deep_are_not_merged_to_their_ends() -> None:
    merged = Merger().merge(nested(30, {"minimum": 1}), nested(30, {"minimum": 2}))
    for _ in range(9):
        merged = merged["items"]
    assert list(merged) == ["allOf"]


def test_patience_ends_and_comes_back_with_the_next_schema() -> None:
    merger = Merger()
    many = {"properties": {str(at): {"minimum": 1} for at in range(3000)}}
    more = {"properties": {str(at): {"minimum": 2} for at in range(3000)}}
    assert merger.merge(many, more)["properties"]["2999"] == {"allOf": [{"minimum": 1}, {"minimum": 2}]}
    assert merger.merge({"minimum": 1}, {"minimum": 2}) == {"allOf": [{"minimum": 1}, {"minimum": 2}]}
    merger.start_anew()
    assert merger.merge({"minimum": 1}, {"minimum": 2}) == {"minimum": 2}


def test_one_and_true_are_told_apart_however_deep() -> None:
    assert is_same({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]})
    assert not is_same({"a": [1]}, {"a": [True]}) and not is_same(0, False) and not is_same([{"a": 0}], [{"a": False}])


def test_operands_that_no_value_fits_are_told_apart_from_those_without_a_common_word() -> None:
    assert join_operands("type", "string", ["array"]) is NEVER
    assert join_operands("const", 1, True) is NEVER and join_operands("enum", [0], [False]) is NEVER
    assert join_operands("pattern", "^a", "b$") is MISSING
    assert join_operands("propertyNames", {"minLength": 1}, {"maxLength": 3}) == {
        "allOf": [{"minLength": 1}, {"maxLength": 3}]
    }


def test_a_true_beside_a_bound_takes_its_place() -> None:
    keywords: dict[str, Any] = {"minimum": 0, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": False}
    bounds_in_numbers(keywords)
    assert keywords == {"exclusiveMinimum": 0, "maximum": 9}


def test_a_true_without_a_bound_says_nothing() -> None:
    keywords: dict[str, Any] = {"exclusiveMaximum": True, "exclusiveMinimum": 3}
    bounds_in_numbers(keywords)
    assert keywords == {"exclusiveMinimum": 3}
