"""Arguments of a tool from command-line options: `--order-id 17 --tags '["a"]' --urgent`, typed by the tool's schema."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from ferrule.model.hints import nearest

_JSON_TYPES = frozenset({"integer", "number", "boolean", "object", "array", "null"})
_MEANT = {"idempotency-key": "--key", "arguments": "--input", "args": "--input"}
"""What options of the command are called elsewhere."""
_FAR = 5
"""References that are followed, one inside the other; a schema that refers to itself has no end."""


def arguments_from(words: list[str], schema: dict[str, Any]) -> dict[str, Any]:
    """The arguments these options name. Raises UsageError for an option that is no field of the tool."""
    properties = schema.get("properties")
    fields = properties if isinstance(properties, dict) else {}
    shapes = {name: _shape(field, schema) for name, field in fields.items()}
    arguments: dict[str, Any] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("--") or len(word) < 3:
            raise click.UsageError(f"{word!r} is no option; fields are written as --name value")
        name, has_value, value = word[2:].partition("=")
        field = _field(name, fields, schema)
        if not has_value:
            value = _next(left, shapes.get(field), name)
        given = _typed(value, shapes.get(field), field)
        if field in arguments and isinstance(arguments[field], list) and isinstance(given, list):
            arguments[field] += given
        else:
            arguments[field] = given
    return arguments


def _next(left: list[str], schema: Any, name: str) -> str:
    """The value after an option; a yes-or-no field alone means yes."""
    is_flag = "boolean" in _types(schema)
    if left and (not left[0].startswith("--")) and not (is_flag and left[0] not in ("true", "false")):
        return left.pop(0)
    if is_flag:
        return "true"
    raise click.UsageError(f"--{name} has no value")


def _field(name: str, fields: dict[str, Any], schema: dict[str, Any]) -> str:
    for spelt in (name, name.replace("-", "_")):
        if spelt in fields:
            return spelt
    if schema.get("additionalProperties", True) is not False and not fields:
        return name
    option = _MEANT.get(name.replace("_", "-"))
    hint = f"did you mean the option {option}?" if option else nearest(name, fields)
    hint = hint or "its fields are: " + ", ".join(fields)
    raise click.UsageError(f"the tool has no field {name!r}; {hint}")


def _typed(value: str, schema: Any, field: str) -> Any:
    types = _types(schema)
    if not types or "string" in types:
        return value
    if types == {"array"} and not value.lstrip().startswith("["):
        return [_typed(value, schema.get("items"), field)]
    try:
        return msgspec.json.decode(value)
    except msgspec.DecodeError:
        wanted = " or ".join(sorted(types))
        raise click.UsageError(f"--{field} takes {wanted}, not {value!r}") from None


def _shape(field: Any, schema: dict[str, Any], depth: int = 0) -> Any:
    """A field's schema with its type told outright: behind a reference into the same schema, or one of alternatives."""
    if not isinstance(field, dict) or depth > _FAR:
        return field
    place = field.get("$ref")
    if isinstance(place, str) and place.startswith("#/"):
        return _shape(_at(schema, place[2:].split("/")), schema, depth + 1)
    if "type" in field:
        return {**field, "items": _shape(field["items"], schema, depth + 1)} if "items" in field else field
    ways = [_shape(way, schema, depth + 1) for way in field.get("anyOf") or field.get("oneOf") or ()]
    if not ways or not all(_types(way) for way in ways):
        return field
    return {**field, "type": sorted(set().union(*map(_types, ways)))}


def _at(schema: Any, steps: list[str]) -> Any:
    for step in steps:
        name = step.replace("~1", "/").replace("~0", "~")
        schema = schema.get(name) if isinstance(schema, dict) else None
    return schema


def _types(schema: Any) -> set[str]:
    found = schema.get("type") if isinstance(schema, dict) else None
    names = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    return {name for name in names if name in _JSON_TYPES or name == "string"}
