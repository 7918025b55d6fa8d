"""What a reader is told beside a type: descriptions, defaults, examples and limits."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.type_tree import SILENT
from ferrule.definitions.stubs.limits import describe_needs, list_limits, read_annotations
from ferrule.definitions.stubs.places import SchemaPlace
from ferrule.definitions.stubs.tree import make_type_tree
from tests.definitions.stubs.tree.notation import root_record


def test_words_of_a_member() -> None:
    schema = {
        "type": "object",
        "description": "All of it",
        "properties": {
            "a": {
                "type": "string",
                "description": " Some words\nin lines ",
                "maxLength": 1,
                "minLength": 0,
                "pattern": "^a*/",
                "default": None,
                "examples": ["a"],
                "deprecated": True,
            },
            "b": {"$ref": "#/$defs/Count"},
            "c": {"$ref": "#/$defs/Count", "description": "Mine"},
            "d": {"type": "array", "items": {"type": "string", "maxLength": 3}, "uniqueItems": True, "minItems": 2},
            "e": {"title": "Only a title", "type": "number", "exclusiveMinimum": 0, "multipleOf": 0.01},
        },
        "$defs": {"Count": {"type": "integer", "description": "How many", "maximum": 9, "default": 3}},
    }
    root = root_record(make_type_tree(schema, "GoInput"))
    told = {member.name: member.words for member in root.members}
    assert root.words.description == "All of it"
    assert told["a"].description == "Some words\nin lines" and told["a"].is_deprecated and told["a"].has_default
    assert told["a"].limits == ("at most 1 character", "matches ^a*/") and told["a"].examples == ("a",)
    assert (told["b"].description, told["b"].default, told["b"].limits) == ("How many", 3, ("at most 9",))
    assert (told["c"].description, told["c"].default) == ("Mine", 3)
    assert told["d"].limits == ("at least 2 items", "no item twice", "each item at most 3 characters")
    assert told["e"].description == "Only a title" and told["e"].limits == ("more than 0", "a multiple of 0.01")


@pytest.mark.parametrize(
    ("schema", "kind", "expected"),
    [
        ({"minLength": 1, "maxLength": 3}, "string", ("at least 1 character", "at most 3 characters")),
        ({"minimum": 1, "exclusiveMinimum": True}, "number", ("more than 1",)),
        ({"minimum": 1, "exclusiveMinimum": False}, "number", ("at least 1",)),
        ({"minItems": 0}, "array", ()),
        ({"if": {}}, "object", ("more is asked of it under a condition",)),
        ({"maxLength": 3}, "number", ()),
    ],
)
def test_limits_of_a_kind_are_said_in_words(schema: dict[str, Any], kind: str, expected: tuple[str, ...]) -> None:
    assert list_limits([SchemaPlace(schema, "#")], (kind,)) == expected


def test_of_two_schemas_that_say_the_same_thing_the_first_is_heard() -> None:
    told = read_annotations(
        [
            SchemaPlace({"description": "Mine", "example": 1}, "#"),
            SchemaPlace({"description": "Other", "default": None}, "#"),
        ]
    )
    assert (told.description, told.examples, told.has_default, told.default) == ("Mine", (1,), True, None)
    assert read_annotations([SchemaPlace({"type": "string"}, "#")]) == SILENT


def test_a_union_of_requirements_says_what_is_needed() -> None:
    assert describe_needs({"anyOf": [{"required": ["a", "b"]}, {"required": ["c"]}]}) == "needs a and b or c"
    assert describe_needs({"anyOf": [{"required": ["a"], "properties": {}}]}) == ""
