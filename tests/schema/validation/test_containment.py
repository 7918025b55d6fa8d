"""Containment: right where it answers, honest where it cannot, and never slow."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ferrule.model.value import MISSING
from ferrule.schema.validation.containment import Containment, contains
from tests.cpu_time import least_cpu_seconds

TEXT = {"type": "string"}


def of(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


@pytest.mark.parametrize(
    ("old", "new", "example"),
    [
        (of({"q": TEXT}), of({"q": {"type": "string", "minLength": 1}}), {"q": ""}),
        (of({"q": TEXT}), of({"q": TEXT, "r": {}}, required=["r"]), {}),
        (of({"q": {"enum": ["a", "b"]}}), of({"q": {"enum": ["a"]}}), {"q": "b"}),
        (of({"n": {"type": "number"}}), of({"n": {"type": "integer"}}), {"n": 0.5}),
        (of({"n": {"type": "integer", "minimum": 1}}), of({"n": {"type": "integer", "minimum": 2}}), {"n": 1}),
        (
            of({"day": {"type": "string", "format": "date"}}),
            of({"day": {"type": "string", "format": "date-time"}}),
            {"day": "2026-01-31"},
        ),
        ({"anyOf": [TEXT, {"type": "null"}]}, TEXT, None),
        ({"type": "array", "items": TEXT}, {"type": "array", "items": TEXT, "minItems": 1}, []),
        ({"type": "array", "items": TEXT}, {"type": "array", "items": TEXT, "maxItems": 1}, ["", ""]),
        (of({"a": TEXT, "b": TEXT}, required=["a"]), of({"a": TEXT, "b": {"const": "x"}}), {"a": "", "b": ""}),
    ],
)
def test_a_refused_value_is_shown(old: dict[str, Any], new: dict[str, Any], example: Any) -> None:
    verdict = contains(old, new)
    assert verdict.answer is Containment.REFUSES_SOME
    assert verdict.example == example


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (TEXT, {"type": ["string", "null"]}),
        ({"type": "integer"}, {"type": "number"}),
        (TEXT, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"anyOf": [TEXT, {"type": "null"}]}, {"type": ["string", "null"]}),
        ({"enum": ["a"]}, {"type": "string", "enum": ["a", "b"]}),
        (of({"q": TEXT}, additionalProperties=False), of({"q": TEXT, "z": TEXT})),
        (of({"q": TEXT}, required=["q"]), of({"q": TEXT})),
        (of({"q": {**TEXT, "description": "old"}}), of({"q": {**TEXT, "description": "new", "default": "x"}})),
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}),
        (of({"description": TEXT}), of({"description": TEXT}, title="a property may be called like a keyword")),
    ],
)
def test_widening_accepts_all(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert contains(old, new).answer is Containment.ACCEPTS_ALL


def test_what_nobody_can_tell_is_undecided() -> None:
    verdict = contains({"type": "string", "pattern": "^(a+)+b{1,200}$"}, {"type": "string", "pattern": "^a*(b?){200}$"})
    assert verdict.answer is Containment.UNDECIDED and verdict.example is MISSING


def test_a_list_too_long_to_show_is_still_known_to_be_refused() -> None:
    old, new = ({"type": "array", "items": TEXT, "maxItems": most} for most in (10**9, 10**8))
    assert contains(old, new) == (Containment.REFUSES_SOME, MISSING)


def test_a_property_named_like_an_annotation_is_compared() -> None:
    old, new = of({"title": TEXT}), of({"title": {"type": "integer"}})
    assert contains(old, new).answer is Containment.REFUSES_SOME


def nested(depth: int, leaf: dict[str, Any]) -> dict[str, Any]:
    for _ in range(depth):
        leaf = {"anyOf": [of({"a": leaf}), {"type": "array", "items": leaf}]}
    return leaf


def alternatives(groups: int, size: int) -> dict[str, Any]:
    def one(group: int, at: int) -> dict[str, Any]:
        return {"properties": {f"p{group}_{at}": {"type": "integer"}}, "required": [f"p{group}_{at}"]}

    return {"allOf": [{"anyOf": [one(group, at) for at in range(size)]} for group in range(groups)]}


HOSTILE = {
    "many properties": (of({f"p{n}": TEXT for n in range(2000)}), of({f"p{n}": {"maxLength": 9} for n in range(2000)})),
    "deep": (nested(9, TEXT), nested(9, {"type": "string", "minLength": 1})),
    "exponential cases": (alternatives(12, 3), alternatives(11, 4)),
    "large enum": ({"enum": list(range(20_000))}, {"enum": list(range(19_999))}),
    "huge counts": ({"type": "array", "minItems": 10**15}, {"type": "array", "minItems": 10**16}),
    "slow pattern": ({"pattern": "^(a|a|b)*c{1,500}(d?){100}$"}, {"pattern": "^(a|b)*c{1,400}$"}),
    "many branches": ({"oneOf": [{"const": n} for n in range(300)]}, {"oneOf": [{"const": n} for n in range(299)]}),
    "not a schema": ({"type": 5}, {"type": "nothing", "properties": []}),
    "endless": ({"$ref": "#"}, {"allOf": [{"$ref": "#"}]}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_schemas_are_answered_in_bounded_time(name: str) -> None:
    seconds, _ = least_cpu_seconds(lambda: contains(*HOSTILE[name]))
    assert seconds < 5


values = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 2, 3, -1, 0.5, 1.5, "", "a", "b", "ab", "abc"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=5,
)


def keyword(name: str, operands: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return operands.map(lambda operand: {name: operand})


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    few = st.integers(0, 3)
    words = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
    one = st.one_of(
        keyword("type", words | st.lists(words, min_size=1, max_size=3, unique=True)),
        keyword("enum", st.lists(values, min_size=1, max_size=3)),
        keyword("const", values),
        *(keyword(name, few) for name in ("minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum")),
        keyword("exclusiveMinimum", few),
        keyword("multipleOf", st.sampled_from([1, 2, 0.5])),
        keyword("pattern", st.sampled_from(["^a", "b$", "^[ab]*$"])),
        keyword("uniqueItems", st.booleans()),
        keyword("required", st.lists(st.sampled_from("abc"), max_size=2, unique=True)),
        keyword("properties", st.dictionaries(st.sampled_from("abc"), inner, max_size=2)),
        keyword("additionalProperties", inner),
        keyword("items", inner),
        keyword("not", inner),
        *(keyword(name, st.lists(inner, min_size=1, max_size=2)) for name in ("anyOf", "oneOf", "allOf")),
    )
    return st.lists(one, max_size=3).map(lambda parts: {key: value for part in parts for key, value in part.items()})


random_schemas = st.recursive(st.booleans() | schemas(st.booleans()), schemas, max_leaves=4)


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_schemas, random_schemas, st.lists(values, max_size=25))
def test_answers_agree_with_brute_force(old: Any, new: Any, tried: list[Any]) -> None:
    verdict = contains(old, new)
    before, after = jsonschema_rs.Draft7Validator(old), jsonschema_rs.Draft7Validator(new)
    if verdict.answer is Containment.ACCEPTS_ALL:
        refused = [value for value in tried if before.is_valid(value) and not after.is_valid(value)]
        assert not refused
    if verdict.example is not MISSING:
        assert before.is_valid(verdict.example) and not after.is_valid(verdict.example)
        assert verdict.answer is Containment.REFUSES_SOME


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_schemas)
def test_every_schema_contains_itself(schema: Any) -> None:
    assert contains(schema, schema).answer is Containment.ACCEPTS_ALL


@pytest.mark.parametrize(
    ("old", "new", "answer"), [(1, 1.0, Containment.ACCEPTS_ALL), (1, True, Containment.REFUSES_SOME)]
)
def test_numbers_are_compared_as_json_does(old: object, new: object, answer: Containment) -> None:
    assert contains({"const": [old]}, {"const": [new]}).answer is answer
