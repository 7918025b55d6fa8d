"""Declarations of a tree in Go: enumerations, unions, aliases, and what reads and writes the root."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.definitions.stubs.languages.go.declarations import anything_lines, tree_lines
from ferrule.definitions.stubs.languages.go.names import Scope
from tests.definitions.stubs.languages.plans import member_tree, plan_of, tool_plan


def declared(schema: Any) -> str:
    """What is declared for an object with one member."""
    scope = Scope(plan_of(tool_plan()))
    return "\n".join(tree_lines(member_tree(schema), msgspec.Raw(b"{}"), scope, "what it takes"))


def test_an_enumeration_is_named_texts_with_constants() -> None:
    text = declared({"enum": ["good", "very-bad"]})
    assert "type GetWeatherA string" in text
    assert '\tGetWeatherAGood    GetWeatherA = "good"\n\tGetWeatherAVeryBad GetWeatherA = "very-bad"' in text
    assert "\tcase GetWeatherAGood, GetWeatherAVeryBad:" in text


def test_an_enumeration_of_whole_numbers_is_named_integers() -> None:
    assert "type GetWeatherA int64" in declared({"enum": [1, 2]})


def test_a_union_is_a_struct_of_which_one_field_is_set() -> None:
    text = declared({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "boolean"}}]})
    assert "Exactly one field is set." in text
    assert "*string" in text and "*[]bool" in text
    assert '.accepts("#/properties/a/anyOf/0", value) && isVariant(' in text


def test_a_union_with_a_tag_is_read_by_it() -> None:
    def kind(name: str) -> dict[str, Any]:
        return {"type": "object", "properties": {"kind": {"const": name}}, "required": ["kind"]}

    text = declared({"oneOf": [kind("cat"), kind("dog")]})
    assert '\tswitch textTag(value, "kind") {' in text
    assert '\tcase "cat":' in text and '// Where kind is "dog".' in text


def test_the_root_can_be_read_and_written() -> None:
    text = declared({"type": "string"})
    assert "var schemaOfGetWeatherInput = newSchema(`{}`)" in text
    assert "func DecodeGetWeatherInput(data []byte) (GetWeatherInput, error) {" in text
    assert "// GetWeatherInput is what it takes." in text


def test_a_root_that_nothing_is_said_of_is_any_value() -> None:
    assert "type X = any" in anything_lines("X", "what it gives")
