"""Which changes of a schema break whom: the table of AML-83 and AML-84, and what only containment can see."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferrule.model.semver import Bump
from ferrule.model.value import MISSING
from tests.definitions.compiler.schemas import TEXT, change, of, q

KEYWORDS = (
    *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "oneOf", "allOf"),
    *("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "minLength", "maxItems", "pattern", "format"),
    *("if", "not", "$ref", "string", "integer", "object", "patternProperties", "description"),
)


BREAKING = {
    "property removed": (of({"q": TEXT, "r": TEXT}), of({"q": TEXT})),
    "property removed from an open object": (of({"q": TEXT}), of({}, additionalProperties=True)),
    "property renamed": (of({"q": TEXT}), of({"query": TEXT})),
    "nested property removed": (of({"f": of({"a": TEXT})}), of({"f": of({})})),
    "property of list items removed": (
        of({"l": {"type": "array", "items": of({"a": TEXT})}}),
        of({"l": {"type": "array", "items": of({})}}),
    ),
    "old property now required": (q(**TEXT), of({"q": TEXT}, required=["q"])),
    "new required property": (q(**TEXT), of({"q": TEXT, "n": TEXT}, required=["n"])),
    "type changed": (q(type="string"), q(type="integer")),
    "type narrowed": (q(type=["string", "null"]), q(type="string")),
    "number to integer": (q(type="number"), q(type="integer")),
    "type where there was none": (q(), q(type="string")),
    "enum value removed": (q(enum=["a", "b"]), q(enum=["a"])),
    "enum to const": (q(enum=["a", "b"]), q(const="a")),
    "enum where there was none": (q(type="string"), q(type="string", enum=["a"])),
    "const changed": (q(const=1), q(const=2)),
    "const true to 1": (q(const=True), q(const=1)),
    "minLength added": (q(type="string"), q(type="string", minLength=1)),
    "maxLength lowered": (q(type="string", maxLength=9), q(type="string", maxLength=8)),
    "minimum raised": (q(type="integer", minimum=1), q(type="integer", minimum=2)),
    "maximum added": (q(type="integer"), q(type="integer", maximum=5)),
    "bound made exclusive": (q(type="number", minimum=1), q(type="number", exclusiveMinimum=1)),
    "upper bound made exclusive": (q(type="number", maximum=1), q(type="number", exclusiveMaximum=1)),
    "minItems raised": (q(type="array", minItems=1), q(type="array", minItems=2)),
    "pattern added": (q(type="string"), q(type="string", pattern="^a")),
    "pattern changed, even if wider": (q(type="string", pattern="^ab"), q(type="string", pattern="^a")),
    "format added": (q(type="string"), q(type="string", format="date")),
    "unknown format changed": (q(type="string", format="x-one"), q(type="string", format="x-two")),
    "undeclared properties refused": (q(**TEXT), of({"q": TEXT}, additionalProperties=False)),
    "undeclared properties limited": (q(**TEXT), of({"q": TEXT}, additionalProperties=TEXT)),
    "branch removed": (q(anyOf=[TEXT, {"type": "null"}]), q(anyOf=[TEXT])),
    "branch of oneOf removed": (q(oneOf=[{"const": 1}, {"const": 2}]), q(oneOf=[{"const": 1}])),
    "branch narrowed": (q(anyOf=[TEXT, {"type": "integer"}]), q(anyOf=[TEXT, {"type": "integer", "minimum": 1}])),
    "only containment sees it: not": (q(type="string"), q(**TEXT, **{"not": {"const": "x"}})),
    "only containment sees it: uniqueItems": (q(type="array"), q(type="array", uniqueItems=True)),
    "only containment sees it: new combinator": (q(), q(anyOf=[TEXT])),
    "declared map key": (of({}, additionalProperties=TEXT), of({"n": {"type": "integer"}}, additionalProperties=TEXT)),
}


@pytest.mark.parametrize("name", BREAKING)
def test_breaking_input_needs_a_major_version(name: str) -> None:
    assert change(*BREAKING[name]).needed is Bump.MAJOR


HARMLESS = {
    "new optional property": (q(**TEXT), of({"q": TEXT, "n": {"type": "integer"}})),
    "new optional nested property": (of({"f": of({"a": TEXT})}), of({"f": of({"a": TEXT, "b": TEXT})})),
    "new optional property in a list": (
        of({"l": {"type": "array", "items": of({"a": TEXT})}}),
        of({"l": {"type": "array", "items": of({"a": TEXT, "b": TEXT})}}),
    ),
    "first property of a free-form object": ({"type": "object"}, of({"a": TEXT})),
    "new optional property of a closed object": (
        of({"q": TEXT}, additionalProperties=False),
        of({"q": TEXT, "n": TEXT}, additionalProperties=False),
    ),
    "type widened": (q(type="string"), q(type=["string", "null"])),
    "integer to number": (q(type="integer"), q(type="number")),
    "type as a list of one": (q(type="string"), q(type=["string"])),
    "enum widened": (q(enum=["a"]), q(enum=["b", "a"])),
    "const to enum": (q(const="a"), q(enum=["a", "b"])),
    "enum lifted": (q(type="string", enum=["a"]), q(type="string")),
    "bounds loosened": (
        q(type="string", minLength=2, maxLength=3, pattern="a"),
        q(type="string", minLength=1, maxLength=4),
    ),
    "a bound that says nothing": (q(type="string"), q(type="string", minLength=0)),
    "the same bound in other words": (q(type="integer", minimum=1), q(type="integer", exclusiveMinimum=0)),
    "a type the values have anyway": (q(enum=["a", "b"]), q(type="string", enum=["a", "b"])),
    "no longer required": (of({"q": TEXT}, required=["q"]), q(**TEXT)),
    "undeclared properties let in": (of({"q": TEXT}, additionalProperties=False), q(**TEXT)),
    "texts and defaults": (q(type="string"), q(type="string", description="New.", default="x", title="T")),
    "branch added": (q(anyOf=[TEXT]), q(anyOf=[TEXT, {"type": "null"}])),
    "branches reordered": (q(anyOf=[TEXT, {"type": "null"}]), q(anyOf=[{"type": "null"}, TEXT])),
    "combinator said as types": (q(anyOf=[TEXT, {"type": "null"}]), q(type=["string", "null"])),
    "combinator lifted": (
        of({"a": TEXT, "b": TEXT}, anyOf=[{"required": ["a"]}, {"required": ["b"]}]),
        of({"a": TEXT, "b": TEXT}),
    ),
    "property moved into allOf": (of({"a": TEXT}), {"type": "object", "allOf": [{"properties": {"a": TEXT}}]}),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_input_changes_need_no_major_version(name: str) -> None:
    found = change(*HARMLESS[name])
    assert found.needed in (Bump.MINOR, Bump.PATCH)
    assert not found.narrowed and not found.is_undecided and found.example is MISSING


@pytest.mark.parametrize(
    ("old", "new", "example"),
    [
        (q(type="string"), q(type="string", minLength=1), {"q": ""}),
        (q(enum=["a", "b"]), q(enum=["a"]), {"q": "b"}),
        (q(**TEXT), of({"q": TEXT}, required=["q"]), {}),
        (q(type="number"), q(type="integer"), {"q": 0.5}),
    ],
)
def test_a_counterexample_comes_with_the_change(old: Any, new: Any, example: Any) -> None:
    assert change(old, new).example == example


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(KEYWORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(json_values, json_values)
def test_no_pair_of_values_is_too_strange_to_compare(old: Any, new: Any) -> None:
    change(old, new)
    change(old, new, result=True)


def test_what_cannot_be_decided_is_said_to_be_so() -> None:
    old, new = (
        of({}, patternProperties={pattern: TEXT}, additionalProperties=False)
        for pattern in ("^x(a|b)+(c{1,40}d?)*$", "^x[ab]+(c{1,39}d*)*$")
    )
    found = change(old, new)
    assert found.is_undecided and found.needed is not Bump.MAJOR
