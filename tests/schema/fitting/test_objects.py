"""Objects and maps, as a provider takes them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ferrule.schema.fitting.objects import OTHERS, legal_names, rewrite_object
from ferrule.schema.fitting.steps import KEEP, CannotFit, FittedMember, Members, Pairs
from tests.schema.fitting.providers import PLAIN, rewriting

TEXT = {"type": "string"}
PAIR = {"type": "object", "properties": {"key": TEXT, "value": TEXT}, "required": ["key", "value"]}


def fitted(keywords: dict[str, Any], *, is_root: bool = False, **rules: Any) -> dict[str, Any]:
    """An object, rewritten."""
    node = rewrite_object(rewriting(**rules), keywords, "", 1, [], is_root=is_root)
    assert node is not None
    return node[0]


def test_a_plain_object_stays_as_it_is() -> None:
    keywords = {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a"]}
    assert fitted(keywords) == keywords


def test_what_is_only_known_to_be_required_is_a_property_too() -> None:
    assert fitted({"required": ["a"], "additionalProperties": TEXT})["properties"] == {"a": TEXT}


def test_where_every_property_is_required_null_leaves_one_out() -> None:
    state = rewriting(is_all_required=True, is_closed=True)
    node = rewrite_object(state, {"properties": {"a": TEXT, "b": TEXT}, "required": ["a"]}, "", 1, [])
    assert node is not None
    schema, step = node
    assert schema["required"] == ["a", "b"] and schema["additionalProperties"] is False
    assert schema["properties"] == {"a": TEXT, "b": {"type": ["string", "null"]}}
    assert state.steps[step] == Members((FittedMember("b", is_absent_null=True),))


def test_a_property_that_fits_nothing_is_left_out_or_rules_the_object_out() -> None:
    properties = {"a": TEXT, "b": False}
    assert fitted({"properties": properties})["properties"] == {"a": TEXT}
    assert rewrite_object(rewriting(), {"properties": properties, "required": ["b"]}, "", 1, []) is None


def test_a_map_is_kept_or_told_where_members_may_be_unnamed() -> None:
    keywords = {"additionalProperties": TEXT}
    assert fitted(keywords, accepted=PLAIN | {"additionalProperties"}) == {"type": "object", **keywords}
    assert fitted(keywords) == {"type": "object", "description": 'Other members: {"type":"string"}'}


def test_a_map_becomes_a_list_of_pairs_where_every_member_is_named() -> None:
    state = rewriting(allows_maps=False, accepted=PLAIN | {"minItems", "maxItems"})
    node = rewrite_object(state, {"additionalProperties": TEXT, "minProperties": 1}, "", 2, [])
    assert node is not None
    schema, step = node
    assert (schema["type"], schema["items"], schema["minItems"]) == ("array", PAIR, 1)
    assert state.steps[step] == Pairs(KEEP)


def test_unnamed_members_beside_named_ones_get_a_property_of_their_own() -> None:
    state = rewriting(allows_maps=False)
    named = {"a": TEXT, OTHERS: TEXT}
    node = rewrite_object(state, {"properties": named, "additionalProperties": TEXT}, "", 1, [])
    assert node is not None
    schema, step = node
    assert schema["properties"][f"{OTHERS}_"]["items"] == PAIR and schema["required"] == [f"{OTHERS}_"]
    assert state.steps[step] == Members((FittedMember("a"), FittedMember(OTHERS)), others=f"{OTHERS}_")


def test_an_object_of_which_nothing_is_known_is_sent_as_text() -> None:
    schema = fitted({}, allows_maps=False, allows_anything=False)
    assert schema == {"type": "string", "description": "A JSON object, written as JSON in a text"}
    assert fitted({}, is_root=True, allows_maps=False, allows_anything=False) == {"type": "object", "properties": {}}


def test_an_object_deeper_than_a_provider_goes_is_cut() -> None:
    assert rewrite_object(rewriting(deepest=2), {"properties": {"a": TEXT}}, "a", 3, []) == ({}, KEEP)


def test_names_that_a_provider_refuses_are_changed_and_no_two_are_alike() -> None:
    named = dict.fromkeys(["a b", "a-b", "a_b", "1st", "fine", "é" * 80])
    state = rewriting(property_names="[a-zA-Z_][a-zA-Z0-9_]{0,59}")
    found = legal_names(state, named, "")
    assert found["a b"] == "a_b_2" and found["a-b"] == "a_b_3" and found["1st"] == "_1st"
    assert set(found) == {"a b", "a-b", "1st", "é" * 80}
    shown = [found.get(name, name) for name in named]
    assert len(set(shown)) == len(named) and all(re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]{0,59}", name) for name in shown)
    assert {change.path for change in state.changes} >= {"properties/a b", "properties/1st"}


def test_without_a_rule_every_name_is_kept() -> None:
    assert legal_names(rewriting(), {"a b": {}}, "") == {}


def test_the_arguments_alone_are_renamed_where_the_rule_is_for_them() -> None:
    rules: dict[str, Any] = {"property_names": "[a-z]+", "are_only_root_names_ruled": True}
    assert set(fitted({"properties": {"a b": TEXT}}, is_root=True, **rules)["properties"]) == {"a_b"}
    assert set(fitted({"properties": {"a b": TEXT}}, **rules)["properties"]) == {"a b"}


def test_an_object_with_too_many_properties_is_unfit() -> None:
    with pytest.raises(CannotFit, match="more than 2,000 properties"):
        fitted({"properties": {str(at): TEXT for at in range(2001)}})
