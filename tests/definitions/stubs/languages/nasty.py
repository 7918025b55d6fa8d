"""A catalog of schemas that are hard to turn into types, with values they accept and values they refuse.

Every language generates one tool of each, compiles it, decodes the accepted values, writes them again to equal JSON, and refuses
the others. `test_nasty.py` holds the catalog itself to the validator that calls go through.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Case(NamedTuple):
    """One schema."""

    name: str
    """What its tool is called."""
    schema: dict[str, Any]
    accepts: tuple[Any, ...]
    refuses: tuple[Any, ...]


def _object(required: tuple[str, ...] = (), /, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


_PRESENCE = Case(
    "presence",
    _object(
        ("needed", "needed_or_null"),
        needed={"type": "string"},
        needed_or_null={"type": ["string", "null"]},
        left_out={"type": "string"},
        left_out_or_null={"type": ["integer", "null"]},
    ),
    (
        {"needed": "", "needed_or_null": None},
        {"needed": "a", "needed_or_null": "b", "left_out": "c", "left_out_or_null": 4},
        {"needed": "a", "needed_or_null": None, "left_out_or_null": None},
        {"needed": "a", "needed_or_null": "", "left_out": "", "left_out_or_null": 0},
    ),
    (
        {"needed": "a"},
        {"needed_or_null": None},
        {"needed": None, "needed_or_null": None},
        {"needed": "a", "needed_or_null": None, "left_out": None},
        {"needed": "a", "needed_or_null": None, "Needed": "b"},
        {"needed": 1, "needed_or_null": None},
        [],
        None,
    ),
)
_SCALARS = Case(
    "scalars",
    _object(
        ("flag", "count", "ratio", "text"),
        flag={"type": "boolean"},
        count={"type": "integer"},
        ratio={"type": "number"},
        text={"type": "string"},
    ),
    (
        {"flag": True, "count": 1, "ratio": 1.5, "text": "x"},
        {"flag": False, "count": 2.0, "ratio": 3, "text": 'quote " back \\ slash \u2028 line \x00 end \U0001f600'},
        {"flag": False, "count": -9007199254740991, "ratio": -0.25, "text": ""},
    ),
    (
        {"flag": "true", "count": 1, "ratio": 1.5, "text": "x"},
        {"flag": 1, "count": 1, "ratio": 1.5, "text": "x"},
        {"flag": True, "count": 1.5, "ratio": 1.5, "text": "x"},
        {"flag": True, "count": "1", "ratio": 1.5, "text": "x"},
        {"flag": True, "count": True, "ratio": 1.5, "text": "x"},
        {"flag": True, "count": 1, "ratio": "1.5", "text": "x"},
        {"flag": True, "count": 1, "ratio": 1.5, "text": 5},
        {"flag": True, "count": None, "ratio": 1.5, "text": "x"},
    ),
)
_RANGES = Case(
    "ranges",
    _object(
        (),
        byte={"type": "integer", "minimum": 0, "maximum": 255},
        positive={"type": "integer", "exclusiveMinimum": 0},
        even={"type": "integer", "multipleOf": 2},
        cents={"type": "number", "multipleOf": 0.01, "minimum": 0},
        below_one={"type": "number", "exclusiveMaximum": 1},
        unsigned={"type": "integer", "minimum": 0, "maximum": 18446744073709551615},
    ),
    (
        {},
        {"byte": 0, "positive": 1, "even": -4, "cents": 0.07, "below_one": 0.999},
        {"byte": 255, "cents": 19.99, "below_one": -5},
        {"unsigned": 12},
    ),
    (
        {"byte": -1},
        {"byte": 256},
        {"positive": 0},
        {"even": 3},
        {"cents": 0.005},
        {"cents": -1},
        {"below_one": 1},
        {"unsigned": -1},
        {"unsigned": 1.5},
    ),
)
_TEXTS = Case(
    "texts",
    _object(
        (),
        code={"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"},
        inside={"type": "string", "pattern": "b+"},
        ahead={"type": "string", "pattern": "^(?!admin)[a-z]+$"},
        short={"type": "string", "minLength": 1, "maxLength": 3},
        when={"type": "string", "format": "date-time"},
        who={"type": "string", "format": "uuid"},
        where={"type": "string", "format": "uri"},
        raw={"type": "string", "contentEncoding": "base64"},
    ),
    (
        {"code": "AB-12", "inside": "abba", "ahead": "user", "short": "\U0001f600\U0001f600\U0001f600"},
        {
            "when": "2026-01-02T03:04:05Z",
            "who": "9b2f7b9e-5d1c-4c8e-8a55-0d0a2a4c4b11",
            "where": "https://example.com/a?b=c",
        },
        {"raw": "aGVsbG8=", "when": "not checked"},
    ),
    ({"code": "ab-12"}, {"code": "AB-"}, {"inside": "acca"}, {"ahead": "admins"}, {"short": ""}, {"short": "four"}),
)
_NAMES = Case(
    "names",
    _object(
        ("class",),
        **{
            "class": {"type": "string"},
            "type": {"type": "string"},
            "func": {"type": "integer"},
            "self": {"type": "string"},
            "match": {"type": "string"},
            "None": {"type": "string"},
            "default": {"type": "string"},
            "user-id": {"type": "string"},
            "user_id": {"type": "integer"},
            "userId": {"type": "boolean"},
            "2fa": {"type": "string"},
            "größe": {"type": "string"},
            "水": {"type": "string"},
            "": {"type": "string"},
            " ": {"type": "string"},
            "$ref-like": {"type": "string"},
            "a.b": {"type": "string"},
            "a/b": {"type": "string"},
            'quo"te': {"type": "string"},
            "back\\slash": {"type": "string"},
            "back`tick": {"type": "string"},
            "new\nline": {"type": "string"},
            "*/ end": {"type": "string"},
            "${x}": {"type": "string"},
            "__proto__": {"type": "string"},
            "constructor": {"type": "string"},
            "to_json": {"type": "string"},
            "extra": {"type": "string"},
            "String": {"type": "string"},
            "_private": {"type": "string"},
            "json": {"type": "string"},
            "model_config": {"type": "string"},
        },
    ),
    (
        {"class": "x"},
        {
            "class": "x",
            "user-id": "a",
            "user_id": 1,
            "userId": True,
            "2fa": "b",
            "größe": "c",
            "水": "d",
            "": "e",
            " ": "f",
        },
        {
            "class": "x",
            "type": "a",
            "func": 2,
            "self": "b",
            "match": "c",
            "None": "d",
            "default": "e",
            "a.b": "f",
            "a/b": "g",
        },
        {
            "class": "x",
            'quo"te': "a",
            "back\\slash": "b",
            "back`tick": "c",
            "new\nline": "d",
            "*/ end": "e",
            "${x}": "f",
        },
        {
            "class": "x",
            "__proto__": "a",
            "constructor": "b",
            "to_json": "c",
            "extra": "d",
            "String": "e",
            "_private": "f",
        },
        {"class": "x", "json": "a", "model_config": "b", "$ref-like": "c"},
    ),
    (
        {},
        {"class": "x", "user-id": 1},
        {"class": "x", "user_id": "a"},
        {"class": "x", "__proto__": 1},
        {"class": "x", "unknown": 1},
        {"class": "x", "": 1},
    ),
)
_ENUMS = Case(
    "enums",
    _object(
        ("unit",),
        unit={"type": "string", "enum": ["celsius", "fahrenheit", "kelvin"]},
        odd={"enum": ["", " ", "a-b", "a_b", "a b", "1", "*/", '"', "`", "\\", "\n", "type", "größe", "<", "<="]},
        level={"type": "integer", "enum": [1, 2, -3]},
        kind={"const": "fixed"},
        version={"const": 2},
        maybe={"enum": ["yes", "no", None]},
        mixed={"enum": ["auto", 1, True, None, 2.5]},
        titled={
            "oneOf": [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green", "description": "Like grass"}],
        },
        repeated={"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
    ),
    (
        {"unit": "celsius"},
        {
            "unit": "kelvin",
            "odd": "",
            "level": -3,
            "kind": "fixed",
            "version": 2,
            "maybe": None,
            "mixed": True,
            "titled": "g",
        },
        {"unit": "kelvin", "odd": "\n", "level": 1.0, "maybe": "no", "mixed": None, "repeated": ["x", "y", "x"]},
        {"unit": "kelvin", "odd": "*/", "version": 2.0, "mixed": 2.5},
        {"unit": "fahrenheit", "odd": "a-b", "mixed": "auto"},
        {"unit": "fahrenheit", "odd": "<=", "mixed": 1},
    ),
    (
        {"unit": "Celsius"},
        {"unit": None},
        {"unit": "celsius", "odd": "?"},
        {"unit": "celsius", "level": 4},
        {"unit": "celsius", "level": "1"},
        {"unit": "celsius", "kind": "other"},
        {"unit": "celsius", "version": 3},
        {"unit": "celsius", "maybe": "maybe"},
        {"unit": "celsius", "mixed": False},
        {"unit": "celsius", "mixed": 2},
        {"unit": "celsius", "titled": "Red"},
        {"unit": "celsius", "repeated": ["z"]},
    ),
)
_TAGGED = Case(
    "tagged",
    _object(
        ("shape",),
        shape={
            "oneOf": [
                _object(("kind", "radius"), kind={"const": "circle"}, radius={"type": "number"}),
                _object(("kind", "side"), kind={"const": "square"}, side={"type": "number"}),
                _object(("kind",), kind={"enum": ["point", "nothing"]}, label={"type": "string"}),
            ]
        },
        shapes={"type": "array", "items": {"$ref": "#/$defs/Animal"}},
    )
    | {
        "$defs": {
            "Animal": {
                "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
                "discriminator": {"propertyName": "pet"},
            },
            "Cat": {
                "type": "object",
                "properties": {"pet": {"const": "cat"}, "lives": {"type": "integer"}},
                "required": ["pet", "lives"],
            },
            "Dog": {
                "type": "object",
                "properties": {"pet": {"const": "dog"}, "tricks": {"type": "array"}},
                "required": ["pet"],
            },
        }
    },
    (
        {"shape": {"kind": "circle", "radius": 2.5}},
        {"shape": {"kind": "square", "side": 1}},
        {"shape": {"kind": "point"}},
        {
            "shape": {"kind": "nothing", "label": "x"},
            "shapes": [{"pet": "cat", "lives": 9}, {"pet": "dog", "tricks": [1, "a"]}],
        },
    ),
    (
        {"shape": {"kind": "circle"}},
        {"shape": {"kind": "circle", "side": 1}},
        {"shape": {"kind": "hexagon"}},
        {"shape": {}},
        {"shape": "circle"},
        {"shape": {"kind": "point"}, "shapes": [{"pet": "cat"}]},
        {"shape": {"kind": "point"}, "shapes": [{"pet": "bird"}]},
    ),
)
_UNTAGGED = Case(
    "untagged",
    _object(
        ("target",),
        target={"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "array", "items": {"type": "string"}}]},
        who={
            "anyOf": [
                _object(("email",), email={"type": "string"}),
                _object(("phone",), phone={"type": "string"}),
                {"type": "null"},
            ]
        },
        several={"type": ["string", "number", "boolean", "null"]},
        either={"oneOf": [{"type": "number", "multipleOf": 5}, {"type": "number", "multipleOf": 3}]},
        alike={"anyOf": [{"type": "string", "maxLength": 2}, {"type": "string", "pattern": "^x"}]},
        lists={
            "anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "array", "items": {"type": "string"}}]
        },
    ),
    (
        {"target": "a"},
        {"target": 7, "who": {"email": "a@example.com"}, "several": None, "either": 10, "alike": "xyz"},
        {"target": ["a", "b"], "who": {"phone": "1"}, "several": 1.5, "either": 9, "alike": "ab"},
        {"target": [], "who": None, "several": False, "lists": ["a"]},
        {"target": "", "several": "text", "lists": [1, 2]},
        {"target": "", "lists": []},
    ),
    (
        {"target": 1.5},
        {"target": None},
        {"target": [1]},
        {"target": "a", "who": {}},
        {"target": "a", "who": {"email": "a", "phone": "b"}},
        {"target": "a", "several": []},
        {"target": "a", "either": 15},
        {"target": "a", "either": 7},
        {"target": "a", "alike": "abc"},
        {"target": "a", "lists": [1, "a"]},
    ),
)
_RECURSIVE = Case(
    "recursive",
    {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}, "expr": {"$ref": "#/$defs/expr"}, "again": {"$ref": "#"}},
        "required": ["root"],
        "additionalProperties": False,
        "$defs": {
            "node": {
                "type": "object",
                "description": "A node of a tree.",
                "properties": {
                    "value": {"type": "string"},
                    "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                    "by_name": {"type": "object", "additionalProperties": {"$ref": "#/$defs/node"}},
                },
                "required": ["value"],
                "additionalProperties": False,
            },
            "expr": {
                "oneOf": [
                    {"type": "number"},
                    {
                        "type": "object",
                        "properties": {
                            "op": {"const": "add"},
                            "args": {"type": "array", "items": {"$ref": "#/$defs/expr"}},
                        },
                        "required": ["op", "args"],
                        "additionalProperties": False,
                    },
                ]
            },
        },
    },
    (
        {"root": {"value": "a"}},
        {
            "root": {
                "value": "a",
                "next": None,
                "children": [{"value": "b", "children": []}],
                "by_name": {"x": {"value": "c"}},
            }
        },
        {
            "root": {"value": "a", "next": {"value": "b", "next": {"value": "c"}}},
            "expr": {"op": "add", "args": [1, {"op": "add", "args": []}]},
        },
        {"root": {"value": "a"}, "again": {"root": {"value": "b"}, "again": {"root": {"value": "c"}}}, "expr": 2.5},
    ),
    (
        {"root": {}},
        {"root": {"value": "a", "next": {}}},
        {"root": {"value": "a", "children": [{"value": 1}]}},
        {"root": {"value": "a", "by_name": {"x": None}}},
        {"root": {"value": "a"}, "again": {}},
        {"root": {"value": "a"}, "expr": {"op": "add", "args": ["x"]}},
    ),
)
_LISTS = Case(
    "lists",
    _object(
        ("pair",),
        pair={"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False, "minItems": 2},
        open_ended={"type": "array", "prefixItems": [{"type": "number"}], "items": {"type": "string"}},
        old_style={"type": "array", "prefixItems": [{"type": "boolean"}, {"type": ["string", "null"]}]},
        distinct={"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "minItems": 1, "maxItems": 3},
        nested={"type": "array", "items": {"type": "array", "items": {"type": ["integer", "null"]}}},
        anything={"type": "array"},
        records={"type": "array", "items": _object(("id",), id={"type": "integer"})},
        has_seven={"type": "array", "contains": {"const": 7}},
    ),
    (
        {"pair": ["a", 1]},
        {"pair": ["a", 1.0], "open_ended": [], "old_style": [True], "distinct": [1], "nested": [], "anything": []},
        {"pair": ["", -1], "open_ended": [1.5, "a", "b"], "old_style": [False, None, 3, {}], "distinct": [3, 1, 2]},
        {"pair": ["", 0], "nested": [[1, None], []], "anything": [1, "a", None, {"b": [True]}], "records": [{"id": 1}]},
        {"pair": ["", 0], "has_seven": ["a", 7]},
    ),
    (
        {"pair": ["a"]},
        {"pair": ["a", 1, 2]},
        {"pair": [1, "a"]},
        {"pair": ["a", 1], "open_ended": ["a"]},
        {"pair": ["a", 1], "open_ended": [1, 2]},
        {"pair": ["a", 1], "old_style": [1]},
        {"pair": ["a", 1], "distinct": []},
        {"pair": ["a", 1], "distinct": [1, 1.0]},
        {"pair": ["a", 1], "distinct": [1, 2, 3, 4]},
        {"pair": ["a", 1], "nested": [["a"]]},
        {"pair": ["a", 1], "nested": [None]},
        {"pair": ["a", 1], "records": [{}]},
        {"pair": ["a", 1], "has_seven": [6]},
    ),
)
_MAPS = Case(
    "maps",
    _object(
        ("labels",),
        labels={"type": "object", "additionalProperties": {"type": "string"}},
        free={"type": "object"},
        explicit={"type": "object", "additionalProperties": True},
        both={
            "type": "object",
            "properties": {"id": {"type": "string"}, "extra": {"type": "boolean"}},
            "required": ["id"],
            "additionalProperties": {"type": "integer"},
        },
        any_extra={"type": "object", "properties": {"id": {"type": "string"}}, "additionalProperties": True},
        by_pattern={"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": False},
        keyed={"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}, "additionalProperties": {"type": "number"}},
        of_records={"type": "object", "additionalProperties": _object((), n={"type": "integer"})},
        sized={"type": "object", "minProperties": 1, "maxProperties": 2},
        empty={"type": "object", "properties": {}, "additionalProperties": False},
    ),
    (
        {"labels": {}},
        {"labels": {"a": "b", "": "", "__proto__": "c", 'q"': "d"}, "free": {"x": [1]}, "explicit": {"y": None}},
        {
            "labels": {},
            "both": {"id": "a", "n": 1, "m": 2, "extra": True},
            "any_extra": {"id": "a", "more": {"deep": [1]}},
        },
        {"labels": {}, "by_pattern": {"x-a": "b"}, "keyed": {"abc": 1.5}, "of_records": {"k": {"n": 1}, "l": {}}},
        {"labels": {}, "sized": {"a": 1}, "empty": {}},
    ),
    (
        {"labels": {"a": 1}},
        {"labels": []},
        {"labels": {}, "free": []},
        {"labels": {}, "both": {"id": "a", "n": "x"}},
        {"labels": {}, "both": {"n": 1}},
        {"labels": {}, "any_extra": {"id": 1}},
        {"labels": {}, "by_pattern": {"y": "b"}},
        {"labels": {}, "by_pattern": {"x-a": 1}},
        {"labels": {}, "keyed": {"ABC": 1}},
        {"labels": {}, "of_records": {"k": {"n": "x"}}},
        {"labels": {}, "sized": {}},
        {"labels": {}, "sized": {"a": 1, "b": 2, "c": 3}},
        {"labels": {}, "empty": {"a": 1}},
    ),
)
_ALL_OF = Case(
    "all_of",
    {
        "$defs": {
            "Base": {
                "type": "object",
                "properties": {"id": {"type": "string"}, "note": {"type": ["string", "null"]}},
                "required": ["id"],
            },
            "Priced": {
                "type": "object",
                "properties": {"price": {"type": "number", "minimum": 0}},
                "required": ["price"],
            },
        },
        "allOf": [
            {"$ref": "#/$defs/Base"},
            {"$ref": "#/$defs/Priced"},
            {
                "type": "object",
                "properties": {"id": {"minLength": 2}, "note": {"type": "string"}, "count": {"type": "integer"}},
            },
        ],
        "type": "object",
        "unevaluatedProperties": False,
    },
    ({"id": "ab", "price": 0}, {"id": "abc", "price": 1.5, "note": "n", "count": 2}),
    (
        {"id": "a", "price": 1},
        {"id": "ab"},
        {"price": 1},
        {"id": "ab", "price": -1},
        {"id": "ab", "price": 1, "note": None},
        {"id": "ab", "price": 1, "count": 1.5},
        {"id": "ab", "price": 1, "other": 1},
    ),
)
_CONDITIONS = Case(
    "conditions",
    {
        "type": "object",
        "properties": {
            "method": {"type": "string", "enum": ["card", "cash"]},
            "number": {"type": "string"},
            "from": {"type": "integer"},
            "to": {"type": "integer"},
            "not_zero": {"type": "integer", "not": {"const": 0}},
        },
        "required": ["method"],
        "if": {"properties": {"method": {"const": "card"}}},
        "then": {"required": ["number"]},
        "else": {"properties": {"number": False}},
        "dependentRequired": {"from": ["to"]},
        "anyOf": [{"required": ["method"]}, {"required": ["number"]}],
        "additionalProperties": False,
    },
    ({"method": "cash"}, {"method": "card", "number": "1"}, {"method": "cash", "from": 1, "to": 2, "not_zero": 1}),
    (
        {"method": "card"},
        {"method": "cash", "number": "1"},
        {"method": "cash", "from": 1},
        {"method": "cash", "not_zero": 0},
        {},
    ),
)
_DESCRIBED = Case(
    "described",
    {
        "type": "object",
        "description": (
            "Ends a comment: */ and --> and \"\"\" and ''' and `${process.exit()}` and \\\n"
            "with lines,\r\n\tand tabs.\u2028Done\u202e."
        ),
        "title": "Has */ a title",
        "properties": {
            "city": {
                "type": "string",
                "description": 'The city.\n\n- one\n- two */ // # \\u0022 """ {@link x}\n\n    indented\n',
                "default": 'Zürich */ """',
                "examples": ["Bern", 'a "quoted" one'],
            },
            "days": {"type": "integer", "default": 3, "description": "How many days; " + "very " * 60 + "many."},
            "old": {"type": "boolean", "deprecated": True, "default": None, "description": "   \n  "},
            "deep": {
                "type": "object",
                "description": "Deep.",
                "properties": {
                    "deeper": {"type": "object", "properties": {"deepest": {"type": "string", "default": "\\"}}}
                },
                "default": {"deeper": {"deepest": "*/"}},
            },
        },
        "required": [],
        "additionalProperties": False,
    },
    ({}, {"city": "Bern"}, {"days": 0, "old": False, "deep": {"deeper": {"deepest": ""}}}, {"deep": {}}),
    ({"city": None}, {"days": "3"}, {"deep": {"deeper": None}}, {"old": None}),
)
_OLD_DRAFT = Case(
    "old_draft",
    {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "definitions": {"positive": {"type": "integer", "exclusiveMinimum": 0}, "a/b~c%": {"type": "string"}},
        "properties": {
            "count": {"$ref": "#/definitions/positive"},
            "odd": {"$ref": "#/definitions/a~1b~0c%25"},
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "number"}], "additionalItems": False},
            "card": {"type": "string"},
            "address": {"type": "string"},
        },
        "dependencies": {"card": ["address"]},
        "additionalProperties": False,
    },
    ({}, {"count": 1, "odd": "x", "pair": ["a", 1.5]}, {"pair": []}, {"card": "1", "address": "2"}),
    ({"count": 0}, {"odd": 1}, {"pair": [1]}, {"pair": ["a", 1, 2]}, {"card": "1"}),
)
_LOOSE = Case(
    "loose",
    {
        "type": "object",
        "properties": {
            "any": {},
            "yes": True,
            "described": {"description": "Anything at all."},
            "nothing": {"type": "null"},
            "free_list": {"type": "array", "items": {}},
            "nullable_any": {"anyOf": [{}, {"type": "null"}]},
        },
        "required": ["any"],
    },
    (
        {"any": None},
        {
            "any": 1,
            "yes": [],
            "described": {"a": None},
            "nothing": None,
            "free_list": [None, 1, "a"],
            "nullable_any": None,
        },
        {"any": {"deep": [{"er": 1.5}]}, "yes": False, "nullable_any": "x"},
        {"any": "text", "described": None},
    ),
    ({}, {"any": 1, "nothing": 0}, {"any": 1, "free_list": {}}),
)
_SAME_NAMES = Case(
    "same_names",
    _object(
        (),
        input=_object((), input=_object((), input={"type": "string"})),
        output=_object((), output={"type": "string", "enum": ["input", "output"]}),
        item={"type": "array", "items": _object((), item=_object((), items={"type": "integer"}))},
        items={"type": "array", "items": _object((), item=_object((), item={"type": "integer"}))},
        tool=_object((), handler={"type": "string"}),
        error=_object((), error=_object((), message={"type": "string"})),
        option=_object((), some={"type": "string"}),
        result=_object((), ok={"type": "boolean"}),
        string=_object((), string={"type": "string"}),
        **{"in_put": _object((), input={"type": "boolean"}), "Input": _object((), input={"type": "number"})},
    ),
    (
        {},
        {
            "input": {"input": {"input": "a"}},
            "output": {"output": "input"},
            "in_put": {"input": True},
            "Input": {"input": 1},
        },
        {
            "item": [{"item": {"items": 1}}],
            "items": [{"item": {"item": 2}}],
            "tool": {"handler": "h"},
            "error": {"error": {"message": "m"}},
        },
        {"option": {"some": "s"}, "result": {"ok": True}, "string": {"string": "s"}},
    ),
    (
        {"input": {"input": {"input": 1}}},
        {"output": {"output": "x"}},
        {"in_put": {"input": 1}},
        {"item": [{"item": {"item": 1}}]},
    ),
)
_NO_MEMBERS = Case("no_members", _object(), ({},), ({"a": 1}, [], "x"))
_ROOT_UNION = Case(
    "root_union",
    {
        "type": "object",
        "oneOf": [
            {"properties": {"id": {"type": "integer"}}, "required": ["id"], "additionalProperties": False},
            {
                "properties": {"name": {"type": "string"}, "exact": {"type": "boolean"}},
                "required": ["name"],
                "additionalProperties": False,
            },
        ],
    },
    ({"id": 1}, {"name": "a"}, {"name": "a", "exact": False}),
    ({}, {"id": 1, "name": "a"}, {"id": "1"}, {"name": 1}, []),
)
_DEEP = Case(
    "deep",
    _object(
        ("a",),
        a=_object(
            ("b",),
            b=_object(
                ("c",),
                c={
                    "type": "array",
                    "items": {
                        "type": "object",
                        "additionalProperties": {
                            "anyOf": [
                                {"type": "array", "items": _object(("d",), d={"enum": ["e", "f"]})},
                                {"type": "null"},
                            ]
                        },
                    },
                },
            ),
        ),
    ),
    (
        {"a": {"b": {"c": []}}},
        {"a": {"b": {"c": [{}, {"x": None, "y": [{"d": "e"}, {"d": "f"}]}]}}},
    ),
    ({"a": {"b": {}}}, {"a": {"b": {"c": [{"x": [{"d": "g"}]}]}}}, {"a": {"b": {"c": [{"x": {}}]}}}),
)

CASES: tuple[Case, ...] = (
    _PRESENCE,
    _SCALARS,
    _RANGES,
    _TEXTS,
    _NAMES,
    _ENUMS,
    _TAGGED,
    _UNTAGGED,
    _RECURSIVE,
    _LISTS,
    _MAPS,
    _ALL_OF,
    _CONDITIONS,
    _DESCRIBED,
    _OLD_DRAFT,
    _LOOSE,
    _SAME_NAMES,
    _NO_MEMBERS,
    _ROOT_UNION,
    _DEEP,
)
