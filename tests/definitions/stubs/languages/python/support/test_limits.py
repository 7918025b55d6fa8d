"""What a schema says of a value as such: its type, its length, its bounds."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.stubs.languages.python.support.limits import (
    Problem,
    are_equal,
    choices,
    exact,
    has_repeated,
    missing,
    plain_problem,
    positions,
    schemas_of,
    shown,
    size_problem,
)


@pytest.mark.parametrize(
    ("schema", "value", "draft", "expected"),
    [
        ({"type": "integer"}, 1.0, 2020, None),
        ({"type": "integer"}, 1.0, 4, "must be integer"),
        ({"type": ["string", "null"]}, True, 2020, "must be string or null"),
        ({"type": "number"}, True, 2020, "must be number"),
        ({"const": 1}, 1.0, 2020, None),
        ({"const": 1}, True, 2020, "must be 1"),
        ({"const": 1}, 2, 4, None),
        ({"minimum": 1, "exclusiveMinimum": True}, 1, 4, "must be more than 1"),
        ({"maximum": 10**30}, 10**30 + 1, 2020, f"must be at most {10**30}"),
        ({"maximum": 1e30}, 10**30, 2020, None),
        ({"multipleOf": 0.01}, 19.99, 2020, None),
        ({"multipleOf": 0.01}, 19.999, 2020, "must be a multiple of 0.01"),
        ({"multipleOf": 0}, 5, 2020, None),
        ({"minLength": 2}, "\U0001f600", 2020, "must have at least 2 characters"),
        ({"minLength": 2}, 5, 2020, None),
        ({"minLength": True}, "", 2020, None),
    ],
)
def test_a_value_is_held_to_what_its_schema_says(schema: Any, value: Any, draft: int, expected: str | None) -> None:
    found = plain_problem(schema, value, (), draft)
    assert (found.expected if found else None) == expected


def test_a_place_is_a_pointer_from_the_outside_in() -> None:
    problem = Problem((((), "a/b"), 0), "odd")
    assert (problem.place, problem.depth) == ("/a~1b/0", 2)
    assert (Problem((), "odd").place, Problem((), "odd").depth) == ("", 0)


def test_equal_is_what_json_calls_equal() -> None:
    assert are_equal(1, 1.0) and are_equal([1, {"a": None}], [1.0, {"a": None}])
    assert not are_equal(1, True) and not are_equal(0, False) and not are_equal({"a": 1}, {"b": 1})
    assert are_equal(1e30, 10**30) and not are_equal(2**53 + 1, float(2**53))
    assert exact(1e30) == 10**30 and exact(0.5) == 0.5


def test_repeated_items_are_found_also_among_lists_and_objects() -> None:
    assert has_repeated([1, 1.0]) and has_repeated([{"a": 1}, [], {"a": 1.0}])
    assert not has_repeated([1, True, "1", [1], [True]])


def test_a_member_has_to_fit_every_schema_that_names_it() -> None:
    schema = {"properties": {"ab": 1}, "patternProperties": {"^a": 2, "b$": 3}, "additionalProperties": 4}
    assert schemas_of(schema, "ab") == [1, 2, 3]
    assert schemas_of(schema, "x") == [4]


def test_positions_are_those_of_the_draft() -> None:
    assert positions({"prefixItems": [1], "items": 2}, 2020) == ([1], 2)
    assert positions({"prefixItems": [1], "items": 2}, 7) == ([], 2)
    assert positions({"items": [1], "additionalItems": 2}, 2020) == ([1], 2)


def test_what_is_missing_or_too_much_is_told() -> None:
    assert missing(["a", "b", 3], {"a": 1}, ()) == Problem((), 'the member "b" is missing')
    assert size_problem({"maxItems": 1}, [1, 2], (), "Items", "items") == Problem((), "must have at most 1 items")


def test_choices_are_told_each_once_and_not_all_of_many() -> None:
    assert choices(["a", "a"]) == 'must be "a"'
    assert choices([*range(12)]).endswith("9 and 2 more")
    assert len(shown("x" * 100)) == 61
