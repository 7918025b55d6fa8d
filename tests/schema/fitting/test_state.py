"""What one fitting gathers: flat schemas, words for what had to go, and an end to its patience."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.schema.fitting.flattening import Flat
from ferrule.schema.fitting.state import MOST_SCHEMAS, below, is_pattern_taken
from ferrule.schema.fitting.steps import KEEP, CannotFit, JsonText
from tests.schema.fitting.providers import PLAIN, rewriting

TEXT = {"type": "string"}


def test_references_and_combinations_are_put_into_one() -> None:
    root = {"$defs": {"a": {"minLength": 1}, "self": {"$ref": "#/$defs/self"}}}
    state = rewriting(root)
    flat = state.flat({"$ref": "#/$defs/a", "allOf": [TEXT, {"maxLength": 5}]}, "")
    assert flat is not None and flat.keywords == {"type": "string", "maxLength": 5, "minLength": 1}
    assert state.flat({"$ref": "#/$defs/self"}, "") == Flat({}, [], []), "a reference to itself says nothing"
    assert state.flat({"allOf": [TEXT, False]}, "") is None


def test_before_the_latest_drafts_a_reference_stands_alone() -> None:
    root = {"$defs": {"a": TEXT}}
    schema = {"$ref": "#/$defs/a", "minLength": 50}
    for draft, keywords in ((7, TEXT), (2020, {**TEXT, "minLength": 50})):
        flat = rewriting(root, draft).flat(schema, "")
        assert flat is not None and flat.keywords == keywords


def test_references_that_multiply_are_unfit() -> None:
    definitions = {f"d{at}": {"allOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(20)}
    state = rewriting({"$defs": {**definitions, "d20": TEXT}})
    with pytest.raises(CannotFit, match="too many schemas"):
        state.flat({"$ref": "#/$defs/d0"}, "a")


def test_a_schema_with_too_many_parts_is_unfit() -> None:
    state = rewriting()
    for _ in range(MOST_SCHEMAS):
        state.spend("a")
    with pytest.raises(CannotFit, match="more than 2,000 parts"):
        state.spend("a")


def test_a_keyword_that_is_left_out_becomes_words_or_is_dropped() -> None:
    state, words = rewriting(), list[str]()
    state.describe_dropped("properties/a", "minLength", 5, words)
    state.describe_dropped("properties/a", "x-own", 5, words)
    assert words == ["at least 5 characters"]
    assert [(change.path, change.instead) for change in state.changes] == [
        ("properties/a/minLength", "description"),
        ("properties/a/x-own", "dropped"),
    ]


def test_branches_that_only_ask_for_other_properties_are_told() -> None:
    state, words = rewriting(), list[str]()
    asking: list[Any] = [{"required": ["a"]}, {"required": ["b", "c"]}]
    real: list[Any] = [TEXT, {"required": ["a"]}]
    assert state.alternatives([asking, real], "", words) == [real]
    assert words == ["needs a or b, c"]


def test_conditions_are_told_in_words() -> None:
    words: list[str] = []
    rewriting().drop_conditions(Flat({"not": {"const": 1}, "type": "string"}, [], [("pattern", "b")]), "", words)
    assert words == ["matches b", 'not allowed: {"const":1}']


@pytest.mark.parametrize(
    ("limit", "count"),
    [
        ("most_properties", "properties"),
        ("most_characters", "characters"),
        ("most_optional", "optional"),
        ("most_unions", "unions"),
    ],
)
def test_more_than_a_provider_takes_is_unfit(limit: str, count: str) -> None:
    state = rewriting(**{limit: 3})
    setattr(state, count, 3)
    state.within_limits()
    setattr(state, count, 4)
    with pytest.raises(CannotFit, match=r"Acme takes at most 3 .* it has 4"):
        state.within_limits()


def test_any_value_is_sent_as_it_is_or_as_text_with_one_step_for_all() -> None:
    assert rewriting().anything({"description": "d"}, "", []) == ({"description": "d"}, KEEP)
    state = rewriting(allows_anything=False)
    first, second = state.anything({}, "a", []), state.anything({}, "b", [])
    assert first == second == ({"type": "string", "description": "Any JSON value, written as JSON in a text"}, 0)
    assert state.steps == [JsonText()]


def test_annotations_are_sent_where_they_are_taken() -> None:
    keywords = {"title": "T", "default": 5, "minLength": 1, "type": "string"}
    state = rewriting(accepted=PLAIN | {"title"})
    assert state.finish({"type": "string"}, keywords, "", ["short"]) == {
        "type": "string",
        "title": "T",
        "description": "Short; default: 5",
    }


def test_a_place_inside_another_is_written_with_a_slash() -> None:
    assert (below("", "items"), below("items", 0)) == ("items", "items/0")


@pytest.mark.parametrize(
    ("pattern", "kinds"),
    [
        ("^a+$", {"any", "no-lookaround", "simple"}),
        ("(?:a|b){2,100}", {"any", "no-lookaround", "simple"}),
        (r"(a)\1", {"any", "no-lookaround"}),
        (r"\bword\b", {"any", "no-lookaround"}),
        ("a{101}", {"any", "no-lookaround"}),
        ("(?<year>a)", {"any", "no-lookaround"}),
        ("(?=a)b", {"any"}),
        ("(?<!a)b", {"any"}),
    ],
)
def test_patterns_are_trusted_to_engines_that_know_them(pattern: str, kinds: set[str]) -> None:
    assert {kind for kind in ("any", "no-lookaround", "simple") if is_pattern_taken(pattern, kind)} == kinds
