"""A schema is walked beside a value: which schemas speak about it, about its members, and where references lead."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.schema.schema_view import CLOSURE_LIMIT, SchemaView, json_type, types_of

A, B, C, D = ({"title": name} for name in "ABCD")


def test_schemas_about_a_value_are_gathered_through_combinations_and_references() -> None:
    root = {"$ref": "#/$defs/a", "allOf": [B], "not": C, "then": D, "$defs": {"a": A}}
    view = SchemaView(root)
    titles = {schema.get("title") for schema in view.about([root])}
    assert titles == {None, "A", "B", "C", "D"}
    assert {schema.get("title") for schema in view.about([root], negated=False)} == {None, "A", "B", "D"}
    assert not view.unresolved


def test_a_schema_that_refers_to_itself_is_looked_at_once() -> None:
    root: dict[str, Any] = {"anyOf": [{"$ref": "#"}, {"type": "string"}]}
    assert len(SchemaView(root).about([root, True, None])) == 3


def test_there_is_an_end_to_what_is_looked_at() -> None:
    root = {"anyOf": [{"const": at} for at in range(CLOSURE_LIMIT * 2)]}
    assert len(SchemaView(root).about([root])) == CLOSURE_LIMIT


def test_a_reference_that_leads_nowhere_is_noticed() -> None:
    view = SchemaView({"$ref": "#/$defs/absent"})
    assert view.about([view.root]) == (view.root,)
    assert view.unresolved


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"properties": {"x": A}, "additionalProperties": B}, [A]),
        ({"properties": {"y": A}, "additionalProperties": B, "unevaluatedProperties": C}, [B, C]),
        ({"properties": {"x": A}, "patternProperties": {"^never$": B}}, [A, B]),
        ({"properties": "odd"}, []),
    ],
)
def test_the_schemas_of_a_member_are_found(schema: dict[str, Any], found: list[Any]) -> None:
    assert SchemaView(schema).member((schema,), "x") == found


def test_the_schemas_of_items_are_found_whatever_their_position() -> None:
    schema = {"items": [A, B], "additionalItems": C, "contains": D}
    found = SchemaView(schema).items((schema,))
    assert [each for each in found if each is not None] == [A, B, C, D]


def test_neighbours_are_one_step_away() -> None:
    schema = {"properties": {"x": A}, "items": B, "propertyNames": C, "oneOf": [D], "additionalProperties": False}
    assert sorted(each["title"] for each in SchemaView(schema).neighbours(schema)) == ["A", "B", "C", "D"]


@pytest.mark.parametrize(
    ("reference", "title"),
    [
        ("#/$defs/a~1b", "slash"),
        ("#here", "anchored"),
        ("inner.json", "inner"),
        ("inner.json#/$defs/deep", "deep"),
        ("#/title", None),
        ("elsewhere.json#/a", None),
        (5, None),
    ],
)
def test_references_lead_to_places_anchors_and_names(reference: object, title: str | None) -> None:
    root = {
        "$id": "https://x.example/outer.json",
        "anyOf": [{"$ref": reference}],
        "$defs": {
            "a/b": {"title": "slash"},
            "c": {"$anchor": "here", "title": "anchored"},
            "d": {"$id": "inner.json", "title": "inner", "$defs": {"deep": {"title": "deep"}}},
        },
    }
    view = SchemaView(root)
    assert [schema["title"] for schema in view.about([view.root]) if "title" in schema] == (
        [] if title is None else [title]
    )
    assert view.unresolved is (title is None)


def test_types_are_those_that_are_said_or_those_of_the_listed_values() -> None:
    schemas: tuple[dict[str, Any], ...] = (
        {"type": ["string", "null"]}, {"enum": [1, True, 1.5]}, {"const": []}, {"type": "object", "enum": ["not counted"]},
    )  # fmt: skip
    assert types_of(schemas) == {"string", "null", "integer", "boolean", "number", "array", "object"}
    assert types_of(({"minimum": 1},)) == frozenset()


def test_a_truth_value_is_no_integer() -> None:
    values: list[Any] = [None, True, 1, 1.5, "a", [], {}]
    words = ["null", "boolean", "integer", "number", "string", "array", "object"]
    assert [json_type(value) for value in values] == words
