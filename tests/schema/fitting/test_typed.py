"""The types that a schema takes, and bounds as draft 4 wrote them: `exclusiveMinimum: true` beside `minimum`."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.schema.fitting import PROFILES, fit
from ferrule.schema.fitting.typed import type_of, types_of


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_no_provider_is_sent_a_bound_that_is_no_number(profile: str) -> None:
    bounds = {"minimum": 0, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": False}
    schema: dict[str, Any] = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object",
        "properties": {"count": {"type": "integer", **bounds}},
        "required": ["count"],
    }
    count = fit(schema, PROFILES[profile]).schema["properties"]["count"]
    assert not any(isinstance(count.get(word), bool) for word in bounds)
    if "exclusiveMinimum" in count:
        assert count["exclusiveMinimum"] == 0 and "minimum" not in count


@pytest.mark.parametrize(
    ("keywords", "types"),
    [
        ({}, []),
        ({"type": "integer"}, ["integer"]),
        ({"type": ["integer", "number", "null"]}, ["number", "null"]),
        ({"type": ["string", "file"]}, ["string"]),
        ({"properties": {}}, ["object"]),
        ({"minLength": 1, "items": {}}, ["array", "string"]),
        ({"type": "string", "minimum": 1}, ["string"]),
    ],
)
def test_a_schema_without_a_type_means_those_its_keywords_speak_of(keywords: dict[str, Any], types: list[str]) -> None:
    assert types_of(keywords) == types


def test_a_truth_value_is_no_number() -> None:
    values: list[Any] = [None, True, 1, 1.5, "a", [], {}]
    assert [type_of(value) for value in values] == ["null", "boolean", "number", "number", "string", "array", "object"]
