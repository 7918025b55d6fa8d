"""Names of types: made of the place, given once, and never too long."""

from __future__ import annotations

import pytest

from ferrule.definitions.stubs.growth import TypeNames, is_definition, last_step, make_singular
from ferrule.definitions.stubs.tree import make_type_tree
from tests.definitions.stubs.tree.notation import shown


def names(*taken: str) -> TypeNames:
    return TypeNames("Go", frozenset({"id"}), set(taken))


@pytest.mark.parametrize(
    ("pointer", "name"),
    [
        ("#/$defs/home address", "GoHomeAddress"),
        ("#/definitions/user_id", "GoUserID"),
        ("#/$defs/a~1b%25", "GoAB"),
        ("#/properties/home/properties/door", "GoHomeDoor"),
        ("#/items", "GoPart"),
    ],
)
def test_what_a_reference_points_at_is_called_by_its_place(pointer: str, name: str) -> None:
    assert names().name_definition(pointer) == name


def test_a_taken_name_becomes_one_that_only_its_place_decides() -> None:
    free, taken, both = names(), names("GoHome"), names("GoHome", "GoHomeValue")
    assert free.take("GoHome", "#/a") == "GoHome"
    assert taken.take("GoHome", "#/a") == "GoHomeValue"
    first, again = both.take("GoHome", "#/a"), names("GoHome", "GoHomeValue").take("GoHome", "#/a")
    assert first == again and first.startswith("GoHomeX")
    assert both.take("GoHome", "#/b") != first


def test_a_long_name_is_cut_and_stays_apart() -> None:
    given = names()
    first, second = given.take("G" * 200, "#/a"), given.take("G" * 200, "#/b")
    assert len(first) == len(second) == 80 and first != second


@pytest.mark.parametrize(
    ("name", "one"),
    [
        ("Items", "Item"),
        ("Cities", "City"),
        ("Boxes", "Box"),
        ("Data", "DataItem"),
        ("Status", "StatusItem"),
        ("As", "AsItem"),
    ],
)
def test_one_of_several_has_a_name_of_its_own(name: str, one: str) -> None:
    assert make_singular(name) == one


def test_a_definition_is_told_by_its_place() -> None:
    assert is_definition("#/$defs/a") and is_definition("#/properties/x/definitions/a")
    assert not is_definition("#/$defs") and not is_definition("#/properties/a")
    assert last_step("#/$defs/a~1b%20c") == "a/b c"


def test_a_type_that_contains_itself_has_a_name() -> None:
    tree = {"type": "array", "items": {"$ref": "#/$defs/tree"}}
    assert shown(make_type_tree({"$ref": "#/$defs/tree", "$defs": {"tree": tree}}, "GoInput", prefix="Go")) == [
        "GoInput = GoTree",
        "GoTree = [GoTree]",
    ]
