"""A placeholder is a small value that the output schema accepts, or there is none."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

from ferrule.definitions.stubs.placeholder import placeholder_of
from ferrule.schema.validation.validators import compile_schema
from tests.schema.fitting.hostile import HOSTILE
from tests.schema.fitting.schemas import schema_of


def _found(schema: Any) -> Any:
    found = placeholder_of(msgspec.json.encode(schema))
    return "nothing" if found is None else msgspec.json.decode(found)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {}),
        ({"type": "object", "properties": {"a": {"type": "integer", "minimum": 5}}, "required": ["a"]}, {"a": 5}),
        ({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"enum": ["x", "y"]}}},
         {"a": "x"}),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, [True, True]),
        ({"type": "array", "prefixItems": [{"const": 1}, {"const": "b"}], "minItems": 2, "items": False}, [1, "b"]),
        ({"$ref": "#/$defs/N", "$defs": {"N": {"type": "object", "required": ["n"],
          "properties": {"n": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]}}}}}, {"n": None}),
        ({"oneOf": [{"type": "object", "properties": {"k": {"const": "a"}}, "required": ["k"]}, {"type": "null"}]}, {"k": "a"}),
        ({"allOf": [{"type": "object", "required": ["a"]}, {"properties": {"a": {"type": "string", "minLength": 2}}}]},
         {"a": "aa"}),
        ({"type": "string", "pattern": "^[A-Z]{3}$", "examples": ["ABC"]}, "ABC"),
        ({"type": "string", "pattern": "^[A-Z]{3}$"}, "nothing"),
        (False, "nothing"),
        ({"type": "object", "required": ["me"], "properties": {"me": {"$ref": "#"}}}, "nothing"),
        ({"type": 5}, "nothing"),
    ],
)  # fmt: skip
def test_smallest_values(schema: Any, expected: Any) -> None:
    assert _found(schema) == expected


@pytest.mark.parametrize("seed", range(60))
def test_what_is_given_is_accepted(seed: int) -> None:
    schema = schema_of(Random(seed))
    found = placeholder_of(msgspec.json.encode(schema))
    assert found is None or compile_schema(msgspec.json.encode(schema)).is_valid(msgspec.json.decode(found))


@pytest.mark.parametrize(
    "name", [name for name in HOSTILE if name not in ("bottomless", "a lone surrogate", "a huge number")]
)
def test_hostile_schemas_end_in_time(name: str) -> None:
    placeholder_of(msgspec.json.encode(HOSTILE[name]))
