"""The checker that comes along with stubs says what the validator of calls says."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.definitions.stubs.languages.python.support.checking import Schema
from ferrule.definitions.stubs.languages.python.support.json_text import DecodeError, parsed, written
from ferrule.definitions.stubs.languages.python.support.machines import BeyondError, Machine, Reader
from ferrule.definitions.stubs.languages.python.support.patterns import Translation, matches
from ferrule.schema.validation.validators import compiled_schema
from tests.schema.fitting.schemas import arguments, is_circular, schema_of

_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    1.0,
    1.5,
    0.07,
    19.99,
    1e300,
    10**30,
    "",
    "a",
    "ab",
    "abc",
    "a\nb",
    "\U0001f600",
    "é",
    "7",
    [],
    [1],
    [1, 1.0],
    [1, True],
    [0, False],
    ["a", 1],
    [{"a": 1}, {"a": 1.0}],
    [[], [], 3],
    {},
    {"a": 1},
    {"a": "x", "b": 2},
    {"b": None},
    {"": 0},
    {"a": {"a": {"a": {}}}},
    {"x-a": 1},
    {"a": [1, 2, 3]},
)
_KEYWORDS: tuple[Any, ...] = (
    True,
    False,
    {"type": "integer"},
    {"type": "number"},
    {"type": ["null", "boolean", "array"]},
    {"enum": [1, "a", None, [1.0], {"a": 1}]},
    {"const": 1.0},
    {"const": True},
    {"const": {"a": 1.0}},
    {"minimum": 1},
    {"maximum": 1},
    {"exclusiveMinimum": 0},
    {"exclusiveMaximum": 1},
    {"multipleOf": 0.01},
    {"multipleOf": 3},
    {"minLength": 1, "maxLength": 1},
    {"pattern": "^a"},
    {"pattern": "b$"},
    {"pattern": r"^\w$"},
    {"pattern": r"\d"},
    {"pattern": r"^\p{L}+$"},
    {"pattern": r"^\P{Lu}+$"},
    {"pattern": r"^[\p{L}\-]+$"},
    {"pattern": r"^(?<first>a)(?!c)"},
    {"pattern": r"^(?=a)a\/?"},
    {"pattern": r"^[\s\S]$"},
    {"pattern": r"^\u{1F600}$"},
    {"pattern": r"^.$"},
    {"prefixItems": [{"type": "integer"}], "items": {"type": "boolean"}},
    {"items": False},
    {"items": [{"type": "integer"}], "additionalItems": False},
    {"contains": {"type": "integer"}, "minContains": 2},
    {"contains": {"const": 1}, "maxContains": 1},
    {"contains": {"const": 9}, "minContains": 0},
    {"uniqueItems": True},
    {"minItems": 1, "maxItems": 2},
    {"properties": {"a": {"type": "integer"}}},
    {"patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": False},
    {"additionalProperties": {"type": "integer"}},
    {"propertyNames": {"maxLength": 1}},
    {"propertyNames": False},
    {"required": ["a", "b"]},
    {"minProperties": 1, "maxProperties": 1},
    {"dependentRequired": {"a": ["b"]}},
    {"dependentSchemas": {"a": {"required": ["b"]}}},
    {"dependencies": {"a": ["b"]}},
    {"dependencies": {"b": {"minProperties": 2}}},
    {"allOf": [{"type": "integer"}, {"minimum": 1}]},
    {"anyOf": [{"type": "string"}, {"minimum": 1}]},
    {"oneOf": [{"type": "integer"}, {"minimum": 1}]},
    {"not": {"type": "string"}},
    {"if": {"type": "integer"}, "then": {"minimum": 1}, "else": {"type": "string"}},
    {"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False},
    {"anyOf": [{"properties": {"a": {"type": "string"}}}, {"required": ["b"]}], "unevaluatedProperties": False},
    {"prefixItems": [True], "contains": {"const": 1}, "unevaluatedItems": False},
    {"properties": {"a": {"$ref": "#"}}, "additionalProperties": False},
    {"$ref": "#/$defs/x~1y%25", "$defs": {"x/y%": {"type": "integer"}}},
    {"$ref": "#spot", "$defs": {"a": {"$anchor": "spot", "type": "string"}}},
    {"$ref": "#/$defs/a", "minimum": 1, "$defs": {"a": {"type": "integer"}}},
    {"$id": "https://example.com/s", "$ref": "other", "$defs": {"o": {"$id": "other", "type": "null"}}},
    {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True},
    {"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer", "const": 5},
    {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}], "additionalItems": False},
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"a": {"type": "integer"}},
        "$ref": "#/definitions/a",
        "maximum": 0,
    },
    {"format": "date-time"},
    {"type": "string", "contentEncoding": "base64"},
)


def _accepts(schema: Any, value: Any) -> bool:
    try:
        Schema(json.dumps(schema)).check(value)
    except DecodeError:
        return False
    return True


@pytest.mark.parametrize("schema", _KEYWORDS, ids=json.dumps)
def test_each_keyword_means_what_the_validator_says(schema: Any) -> None:
    reference = compiled_schema(json.dumps(schema).encode())
    wrong = [value for value in _VALUES if _accepts(schema, value) is not reference.is_valid(value)]
    assert wrong == []


@given(st.integers(0, 2**32))
def test_any_schema_means_what_the_validator_says(seed: int) -> None:
    chance = Random(seed)
    schema = schema_of(chance)
    if is_circular(schema):
        return
    try:
        reference = compiled_schema(json.dumps(schema).encode())
        fitting = arguments(schema, 3)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError):
        return
    checked = Schema(json.dumps(schema))
    for value in (*fitting, *chance.sample(_VALUES, 8)):
        try:
            checked.check(value)
            is_right = True
        except DecodeError:
            is_right = False
        assert is_right is reference.is_valid(value), (schema, value)


@pytest.mark.parametrize(
    ("pattern", "text", "is_match"),
    [
        ("a$", "a\n", False),
        (r"^\d$", "٣", False),
        (r"^\w$", "é", False),
        (r"^\s$", "\u2003", True),
        (r"^[^\S]$", "\ufeff", True),
        (r"(?<a-b>", "x", True),
        (r"(?<$a>x)\k<$a>", "xx", True),
        (r"(x)\1", "xx", True),
        (r"\cJ", "\n", True),
        (r"\0", "\x00", True),
        (r"[\b]", "\x08", True),
        (r"\ud83d\ude00", "\U0001f600", True),
        (r"\a\e\q", "aeq", True),
        (r"[[a]", "[", True),
        (r"[a&&b]", "&", True),
        (r"[]", "a", False),
        (r"a{", "a{", True),
        (r"x{2}", "xx", True),
        (r"[\d-x]", "-", True),
        (r"[+--]", ",", True),
        (r"\p{Script=Greek}", "not checked", True),
        (r"(?<=a+)b", "not checked", True),
        (r"^\p{Lu}$", "a", False),
        (r"^\B$", "", True),
        (r"^\p{General_Category=Decimal_Number}$", "٣", True),
    ],
)
def test_patterns_are_those_of_ecmascript(pattern: str, text: str, is_match: bool) -> None:
    assert matches(pattern, text) is is_match


@pytest.mark.parametrize(
    ("pattern", "text", "is_match"),
    [
        ("^(a+)+$", "a" * 5_000 + "!", False),
        ("^(a+)+$", "a" * 5_000, True),
        ("^(a|a)*$", "a" * 5_000 + "!", False),
        ("^(a|ab)*?c(?:d{2,}){2}$", "aab" * 500 + "cddddd", True),
        ("a?" * 40 + "a" * 40, "a" * 39, False),
        (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 5_000, False),
        (r"^\s*(.*)\s*(.*)\s*x$", " " * 5_000, False),
        ("a+b", "a" * 50_000, False),
        (r"^(\b\w+\b\s?)*$", "word " * 500 + "!", False),
        (r"^(?<word>[^\d\s]+\B.)+$", "wörter" * 200, True),
        ("^(a{0,200}){0,200}$", "not checked", True),
    ],
)
def test_no_pattern_takes_longer_than_its_text(pattern: str, text: str, is_match: bool) -> None:
    assert matches(pattern, text) is is_match


_ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\w", "^", "$", r"\b", r"\B", "(?:)", "[]"])
_PATTERNS = st.recursive(
    _ATOMS,
    lambda inner: (
        st.lists(inner, max_size=3).map("".join)
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({'|'.join(parts)})")
        | st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "{2}", "{1,3}", "{0,}", "{2,}?"])).map(
            lambda both: f"(?:{both[0]}){both[1]}"
        )
    ),
    max_leaves=7,
)


@given(_PATTERNS, st.lists(st.text("ab _\n", max_size=6), min_size=1, max_size=4))
def test_both_ways_to_match_a_pattern_agree(pattern: str, texts: list[str]) -> None:
    pieces = Translation(pattern).pieces()
    expression, machine = re.compile("".join(pieces)), Machine(Reader(pieces).whole())
    for text in texts:
        assert machine.finds(text) is (expression.search(text) is not None), (pattern, text)


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)a", "(?<!b)a", "(?i:a)", "(?<n>a)\\k<n>", "a*+"])
def test_patterns_that_need_more_stay_with_python(pattern: str) -> None:
    with pytest.raises(BeyondError):
        Reader(Translation(pattern).pieces()).whole()
    assert matches(pattern, "aaa")


@pytest.mark.parametrize(
    ("schema", "value", "place", "expected"),
    [
        ({"items": {"required": ["name"]}}, [{}], "/0", 'the member "name" is missing'),
        ({"properties": {"a/b~": {"type": "string"}}}, {"a/b~": 1}, "/a~1b~0", "must be string"),
        ({"additionalProperties": False}, {"x": 1}, "/x", "this member is not allowed"),
        ({"enum": ["a", 1]}, 2, "", 'must be one of "a", 1'),
        ({"anyOf": [{"type": "null"}, {"properties": {"a": {"minimum": 5}}}]}, {"a": 1}, "/a", "must be at least 5"),
        ({"maxLength": 2}, "abc", "", "must have at most 2 characters"),
    ],
)
def test_an_error_names_the_place_and_what_was_expected(schema: Any, value: Any, place: str, expected: str) -> None:
    with pytest.raises(DecodeError) as caught:
        Schema(json.dumps(schema)).check(value)
    assert (caught.value.place, caught.value.expected) == (place, expected)


_CAT = {"properties": {"kind": {"const": "cat"}, "lives": {"type": "integer", "maximum": 9}}, "required": ["kind"]}
_DOG = {"properties": {"kind": {"enum": ["dog", "wolf"]}, "name": {"type": "string"}}, "required": ["kind", "name"]}
_PETS = {"oneOf": [{"$ref": "#/$defs/cat"}, {"allOf": [{"$ref": "#/$defs/dog"}]}], "$defs": {"cat": _CAT, "dog": _DOG}}
_MAYBE = {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/x"}], "$defs": {"x": {"type": "object", "required": ["a"]}}}
_LONG = {"type": "object", "properties": {"quite_a_long_name": {"type": "string"}}}
_DEEP = {"type": "object", "properties": {"a": {"properties": {"b": {"minimum": 5}}}}}


@pytest.mark.parametrize(
    ("schema", "value", "place", "expected"),
    [
        (_MAYBE, {}, "", 'the member "a" is missing'),
        (_MAYBE, 1, "", "fits none of the 2 alternatives"),
        (
            {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
            [1, "a"],
            "/1",
            "must be integer",
        ),
        ({"anyOf": [{"enum": ["a", "b"]}, {"type": "object", "required": ["x"]}]}, {}, "", 'the member "x" is missing'),
        (_PETS, {"kind": "cat", "lives": 10}, "/lives", "must be at most 9"),
        (_PETS, {"kind": "wolf"}, "", 'the member "name" is missing'),
        (_PETS, {"kind": "cow"}, "/kind", 'must be one of "cat", "dog", "wolf"'),
        (_PETS, {}, "", 'the member "kind" is missing'),
        (
            {"anyOf": [_LONG, _DEEP]},
            {"quite_a_long_name": 1, "a": {"b": 1}},
            "",
            "fits none of the 2 alternatives; the nearest says /a/b: must be at least 5",
        ),
        ({"anyOf": [{"minimum": 5}, {"multipleOf": 2}]}, 3, "", "fits none of the 2 alternatives"),
        ({"oneOf": [False, {"minimum": 5}]}, 3, "", "must be at least 5"),
        (
            {"enum": [*range(13)]},
            99,
            "",
            "must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 3 more",
        ),
    ],
)
def test_an_error_among_alternatives_is_that_of_the_one_that_was_meant(
    schema: Any, value: Any, place: str, expected: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        Schema(json.dumps(schema)).check(value)
    assert (caught.value.place, caught.value.expected) == (place, expected)


@pytest.mark.parametrize(
    ("schema", "value", "is_right"),
    [
        ({"$ref": "https://example.com/other.json"}, 5, True),
        ({"$ref": "https://example.com/other.json#/$defs/a", "type": "string"}, 5, False),
        ({"$ref": "other.json#spot"}, 5, True),
        ({"$ref": "urn:example:other"}, 5, True),
        ({"properties": {"a": {"$ref": "https://example.com/o"}, "b": {"type": "string"}}}, {"a": 1, "b": 2}, False),
        ({"oneOf": [{"$ref": "https://example.com/o"}, {"type": "string"}]}, 5, True),
        (
            {
                "$ref": "https://example.com/o#spot",
                "$defs": {"o": {"$id": "https://example.com/o", "$anchor": "spot", "type": "null"}},
            },
            5,
            False,
        ),
        (
            {
                "$ref": "https://example.com/o#/$defs/a",
                "$defs": {"o": {"$id": "https://example.com/o", "$defs": {"a": False}}},
            },
            5,
            False,
        ),
    ],
)
def test_a_reference_that_leads_out_of_the_schema_takes_anything(schema: Any, value: Any, is_right: bool) -> None:
    assert _accepts(schema, value) is is_right


@pytest.mark.parametrize(
    "data",
    [b"", b"NaN", b"[Infinity]", b"-Infinity", b"1e999", b"\xff", b"{", b'"\n"', b"\xef\xbb\xbf1", b"[" * 99_999],
)
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        parsed(data)


def test_json_is_read_and_written_exactly() -> None:
    value = {"big": 10**40, "small": -0.25, "text": "é \ud800 \x00", "twice": 2}
    assert parsed(written(value)) == value
    assert parsed('{"a": 1, "a": 2}') == {"a": 2}
    with pytest.raises(ValueError, match="not JSON compliant"):
        written(float("nan"))


def test_values_as_deep_as_calls_may_be_are_checked() -> None:
    schema = Schema('{"properties": {"a": {"$ref": "#"}}, "additionalProperties": false}')
    value: Any = {}
    for _ in range(60):
        value = {"a": value}
    schema.check(value)
    for _ in range(5_000):
        value = {"a": value}
    with pytest.raises(DecodeError, match="too deeply"):
        schema.check(value)
