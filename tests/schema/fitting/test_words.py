"""What a keyword says is put in words, at a bearable length."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.schema.fitting.words import LONGEST, append_words, describe_keyword, format_value, format_values


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
