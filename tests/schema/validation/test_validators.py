"""A brief schema takes what the whole one takes, and says one thing of what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.schema.validation.validators import brief_schema, first_error, validator_of

TEXTS = {"type": "array", "items": {"type": "string"}}
FLAGS = {"type": "array", "items": {"type": "boolean"}}
NULL = {"type": "null"}
VALUES: list[Any] = [
    None,
    1,
    "a",
    [],
    ["a"],
    [True],
    [1, 2, 3],
    [["a"]],
    {},
    {"x": None},
    {"x": ["a"]},
    {"x": [1]},
    {"y": 1},
]


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [TEXTS, NULL]},
        {"anyOf": [TEXTS, FLAGS, NULL]},
        {"oneOf": [TEXTS, FLAGS]},
        {"oneOf": [TEXTS, {}]},
        {"anyOf": [TEXTS]},
        {"anyOf": [NULL, {"type": "string"}]},
        {"anyOf": [TEXTS, NULL], "oneOf": [TEXTS, NULL], "allOf": [{"maxItems": 1}]},
        {"type": "object", "properties": {"x": {"anyOf": [TEXTS, NULL]}}},
        {"anyOf": [{"properties": {"x": TEXTS}, "required": ["x"]}, NULL, FLAGS], "unevaluatedProperties": False},
        {
            "$ref": "#/$defs/one",
            "$defs": {"one": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/one"}}, NULL]}},
        },
        True,
        False,
    ],
)
def test_the_same_values_fit(schema: Any) -> None:
    whole, brief = validator_of(schema), validator_of(brief_schema(schema))
    assert [brief.is_valid(value) for value in VALUES] == [whole.is_valid(value) for value in VALUES]


@pytest.mark.parametrize("schema", [{"anyOf": [TEXTS, NULL]}, {"anyOf": [TEXTS, FLAGS]}, {"oneOf": [TEXTS, FLAGS]}])
def test_what_is_wrong_with_alternatives_is_one_thing(schema: Any) -> None:
    error = first_error(validator_of(brief_schema(schema)), [1, 2, 3])
    assert error is not None
    assert "context" not in error.kind.as_dict()
