"""The checker of Rust stubs says what Ferrule's own validator says."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import msgspec
import pytest

from ferrule.schema.validation.validators import compiled_schema
from tests.definitions.stubs.languages.nasty import CASES
from tests.definitions.stubs.languages.rust.conftest import Tried
from tests.schema.fitting.schemas import arguments, schema_of

_VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        1.0,
        -1,
        2,
        3,
        3.5,
        0.3,
        19.99,
        1e300,
        2**63,
        10**12,
        "",
        "a",
        "ab",
        "abc",
        "aab",
        "été",
    ),
    *(
        "\U0001f600",
        "A1",
        "x-1",
        "12",
        "a\nb",
        "\u00a0",
        "_",
        [],
        [1],
        [1, 1.0],
        [1, 2, 3],
        ["a"],
        ["a", 1],
        [[1], [1]],
    ),
    *([{"a": 1}, {"a": 1.0}], [True, 1], [None], {}, {"a": 1}, {"a": "x"}, {"b": None}, {"a": 1, "b": 2}),
    *({"a": {"a": {}}}, {"ab": 1}, {"x": 1, "a": "b", "c": []}, {"": 0}),
)
_DRAFT_4 = "http://json-schema.org/draft-04/schema#"
_DRAFT_7 = "http://json-schema.org/draft-07/schema#"
_SCHEMAS: dict[str, Any] = {
    "boolean": True,
    "nothing": False,
    "types": {"type": ["integer", "null", "array"]},
    "integer": {"type": "integer"},
    "enum": {"enum": [1, "a", [1], {"a": 1}, None]},
    "const": {"const": 1.0},
    "const of false": {"const": False},
    "bounds": {"minimum": 1, "exclusiveMaximum": 3},
    "bounds of draft 4": {"$schema": _DRAFT_4, "minimum": 1, "exclusiveMinimum": True},
    "multiples": {"multipleOf": 0.01},
    "whole multiples": {"multipleOf": 3},
    "lengths": {"minLength": 1, "maxLength": 2},
    "items": {"items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
    "prefix": {"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
    "listed items": {"items": [{"type": "string"}], "additionalItems": {"type": "integer"}},
    "listed items said": {"$schema": _DRAFT_7, "items": [{"type": "string"}], "additionalItems": False},
    "contains": {"contains": {"type": "integer"}, "minContains": 2, "maxContains": 2},
    "contains none": {"contains": {"type": "integer"}, "minContains": 0},
    "unique": {"uniqueItems": True},
    "properties": {"properties": {"a": {"type": "integer"}}, "additionalProperties": False},
    "additional": {"properties": {"a": {}}, "additionalProperties": {"type": "integer"}},
    "patterns of names": {"patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": False},
    "names": {"propertyNames": {"pattern": "^[a-b]+$"}},
    "required": {"required": ["a", "b"]},
    "counts": {"minProperties": 1, "maxProperties": 1},
    "dependent": {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"x": {"required": ["c"]}}},
    "dependencies": {"$schema": _DRAFT_7, "dependencies": {"a": ["b"], "x": {"required": ["zz"]}}},
    "all": {"allOf": [{"minLength": 1}, {"maxLength": 2}]},
    "any": {"anyOf": [{"type": "string", "minLength": 2}, {"type": "integer"}]},
    "one": {"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]},
    "not": {"not": {"type": "string"}},
    "condition": {"if": {"type": "integer"}, "then": {"minimum": 1}, "else": {"type": "string"}},
    "unevaluated members": {
        "allOf": [{"properties": {"a": {}}}],
        "anyOf": [{"properties": {"b": {"type": "integer"}}, "required": ["b"]}, {}],
        "unevaluatedProperties": False,
    },
    "unevaluated items": {"prefixItems": [True], "contains": {"const": 1}, "unevaluatedItems": {"type": "string"}},
    "reference": {"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": {"type": "integer"}}},
    "anchor": {"$ref": "#here", "$defs": {"x": {"$anchor": "here", "type": "string"}}},
    "recursion": {"type": "object", "additionalProperties": {"$ref": "#"}},
    "itself": {"$ref": "#"},
    "siblings of old references": {
        "$schema": _DRAFT_7,
        "$ref": "#/definitions/a",
        "minimum": 9,
        "definitions": {"a": {}},
    },
    "siblings of references": {"$ref": "#/definitions/a", "minimum": 2, "definitions": {"a": {}}},
    "formats": {"format": "date-time"},
    "lists that are no schemas": {
        "default": {"items": [1]},
        "examples": [{"items": [1]}],
        "enum": [{"items": [1]}, [1], ["a", 1]],
        "prefixItems": [{"type": "integer"}],
        "items": False,
    },
    "names that are no schemas": {
        "properties": {"items": {"type": "array"}, "a": {"prefixItems": [True], "items": False}},
        "dependentRequired": {"items": ["a"], "a": ["b"]},
        "unevaluatedProperties": False,
    },
    "ids that are none": {
        "const": {"$id": "here", "type": "string"},
        "$defs": {"x": {"$id": "here", "type": "integer"}},
        "not": {"$ref": "here"},
    },
    "anchors that are none": {
        "default": {"$anchor": "here", "type": "string"},
        "properties": {"a": {"$ref": "#here"}},
        "$defs": {"x": {"$anchor": "here", "type": "integer"}},
    },
    "resources": {
        "$id": "https://example.com/shop/order.json",
        "properties": {"a": {"$ref": "/parts/item.json#/$defs/n"}, "b": {"$ref": "../parts/item.json"}},
        "$defs": {
            "x": {
                "$id": "https://example.com/parts/item.json",
                "type": ["null", "integer"],
                "$defs": {"n": {"$ref": "#n"}, "m": {"$anchor": "n", "type": "integer"}},
            },
            "y": {"$anchor": "n", "type": "string"},
        },
    },
    "resources of draft 7": {
        "$schema": _DRAFT_7,
        "$id": "http://example.com/root.json",
        "properties": {"a": {"$ref": "#n"}, "b": {"$ref": "item.json"}},
        "definitions": {"n": {"$id": "#n", "type": "integer"}, "i": {"$id": "item.json", "type": "null"}},
    },
    "resources of draft 4": {
        "$schema": _DRAFT_4,
        "id": "http://example.com/root.json",
        "properties": {"a": {"$ref": "item.json"}, "id": {"type": "string"}},
        "definitions": {"i": {"id": "item.json", "type": "integer"}},
    },
    "patterns behind references": {"$ref": "#/kept/x", "kept": {"x": {"pattern": "^a"}}},
    "words of later drafts": {"$schema": _DRAFT_7, "dependentRequired": {"a": ["zz"]}},
    "large counts": {"maxLength": 1e300, "minItems": 1e300},
}
_PATTERNS = (
    *(
        "a",
        "^a",
        "a$",
        "^a?b*$",
        "^(a|b)+$",
        "^[a-c]{2,3}$",
        "^[^a]",
        "\\d",
        "^\\w+$",
        "\\s",
        "\\S",
        "^.$",
        "\\bb?",
        "\\u0061",
    ),
    *(
        "\\x61b",
        "^\\p{L}+$",
        "^\\p{Lu}",
        "^\\P{L}",
        "^(?=a)ab",
        "^(?!a)",
        "(?<=a)b",
        "(?<!a)b",
        "^(a)\\1",
        "^(?<x>a)\\k<x>b",
    ),
    *(
        "^a{2}",
        "^a{1,}?b",
        "a{,2}",
        "^[\\w-]+$",
        "^[]a]?",
        "\\.",
        "^(a+)+$",
        "^(?:a|ab)c$",
        "[\\d-x]",
        "(?i)^A",
        "\\Aa\\z",
        "[^]]",
        "}",
        "^\\u00e9",
        "\\n",
    ),
)


def _compared(tried: Tried, cases: list[tuple[Any, list[Any]]]) -> int:
    """How many values were compared; fails with every one that the two see differently."""
    said: list[tuple[Any, list[Any], list[bool]]] = []
    for schema, values in cases:
        try:
            validator = compiled_schema(msgspec.json.encode(schema))
        except ValueError:
            continue  # no schema at all, so no tool has it
        said.append((schema, values, [validator.is_valid(value) for value in values]))
    found = tried.answers({"schema": schema, "values": values} for schema, values, _ in said)
    wrong = [
        f"{json.dumps(schema)} of {json.dumps(value)}: {answer!r}"
        for (schema, values, expected), answers in zip(said, found, strict=True)
        for value, fits, answer in zip(values, expected, answers, strict=True)
        if fits is not (answer is True)
    ]
    assert not wrong, "\n".join(wrong[:10])
    return sum(len(values) for _, values, _ in said)


def test_keywords_mean_what_they_mean_to_the_validator(tried: Tried) -> None:
    assert _compared(tried, [(schema, list(_VALUES)) for schema in _SCHEMAS.values()]) > 1500


def test_patterns_match_what_they_match_for_the_validator(tried: Tried) -> None:
    texts = [value for value in _VALUES if isinstance(value, str)] + [
        "b",
        "aa",
        "aaa",
        "aabc",
        "ac",
        "abc ab",
        "]",
        "-",
        "x",
    ]
    assert _compared(tried, [({"pattern": pattern}, texts) for pattern in _PATTERNS]) > 700


def test_random_schemas_accept_what_the_validator_accepts(tried: Tried) -> None:
    cases: list[tuple[Any, list[Any]]] = [(case.schema, [*case.accepts, *case.refuses]) for case in CASES]
    for seed in range(300):
        chance = Random(seed)
        schema = schema_of(chance)
        fitting = arguments(schema, 4)
        cases.append((schema, [*fitting, *(changed(chance, chance.choice(fitting or [{}])) for _ in range(10))]))
    assert _compared(tried, cases) > 3000


def changed(chance: Random, value: Any, depth: int = 0) -> Any:
    """A value that is a little different."""
    if depth > 3 or chance.random() < 0.25:
        return chance.choice(_VALUES)
    if isinstance(value, dict):
        made = {
            name: changed(chance, each, depth + 1) if chance.random() < 0.3 else each for name, each in value.items()
        }
        if chance.random() < 0.2:
            made[chance.choice(("a", "b", "x", "été", "$x", "", "a b"))] = chance.choice(_VALUES)
        return made
    if isinstance(value, list):
        return [changed(chance, each, depth + 1) if chance.random() < 0.3 else each for each in value]
    return chance.choice(_VALUES)


def test_a_pattern_that_looks_back_without_end_is_given_up(tried: Tried) -> None:
    schema = {"pattern": "^(a|a)*(\\1)*b$"}
    [[answer]] = tried.answers([{"schema": schema, "values": ["a" * 60]}])
    assert answer != True  # noqa: E712 - an explanation is truthy


def test_deep_values_are_checked_and_deeper_ones_refused(tried: Tried) -> None:
    schema = {"type": "object", "properties": {"n": {"allOf": [{"$ref": "#"}]}}}
    value: dict[str, Any] = {}
    for _ in range(115):
        value = {"n": value}
    [[answer]] = tried.answers([{"schema": schema, "values": [value]}])
    assert answer is True
    [refused] = tried.answers([{"tool": tried.stem("loose"), "text": '{"any":' + "[" * 300 + "]" * 300 + "}"}])
    assert "nested too deeply" in refused["error"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"a":1,}',
        "[1 2]",
        "01",
        "+1",
        "1.",
        ".5",
        "nul",
        '"\t"',
        '"\\x"',
        '"\\ud800"',
        "{} {}",
        "NaN",
        "1e999",
        "'a'",
    ],
)
def test_text_that_is_no_json_is_refused(tried: Tried, text: str) -> None:
    [answer] = tried.answers([{"tool": tried.stem("loose"), "text": text}])
    assert "error" in answer


def test_bounds_that_no_double_holds_are_infinite(tried: Tried) -> None:
    far = "1" + "0" * 400
    wide = f'{{"type": "number", "minimum": -{far}, "exclusiveMaximum": {far}, "maximum": 1e999}}'
    never = [
        f'{{"{keyword}": {far}}}' for keyword in ("minimum", "exclusiveMinimum", "multipleOf", "const", "minLength")
    ]
    largest = 1.7976931348623157e308
    answers = tried.answers(
        [
            {"document": wide, "values": [0.5, -largest, largest, 10**12]},
            *({"document": document, "values": [0.5 if "Length" not in document else "abc"]} for document in never),
        ]
    )
    assert answers[0] == [True] * 4
    assert all(answer is not True for [answer] in answers[1:])


def test_a_schema_that_cannot_be_read_says_so(tried: Tried) -> None:
    [[answer]] = tried.answers([{"document": '{"type": ', "values": [1]}])
    assert answer.startswith("the schema cannot be read: this is no JSON")


def test_references_to_other_documents_accept_anything(tried: Tried) -> None:
    away = {"$ref": "https://example.com/away.json#/$defs/x"}
    cases: list[tuple[Any, Any, bool]] = [
        (away, 1, True),
        ({"$id": "https://example.com/here.json", "$ref": "away.json"}, [], True),
        ({**away, "type": "string"}, 1, False),
        ({"properties": {"a": away}, "required": ["a"]}, {"a": None}, True),
        ({**away, "unevaluatedProperties": False}, {"a": 1}, True),
        ({"$ref": "#/$defs/gone"}, 1, False),
    ]
    answers = tried.answers({"schema": schema, "values": [value]} for schema, value, _ in cases)
    assert [answer is True for [answer] in answers] == [fits for _, _, fits in cases]


_EVENTS = [
    {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind"]},
    {"allOf": [{"$ref": "#/$defs/bc"}], "required": ["x"]},
    {"type": "object", "properties": {"kind": {"$ref": "#/$defs/d"}}, "required": ["kind"]},
]
_DEFINED = {
    "bc": {"type": "object", "properties": {"kind": {"enum": ["b", "c"]}, "x": {"type": "string"}}},
    "d": {"const": "d"},
    "item": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
}
_MANY = [f"v{number}" for number in range(13)]


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"oneOf": _EVENTS}, {"kind": "a", "x": "no"}, "/x: must be of type integer"),
        ({"oneOf": _EVENTS}, {"kind": "c"}, 'the member "x" is missing'),
        ({"anyOf": _EVENTS}, {"kind": "e"}, '/kind: must be one of "a", "b", "c", "d"'),
        ({"anyOf": _EVENTS}, {"x": 1}, "fits none of the 3 alternatives"),
        ({"anyOf": [*_EVENTS, {"type": "string", "minLength": 2}]}, "", "must have at least 2 characters"),
        ({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/item"}]}, {"n": "1"}, "/n: must be of type integer"),
        ({"oneOf": [{"const": None}, {"$ref": "#/$defs/item"}]}, {"n": "1"}, "/n: must be of type integer"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 1.5, "must be of type integer"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "a", "fits none of the 2 alternatives"),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {}, "fits none of the 2 alternatives"),
        ({"enum": _MANY}, "", "must be one of " + ", ".join(f'"{each}"' for each in _MANY[:10]) + " and 3 more"),
    ],
)
def test_a_union_tells_what_is_wrong_with_the_alternative_that_was_meant(
    tried: Tried, schema: Any, value: Any, message: str
) -> None:
    around = {"properties": {"ev": schema}, "$defs": _DEFINED}
    [[answer]] = tried.answers([{"schema": around, "values": [{"ev": value}]}])
    place = "/ev" if message.startswith("/") else "/ev: "
    assert answer == f"{place}{message}"


_NEXT = {"properties": {"n": {"$ref": "#"}}}
_NODE = {"type": "object", **_NEXT}


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": [{"type": "integer"}, {**_NODE, "required": ["n"]}, {**_NODE, "required": ["x"]}]},
        {"anyOf": [{"type": "integer"}, {"required": ["n"]}], "if": _NEXT, "then": _NEXT},
        {"type": ["object", "integer"], "anyOf": [_NEXT, {"required": ["x"]}], "unevaluatedProperties": False},
        {"type": ["object", "integer"], "allOf": [_NEXT, _NEXT], "unevaluatedProperties": False},
    ],
)
def test_deep_values_are_not_tried_again_and_again(tried: Tried, schema: Any) -> None:
    fitting: Any = 1
    wrong: Any = "a"
    for _ in range(40):
        fitting, wrong = {"n": fitting}, {"n": wrong}
    [answers] = tried.answers([{"schema": schema, "values": [fitting, wrong, {"n": {"y": 1}}]}])
    assert answers[0] is True
    assert compiled_schema(msgspec.json.encode(schema)).is_valid({"n": {"y": 1}}) is (answers[2] is True)


def test_a_refusal_names_the_place(tried: Tried) -> None:
    text = json.dumps({"shape": {"kind": "point"}, "shapes": [{"pet": "cat", "lives": "nine"}]})
    [answer] = tried.answers([{"tool": tried.stem("tagged"), "text": text}])
    assert answer["place"].startswith("/shapes/0"), answer
