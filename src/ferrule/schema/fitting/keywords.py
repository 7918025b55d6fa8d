"""Describes single keywords: the types whose values they judge, and their meaning in words.

Fitting describes the keywords that a provider does not accept; stubs write them as comments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ferrule.model.value import JsonObject
from ferrule.schema.merging import type_words
from ferrule.schema.schema_view import json_type

OBJECT = frozenset(
    [
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "minProperties",
        "maxProperties",
        "propertyNames",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "unevaluatedProperties",
    ]
)
ARRAY = frozenset(
    [
        "items",
        "prefixItems",
        "additionalItems",
        "minItems",
        "maxItems",
        "uniqueItems",
        "contains",
        "minContains",
        "maxContains",
        "unevaluatedItems",
    ]
)
STRING = frozenset({"minLength", "maxLength", "pattern", "contentEncoding", "contentMediaType", "contentSchema"})
NUMBER = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
FAMILIES = {"object": OBJECT, "array": ARRAY, "string": STRING, "number": NUMBER, "integer": NUMBER}
"""Keywords by the type whose values they judge."""
TYPED = OBJECT | ARRAY | STRING | NUMBER
_KNOWN = ("object", "array", "string", "number", "integer", "boolean", "null")


def types_of(keywords: JsonObject) -> list[str]:
    """Returns the types that a schema takes; empty where it takes any.

    One that states no type but has keywords of some (`properties` without `type: object`) is taken to mean those,
    though to the letter it accepts every value of the others.
    """
    if "type" in keywords:
        words = [word for word in type_words(keywords["type"]) if word in _KNOWN]
        return [word for word in words if word != "integer" or "number" not in words]
    return [word for word in ("object", "array", "string", "number") if not FAMILIES[word].isdisjoint(keywords)]


def type_of(value: object) -> str:
    """Returns the JSON type of a value, integers being numbers."""
    word = json_type(value)
    return "number" if word == "integer" else word


LONGEST = 300
"""The most characters that one keyword adds to a description."""


def describe_keyword(keyword: str, operand: object) -> str:
    """Describes a keyword; empty where a model could not use it."""
    say = _PHRASES.get(keyword)
    if say is None:
        return ""
    try:
        said = say(operand)
    except (TypeError, ValueError, AttributeError):
        return ""
    return said if len(said) <= LONGEST else said[: LONGEST - 1] + "…"


def format_value(value: object) -> str:
    """Formats a value as JSON, cut to a bearable length."""
    try:
        said = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return "…"
    return said if len(said) <= LONGEST else said[: LONGEST - 1] + "…"


def format_values(values: list[object], most: int = 20) -> str:
    """Formats values one after another."""
    said = ", ".join(format_value(value) for value in values[:most])
    return said if len(values) <= most else f"{said} and {len(values) - most:,} more"


def append_words(description: object, words: list[str]) -> str:
    """Returns a description with more said at its end."""
    more = "; ".join(words)
    if not isinstance(description, str) or not description.strip():
        return more[:1].upper() + more[1:]
    return f"{description.rstrip()} ({more})"


def _schema(lead: str) -> Callable[[Any], str]:
    return lambda operand: f"{lead}: {format_value(operand)}"


def _dependent(operand: JsonObject) -> str:
    parts = []
    for name, needed in operand.items():
        if isinstance(needed, list):
            parts.append(f"with {name} also {', '.join(map(str, needed))}")
        else:
            parts.append(f"with {name} also: {format_value(needed)}")
    return "; ".join(parts)


def _patterns(operand: JsonObject) -> str:
    return "; ".join(
        f"members whose name matches {pattern}: {format_value(inner)}" for pattern, inner in operand.items()
    )


_PHRASES: dict[str, Callable[[Any], str]] = {
    "format": lambda operand: f"format: {operand}",
    "pattern": lambda operand: f"matches {operand}",
    "minLength": lambda operand: f"at least {operand} characters",
    "maxLength": lambda operand: f"at most {operand} characters",
    "minimum": lambda operand: f"at least {format_value(operand)}",
    "maximum": lambda operand: f"at most {format_value(operand)}",
    "exclusiveMinimum": lambda operand: f"more than {format_value(operand)}",
    "exclusiveMaximum": lambda operand: f"less than {format_value(operand)}",
    "multipleOf": lambda operand: f"a multiple of {format_value(operand)}",
    "minItems": lambda operand: f"at least {operand} items",
    "maxItems": lambda operand: f"at most {operand} items",
    "uniqueItems": lambda operand: "no item twice" if operand is True else "",
    "minProperties": lambda operand: f"at least {operand} members",
    "maxProperties": lambda operand: f"at most {operand} members",
    "default": lambda operand: f"default: {format_value(operand)}",
    "examples": lambda operand: (
        f"for example: {format_values(operand, 5)}" if isinstance(operand, list) and operand else ""
    ),
    "example": lambda operand: f"for example: {format_value(operand)}",
    "enum": lambda operand: f"one of: {format_values(operand)}",
    "const": lambda operand: f"always {format_value(operand)}",
    "not": _schema("not allowed"),
    "if": _schema("on the condition"),
    "then": _schema("if the condition holds"),
    "else": _schema("if the condition does not hold"),
    "contains": _schema("one item must be"),
    "propertyNames": _schema("names of members must be"),
    "additionalProperties": lambda operand: (
        f"other members: {format_value(operand)}" if isinstance(operand, dict) else ""
    ),
    "patternProperties": _patterns,
    "dependentRequired": _dependent,
    "dependentSchemas": _dependent,
    "dependencies": _dependent,
    "deprecated": lambda operand: "deprecated" if operand is True else "",
    "contentEncoding": lambda operand: f"encoded as {operand}",
    "contentMediaType": lambda operand: f"of the media type {operand}",
    "title": lambda operand: "",
}
