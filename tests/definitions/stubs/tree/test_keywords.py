"""What each keyword makes of a type: a table of schemas and their trees."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from ferrule.contracts.type_tree import Enumeration
from ferrule.definitions.stubs.tree import make_type_tree
from tests.definitions.stubs.tree.notation import shown

_TABLE = (Path(__file__).parent / "keywords.md").read_text("utf-8")
_CASES = re.findall(r"^## ([^\n]+)\n\n```json\n(.+?)\n```\n\n```text\n(.+?)\n```$", _TABLE, re.MULTILINE | re.DOTALL)


def test_the_whole_table_is_read() -> None:
    assert len(_CASES) == _TABLE.count("\n## ") > 50


@pytest.mark.parametrize(("schema", "expected"), [case[1:] for case in _CASES], ids=[case[0] for case in _CASES])
def test_types_of(schema: str, expected: str) -> None:
    assert shown(make_type_tree(msgspec.json.decode(schema), "GoInput")) == expected.splitlines()


def test_adl_47_nested_types_are_named_after_the_tool_and_the_member() -> None:
    schema = {"type": "object", "properties": {"home": {"type": "object", "properties": {"x": {}}}}}
    names = [each.name for each in make_type_tree(schema, "GetWeatherInput", prefix="GetWeather").declarations]
    assert names == ["GetWeatherInput", "GetWeatherHome"]
    assert [each.name for each in make_type_tree(schema, "GetWeatherOutput").declarations][1] == "GetWeatherOutputHome"


def test_a_member_elsewhere_changes_no_name() -> None:
    inner = {"type": "object", "properties": {"x": {"enum": ["a", "b"]}}}
    before = make_type_tree({"type": "object", "properties": {"home": inner}}, "GoInput")
    more = {
        "aside": inner,
        "home": inner,
        "homes": {"type": "array", "items": {"type": "object", "properties": {"y": inner}}},
    }
    after = make_type_tree({"type": "object", "properties": more}, "GoInput")
    assert {each.name for each in before.declarations} <= {each.name for each in after.declarations}


def test_a_definition_stands_where_it_is_defined() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "#/$defs/B"}},
        "$defs": {
            "A": {"description": "An A", "type": "object", "properties": {"x": {}}},
            "B": {"description": "A B", "allOf": [{"$ref": "#/$defs/A"}, {"properties": {"y": {}}}]},
        },
    }
    _, first, second = make_type_tree(schema, "GoInput").declarations
    assert (first.name, first.pointer, first.words.description) == ("GoA", "#/$defs/A", "An A")
    assert (second.name, second.pointer, second.words.description) == ("GoB", "#/$defs/B", "A B")


def test_words_of_choices_are_all_different_and_never_empty() -> None:
    values = ["", "empty", "empty_", " ", "a", "a ", "-1"]
    tree = make_type_tree({"enum": values}, "GoInput")
    [listed] = tree.declarations
    assert isinstance(listed, Enumeration)
    found = [choice.word for choice in listed.choices]
    assert [choice.value for choice in listed.choices] == values and len(set(found)) == len(found) and all(found)


def test_a_large_integer_is_no_choice() -> None:
    tree = make_type_tree({"enum": [1, 2**70]}, "GoInput")
    assert shown(tree) == [f"GoInput = integer 1..{2**70}"] and tree.notes
