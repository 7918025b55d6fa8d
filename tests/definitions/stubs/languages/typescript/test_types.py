"""Declarations of a tree in TypeScript: interfaces, literal unions, discriminated unions and aliases."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.stubs.languages.typescript.types import Declarations
from tests.definitions.stubs.languages.plans import member_tree, tree_of


def written(made: Declarations) -> str:
    return "".join(made.blocks)


def member(schema: Any) -> str:
    """The line of the one member of an interface."""
    text = written(Declarations(member_tree(schema)))
    return next(line.strip() for line in text.splitlines() if line.startswith(("  a:", "  a?:")))


@pytest.mark.parametrize(
    ("schema", "line"),
    [
        ({"type": "string"}, "a?: string;"),
        ({"type": ["integer", "null"]}, "a?: number | null;"),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "a?: (string | null)[];"),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, "a?: { [name: string]: boolean };"),
        ({"const": "x"}, 'a?: "x";'),
        ({}, "a?: unknown;"),
    ],
)
def test_a_member_has_its_type(schema: Any, line: str) -> None:
    assert member(schema) == line


def test_an_enumeration_is_a_union_of_literals() -> None:
    made = Declarations(member_tree({"enum": ["good", "bad"]}))
    assert 'export type GetWeatherA = "good" | "bad";' in written(made)


def test_variants_with_a_tag_are_interfaces() -> None:
    def kind(name: str) -> dict[str, Any]:
        return {"type": "object", "properties": {"kind": {"const": name}}, "required": ["kind"]}

    text = written(Declarations(member_tree({"oneOf": [kind("cat"), kind("dog")]})))
    assert '  kind: "cat";' in text and '  kind: "dog";' in text
    assert "export type GetWeatherA = " in text


def test_the_type_of_other_members_has_to_fit_the_named_ones() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "boolean"}}
    made = Declarations(tree_of(schema))
    assert "  [name: string]: unknown;\n" in written(made)
    assert len(made.notes) == 1
    made = Declarations(tree_of({**schema, "required": ["a"], "additionalProperties": {"type": "string"}}))
    assert "  [name: string]: string;\n" in written(made)
    assert made.notes == []


def test_what_is_nothing_but_itself_is_any_value() -> None:
    schema = {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}}
    made = Declarations(tree_of({"type": "object", "properties": {"a": schema}}))
    assert all("= GetWeather" not in block for block in made.blocks)


def test_integers_beyond_what_a_number_tells_apart_are_noted() -> None:
    made = Declarations(member_tree({"type": "integer", "maximum": 2**60}))
    assert [note.message for note in made.notes] == ["its integers may be beyond 2^53, where a number is not exact"]


def test_a_name_that_checkers_of_javascript_leave_out_is_noted() -> None:
    made = Declarations(tree_of({"type": "object", "properties": {"__proto__": {"type": "string"}}}))
    assert [note.pointer for note in made.notes] == ["#/properties/__proto__"]


def test_a_member_that_every_object_has_takes_any_value() -> None:
    made = Declarations(tree_of({"type": "object", "properties": {"toString": {"type": "string"}}}))
    assert "  toString?: unknown;" in written(made)
    assert [note.pointer for note in made.notes] == ["#/properties/toString"]


def test_words_of_a_member_are_its_comment() -> None:
    schema = {"type": "string", "description": "Where", "maxLength": 3, "default": "x"}
    text = written(Declarations(member_tree(schema)))
    assert "Where" in text and "at most 3 characters" in text and '"x"' in text
