"""Schemas are walked by position: names and data are never taken for keywords."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ferrule.model.value import Path
from ferrule.schema.walk import copy_schema, members, positions


def paths(schema: Any, **options: Any) -> list[tuple[str | int, ...]]:
    return [position.path for position in positions(schema, **options)]


@pytest.mark.parametrize("schema", [True, False, None, "text", [], 7])
def test_what_is_no_mapping_has_no_positions(schema: Any) -> None:
    assert paths(schema) == []


def test_every_keyword_that_holds_schemas_is_descended_into() -> None:
    schema = {
        "properties": {"type": {}, "$ref": {"items": {}}},
        "patternProperties": {"^a": {}},
        "dependencies": {"a": {}, "b": ["c"]},
        "additionalProperties": {},
        "items": [{}, True],
        "anyOf": [{"not": {}}, False],
        "if": {},
        "$defs": {"x": {}},
    }
    assert paths(schema) == [
        (),
        ("properties", "type"),
        ("properties", "$ref"),
        ("properties", "$ref", "items"),
        ("patternProperties", "^a"),
        ("dependencies", "a"),
        ("additionalProperties",),
        ("items", 0),
        ("anyOf", 0),
        ("anyOf", 0, "not"),
        ("if",),
        ("$defs", "x"),
    ]


def test_data_and_unknown_keywords_are_not_searched() -> None:
    schema = {
        "enum": [{"items": {}}],
        "const": {"items": {}},
        "default": {"not": {}},
        "examples": [{}],
        "x-ui": {"not": {}},
    }
    assert paths(schema) == [()]


def test_malformed_operands_are_left_alone() -> None:
    assert paths({"properties": [{}], "items": "text", "anyOf": {"a": {}}, "allOf": None}) == [()]


def test_keywords_can_be_skipped_and_paths_begin_where_asked() -> None:
    schema: Any = {"definitions": {"a": {}}, "items": {}}
    assert paths(schema, path=("input",), skip=frozenset({"definitions"})) == [("input",), ("input", "items")]


def test_a_branch_knows_the_properties_around_it() -> None:
    schema: Any = {"properties": {"a": {"anyOf": [{}]}}, "oneOf": [{"allOf": [{"properties": {"b": {}}}]}]}
    known = {position.path: position for position in positions(schema)}
    assert known["oneOf", 0, "allOf", 0].declares("a")
    assert known["oneOf", 0, "allOf", 0].declares("b")
    assert not known["oneOf", 0].declares("b")
    assert not known["properties", "a", "anyOf", 0].declares("a")


def test_a_copy_is_changed_schema_by_schema_and_the_original_is_not() -> None:
    schema = {
        "title": "a",
        "properties": {"title": {"title": "b"}, "x": True},
        "items": [{"title": "c"}],
        "dependencies": {"x": ["title"], "y": {"title": "d"}},
        "enum": [{"title": "data"}],
    }
    before = json.dumps(schema)
    seen: list[Path] = []

    def strip(part: dict[str, Any], path: Path) -> None:
        seen.append(path)
        part.pop("title", None)

    assert copy_schema(schema, strip) == {
        "properties": {"title": {}, "x": True},
        "items": [{}],
        "dependencies": {"x": ["title"], "y": {}},
        "enum": [{"title": "data"}],
    }
    assert json.dumps(schema) == before
    assert seen[0] == () and set(seen) == {(), ("properties", "title"), ("items", 0), ("dependencies", "y")}
    assert copy_schema(False, strip) is False


def test_members_are_the_schemas_right_below() -> None:
    schema = {"not": False, "items": {}, "allOf": [True], "dependencies": {"a": ["b"], "c": {}}, "const": {"items": {}}}
    assert list(members(schema)) == [
        (("not",), False),
        (("items",), {}),
        (("allOf", 0), True),
        (("dependencies", "c"), {}),
    ]
