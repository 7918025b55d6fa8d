"""Declarations in Go: fields that tell a member left out from null, tags, unions, and what is looser than its schema."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.stubs.languages.go.types import GoTree, PackageScope
from tests.definitions.stubs.languages.plans import plan_of, tool_plan, tree_of


def declared(schema: dict[str, Any]) -> tuple[str, list[str]]:
    """What is declared for an object, with blanks made one, and the notes."""
    scope = PackageScope(plan_of(tool_plan()))
    tree = GoTree(tree_of({"type": "object", **schema}), scope, "shop.get_weather", "what it takes")
    lines = [" ".join(line.split()) for each in tree.declared.values() for line in tree.write(each)]
    return "\n".join(lines), [each.note.message for each in scope.notes]


@pytest.mark.parametrize(
    ("schema", "is_required", "field"),
    [
        ({"type": "string"}, True, 'A string `json:"a"`'),
        ({"type": "string"}, False, 'A *string `json:"a,omitempty"`'),
        ({"type": ["string", "null"]}, True, 'A *string `json:"a"`'),
        ({"type": ["string", "null"]}, False, 'A Optional[string] `json:"a,omitzero"`'),
        ({"type": ["array", "null"], "items": {"type": "string"}}, True, 'A []string `json:"a"`'),
        ({"type": "array"}, False, 'A []any `json:"a,omitzero"`'),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, False, 'A map[string]bool `json:"a,omitzero"`'),
        ({}, False, 'A json.RawMessage `json:"a,omitempty"`'),
        ({"type": "integer", "minimum": 0, "maximum": 2**64 - 1}, True, 'A uint64 `json:"a"`'),
        ({"type": "integer", "maximum": 2**70}, True, 'A json.Number `json:"a"`'),
        ({"const": 2.5}, True, 'A float64 `json:"a"`'),
        ({"$ref": "#"}, True, 'A *GetWeatherInput `json:"a"`'),
    ],
)  # fmt: skip
def test_a_field_tells_left_out_from_null(schema: Any, is_required: bool, field: str) -> None:
    """ADL-47"""
    text, _ = declared({"properties": {"a": schema}, "required": ["a"] if is_required else []})
    assert field in text


@pytest.mark.parametrize(
    ("name", "tag"), [("größe", '`json:"größe"`'), ("-", '`json:"-,"`'), ("a b", '`json:"a b"`'), ("$x", '`json:"$x"`')]
)
def test_a_tag_has_any_name_that_it_can(name: str, tag: str) -> None:
    text, _ = declared({"properties": {name: {"type": "string"}}, "required": [name]})
    assert tag in text
    assert "Extra" not in text


def test_members_that_no_tag_can_name_are_kept_in_a_map() -> None:
    text, _ = declared({"properties": {"a,b": {"type": "string"}, "c": {"type": "string"}}})
    assert '// Extra has members whose names no tag can have ("a,b").' in text
    assert 'Extra map[string]any `json:"-"`' in text
    assert 'v.Extra, err = decodeExtra[any](data, "c")' in text


def test_other_members_are_kept_in_a_map() -> None:
    text, _ = declared({"properties": {"extra": {}}, "additionalProperties": {"type": "integer"}})
    assert 'Extra map[string]int64 `json:"-"`' in text
    assert 'decodeExtra[int64](data, "extra")' in text
    assert "Extra map" not in declared({"properties": {"a": {}}, "additionalProperties": False})[0]


def test_a_union_is_a_struct_where_something_tells_its_variants_apart() -> None:
    def kind(name: str) -> dict[str, Any]:
        return {"type": "object", "properties": {"kind": {"const": name}}, "required": ["kind"]}

    tagged, _ = declared({"properties": {"a": {"oneOf": [kind("cat"), kind("dog")]}}})
    assert 'Value string `json:"kind"`' in tagged and 'case "cat":' in tagged and '// Where kind is "dog".' in tagged
    by_kind, _ = declared({"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "array"}]}}})
    assert "Text *string" in by_kind and "List []any" in by_kind and "switch data[0] {" in by_kind


def test_a_union_that_nothing_tells_apart_stays_as_it_came_and_is_told() -> None:
    needs = [{"type": "object", "properties": {name: {"type": "string"}}, "required": [name]} for name in ("x", "y")]
    text, (note,) = declared({"properties": {"a": {"anyOf": needs}}})
    assert "type GetWeatherA = json.RawMessage" in text
    assert "// It is one of GetWeatherAX, GetWeatherAY." in text
    assert "type GetWeatherAX struct {" in text
    assert "json.RawMessage" in note


def test_an_integer_beyond_64_bits_is_told() -> None:
    _, notes = declared({"properties": {"a": {"type": "array", "items": {"type": "integer", "minimum": 2**65}}}})
    assert notes == ["its bounds go beyond 64 bits, so it is a json.Number in Go"]


def test_words_of_a_member_are_told_in_its_comment() -> None:
    schema = {"const": 3, "description": "How many", "default": 3, "deprecated": True}
    text, _ = declared({"properties": {"a": schema, "b": {"type": "string", "maxLength": 9, "format": "uuid"}}})
    for part in (
        "// How many",
        "not filled in: 3.",
        "// Deprecated:",
        "always 3.",
        "Checked: at most 9",
        "Format: uuid.",
    ):
        assert part in text
