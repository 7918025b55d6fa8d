"""The checker of schemas in Go says of each value what the validator of calls says."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

from ferrule.schema.validation.validators import compiled_schema
from tests.definitions.stubs.languages.go.workbench import Workbench
from tests.definitions.stubs.languages.sampling import schema_of as keyword_schema
from tests.definitions.stubs.languages.sampling import value_of as keyword_value
from tests.schema.fitting.schemas import arguments, schema_of

_OLD = "http://json-schema.org/draft-04/schema#"
_SEVEN = "http://json-schema.org/draft-07/schema#"
_EMBEDDED = {
    "$id": "https://x.example/root",
    "$defs": {
        "a": {"$id": "other", "$defs": {"q": {"type": "string"}, "r": {"$ref": "#/$defs/q"}, "s": {"$anchor": "w", "const": 1}}},
        "b": {"$id": "deep/er", "$ref": "../other#w"},
        "q": {"type": "null"},
    },
}  # fmt: skip
_TREE = {
    "$id": "https://x.example/strict",
    "$dynamicAnchor": "node",
    "$ref": "tree",
    "unevaluatedProperties": False,
    "$defs": {
        "t": {
            "$id": "tree",
            "$dynamicAnchor": "node",
            "type": "object",
            "properties": {"children": {"items": {"$dynamicRef": "#node"}}},
        }
    },
}
"""A tree that allows anything more, and a stricter one made of it."""
_TABLE: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (True, (1, None)),
    (False, (1, None)),
    ({"type": "integer"}, (1, 1.0, 1.5, "1", True, None, 10**30)),
    ({"type": ["string", "null"]}, ("", None, 1)),
    ({"enum": [1, "a", None, {"b": [1.0]}]}, (1.0, True, "a", None, {"b": [1]}, {"b": [2]}, 0, False)),
    ({"const": False}, (False, 0, None)),
    ({"const": 0}, (False, 0, 0.0, -0.0)),
    ({"minimum": 1.5, "exclusiveMaximum": 3}, (1.5, 1.4999, 3, 2.9999, "x")),
    ({"multipleOf": 0.01}, (0.07, 19.99, 0.005, 4.35, 1e20, 0)),
    ({"multipleOf": 3}, (9, 10, 9.0, -3)),
    ({"minLength": 2, "maxLength": 3}, ("é", "éé", "\U0001f600\U0001f600\U0001f600", "abcd", "e\u0301x")),
    ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, ([], ["a"], ["a", 1], ["a", "b"], [1])),
    ({"items": [{"type": "string"}], "additionalItems": False}, ([], ["a"], ["a", 1], [1])),
    ({"items": [{"$ref": "#/definitions/a", "type": "null"}], "definitions": {"a": {"type": "string"}}}, (["a"], [1])),
    ({"contains": {"const": 1}, "minContains": 2, "maxContains": 3}, ([1], [1, 1.0], [1, 1, 1, 1], [])),
    ({"contains": {"const": 1}, "minContains": 0}, ([], [2])),
    ({"uniqueItems": True}, ([1, 1.0], [1, True], [0, False], [{"a": 1, "b": 2}, {"b": 2, "a": 1}], [[1], [1]])),
    ({"minItems": 1, "maxItems": 2}, ([], [1], [1, 2, 3])),
    ({"required": ["a"], "minProperties": 2, "maxProperties": 2}, ({}, {"a": 1}, {"a": 1, "b": 2}, {"c": 1, "b": 2})),
    ({"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "null"}}, ({"A": None}, {"a": 1}, {"b": 1})),
    ({"patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False}, ({"xa": 1}, {"xa": "1"}, {"y": 1})),
    ({"propertyNames": {"pattern": "^[a-z]$"}}, ({"a": 1}, {"ab": 1}, {"A": 1})),
    ({"dependentRequired": {"a": ["b"]}}, ({"a": 1}, {"a": 1, "b": 1}, {"b": 1})),
    ({"dependentSchemas": {"a": {"required": ["c"]}}}, ({"a": 1}, {"a": 1, "c": 1})),
    ({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}, ({"a": 1}, {"a": 1, "b": 1}, {"c": 1}, {"c": 1, "d": 1})),
    ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, (0, 1, 3)),
    ({"anyOf": [{"type": "string"}, {"minimum": 2}]}, ("a", 1, 2, [])),
    ({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}, (2, 3, 6, 7)),
    ({"not": {"type": "string"}}, ("a", 1)),
    ({"if": {"minimum": 5}, "then": {"multipleOf": 5}, "else": {"multipleOf": 2}}, (10, 6, 4, 3)),
    ({"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False}, ({"a": 1}, {"b": 1})),
    (
        {"anyOf": [{"required": ["a"], "properties": {"a": True}}, {"properties": {"b": True}}], "unevaluatedProperties": False},
        ({"a": 1}, {"b": 1}, {"a": 1, "b": 2}, {"c": 1}),
    ),
    ({"if": {"properties": {"a": {"const": 1}}}, "unevaluatedProperties": False}, ({"a": 1}, {"a": 2}, {"b": 1})),
    ({"prefixItems": [True], "unevaluatedItems": False}, ([1], [1, 2])),
    ({"contains": {"type": "string"}, "unevaluatedItems": {"type": "integer"}}, (["a", 1], ["a", None])),
    ({"unevaluatedProperties": {"type": "string"}}, ({"a": "b"}, {"a": 1})),
    ({"$ref": "#/$defs/a~1b%25c", "$defs": {"a/b%c": {"type": "string"}}}, ("a", 1)),
    ({"$ref": "#word", "$defs": {"x": {"$anchor": "word", "type": "null"}}}, (None, 1)),
    ({"properties": {"a": {"$ref": "#"}}, "additionalProperties": False}, ({"a": {"a": {}}}, {"a": {"b": 1}})),
    ({"$schema": _OLD, "minimum": 1, "exclusiveMinimum": True}, (1, 1.5, 2)),
    ({"$schema": _OLD, "maximum": 1, "exclusiveMaximum": True}, (1, 0)),
    ({"$schema": _SEVEN, "$ref": "#/definitions/a", "type": "null", "definitions": {"a": {"type": "string"}}}, ("a", None)),
    ({"format": "email"}, ("no mail",)),
    (
        _EMBEDDED | {"properties": {"x": {"$ref": "other#/$defs/r"}, "y": {"$ref": "#/$defs/b"}}},
        ({"x": "a"}, {"x": None}, {"y": 1}, {"y": 2}),
    ),
    ({"$schema": _SEVEN, "items": {"$ref": "#w"}, "definitions": {"x": {"$id": "#w", "type": "null"}}}, ([None], [1])),
    ({"$schema": _OLD, "id": "http://x.example/r", "items": {"$ref": "o#/definitions/q"},
      "definitions": {"x": {"id": "o", "definitions": {"q": {"type": "null"}}}}}, ([None], [1])),
    ({"id": "o", "items": {"$ref": "#/$defs/q"}, "$defs": {"q": {"id": 5, "type": "null"}}}, ([None], [1])),
    (_TREE, ({"children": [{"children": []}]}, {"children": [{"x": 1}]}, {"x": 1})),
)  # fmt: skip
_PATTERNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("^a+$", ("a", "aa", "ab", "", "a\n")),
    ("b+", ("abc", "ac")),
    (r"^\d{2,3}$", ("12", "1", "1234", "١٢")),
    (r"^\w+$", ("az_09", "é", "a-b")),
    (r"^\s$", (" ", "\u00a0", "\ufeff", "\u2028", "\x85", "\u180e", "a")),
    (r"^\S\W\D$", ("a- ", "1é.", "abc")),
    (r"^(?=.*\d)(?=.*[a-z]).{4,}$", ("abc1", "abcd", "1234", "a1")),
    (r"^(?!x)\w+$", ("ax", "xa")),
    (r"(?<=a)b", ("ab", "cb")),
    (r"(?<!a)b", ("ab", "cb", "b")),
    (r"^(a|b)\1$", ("aa", "bb", "ab")),
    (r"^(?:ab)+?c$", ("ababc", "abab")),
    (r"^[a-c\d_-]+$", ("a1-_", "d")),
    (r"^[^a-c]$", ("d", "a", "\n")),
    (r"^\u00e9\x41$", ("éA", "eA")),
    (r"^\u{1F600}$", ("\U0001f600", "x")),
    (r"^\p{L}+$", ("aé日", "a1")),
    (r"^\p{Script=Greek}\P{L}$", ("α1", "a1")),
    (r"^.$", ("\U0001f600", "ab", "\n")),
    (r"\.\/\-\]", ("./-]", "a")),
    (r"^a{2}$|^$", ("aa", "", "a")),
    (r"\bcat\b", ("a cat.", "cats")),
    (r"(?i)^abc$", ("ABC", "abd")),
    (r"^(a+)+$", ("a" * 40, "a" * 40 + "b")),
    (r"^(?=(a+)+$)", ("a" * 30 + "b",)),
    (r"^.{0,2000}$", ("a" * 2000, "a" * 2001)),
    (r"^}{0}]$", ("]",)),
    ("^\\t\\n\\r\\v\\f\\cA$", ("\t\n\r\v\f\x01",)),
)


def _differences(workbench: Workbench, pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any, str]]:
    judged = [compiled_schema(msgspec.json.encode(schema)).is_valid(value) for schema, value in pairs]
    answers = workbench.checks(pairs)
    return [
        (*pair, answer.error)
        for pair, wanted, answer in zip(pairs, judged, answers, strict=True)
        if wanted != answer.is_fine
    ]


def test_each_keyword_means_what_the_validator_says(workbench: Workbench) -> None:
    assert _differences(workbench, [(schema, value) for schema, values in _TABLE for value in values]) == []


def test_patterns_are_those_of_ecma(workbench: Workbench) -> None:
    pairs = [({"pattern": pattern}, text) for pattern, texts in _PATTERNS for text in texts]
    assert _differences(workbench, pairs) == []


def test_random_schemas_take_and_refuse_the_same_values(workbench: Workbench) -> None:
    chance = Random(7)
    schemas = [schema_of(chance) for _ in range(300)]
    values = [value for schema in schemas[:60] for value in arguments(schema, 3)]
    pairs = [(schema, value) for schema in schemas for value in (*arguments(schema, 3), *chance.sample(values, 6))]
    assert _differences(workbench, pairs) == []


def test_random_uses_of_every_keyword_are_judged_the_same(workbench: Workbench) -> None:
    pairs = []
    for number in range(1500):
        chance = Random(f"checker.{number}")
        schema = keyword_schema(chance)
        pairs += [(schema, keyword_value(chance)) for _ in range(8)]
    assert _differences(workbench, pairs) == []


def test_an_error_names_the_place(workbench: Workbench) -> None:
    schema = {"properties": {"items": {"items": {"properties": {"a/b": {"type": "string"}}}}}}
    (answer,) = workbench.checks([(schema, {"items": [{"a/b": 1}]})])
    assert answer.error == "/items/0/a~1b: must be string; it is number"


_CAT = {"properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}, "required": ["kind"]}
_DOG = {
    "properties": {"kind": {"enum": ["dog", "hound"]}, "tricks": {"items": {"type": "string"}}},
    "required": ["kind"],
}
_PETS: dict[str, Any] = {
    "oneOf": [{"$ref": "#/$defs/cat"}, {"type": "object", **_DOG}, {"type": "null"}],
    "$defs": {"cat": {"type": "object", **_CAT}},
}
_MANY = {"enum": [f"v{number}" for number in range(13)]}


@pytest.mark.parametrize(
    ("schema", "value", "error"),
    [
        (_PETS, {"kind": "cat", "lives": "x"}, "/lives: must be integer; it is string"),
        (_PETS, {"kind": "hound", "tricks": ["a", 1]}, "/tricks/1: must be string; it is number"),
        (_PETS, {"kind": "cow"}, '/kind: must be one of "cat", "dog", "hound"'),
        (_PETS, {"lives": "x"}, "must fit one of 3 choices; it fits none"),
        (_PETS, 5, "must fit one of 3 choices; it fits none"),
        ({"properties": {"pets": {"items": _PETS}}, "$defs": _PETS["$defs"]}, {"pets": [{"kind": "cat", "lives": 0.5}]},
         "/pets/0/lives: must be integer; it is number"),
        ({"oneOf": [{"type": "null"}, {"type": "string", "maxLength": 1}]}, "ab", "must have at most 1 character"),
        ({"anyOf": [{"const": None}, {"required": ["a"]}]}, {}, "/a: is missing"),
        ({"anyOf": [{"type": "integer"}, {"type": "string", "minLength": 3}]}, "ab", "must have at least 3 characters"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, "must fit one of 2 choices; it fits none"),
        ({"anyOf": [_PETS["$defs"]["cat"], {"properties": {"lives": {"minimum": 1}}}]}, {"kind": "dog", "lives": 0},
         "must fit one of 2 choices; it fits none"),
        (_MANY, "w", 'must be one of "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", and 3 more'),
        ({"minItems": 1}, [], "must have at least 1 item; it has 0"),
        ({"minLength": 1}, "", "must have at least 1 character"),
    ],
)  # fmt: skip
def test_an_error_is_that_of_the_choice_that_was_meant(
    workbench: Workbench, schema: Any, value: Any, error: str
) -> None:
    (answer,) = workbench.checks([(schema, value)])
    assert answer.error == error


def test_choices_within_choices_take_no_longer_than_what_they_hold(workbench: Workbench) -> None:
    """A value 60 deep, wrong at its bottom: looking again for what to say would take 2**60 steps."""
    link = {"type": "object", "properties": {"kind": {"const": "l"}, "next": {"$ref": "#"}}}
    schema = {"oneOf": [link, {"type": "object", "properties": {"kind": {"const": "m"}}}]}
    value: Any = {"kind": "n"}
    for _ in range(60):
        value = {"kind": "l", "next": value}
    (answer,) = workbench.checks([(schema, value)])
    assert answer.error == f'{"/next" * 60}/kind: must be one of "l", "m"'


@pytest.mark.parametrize(
    ("reference", "fits", "fits_not"),
    [
        ("https://x.example/other#/$defs/q", "a", 1),
        ("other#/$defs/q", "a", 1),
        ("other#/$defs/r", "a", None),
        ("#/$defs/a/$defs/r", "a", None),
        ("https://x.example/other#w", 1, 2),
        ("#/$defs/b", 1, 2),
        ("https://x.example/root#/$defs/q", None, 1),
    ],
)
def test_a_schema_within_a_schema_has_places_of_its_own(
    workbench: Workbench, reference: str, fits: Any, fits_not: Any
) -> None:
    schema = {**_EMBEDDED, "properties": {"x": {"$ref": reference}}}
    answers = workbench.checks([(schema, {"x": fits}), (schema, {"x": fits_not})])
    assert [answer.is_fine for answer in answers] == [True, False]
    assert answers[1].error.startswith("/x: must be ")


@pytest.mark.parametrize("reference", ["https://y.example/z", "https://y.example/z#/a/b", "z.json#w", "urn:x:y#q"])
def test_what_is_not_in_the_schema_is_not_fetched_and_takes_anything(workbench: Workbench, reference: str) -> None:
    schema = {"properties": {"x": {"$ref": reference}}, "required": ["x"]}
    answers = workbench.checks([(schema, {"x": 1}), (schema, {"x": {}}), (schema, {})])
    assert [answer.error for answer in answers] == ["", "", "/x: is missing"]


@pytest.mark.parametrize(
    "text", ['{"a":1} x', "", "{", '"\\ud800"', '"\\udc00\\ud800"', "1e999999", "NaN", "01", "{'a':1}", "[1,]"]
)
def test_what_is_not_json_is_refused(workbench: Workbench, text: str) -> None:
    (answer,) = workbench.ask([{"schema": "true", "value": text}])
    assert not answer.is_fine


def test_a_schema_that_leads_nowhere_ends(workbench: Workbench) -> None:
    answers = workbench.checks([({"$ref": "#"}, 1), ({"$ref": "#/nowhere"}, 1), ({"pattern": "("}, "a")])
    assert [answer.is_fine for answer in answers] == [True, False, False]
