"""Lists, and lists whose items differ by position, as a provider takes them."""

from __future__ import annotations

from typing import Any

from ferrule.schema.fitting.lists import rewrite_list
from ferrule.schema.fitting.steps import KEEP, Items, JsonText
from tests.schema.fitting.providers import PLAIN, rewriting

TEXT, NUMBER = {"type": "string"}, {"type": "number"}
SIZES = PLAIN | {"minItems", "maxItems", "prefixItems"}


def fitted(keywords: dict[str, Any], **rules: Any) -> dict[str, Any]:
    """A list whose items need not be turned back."""
    schema, step = rewrite_list(rewriting(**rules), keywords, "", 1, [])
    assert step == KEEP
    return schema


def test_a_list_of_one_kind_keeps_its_items() -> None:
    assert fitted({"items": TEXT}) == {"type": "array", "items": TEXT}


def test_items_are_said_where_a_provider_needs_them() -> None:
    assert fitted({}) == {"type": "array"}
    assert fitted({}, needs_items=True) == {"type": "array", "items": {}}


def test_a_list_whose_items_fit_nothing_is_empty() -> None:
    assert fitted({"items": False}, accepted=SIZES) == {"type": "array", "items": TEXT, "maxItems": 0}


def test_sizes_are_sent_or_told() -> None:
    keywords = {"items": TEXT, "minItems": 2, "maxItems": 3}
    assert fitted(keywords, accepted=SIZES) == {"type": "array", **keywords}
    assert fitted(keywords)["description"] == "At least 2 items; at most 3 items"


def test_a_minimum_that_is_too_high_is_sent_as_high_as_may_be() -> None:
    schema = fitted({"items": TEXT, "minItems": 5}, accepted=SIZES, highest_min_items=1)
    assert (schema["minItems"], schema["description"]) == (1, "At least 5 items")


def test_positions_are_kept_where_they_may_differ() -> None:
    schema = fitted({"prefixItems": [TEXT, NUMBER], "items": False}, accepted=SIZES)
    assert schema == {"type": "array", "prefixItems": [TEXT, NUMBER], "items": {}, "maxItems": 2}


def test_positions_become_any_of_them_where_one_schema_is_for_all() -> None:
    schema = fitted({"prefixItems": [TEXT, NUMBER, TEXT], "items": False}, accepted=SIZES, allows_tuples=False)
    assert schema["items"] == {"anyOf": [TEXT, NUMBER]} and schema["maxItems"] == 3
    assert schema["description"] == "In this order: string, number, string"


def test_a_position_that_fits_nothing_ends_the_list() -> None:
    schema = fitted({"prefixItems": [TEXT, False, NUMBER]}, accepted=SIZES)
    assert (schema["prefixItems"], schema["maxItems"]) == ([TEXT], 1)


def test_very_many_positions_are_not_told_apart() -> None:
    state = rewriting(accepted=SIZES)
    schema, _ = rewrite_list(state, {"prefixItems": [{"const": at} for at in range(201)]}, "properties/a", 2, [])
    assert "prefixItems" not in schema
    assert [(change.path, change.instead) for change in state.changes] == [("properties/a/prefixItems", "dropped")]


def test_items_that_are_sent_as_text_are_turned_back() -> None:
    state = rewriting(allows_anything=False)
    schema, step = rewrite_list(state, {"prefixItems": [TEXT, True], "items": False}, "", 1, [])
    assert schema["prefixItems"][1]["type"] == "string"
    found = state.steps[step]
    assert isinstance(found, Items) and found.first[0] == KEEP
    assert isinstance(state.steps[found.first[1]], JsonText)


def test_a_list_deeper_than_a_provider_goes_is_cut() -> None:
    state = rewriting(deepest=3)
    assert rewrite_list(state, {"items": TEXT}, "a", 4, []) == ({}, KEEP)
    assert state.changes[0].why == "Acme takes schemas 3 levels deep"
