"""Types of lists: any number of values of one type, or values by position."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.stubs.lists import split_items
from ferrule.definitions.stubs.places import SchemaPlace
from ferrule.definitions.stubs.tree import make_type_tree
from tests.definitions.stubs.tree.notation import shown

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def type_of(**said: Any) -> str:
    """The type of a member that is a list."""
    (line,) = shown(make_type_tree({"type": "object", "properties": {"a": {"type": "array", **said}}}, "GoInput"))
    return line.removeprefix("GoInput {a?: ").removesuffix("}")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, "[anything]"),
        ({"items": TEXT}, "[string]"),
        ({"items": False}, "[anything]"),
        ({"prefixItems": [TEXT, WHOLE]}, "(string?, integer?, *anything)"),
        ({"prefixItems": [TEXT, WHOLE], "minItems": 1, "items": False}, "(string, integer?)"),
        ({"prefixItems": [TEXT], "items": WHOLE, "minItems": 5}, "(string, *integer)"),
        ({"prefixItems": [TEXT, WHOLE], "maxItems": 1}, "(string?)"),
        ({"items": [TEXT, WHOLE], "additionalItems": False}, "(string?, integer?)"),
        ({"prefixItems": [TEXT, False, WHOLE]}, "(string?)"),
    ],
)
def test_a_list_is_read_by_its_positions(said: dict[str, Any], expected: str) -> None:
    assert type_of(**said) == expected


def test_items_of_a_list_are_called_one_of_several() -> None:
    schema = {
        "type": "object",
        "properties": {"toys": {"type": "array", "items": {"type": "object", "properties": {"a": {}}}}},
    }
    assert [each.name for each in make_type_tree(schema, "GoInput", prefix="Go").declarations] == ["GoInput", "GoToy"]


def test_more_positions_than_anybody_reads_are_any_list() -> None:
    assert type_of(prefixItems=[TEXT] * 101) == "[anything]"


def test_positions_are_found_in_the_words_of_both_drafts() -> None:
    first, after = split_items(SchemaPlace({"prefixItems": [{}, {}], "items": {}}, "#"))
    assert [each.pointer for each in first] == ["#/prefixItems/0", "#/prefixItems/1"]
    assert after is not None and after.pointer == "#/items"
    first, after = split_items(SchemaPlace({"items": [{}], "additionalItems": {}}, "#"))
    assert [each.pointer for each in first] == ["#/items/0"]
    assert after is not None and after.pointer == "#/additionalItems"
    assert split_items(SchemaPlace({}, "#")) == ([], None)
