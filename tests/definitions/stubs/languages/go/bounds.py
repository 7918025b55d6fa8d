"""Tools whose members have the limits that `Validate` covers, and values around them."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec

from ferrule.definitions.stubs.languages.go.checks import is_common
from ferrule.model.tool import Tool
from tests.definitions.stubs.languages.go.compiled_program import tool_of
from tests.definitions.stubs.languages.sampling import value_of

_TEXTS = (
    "",
    "a",
    "ab",
    "abc",
    "aé",
    "\U0001f600",
    "\U0001f600\U0001f600",
    "1",
    "12-x",
    "a\nb",
    "A-1",
    "-_@",
    "ab\n",
    "x.y",
    "aaaa",
)
_NUMBERS = (0, 1, -1, 2, 3, 1.5, -0.5, 2.5, 7, 1e20, -1e20, 12, 1e-7, 2**53 - 1)
_PATTERNS = (
    "^a",
    "b$",
    "^[a-c]{2}$",
    r"\d",
    r"^\w+$",
    "(a|b)c",
    r"^[^a-c]$",
    "^$",
    r"^[A-Za-z0-9._%+-]+$",
    r"^(?:a|ab)+$",
    r"\D",
    r"^\W$",
    "é",
    r"x\.y",
    "a{2,}",
)
COUNT = 40


def _text(chance: Random) -> dict[str, Any]:
    limits = {"minLength": chance.randrange(3), "maxLength": chance.randrange(4), "pattern": chance.choice(_PATTERNS)}
    return {"type": "string", **_some(chance, limits)}


def _number(chance: Random) -> dict[str, Any]:
    kind = chance.choice(["integer", "number"])
    numbers = _NUMBERS if kind == "number" else [each for each in _NUMBERS if abs(each) < 2**53]  # beyond: json.Number
    limits = {name: chance.choice(numbers) for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")}
    more = {"multipleOf": chance.choice((2, 3, 4.0))} if kind == "integer" else {}
    return {"type": kind, **_some(chance, {**limits, **more})}


def _array(chance: Random) -> dict[str, Any]:
    return {"type": "array", **_some(chance, {"minItems": chance.randrange(3), "maxItems": chance.randrange(4)})}


def _object(chance: Random) -> dict[str, Any]:
    limits = {"minProperties": chance.randrange(3), "maxProperties": chance.randrange(4)}
    return {"type": "object", **_some(chance, limits)}


def _some(chance: Random, limits: dict[str, Any]) -> dict[str, Any]:
    return {name: limit for name, limit in limits.items() if chance.random() < 0.6}


def _tool(number: int) -> Tool:
    chance = Random(f"bounds.{number}")
    properties = {f"m{at}": chance.choice([_text, _number, _array, _object])(chance) for at in range(3)}
    inner = {"type": "object", "properties": {"deep": _text(chance)}, "required": ["deep"]}
    properties["inner"] = chance.choice(
        [inner, {"type": "array", "items": inner}, {"type": "object", "additionalProperties": inner}]
    )
    properties["maybe"] = {**_text(chance), "type": ["string", "null"]}
    for name, schema in properties.items():
        if name == "m1":
            properties[name] = {"allOf": [schema, {"description": "Twice."}]}
    return tool_of(f"bounded_{number}", {"type": "object", "properties": properties, "required": ["m0"]})


BOUNDED = tuple(_tool(number) for number in range(COUNT))
assert all(map(is_common, _PATTERNS))


def values_for(tool: Tool, chance: Random) -> list[Any]:
    """Values of the right types, within the limits and beyond."""
    schema = msgspec.json.decode(tool.input_schema)
    return [_value(chance, schema["properties"]) for _ in range(60)]


def _value(chance: Random, properties: dict[str, Any]) -> dict[str, Any]:
    made = {"m0": _fitting(chance, properties["m0"])}
    for name, schema in properties.items():
        if name != "m0" and chance.random() < 0.4:
            made[name] = _fitting(chance, schema)
    return made


def _fitting(chance: Random, schema: dict[str, Any]) -> Any:
    if "allOf" in schema:
        return _fitting(chance, schema["allOf"][0])
    match schema["type"]:
        case "string":
            return chance.choice(_TEXTS)
        case ["string", "null"]:
            return chance.choice((None, *_TEXTS))
        case "integer":
            return chance.choice([each for each in _NUMBERS if each == int(each) and abs(each) < 2**53])
        case "number":
            return chance.choice(_NUMBERS)
        case "array":
            items = schema.get("items")
            return [_fitting(chance, items) if items else value_of(chance, 1) for _ in range(chance.randrange(4))]
    if "properties" in schema:
        return {"deep": chance.choice(_TEXTS)}
    extra = schema.get("additionalProperties")
    return {
        each: _fitting(chance, extra) if extra else value_of(chance, 1)
        for each in chance.sample("abcd", chance.randrange(4))
    }
