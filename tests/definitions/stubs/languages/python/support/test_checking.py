"""The checker that comes along with stubs says what the validator of calls says."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.definitions.stubs.languages.python.support.checking import Schema
from ferrule.definitions.stubs.languages.python.support.json_text import DecodeError
from ferrule.schema.validation.validators import compiled_schema
from tests.schema.fitting.schemas import arguments, is_circular, schema_of

_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    1.0,
    1.5,
    0.07,
    19.99,
    1e300,
    10**30,
    "",
    "a",
    "ab",
    "abc",
    "a\nb",
    "\U0001f600",
    "é",
    "7",
    [],
    [1],
    [1, 1.0],
    [1, True],
    [0, False],
    ["a", 1],
    [{"a": 1}, {"a": 1.0}],
    [[], [], 3],
    {},
    {"a": 1},
    {"a": "x", "b": 2},
    {"b": None},
    {"": 0},
    {"a": {"a": {"a": {}}}},
    {"x-a": 1},
    {"a": [1, 2, 3]},
)
_KEYWORDS: tuple[Any, ...] = (
    True,
    False,
    {"type": "integer"},
    {"type": "number"},
    {"type": ["null", "boolean", "array"]},
    {"enum": [1, "a", None, [1.0], {"a": 1}]},
    {"const": 1.0},
    {"const": True},
    {"const": {"a": 1.0}},
    {"minimum": 1},
    {"maximum": 1},
    {"exclusiveMinimum": 0},
    {"exclusiveMaximum": 1},
    {"multipleOf": 0.01},
    {"multipleOf": 3},
    {"minLength": 1, "maxLength": 1},
    {"pattern": "^a"},
    {"pattern": "b$"},
    {"pattern": r"^\w$"},
    {"pattern": r"\d"},
    {"pattern": r"^\p{L}+$"},
    {"pattern": r"^\P{Lu}+$"},
    {"pattern": r"^[\p{L}\-]+$"},
    {"pattern": r"^(?<first>a)(?!c)"},
    {"pattern": r"^(?=a)a\/?"},
    {"pattern": r"^[\s\S]$"},
    {"pattern": r"^\u{1F600}$"},
    {"pattern": r"^.$"},
    {"prefixItems": [{"type": "integer"}], "items": {"type": "boolean"}},
    {"items": False},
    {"items": [{"type": "integer"}], "additionalItems": False},
    {"contains": {"type": "integer"}, "minContains": 2},
    {"contains": {"const": 1}, "maxContains": 1},
    {"contains": {"const": 9}, "minContains": 0},
    {"uniqueItems": True},
    {"minItems": 1, "maxItems": 2},
    {"properties": {"a": {"type": "integer"}}},
    {"patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": False},
    {"additionalProperties": {"type": "integer"}},
    {"propertyNames": {"maxLength": 1}},
    {"propertyNames": False},
    {"required": ["a", "b"]},
    {"minProperties": 1, "maxProperties": 1},
    {"dependentRequired": {"a": ["b"]}},
    {"dependentSchemas": {"a": {"required": ["b"]}}},
    {"dependencies": {"a": ["b"]}},
    {"dependencies": {"b": {"minProperties": 2}}},
    {"allOf": [{"type": "integer"}, {"minimum": 1}]},
    {"anyOf": [{"type": "string"}, {"minimum": 1}]},
    {"oneOf": [{"type": "integer"}, {"minimum": 1}]},
    {"not": {"type": "string"}},
    {"if": {"type": "integer"}, "then": {"minimum": 1}, "else": {"type": "string"}},
    {"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False},
    {"anyOf": [{"properties": {"a": {"type": "string"}}}, {"required": ["b"]}], "unevaluatedProperties": False},
    {"prefixItems": [True], "contains": {"const": 1}, "unevaluatedItems": False},
    {"properties": {"a": {"$ref": "#"}}, "additionalProperties": False},
    {"$ref": "#/$defs/x~1y%25", "$defs": {"x/y%": {"type": "integer"}}},
    {"$ref": "#spot", "$defs": {"a": {"$anchor": "spot", "type": "string"}}},
    {"$ref": "#/$defs/a", "minimum": 1, "$defs": {"a": {"type": "integer"}}},
    {"$id": "https://example.com/s", "$ref": "other", "$defs": {"o": {"$id": "other", "type": "null"}}},
    {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True},
    {"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer", "const": 5},
    {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}], "additionalItems": False},
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"a": {"type": "integer"}},
        "$ref": "#/definitions/a",
        "maximum": 0,
    },
    {"format": "date-time"},
    {"type": "string", "contentEncoding": "base64"},
)


def _accepts(schema: Any, value: Any) -> bool:
    try:
        Schema(json.dumps(schema)).check(value)
    except DecodeError:
        return False
    return True


@pytest.mark.parametrize("schema", _KEYWORDS, ids=json.dumps)
def test_each_keyword_means_what_the_validator_says(schema: Any) -> None:
    reference = compiled_schema(json.dumps(schema).encode())
    wrong = [value for value in _VALUES if _accepts(schema, value) is not reference.is_valid(value)]
    assert wrong == []


@given(st.integers(0, 2**32))
def test_any_schema_means_what_the_validator_says(seed: int) -> None:
    chance = Random(seed)
    schema = schema_of(chance)
    if is_circular(schema):
        return
    try:
        reference = compiled_schema(json.dumps(schema).encode())
        fitting = arguments(schema, 3)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        return
    checked = Schema(json.dumps(schema))
    for value in (*fitting, *chance.sample(_VALUES, 8)):
        try:
            checked.check(value)
            is_right = True
        except DecodeError:
            is_right = False
        assert is_right is reference.is_valid(value), (schema, value)


@pytest.mark.parametrize(
    ("schema", "value", "place", "expected"),
    [
        ({"items": {"required": ["name"]}}, [{}], "/0", 'the member "name" is missing'),
        ({"properties": {"a/b~": {"type": "string"}}}, {"a/b~": 1}, "/a~1b~0", "must be string"),
        ({"additionalProperties": False}, {"x": 1}, "/x", "this member is not allowed"),
        ({"enum": ["a", 1]}, 2, "", 'must be one of "a", 1'),
        ({"anyOf": [{"type": "null"}, {"properties": {"a": {"minimum": 5}}}]}, {"a": 1}, "/a", "must be at least 5"),
        ({"maxLength": 2}, "abc", "", "must have at most 2 characters"),
    ],
)
def test_an_error_names_the_place_and_what_was_expected(schema: Any, value: Any, place: str, expected: str) -> None:
    with pytest.raises(DecodeError) as caught:
        Schema(json.dumps(schema)).check(value)
    assert (caught.value.place, caught.value.expected) == (place, expected)


def test_values_as_deep_as_calls_may_be_are_checked() -> None:
    schema = Schema('{"properties": {"a": {"$ref": "#"}}, "additionalProperties": false}')
    value: Any = {}
    for _ in range(60):
        value = {"a": value}
    schema.check(value)
    for _ in range(5_000):
        value = {"a": value}
    with pytest.raises(DecodeError, match="too deeply"):
        schema.check(value)
