"""Declarations of a tree in TypeScript: interfaces, literal unions, discriminated unions and aliases."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.stubs.languages.typescript.declarations import Declarations
from tests.definitions.stubs.languages.plans import member_tree, tree_of


def member(schema: Any) -> str:
    """The line of the one member of an interface."""
    text = Declarations(member_tree(schema)).text
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


def test_an_enumeration_is_a_union_of_literals_with_a_list_of_its_values() -> None:
    made = Declarations(member_tree({"enum": ["good", "bad"]}))
    assert 'export type GetWeatherA = "good" | "bad";' in made.text
    assert 'export const GetWeatherAValues = ["good", "bad"] as const;' in made.text
    assert made.values == ["GetWeatherAValues"]


def test_variants_with_a_tag_are_interfaces() -> None:
    def kind(name: str) -> dict[str, Any]:
        return {"type": "object", "properties": {"kind": {"const": name}}, "required": ["kind"]}

    text = Declarations(member_tree({"oneOf": [kind("cat"), kind("dog")]})).text
    assert '  kind: "cat";' in text and '  kind: "dog";' in text
    assert "export type GetWeatherA = " in text


def test_the_type_of_other_members_has_to_fit_the_named_ones() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "boolean"}}
    made = Declarations(tree_of(schema))
    assert "  [name: string]: boolean | string | undefined;\n" in made.text
    assert len(made.notes) == 1


def test_a_member_that_every_object_has_takes_any_value() -> None:
    made = Declarations(tree_of({"type": "object", "properties": {"toString": {"type": "string"}}}))
    assert "  toString?: unknown;" in made.text
    assert [note.pointer for note in made.notes] == ["#/properties/toString"]


def test_words_of_a_member_are_its_comment() -> None:
    text = Declarations(member_tree({"type": "string", "description": "Where", "maxLength": 3, "default": "x"})).text
    assert "Where" in text and "at most 3 characters" in text and '"x"' in text
