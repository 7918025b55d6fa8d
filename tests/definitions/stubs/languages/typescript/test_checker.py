"""The schema checker of the support files says what the validator of calls says."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from ferrule.schema.validation.validators import compiled_schema
from tests.definitions.stubs.languages.sampling import schema_of, value_of
from tests.definitions.stubs.languages.typescript.workshop import Workshop

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


_LARGE = "9007199254740993"


def test_integers_that_no_number_can_hold_are_refused_where_integers_are_asked_for(workshop: Workshop) -> None:
    held = ["9007199254740992", "1e30", "1" + "0" * 30, "-1.5e300"]
    others = [
        _LARGE,
        f"{_LARGE}.0",
        f"{_LARGE}e0",
        "900719925474099.3e1",
        "12345678901234567890",
        "1e400",
        "-1e9999999",
    ]
    [fine, refused] = workshop.checks([('{"type": "integer"}', held), ('{"type": "integer"}', others)])
    assert fine == [None] * len(held)
    assert all(each is not None and each.startswith(": the integer") for each in refused)
    assert refused[1] == f": the integer {_LARGE} is too large to hold exactly"
    cases = [
        ('{"properties": {"a": {"items": {"type": ["null", "integer"]}}}}', [f'{{"a": [1, {_LARGE}]}}']),
        (f'{{"enum": [{_LARGE}, 1]}}', [_LARGE, "9007199254740992", "9007199254740994"]),
        (f'{{"const": {_LARGE}}}', [_LARGE, "1"]),
    ]
    [[inside], [chosen, *beside], [only, one]] = workshop.checks(cases)
    assert inside == f"/a/1: the integer {_LARGE} is too large to hold exactly"
    assert chosen == only == f": the integer {_LARGE} is too large to hold exactly"
    assert beside == [f": must be one of {_LARGE}, 1"] * 2
    assert one == f": must be {_LARGE}"


def test_large_integers_are_compared_as_they_are_written(workshop: Workshop) -> None:
    """Also with bounds, steps and one another, before they become numbers."""
    cases = [
        (f'{{"maximum": {_LARGE}}}', [_LARGE, "9007199254740994", "9007199254740994.0", "1e30"]),
        (f'{{"minimum": 1{"0" * 30}}}', ["1e30", "1" + "0" * 30, "9" * 30]),
        ('{"multipleOf": 2}', [_LARGE, "9007199254740994"]),
        ('{"uniqueItems": true}', [f"[{_LARGE}, 9007199254740992]", f"[{_LARGE}, {_LARGE}.0]"]),
        ('{"enum": [1e30]}', ["1" + "0" * 30, "1e30", "1" + "0" * 29 + "1"]),
    ]
    said = [[each is None for each in verdicts] for verdicts in workshop.checks(cases)]
    assert said == [[True, False, False, False], [True, True, False], [False, True], [True, False], [True, True, False]]


def test_large_numbers_anywhere_else_are_the_nearest_that_can_be_held(workshop: Workshop) -> None:
    answers = workshop.trips([("loose", each) for each in ('{"any": [9007199254740993, "9007199254740993"]}',)])
    assert answers[0].value == '{"any":[9007199254740992,"9007199254740993"]}'
    mimic = workshop.trips([("loose", '{"any": [9007199254740993, "bigint\\u003a5", "bigint:5"]}')])
    assert mimic[0].value == '{"any":[9007199254740992,"bigint:5","bigint:5"]}'
    beyond = workshop.trips([("loose", '{"any": {"a/b": [1e400]}}')])
    assert beyond[0].error == "JsonError: the number at /any/a~1b/0 is too large to hold"


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


_TAGGED = """{"oneOf": [
  {"properties": {"kind": {"enum": ["a", "b"]}, "v": {"type": "string"}}, "required": ["kind"]},
  {"$ref": "#/$defs/C"}
], "$defs": {"C": {"properties": {"kind": {"$ref": "#/$defs/K"}, "v": {"type": "string"}}, "required": ["kind"]},
  "K": {"enum": ["c", "a-b"]}}}"""
_UNTAGGED = """{"anyOf": [
  {"type": "object", "properties": {"a": {"properties": {"b": {"type": "string"}}}}, "required": ["a"]},
  {"type": "object", "required": ["c"]}, {"type": "array", "items": {"type": "string"}}, {"type": "null"}
]}"""
UNIONS: tuple[tuple[str, str, str], ...] = (
    (_TAGGED, '{"kind": "c", "v": 1}', "/v: must be string"),
    (_TAGGED, '{"kind": "b", "v": 1}', "/v: must be string"),
    (_TAGGED, '{"kind": "d", "v": 1}', '/kind: must be one of "a", "b", "c", "a-b"'),
    (_TAGGED, "{}", ': the member "kind" is missing'),
    ('{"oneOf": [{"type": "null"}, {"type": "object", "required": ["x"]}]}', "{}", ': the member "x" is missing'),
    ('{"anyOf": [{"$ref": "#/$defs/T"}, {"type": "integer", "minimum": 3}], "$defs": {"T": {"type": "string"}}}', "1",
     ": must be at least 3"),
    (_UNTAGGED, "[1]", "/0: must be string"),
    (_UNTAGGED, '{"a": {"b": 1}}', ": must fit one of 4 alternatives; the nearest says /a/b: must be string"),
    (_UNTAGGED, "{}", ": must fit one of 4 alternatives"),
    (_UNTAGGED, "1", ": must fit one of 4 alternatives"),
    ('{"oneOf": [{"const": 1}, {"const": 2}]}', "3", ": must fit one of 2 alternatives"),
    ('{"enum": [1,2,3,4,5,6,7,8,9,10,11,12]}', "0", ": must be one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more"),
    ('{"minItems": 1}', "[]", ": must have at least 1 item"),
    ('{"minProperties": 2}', "{}", ": must have at least 2 members"),
)  # fmt: skip


def test_a_value_that_fits_no_alternative_is_told_by_the_one_that_was_meant(workshop: Workshop) -> None:
    said = workshop.checks([(schema, [value]) for schema, value, _ in UNIONS])
    for (schema, value, expected), [issue] in zip(UNIONS, said, strict=True):
        assert issue == expected, (schema, value)


def test_a_reference_out_of_the_schema_takes_anything(workshop: Workshop) -> None:
    """Nothing is fetched. What is embedded under an id is not out of the schema."""
    schema = {
        "$id": "https://shop.test/root.json",
        "properties": {
            "far": {"$ref": "https://elsewhere.test/order.json#/$defs/x"},
            "beside": {"$ref": "other.json"},
            "near": {"$ref": "part.json#spot"},
        },
        "$defs": {"p": {"$id": "part.json", "$defs": {"s": {"$anchor": "spot", "type": "string"}}}},
    }
    values = ['{"far": 1, "beside": [2]}', '{"near": "a"}', '{"near": 1}']
    assert workshop.checks([(json.dumps(schema), values)]) == [[None, None, "/near: must be string"]]


def test_schemas_that_cannot_be_used_say_so(workshop: Workshop) -> None:
    cases = [('{"$ref": "#/nowhere"}', ["1"]), ('{"pattern": "["}', ['"a"'])]
    [[missing], [unclear]] = workshop.checks(cases)
    assert missing == "! BrokenSchemaError: the schema has no #/nowhere"
    assert unclear is not None and unclear.startswith("! PatternError")
