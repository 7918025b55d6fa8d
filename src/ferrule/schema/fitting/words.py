"""What a keyword says, in words for a description: for keywords that a provider does not take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

LONGEST = 300
"""How many characters one keyword may add to a description."""


def told(keyword: str, operand: Any) -> str:
    """The words; empty where a keyword says nothing that a model could use."""
    say = _SAID.get(keyword)
    if say is None:
        return ""
    try:
        said = say(operand)
    except (TypeError, ValueError, AttributeError):
        return ""
    return said if len(said) <= LONGEST else said[: LONGEST - 1] + "…"


def written(value: Any) -> str:
    """A value as JSON, cut to a bearable length."""
    try:
        said = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return "…"
    return said if len(said) <= LONGEST else said[: LONGEST - 1] + "…"


def listed(values: list[Any], most: int = 20) -> str:
    """Values one after another."""
    said = ", ".join(written(value) for value in values[:most])
    return said if len(values) <= most else f"{said} and {len(values) - most:,} more"


def joined(description: Any, words: list[str]) -> str:
    """A description with more said at its end."""
    more = "; ".join(words)
    if not isinstance(description, str) or not description.strip():
        return more[:1].upper() + more[1:]
    return f"{description.rstrip()} ({more})"


def _schema(lead: str) -> Callable[[Any], str]:
    return lambda operand: f"{lead}: {written(operand)}"


def _dependent(operand: dict[str, Any]) -> str:
    parts = []
    for name, needed in operand.items():
        if isinstance(needed, list):
            parts.append(f"with {name} also {', '.join(map(str, needed))}")
        else:
            parts.append(f"with {name} also: {written(needed)}")
    return "; ".join(parts)


def _patterns(operand: dict[str, Any]) -> str:
    return "; ".join(f"members whose name matches {pattern}: {written(inner)}" for pattern, inner in operand.items())


_SAID: dict[str, Callable[[Any], str]] = {
    "format": lambda operand: f"format: {operand}",
    "pattern": lambda operand: f"matches {operand}",
    "minLength": lambda operand: f"at least {operand} characters",
    "maxLength": lambda operand: f"at most {operand} characters",
    "minimum": lambda operand: f"at least {written(operand)}",
    "maximum": lambda operand: f"at most {written(operand)}",
    "exclusiveMinimum": lambda operand: f"more than {written(operand)}",
    "exclusiveMaximum": lambda operand: f"less than {written(operand)}",
    "multipleOf": lambda operand: f"a multiple of {written(operand)}",
    "minItems": lambda operand: f"at least {operand} items",
    "maxItems": lambda operand: f"at most {operand} items",
    "uniqueItems": lambda operand: "no item twice" if operand is True else "",
    "minProperties": lambda operand: f"at least {operand} members",
    "maxProperties": lambda operand: f"at most {operand} members",
    "default": lambda operand: f"default: {written(operand)}",
    "examples": lambda operand: f"for example: {listed(operand, 5)}" if isinstance(operand, list) and operand else "",
    "example": lambda operand: f"for example: {written(operand)}",
    "enum": lambda operand: f"one of: {listed(operand)}",
    "const": lambda operand: f"always {written(operand)}",
    "not": _schema("not allowed"),
    "if": _schema("on the condition"),
    "then": _schema("if the condition holds"),
    "else": _schema("if the condition does not hold"),
    "contains": _schema("one item must be"),
    "propertyNames": _schema("names of members must be"),
    "additionalProperties": lambda operand: f"other members: {written(operand)}" if isinstance(operand, dict) else "",
    "patternProperties": _patterns,
    "dependentRequired": _dependent,
    "dependentSchemas": _dependent,
    "dependencies": _dependent,
    "deprecated": lambda operand: "deprecated" if operand is True else "",
    "contentEncoding": lambda operand: f"encoded as {operand}",
    "contentMediaType": lambda operand: f"of the media type {operand}",
    "title": lambda operand: "",
}
