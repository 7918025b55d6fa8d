"""Two schemas of one value become one that takes what both take."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.schema.merging import Merger

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
    assert Merger().merged(one, other) == both


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"type": "string"}, {"type": "array"}),
        ({"enum": ["a"]}, {"enum": ["b"]}),
        ({"pattern": "a"}, {"pattern": "b"}),
        ({"const": 1}, {"const": True}),
    ],
)
def test_what_cannot_be_put_together_stands_side_by_side(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert Merger().merged(one, other) == {**one, "allOf": [other]}


def test_a_closed_half_lets_the_members_of_the_other_in() -> None:
    merged = Merger().merged(CLOSED, {"properties": {"b": {}}})
    assert "additionalProperties" not in merged and set(merged["properties"]) == {"a", "b"}
    assert Merger().merged(CLOSED, OTHER_CLOSED)["additionalProperties"] is False
    assert Merger().merged(CLOSED, OPEN)["additionalProperties"] is False


def test_neither_schema_is_changed() -> None:
    one: dict[str, Any] = {"properties": {"a": {"minimum": 1}}, "required": ["a"]}
    other: dict[str, Any] = {"properties": {"a": {"minimum": 2}}, "required": ["b"]}
    Merger().merged(one, other)
    assert one == {"properties": {"a": {"minimum": 1}}, "required": ["a"]}
    assert other == {"properties": {"a": {"minimum": 2}}, "required": ["b"]}


def nested(depth: int, leaf: dict[str, Any]) -> dict[str, Any]:
    """A schema inside of lists."""
    for _ in range(depth):
        leaf = {"items": leaf}
    return leaf


def test_schemas_nested_very_deep_are_not_merged_to_their_ends() -> None:
    merged = Merger().merged(nested(30, {"minimum": 1}), nested(30, {"minimum": 2}))
    for _ in range(9):
        merged = merged["items"]
    assert list(merged) == ["allOf"]


def test_patience_ends_and_comes_back_with_the_next_schema() -> None:
    merger = Merger()
    many = {"properties": {str(at): {"minimum": 1} for at in range(3000)}}
    more = {"properties": {str(at): {"minimum": 2} for at in range(3000)}}
    assert merger.merged(many, more)["properties"]["2999"] == {"allOf": [{"minimum": 1}, {"minimum": 2}]}
    assert merger.merged({"minimum": 1}, {"minimum": 2}) == {"allOf": [{"minimum": 1}, {"minimum": 2}]}
    merger.start_anew()
    assert merger.merged({"minimum": 1}, {"minimum": 2}) == {"minimum": 2}
