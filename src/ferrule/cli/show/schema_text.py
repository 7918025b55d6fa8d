"""A JSON Schema as a person reads it: one line per property with its type, limits and description."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_LIMITS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minimum": "from {}",
    "maximum": "to {}",
    "exclusiveMinimum": "above {}",
    "exclusiveMaximum": "below {}",
    "pattern": "matching {}",
    "format": "{}",
}
_BRANCHES = {"oneOf": "exactly one of", "anyOf": "any of", "allOf": "all of"}
_MAX_DEPTH = 8


def schema_lines(schema: Any, depth: int = 0) -> Iterator[str]:
    """The properties of an object schema, nested ones indented. Required ones are marked with an asterisk."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return
    indent = "  " * depth
    properties = schema.get("properties")
    required = schema.get("required")
    for name, member in properties.items() if isinstance(properties, dict) else ():
        mark = "*" if isinstance(required, list) and name in required else ""
        text = f"{indent}{name}{mark}: {describe(member)}"
        description = member.get("description") if isinstance(member, dict) else None
        yield f"{text}. {' '.join(description.split())}" if isinstance(description, str) else text
        yield from schema_lines(member, depth + 1)
        if isinstance(member, dict):
            yield from schema_lines(member.get("items"), depth + 1)
    for keyword, words in _BRANCHES.items():
        branches = schema.get(keyword)
        if isinstance(branches, list):
            yield f"{indent}{words}:"
            for branch in branches:
                yield f"{indent}  - {describe(branch)}"
                yield from schema_lines(branch, depth + 2)
    if schema.get("additionalProperties") is False and properties:
        yield f"{indent}(nothing else)"


def describe(schema: Any) -> str:
    """One schema in a few words: `list of string, at most 5 items`."""
    if schema is True or schema == {}:
        return "anything"
    if not isinstance(schema, dict):
        return "nothing"
    if "const" in schema:
        return f"always {_value(schema['const'])}"
    limits = [_limit(words, schema[keyword]) for keyword, words in _LIMITS.items() if keyword in schema]
    if isinstance(schema.get("enum"), list):
        limits.insert(0, "one of " + ", ".join(_value(value) for value in schema["enum"]))
    if "default" in schema:
        limits.append(f"default {_value(schema['default'])}")
    return ", ".join([_kind(schema), *limits])


def _kind(schema: dict[str, Any]) -> str:
    kind = schema.get("type")
    if kind == "array" and "items" in schema:
        return f"list of {_kind(schema['items']) if isinstance(schema['items'], dict) else 'anything'}"
    if isinstance(kind, list):
        return " or ".join(str(word) for word in kind)
    if kind == "array":
        return "list"
    return str(kind) if kind is not None else "anything"


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _limit(words: str, value: object) -> str:
    text = words.format(value)
    return text.removesuffix("s") if value == 1 and words.endswith("s") else text
