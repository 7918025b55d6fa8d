"""What each keyword makes of a type: a table of schemas and their trees."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from ferrule.contracts.type_tree import Enumeration, Record, TypeTree, Union
from ferrule.definitions.stubs.tree import type_tree
from tests.definitions.stubs.tree.notation import shown

_TABLE = (Path(__file__).parent / "keywords.md").read_text("utf-8")
_CASES = re.findall(r"^## ([^\n]+)\n\n```json\n(.+?)\n```\n\n```text\n(.+?)\n```$", _TABLE, re.MULTILINE | re.DOTALL)


def test_the_whole_table_is_read() -> None:
    assert len(_CASES) == _TABLE.count("\n## ") > 50


@pytest.mark.parametrize(("schema", "expected"), [case[1:] for case in _CASES], ids=[case[0] for case in _CASES])
def test_types_of(schema: str, expected: str) -> None:
    assert shown(type_tree(msgspec.json.decode(schema), "GoInput")) == expected.splitlines()


def _record(tree: TypeTree) -> Record:
    root = tree.declarations[0]
    assert isinstance(root, Record)
    return root


def test_adl_47_nested_types_are_named_after_the_tool_and_the_member() -> None:
    schema = {"type": "object", "properties": {"home": {"type": "object", "properties": {"x": {}}}}}
    names = [each.name for each in type_tree(schema, "GetWeatherInput", prefix="GetWeather").declarations]
    assert names == ["GetWeatherInput", "GetWeatherHome"]
    assert [each.name for each in type_tree(schema, "GetWeatherOutput").declarations][1] == "GetWeatherOutputHome"


def test_a_member_elsewhere_changes_no_name() -> None:
    inner = {"type": "object", "properties": {"x": {"enum": ["a", "b"]}}}
    before = type_tree({"type": "object", "properties": {"home": inner}}, "GoInput")
    more = {
        "aside": inner,
        "home": inner,
        "homes": {"type": "array", "items": {"type": "object", "properties": {"y": inner}}},
    }
    after = type_tree({"type": "object", "properties": more}, "GoInput")
    assert {each.name for each in before.declarations} <= {each.name for each in after.declarations}


def test_members_keep_the_order_of_the_schema() -> None:
    properties = {name: {"type": "string"} for name in "zamb"}
    tree = type_tree({"type": "object", "properties": properties, "required": ["b", "a"]}, "GoInput")
    assert [(member.name, member.is_required) for member in _record(tree).members] == [
        ("z", False),
        ("a", True),
        ("m", False),
        ("b", True),
    ]


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
    root = _record(type_tree(schema, "GoInput"))
    told = {member.name: member.words for member in root.members}
    assert root.words.description == "All of it"
    assert told["a"].description == "Some words\nin lines" and told["a"].is_deprecated and told["a"].has_default
    assert told["a"].limits == ("at most 1 character", "matches ^a*/") and told["a"].examples == ("a",)
    assert (told["b"].description, told["b"].default, told["b"].limits) == ("How many", 3, ("at most 9",))
    assert (told["c"].description, told["c"].default) == ("Mine", 3)
    assert told["d"].limits == ("at least 2 items", "no item twice", "each item at most 3 characters")
    assert told["e"].description == "Only a title" and told["e"].limits == ("more than 0", "a multiple of 0.01")


def test_what_a_record_needs_besides_is_told() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {}, "b": {}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "minProperties": 1,
    }
    assert _record(type_tree(schema, "GoInput")).words.limits == ("at least 1 member", "needs a or b")


def test_variants_say_where_their_schemas_stand_and_what_kinds_they_are() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "object"]},
            "b/%": {"anyOf": [{"type": "array"}, {"$ref": "#/$defs/B"}]},
        },
        "$defs": {"B": {"oneOf": [{"type": "boolean"}, {"type": "number"}]}},
    }
    first, second = [each for each in type_tree(schema, "GoInput").declarations if isinstance(each, Union)]
    assert [(each.pointer, each.kinds) for each in first.variants] == [
        ("#/properties/a", ("string",)),
        ("#/properties/a", ("object",)),
    ]
    assert [(each.pointer, each.kinds) for each in second.variants] == [
        ("#/properties/b~1%25/anyOf/0", ("array",)),
        ("#/$defs/B/oneOf/0", ("boolean",)),
        ("#/$defs/B/oneOf/1", ("number",)),
    ]


def test_a_definition_stands_where_it_is_defined() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/$defs/B"}},
        "$defs": {
            "A": {"description": "An A", "type": "object", "properties": {"x": {}}},
            "B": {"description": "A B", "allOf": [{"$ref": "#/$defs/A"}, {"properties": {"y": {}}}]},
        },
    }
    _, first, second = type_tree(schema, "GoInput").declarations
    assert (first.name, first.pointer, first.words.description) == ("GoA", "#/$defs/A", "An A")
    assert (second.name, second.pointer, second.words.description) == ("GoB", "#/$defs/B", "A B")


def test_words_of_choices_are_all_different_and_never_empty() -> None:
    values = ["", "empty", "empty_", " ", "a", "a ", "-1"]
    tree = type_tree({"enum": values}, "GoInput")
    [listed] = tree.declarations
    assert isinstance(listed, Enumeration)
    found = [choice.word for choice in listed.choices]
    assert [choice.value for choice in listed.choices] == values and len(set(found)) == len(found) and all(found)


def test_a_large_integer_is_no_choice() -> None:
    tree = type_tree({"enum": [1, 2**70]}, "GoInput")
    assert shown(tree) == [f"GoInput = integer 1..{2**70}"] and tree.notes
