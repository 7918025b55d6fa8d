"""The schema checker of the support files says what the validator of calls says."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from ferrule.validation.compiled import compiled_schema
from tests.languages.sampling import schema_of, value_of
from tests.languages.typescript.workshop import Workshop

_OLD = "http://json-schema.org/draft-07/schema#"
_FIRST = "http://json-schema.org/draft-04/schema#"
TABLE: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (True, (None, 1)),
    (False, (None, 1)),
    ({"type": "integer"}, (1, 1.0, 1.5, 1e300, "1", True)),
    ({"type": ["null", "number"]}, (None, 1.5, False)),
    ({"enum": [1, [1.0], {"a": 1}]}, (1.0, [1], {"a": 1.0}, True, [True])),
    ({"const": False}, (False, 0, None)),
    ({"multipleOf": 0.01}, (0.07, 19.99, 1e300, 1.005, 0.075)),
    ({"multipleOf": 1e-8}, (12391239123, 1.5e-8)),
    ({"maximum": 18446744073709551615}, (1.8446744073709552e19, 1e19)),
    ({"exclusiveMinimum": 1, "exclusiveMaximum": 3}, (1, 2, 3)),
    ({"$schema": _FIRST, "minimum": 1, "exclusiveMinimum": True}, (1, 2)),
    ({"minLength": 2, "maxLength": 2}, ("\U0001f600\U0001f600", "\U0001f600", "ab", "a")),
    ({"pattern": "^a$"}, ("a", "a\n", "ba")),
    ({"pattern": r"^\p{L}+$"}, ("é", "1")),
    ({"pattern": r"\-\_\@\#"}, ("-_@#", "-")),
    ({"pattern": r"\Aab\z"}, ("ab", "xab")),
    ({"pattern": "(?i)ab"}, ("AB", "x")),
    ({"prefixItems": [{"type": "string"}], "items": False}, (["a"], [1], ["a", 1], [])),
    ({"items": [{"type": "string"}], "additionalItems": {"type": "number"}}, (["a", 1], ["a", "b"], [1])),
    ({"contains": {"type": "string"}, "minContains": 2, "maxContains": 3}, (["a"], ["a", "b"], ["a"] * 4)),
    ({"contains": {"type": "string"}, "minContains": 0}, ([], [1])),
    ({"uniqueItems": True}, ([1, 1.0], [1, True], [{"a": 1}, {"a": 1.0}], [[1], [True]])),
    (
        {"properties": {"__proto__": {"type": "string"}}, "required": ["__proto__"]},
        ({"__proto__": "x"}, {"__proto__": 1}, {}),
    ),
    ({"required": ["constructor"]}, ({}, {"constructor": 1})),
    ({"additionalProperties": False, "properties": {"toString": {}}}, ({"toString": 1}, {"valueOf": 1})),
    (
        {"patternProperties": {"^x": {"type": "number"}}, "additionalProperties": False},
        ({"x1": 1}, {"x1": "a"}, {"y": 1}),
    ),
    ({"propertyNames": {"maxLength": 2}}, ({"ab": 1}, {"abc": 1})),
    ({"dependentRequired": {"a": ["b"]}}, ({"a": 1}, {"a": 1, "b": 1}, {})),
    ({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}, ({"a": 1}, {"c": 1}, {"c": 1, "d": 1})),
    ({"dependentSchemas": {"a": {"minProperties": 2}}}, ({"a": 1}, {"a": 1, "b": 1})),
    (
        {"$schema": _OLD, "$ref": "#/definitions/a", "maxLength": 1, "definitions": {"a": {"type": "string"}}},
        ("abc", 1),
    ),
    ({"$ref": "#/$defs/a%25b~1c", "$defs": {"a%b/c": {"type": "string"}}}, ("a", 1)),
    ({"$ref": "#spot", "$defs": {"a": {"$anchor": "spot", "type": "string"}}}, ("a", 1)),
    ({"$ref": "other", "$defs": {"a": {"$id": "other", "type": "string"}}}, ("a", 1)),
    ({"allOf": [{"$ref": "#"}], "type": "string"}, ("a", 1)),
    ({"if": {"type": "string"}, "then": {"minLength": 1}, "else": {"type": "number"}}, ("", "a", 1, None)),
    ({"not": {"type": "string"}}, ("a", 1)),
    ({"oneOf": [{"type": "number"}, {"minimum": 2}]}, (1, 2, "a")),
    ({"unevaluatedProperties": False, "allOf": [{"properties": {"a": {}}}]}, ({"a": 1}, {"b": 1})),
    ({"unevaluatedItems": False, "prefixItems": [{}], "contains": {"const": 7}}, ([1], [1, 7], [1, 2])),
    ({"default": {"items": [1]}, "prefixItems": [{"type": "string"}]}, ([1], ["a"])),
    ({"format": "date-time"}, ("no date",)),
)


def test_every_keyword_means_what_it_means_for_calls(workshop: Workshop) -> None:
    _agree(workshop, TABLE)


def test_random_schemas_are_checked_as_calls_are(workshop: Workshop) -> None:
    cases = []
    for number in range(1500):
        chance = Random(f"checker.{number}")
        cases.append((schema_of(chance), tuple(value_of(chance) for _ in range(10))))
    _agree(workshop, cases)


def _agree(workshop: Workshop, cases: Any) -> None:
    texts = [(json.dumps(schema), [json.dumps(value) for value in values]) for schema, values in cases]
    for (schema, values), said in zip(cases, workshop.checks(texts), strict=True):
        judge = compiled_schema(json.dumps(schema).encode())
        for value, issue in zip(values, said, strict=True):
            assert (issue is None) == judge.is_valid(value), (schema, value, issue)


def test_an_issue_names_the_place_and_what_was_expected(workshop: Workshop) -> None:
    schema = {"properties": {"items": {"items": {"properties": {"a/b": {"type": "string"}}}}}}
    [[said]] = workshop.checks([(json.dumps(schema), ['{"items": [{}, {"a/b": 1}]}'])])
    assert said == "/items/1/a~1b: must be string"


def test_numbers_that_cannot_be_held_are_refused_and_never_rounded(workshop: Workshop) -> None:
    texts = [
        "9007199254740991",
        "9007199254740993",
        "-9007199254740992",
        "1e400",
        "[1, 12345678901234567890]",
        '"9007199254740993"',
    ]
    [said] = workshop.checks([("true", texts)])
    assert [each is None for each in said] == [True, False, False, False, False, True]
    assert said[1] == "! JsonError: the number 9007199254740993 is too large to hold"


def test_deep_values_end_with_an_issue_and_finite_recursion_is_fine(workshop: Workshop) -> None:
    schema = json.dumps({"items": {"$ref": "#"}, "type": "array"})
    fine, deep = "[" * 200 + "]" * 200, "[" * 100_000 + "]" * 100_000
    [[first, second, third]] = workshop.checks([(schema, [fine, deep, "[[[1]]]"])])
    assert first is None
    assert second is not None and "too deeply" in second
    assert third == "/0/0/0: must be array"


def test_unions_of_unions_that_fail_do_not_take_for_ever(workshop: Workshop) -> None:
    schema = {
        "anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "array", "items": {"$ref": "#"}, "maxItems": 9}]
    }
    deep = "[" * 12 + "1" + "]" * 12
    [[said]] = workshop.checks([(json.dumps(schema), [deep])])
    assert said is not None


def test_schemas_that_cannot_be_used_say_so(workshop: Workshop) -> None:
    cases = [('{"$ref": "#/nowhere"}', ["1"]), ('{"pattern": "["}', ['"a"'])]
    [[missing], [unclear]] = workshop.checks(cases)
    assert missing == "! BrokenSchemaError: the schema has no #/nowhere"
    assert unclear is not None and unclear.startswith("! PatternError")
