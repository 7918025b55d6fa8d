"""The types that a schema takes, bounds as draft 4 has them (`exclusiveMinimum: true`), and keywords in words."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.schema.fitting import PROFILES, fit
from ferrule.schema.fitting.keywords import (
    LONGEST,
    append_words,
    describe_keyword,
    format_value,
    format_values,
    type_of,
    types_of,
)


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


@pytest.mark.parametrize(
    ("keyword", "operand", "words"),
    [
        ("minLength", 3, "at least 3 characters"),
        ("exclusiveMaximum", 2.5, "less than 2.5"),
        ("enum", ["a", 1], 'one of: "a", 1'),
        ("uniqueItems", True, "no item twice"),
        ("uniqueItems", False, ""),
        ("additionalProperties", {"type": "string"}, 'other members: {"type":"string"}'),
        ("additionalProperties", False, ""),
        ("patternProperties", {"^x": {}}, "members whose name matches ^x: {}"),
        ("dependentRequired", {"a": ["b", "c"]}, "with a also b, c"),
        ("dependencies", {"a": {"minimum": 1}}, 'with a also: {"minimum":1}'),
        ("examples", [], ""),
        ("examples", [1, 2, 3, 4, 5, 6], "for example: 1, 2, 3, 4, 5 and 1 more"),
        ("title", "A title", ""),
        ("contains", {"const": 1}, 'one item must be: {"const":1}'),
        ("then", {"minimum": 1}, 'if the condition holds: {"minimum":1}'),
        ("x-unheard-of", 5, ""),
        ("enum", 5, ""),
        ("dependentRequired", "odd", ""),
    ],
)
def test_a_keyword_is_told_where_a_model_can_use_it(keyword: str, operand: Any, words: str) -> None:
    assert describe_keyword(keyword, operand) == words


def test_nothing_is_told_at_length() -> None:
    assert len(describe_keyword("pattern", "x" * 1000)) == LONGEST and describe_keyword("pattern", "x" * 1000).endswith(
        "…"
    )
    assert len(format_value("x" * 1000)) == LONGEST


def test_what_is_no_json_is_not_shown() -> None:
    assert format_value(object()) == "…"


def test_long_lists_are_cut_and_counted() -> None:
    assert format_values(list(range(1500)), 2) == "0, 1 and 1,498 more"
    assert format_values([1, 2], 2) == "1, 2"


@pytest.mark.parametrize(
    ("description", "whole"),
    [("A name. ", "A name. (short; plain)"), ("  ", "Short; plain"), (None, "Short; plain"), (5, "Short; plain")],
)
def test_words_go_on_after_a_description_or_become_one(description: Any, whole: str) -> None:
    assert append_words(description, ["short", "plain"]) == whole
