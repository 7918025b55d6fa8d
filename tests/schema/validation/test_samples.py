"""Values worth trying against a schema: its words and edges come up, few and always the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ferrule.schema.validation import samples as module
from ferrule.schema.validation.samples import LONGEST, PER_SCHEMA, samples
from ferrule.schema.validation.soundness import fits


def test_what_a_schema_names_itself_comes_first() -> None:
    assert samples({"const": "x", "enum": ["y", "z"]})[:3] == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("schema", "edges"),
    [
        ({"type": "integer", "minimum": 3, "maximum": 7}, [2, 3, 7, 8]),
        ({"type": "number", "exclusiveMinimum": 0.5}, [0.5, 1.0]),
        ({"type": "integer", "multipleOf": 7}, [7, 14]),
        ({"type": "string", "minLength": 2, "maxLength": 4}, ["a", "aa", "aaaa", "aaaaa"]),
        ({"type": "array", "items": {"const": 1}, "minItems": 1, "maxItems": 2}, [[1], [1, 1], [1, 1, 1]]),
        ({"type": "boolean"}, [True, False]),
        ({"type": ["null", "boolean"]}, [None, True]),
        ({"required": ["a"], "properties": {"a": {"const": 1}, "b": {"const": 2}}}, [{"a": 1}, {"a": 1, "b": 2}]),
        ({"properties": {}, "additionalProperties": {"const": 5}}, [{}, {"extra": 5}]),
    ],
)
def test_edges_and_what_lies_just_past_them_are_tried(schema: dict[str, Any], edges: list[Any]) -> None:
    made = [repr(value) for value in samples(schema)]
    assert not [edge for edge in edges if repr(edge) not in made]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "format": "email", "minLength": 60},
        {"type": "string", "format": "date-time"},
        {"type": "object", "required": ["at"], "properties": {"at": {"type": "string", "format": "uuid"}}},
        {"type": "array", "uniqueItems": True, "minItems": 12, "items": {"type": "integer"}},
        {"type": "object", "required": ["a"], "anyOf": [{"required": ["b"], "properties": {"b": {"const": 3}}}]},
        {
            "type": "object",
            "minProperties": 1,
            "patternProperties": {"^x-": {"const": 1}},
            "additionalProperties": False,
        },
    ],
)
def test_some_value_fits_a_schema_that_is_not_too_strange(schema: dict[str, Any]) -> None:
    assert any(fits(schema, value) for value in samples(schema))


def test_both_kinds_of_values_are_there_to_tell_schemas_apart() -> None:
    schema = {"type": "integer", "minimum": 3}
    assert {fits(schema, value) for value in samples(schema)} == {True, False}


def nested(depth: int) -> dict[str, Any]:
    """A schema inside of objects."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        True,
        None,
        5,
        {},
        {"enum": list(range(500))},
        {"type": "string", "minLength": 10**9},
        {"type": "magic"},
        nested(5),
    ],
    ids=lambda schema: repr(schema)[:30],
)
def test_samples_are_few_small_distinct_and_always_the_same(schema: Any) -> None:
    made = samples(schema)
    assert made == samples(schema) and 0 < len(made) <= PER_SCHEMA
    assert len({repr(value) for value in made}) == len(made)
    assert all(len(value) <= LONGEST for value in made if isinstance(value, str | list))


def test_each_level_of_a_deep_schema_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What grows with each level must not be multiplied by it."""
    looked: list[int] = []
    strings = module._strings

    def count(schema: dict[str, Any]) -> Iterator[str]:
        looked.append(1)
        return strings(schema)

    monkeypatch.setattr(module, "_strings", count)
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(module.DEEPEST):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    assert len(samples(schema)) > 5
    assert len(looked) == 1
