"""What is wrong is told of the alternative that was meant."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ferrule.definitions.stubs.languages.python.support.checking import Schema
from ferrule.definitions.stubs.languages.python.support.json_text import DecodeError

_CAT = {"properties": {"kind": {"const": "cat"}, "lives": {"type": "integer", "maximum": 9}}, "required": ["kind"]}


_DOG = {"properties": {"kind": {"enum": ["dog", "wolf"]}, "name": {"type": "string"}}, "required": ["kind", "name"]}


_PETS = {"oneOf": [{"$ref": "#/$defs/cat"}, {"allOf": [{"$ref": "#/$defs/dog"}]}], "$defs": {"cat": _CAT, "dog": _DOG}}


_MAYBE = {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/x"}], "$defs": {"x": {"type": "object", "required": ["a"]}}}


_LONG = {"type": "object", "properties": {"quite_a_long_name": {"type": "string"}}}


_DEEP = {"type": "object", "properties": {"a": {"properties": {"b": {"minimum": 5}}}}}


@pytest.mark.parametrize(
    ("schema", "value", "place", "expected"),
    [
        (_MAYBE, {}, "", 'the member "a" is missing'),
        (_MAYBE, 1, "", "fits none of the 2 alternatives"),
        (
            {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
            [1, "a"],
            "/1",
            "must be integer",
        ),
        ({"anyOf": [{"enum": ["a", "b"]}, {"type": "object", "required": ["x"]}]}, {}, "", 'the member "x" is missing'),
        (_PETS, {"kind": "cat", "lives": 10}, "/lives", "must be at most 9"),
        (_PETS, {"kind": "wolf"}, "", 'the member "name" is missing'),
        (_PETS, {"kind": "cow"}, "/kind", 'must be one of "cat", "dog", "wolf"'),
        (_PETS, {}, "", 'the member "kind" is missing'),
        (
            {"anyOf": [_LONG, _DEEP]},
            {"quite_a_long_name": 1, "a": {"b": 1}},
            "",
            "fits none of the 2 alternatives; the nearest says /a/b: must be at least 5",
        ),
        ({"anyOf": [{"minimum": 5}, {"multipleOf": 2}]}, 3, "", "fits none of the 2 alternatives"),
        ({"oneOf": [False, {"minimum": 5}]}, 3, "", "must be at least 5"),
        (
            {"enum": [*range(13)]},
            99,
            "",
            "must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 3 more",
        ),
    ],
)
def test_an_error_among_alternatives_is_that_of_the_one_that_was_meant(
    schema: Any, value: Any, place: str, expected: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        Schema(json.dumps(schema)).check(value)
    assert (caught.value.place, caught.value.expected) == (place, expected)
