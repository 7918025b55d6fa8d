"""Unions, as a provider takes them, and how the branch that a value was meant for is told later."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.schema.fitting import decode, encode, fit
from ferrule.schema.fitting.steps import KEEP, CannotFit, FittedShape, UnionChoice
from ferrule.schema.fitting.unions import rewrite_union, shape_of
from tests.schema.fitting.providers import provider, rewriting

TEXT, NUMBER, NULL = {"type": "string"}, {"type": "number"}, {"type": "null"}


def union(branches: list[Any], annotations: dict[str, Any] | None = None, **rules: Any) -> dict[str, Any] | None:
    """A union none of whose branches has to be turned back."""
    node = rewrite_union(rewriting(**rules), branches, annotations or {}, "", 2, [])
    assert node is None or node[1] == KEEP
    return None if node is None else node[0]


@pytest.mark.parametrize(
    ("branches", "fitted"),
    [
        ([TEXT, NUMBER], {"anyOf": [TEXT, NUMBER]}),
        ([TEXT, dict(TEXT), NUMBER], {"anyOf": [TEXT, NUMBER]}),
        ([TEXT, False], TEXT),
        ([False, False], None),
        ([NULL, {"const": None}], NULL),
        ([TEXT, NULL], {"type": ["string", "null"]}),
        ([TEXT, NUMBER, NULL], {"anyOf": [TEXT, NUMBER, NULL]}),
    ],
)
def test_branches_are_kept_once_and_null_is_said_in_its_own_way(
    branches: list[Any], fitted: dict[str, Any] | None
) -> None:
    assert union(branches) == fitted


def test_null_is_said_in_the_words_of_the_provider() -> None:
    assert union([TEXT, NUMBER, NULL], nullable="nullable") == {"anyOf": [TEXT, NUMBER], "nullable": True}


def test_the_words_around_a_union_come_before_those_of_its_only_branch() -> None:
    inner = {"type": "string", "description": "inside"}
    assert union([inner, False], {"description": "outside"}) == {"type": "string", "description": "outside (inside)"}
    assert union([TEXT, NUMBER], {"description": "outside"}) == {"anyOf": [TEXT, NUMBER], "description": "outside"}


def test_a_union_of_very_many_branches_is_unfit() -> None:
    with pytest.raises(CannotFit, match="anyOf: a union of more than 500 branches"):
        union([{"const": at} for at in range(501)])


def test_branches_that_look_alike_and_are_turned_back_differently_are_sent_as_text() -> None:
    branches = [
        {"type": "array", "items": {"type": "object", "additionalProperties": TEXT}},
        {"type": "array", "items": TEXT},
    ]
    state = rewriting(allows_maps=False, allows_anything=False)
    node = rewrite_union(state, branches, {}, "properties/a", 2, [])
    assert node is not None and node[0]["type"] == "string"
    assert "nobody could tell later which branch of the union was meant" in [change.why for change in state.changes]


def test_branches_that_can_be_told_apart_are_turned_back_each_in_its_way() -> None:
    map_or_text = {"anyOf": [{"type": "object", "additionalProperties": {"type": "integer"}}, TEXT]}
    schema = {"type": "object", "properties": {"a": map_or_text}, "required": ["a"], "additionalProperties": False}
    fitted = fit(schema, provider(allows_maps=False))
    assert any(isinstance(step, UnionChoice) for step in fitted.steps)
    for value in ({"a": {"x": 1}}, {"a": "text"}):
        assert decode(fitted.steps, encode(fitted.steps, value)) == value
    assert encode(fitted.steps, {"a": {"x": 1}}) == {"a": [{"key": "x", "value": 1}]}


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        (TEXT, {"string"}),
        ({"type": ["integer", "null"]}, {"number", "null"}),
        ({"type": "string", "nullable": True}, {"string", "null"}),
        ({"enum": [1, "a", None]}, {"number", "string", "null"}),
        ({"anyOf": [TEXT, NUMBER], "nullable": True}, {"string", "number", "null"}),
        ({"anyOf": [TEXT]}, {"string"}),
        ({"$ref": "#/$defs/Name"}, {"string"}),
    ],
)
def test_types_are_seen_at_a_glance(schema: dict[str, Any], types: set[str]) -> None:
    assert shape_of(schema, {"Name": TEXT}).types == types


def test_what_cannot_be_seen_may_be_anything() -> None:
    every = {"object", "array", "string", "number", "boolean", "null"}
    assert shape_of({}, {}).types == shape_of({"$ref": "#/$defs/Absent"}, {}).types == every
    assert shape_of({"$ref": "#/$defs/Loop"}, {"Loop": {"$ref": "#/$defs/Loop"}}).types == every


def test_an_object_is_seen_by_its_members() -> None:
    schema = {
        "type": "object",
        "properties": {"kind": {"enum": ["a", "b"]}, "maybe": {"enum": ["c"], "nullable": True}, "name": TEXT},
        "required": ["kind"],
        "additionalProperties": False,
    }
    assert shape_of(schema, {}) == FittedShape(
        frozenset({"object"}), frozenset({"kind"}), frozenset({"kind", "maybe", "name"}), {"kind": ("a", "b")}
    )
    assert shape_of({"type": "object"}, {}).allowed is None


def closed(**properties: Any) -> dict[str, Any]:
    """An object with these members, all required, and no others."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


COUNTS = {"type": "object", "additionalProperties": {"type": "integer"}}
TAGGED = [closed(kind={"const": "a"}, more=COUNTS), closed(kind={"const": "b"}, more=TEXT)]
NAMED = [closed(counts=COUNTS), closed(text=TEXT)]


def choice_of(branches: list[Any]) -> UnionChoice:
    """How the branches of an argument are told apart."""
    fitted = fit(closed(a={"anyOf": branches}), provider(allows_maps=False, is_closed=True))
    (choice,) = (step for step in fitted.steps if isinstance(step, UnionChoice))
    return choice


@pytest.mark.parametrize(
    ("branches", "values"),
    [
        (TAGGED, [{"kind": "a", "more": {"x": 1}}, {"kind": "b", "more": "text"}]),
        (NAMED, [{"counts": {"x": 1}}, {"text": "t"}]),
    ],
    ids=["by a constant", "by their members"],
)
def test_objects_are_told_apart_by_what_they_must_hold(branches: list[Any], values: list[Any]) -> None:
    fitted = fit(closed(a={"anyOf": branches}), provider(allows_maps=False, is_closed=True))
    for value in values:
        sent = encode(fitted.steps, {"a": value})
        assert decode(fitted.steps, sent) == {"a": value}
    assert "key" in str(encode(fitted.steps, {"a": values[0]})), "the map is sent as pairs"


def test_a_branch_is_kept_whole_where_its_type_does_not_tell_it() -> None:
    assert all('"properties"' in option.accepts for option in choice_of(TAGGED).options)
    listed, counted = choice_of([{"enum": ["a", "b"]}, COUNTS]).options
    assert listed.was == {"string"} and counted.was == {"object"}
    assert listed.accepts == counted.accepts == ""


def test_words_around_a_reference_do_not_stand_beside_it() -> None:
    state = rewriting({"$defs": {"Name": TEXT}})
    node = rewrite_union(state, [{"$ref": "#/$defs/Name"}, False], {"description": "outside"}, "", 2, [])
    assert node == ({"anyOf": [{"$ref": "#/$defs/Name"}], "description": "outside"}, KEEP)
