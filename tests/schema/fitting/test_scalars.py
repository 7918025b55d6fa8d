"""Texts, numbers and closed lists of values, as a provider takes them."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.schema.fitting import PROFILES, fit
from ferrule.schema.fitting.scalars import rewrite_enum, rewrite_scalar
from ferrule.schema.fitting.steps import KEEP
from tests.schema.fitting.providers import PLAIN, rewriting


def scalar(word: str, keywords: dict[str, Any], **rules: Any) -> dict[str, Any]:
    """A schema of one type, rewritten."""
    return rewrite_scalar(rewriting(**rules), word, keywords, "properties/a", [])


def enum(keywords: dict[str, Any], **rules: Any) -> dict[str, Any] | None:
    """A closed list of values, rewritten; no value needs to be turned back."""
    node = rewrite_enum(rewriting(**rules), keywords, "properties/a", 2, [])
    assert node is None or node[1] == KEEP
    return None if node is None else node[0]


def test_a_keyword_that_is_not_taken_is_told_in_words() -> None:
    assert scalar("string", {"minLength": 2, "description": "A name."}) == {
        "type": "string",
        "description": "A name. (at least 2 characters)",
    }
    assert scalar("string", {"minLength": 2}, accepted=PLAIN | {"minLength"}) == {"type": "string", "minLength": 2}


def test_keywords_of_other_types_say_nothing() -> None:
    assert scalar("integer", {"minLength": 2, "properties": {}}) == {"type": "integer"}
    assert scalar("boolean", {"format": "date"}) == {"type": "boolean"}


def test_formats_and_patterns_are_taken_one_by_one() -> None:
    rules = {"accepted": PLAIN | {"format", "pattern"}, "formats": frozenset({"date"}), "patterns": "no-lookaround"}
    assert scalar("string", {"format": "date", "pattern": "^a"}, **rules) == {
        "type": "string", "format": "date", "pattern": "^a",
    }  # fmt: skip
    told = scalar("string", {"format": "uuid", "pattern": "(?=a)b"}, **rules)
    assert told == {"type": "string", "description": "Format: uuid; matches (?=a)b"}


def test_bounds_of_draft_4_are_sent_as_numbers() -> None:
    keywords = {"minimum": 1, "exclusiveMinimum": True}
    assert scalar("integer", keywords, accepted=PLAIN | {"exclusiveMinimum"}) == {
        "type": "integer",
        "exclusiveMinimum": 1,
    }
    assert keywords == {"minimum": 1, "exclusiveMinimum": True}, "the original is left as it is"


@pytest.mark.parametrize(
    ("keywords", "fitted"),
    [
        ({"enum": ["a", "b", "a"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"const": 5}, {"type": "integer", "enum": [5]}),
        ({"enum": [1, True, "a"]}, {"enum": [1, True, "a"]}),
        ({"enum": ["a", 1, 2.0], "type": "integer"}, {"type": "integer", "enum": [1, 2.0]}),
        ({"enum": ["a", "b"], "const": "b"}, {"type": "string", "enum": ["b"]}),
        ({"enum": [None]}, {"type": "null"}),
        ({"enum": []}, None),
        ({"enum": ["a"], "type": "integer"}, None),
        ({"enum": ["a"], "const": "b"}, None),
    ],
)
def test_a_list_of_values_keeps_those_that_fit(keywords: dict[str, Any], fitted: dict[str, Any] | None) -> None:
    assert enum(keywords) == fitted


def test_a_provider_that_wants_types_gets_one_list_for_each() -> None:
    assert enum({"enum": ["a", 1, "b", None]}, allows_anything=False) == {
        "anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "integer", "enum": [1]}, {"type": "null"}]
    }


def test_null_is_said_beside_a_list_that_may_not_hold_it() -> None:
    fitted = enum({"enum": ["a", None]}, enum_types=frozenset({"string"}), nullable="nullable")
    assert fitted == {"type": "string", "enum": ["a"], "nullable": True}


@pytest.mark.parametrize(
    "rules",
    [
        {"accepted": PLAIN - {"enum"}},
        {"enum_types": frozenset({"integer"})},
        {"most_enum_values": 1},
        {"long_enum": (1, 3)},
        {"allows_empty_texts": False},
    ],
    ids=lambda rules: next(iter(rules)),
)
def test_a_list_that_cannot_be_sent_is_told_and_its_type_is_taken(rules: dict[str, Any]) -> None:
    assert enum({"enum": ["", "four"]}, **rules) == {"type": "string", "description": 'One of: "", "four"'}


def test_enums_of_one_schema_count_together() -> None:
    state = rewriting(most_enum_values=3)
    first = rewrite_enum(state, {"enum": ["a", "b"]}, "", 2, [])
    second = rewrite_enum(state, {"enum": ["c", "d"]}, "", 2, [])
    assert first is not None and "enum" in first[0]
    assert second is not None and "enum" not in second[0]


@pytest.mark.parametrize("name", ["gemini", "gemini-openapi"])
def test_an_empty_text_is_told_where_it_may_not_be_listed(name: str) -> None:
    fitted = fit({"type": "object", "properties": {"a": {"type": "string", "enum": ["", "x"]}}}, PROFILES[name])
    assert "enum" not in fitted.schema["properties"]["a"] and '"x"' in fitted.schema["properties"]["a"]["description"]
