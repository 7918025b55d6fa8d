"""Expectations say what is wrong with a value, in words, and what they want."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.expect import (
    a_type,
    boolean,
    describe,
    filled_string,
    integer,
    iso_date,
    mapping,
    matching,
    one_of,
    sequence,
    show,
    string,
)
from ferrule.contracts.rule import Expectation


@pytest.mark.parametrize(
    ("expectation", "value", "wrong"),
    [
        (string(), "", None),
        (string(), 5, "must be a string, not an integer"),
        (filled_string(), "a", None),
        (filled_string(), " \n", "must not be empty"),
        (filled_string(), None, "must be a string, not null"),
        (boolean(), False, None),
        (boolean(), 0, "must be true or false, not an integer"),
        (mapping(), {}, None),
        (mapping(), [], "must be a mapping, not a list"),
        (sequence(), [], None),
        (sequence(), "a", "must be a list, not a string"),
        (integer(), 5, None),
        (integer(), True, "must be an integer, not a boolean"),
        (integer(1, 3), 3, None),
        (integer(1, 3), 4, "must be an integer from 1 to 3, not 4"),
        (integer(minimum=1), 0, "must be an integer of at least 1, not 0"),
        (integer(maximum=9), 10, "must be an integer of at most 9, not 10"),
        (one_of("a", "b"), "b", None),
        (one_of("a", "b"), "c", "must be one of a, b, not 'c'"),
        (one_of("a", "b"), ["a"], "must be one of a, b, not a list"),
        (matching("[a-z]+", "lower-case letters"), "abc", None),
        (matching("[a-z]+", "lower-case letters"), "abc\n", "must be lower-case letters, not 'abc\\n'"),
        (matching("[a-z]+", "lower-case letters"), 5, "must be lower-case letters, not an integer"),
        (iso_date(), "2024-02-29", None),
        (iso_date(), "2026-02-29", "must be a real calendar date, which 2026-02-29 is not"),
        (iso_date(), "20260430", "must be a date such as 2026-04-30, not '20260430'"),
        (iso_date(), 2026, "must be a date such as 2026-04-30, not 2026"),
    ],
)
def test_what_is_wrong_with_a_value_is_told(expectation: Expectation, value: Any, wrong: str | None) -> None:
    assert expectation(value) == wrong


@pytest.mark.parametrize(
    ("expectation", "words"),
    [
        (integer(1, 3), "an integer from 1 to 3"),
        (integer(minimum=1), "an integer of at least 1"),
        (integer(maximum=9), "an integer of at most 9"),
        (one_of("a", "b"), "one of a, b"),
        (matching("x", "an x"), "an x"),
        (lambda value: None, "as the rule says"),
    ],
)
def test_an_expectation_is_described_for_its_page(expectation: Expectation, words: str) -> None:
    assert describe(expectation) == words


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (1, "1"),
        ({"a": 1}, "a mapping"),
        ([], "a list"),
        ("it's", '"it\'s"'),
        ("x" * 61, repr("x" * 57 + "…")),
        (10**50, "1" + "0" * 36 + "…"),
    ],
)
def test_a_value_is_shown_short_enough_for_a_message(value: Any, shown: str) -> None:
    assert show(value) == shown


def test_a_type_has_its_article() -> None:
    values: list[Any] = [{}, [], "", 1, None]
    assert [a_type(value) for value in values] == ["a mapping", "a list", "a string", "an integer", "null"]
