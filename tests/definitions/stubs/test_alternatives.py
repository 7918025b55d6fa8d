"""The ways in which a value may fit a schema, one for each type and each branch."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.stubs.alternatives import FittingWays, find_alternatives, is_whole, kinds_of
from ferrule.definitions.stubs.places import SchemaDocument, SchemaNode, SchemaPlace


def ways(root: Any, **options: Any) -> tuple[FittingWays, list[str]]:
    document = SchemaDocument(root)
    found = find_alternatives(document, SchemaNode((SchemaPlace(root, "#"),)), **options)
    return found, [note.message for note in document.notes]


@pytest.mark.parametrize(
    ("schema", "is_nullable", "kinds"),
    [
        ({"type": "string"}, False, ["string"]),
        ({"type": ["string", "null"]}, True, ["string"]),
        ({"type": ["integer", "number"]}, False, ["number"]),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, True, ["string"]),
        ({"oneOf": [{"type": "array"}, {"type": "object"}]}, False, ["array", "object"]),
        ({"type": "string", "allOf": [{"type": ["string", "integer"]}]}, False, ["string"]),
        ({}, False, ["any"]),
        (False, False, []),
    ],
)
def test_each_type_and_each_branch_is_one_way(schema: Any, is_nullable: bool, kinds: list[str]) -> None:
    found, _ = ways(schema)
    assert (found.is_nullable, [each.kind for each in found.found]) == (is_nullable, kinds)


def test_a_type_that_nobody_says_is_taken_from_other_words_and_noted() -> None:
    found, told = ways({"minLength": 1, "properties": {}})
    assert [each.kind for each in found.found] == ["object", "string"]
    assert told == ["it says no type and is taken to mean object or string"]
    assert ways({"minLength": 1}, is_root=True)[1] == []


def test_listed_values_are_grouped_by_their_kind() -> None:
    found, _ = ways({"enum": ["a", 1, None, 1.0, "b", True]})
    assert found.is_nullable
    assert [(each.kind, each.values) for each in found.found] == [
        ("string", ("a", "b")),
        ("number", (1,)),
        ("boolean", (True,)),
    ]


def test_a_union_of_constants_is_an_enumeration_with_names() -> None:
    found, _ = ways({"oneOf": [{"const": 1, "title": "One"}, {"const": 2, "title": "Two"}]})
    (only,) = found.found
    assert (only.values, only.labels) == ((1, 2), ("One", "Two"))
    named, _ = ways({"enum": [1, 2], "x-enum-varnames": ["ONE", "TWO"]})
    assert named.found[0].labels == ("ONE", "TWO")


def test_values_must_be_listed_everywhere_and_of_an_allowed_type() -> None:
    found, _ = ways({"type": "string", "enum": ["a", "b", 3], "allOf": [{"enum": ["b", 3]}]})
    assert [each.values for each in found.found] == [("b",)]


def test_a_branch_knows_where_it_stands_and_what_it_is_called() -> None:
    found, _ = ways(
        {"anyOf": [{"type": "string", "title": "Name"}, {"$ref": "#/$defs/n"}], "$defs": {"n": {"type": "number"}}}
    )
    assert [(each.pointer, each.title) for each in found.found] == [("#/anyOf/0", "Name"), ("#/anyOf/1", "")]
    assert found.found[1].origin is not None and found.found[1].origin.pointer == "#/$defs/n"


def test_a_union_within_a_union_is_one_of_its_ways_or_its_branches() -> None:
    inner = {"anyOf": [{"type": "string"}, {"type": "number"}]}
    plain, _ = ways({"anyOf": [inner, {"type": "boolean"}]})
    assert [each.kind for each in plain.found] == ["string", "number", "boolean"]
    limited, _ = ways({"anyOf": [{**inner, "type": ["string", "number"]}, {"type": "boolean"}]})
    assert [(each.kind, sorted(kinds_of(each))) for each in limited.found] == [
        ("union", ["number", "string"]),
        ("boolean", ["boolean"]),
    ]


def test_unions_that_only_limit_values_make_no_ways() -> None:
    found, _ = ways({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})
    assert [(each.kind, each.pointer) for each in found.found] == [("object", "")]


def test_too_many_combinations_are_not_told_apart() -> None:
    many = {"anyOf": [{"type": "object", "properties": {str(at): {}}} for at in range(20)]}
    found, told = ways({"allOf": [many, many, many]})
    assert len(found.found) == 20
    assert told == ["several unions at once; the type tells the branches of one of them apart"]


@pytest.mark.parametrize(
    ("value", "expected"), [(2, True), (2.0, True), (2.5, False), (float("inf"), False), ("2", False)]
)
def test_a_number_without_a_fraction_is_whole(value: Any, expected: bool) -> None:
    assert is_whole(value) is expected
