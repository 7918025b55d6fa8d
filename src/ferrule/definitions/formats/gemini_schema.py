"""The subset of OpenAPI that Gemini's `parameters` are written in, as JSON Schema."""

from __future__ import annotations

from typing import Any

from ferrule.definitions.formats.entries import Unreadable
from ferrule.model.value import JsonValue

_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_COUNTS = ("minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength")
"""Written as texts where a protocol has 64-bit numbers and JSON has not."""
_DEEPEST = 200


def as_json_schema(schema: JsonValue, depth: int = 0) -> Any:
    """A schema in JSON Schema's words; what is no object stays as it is. Raises Unreadable."""
    if not isinstance(schema, dict):
        return schema
    if depth > _DEEPEST:
        raise Unreadable("the schema is nested too deeply", ("parameters",))
    written = {
        key: _operand(key, value, depth + 1) for key, value in schema.items() if key not in ("nullable", "example")
    }
    if "defs" in written and isinstance(written["defs"], dict):
        written["$defs"] = written.pop("defs")
    if "ref" in written and isinstance(written["ref"], str) and written["ref"].startswith("#/defs/"):
        written["$ref"] = written.pop("ref").replace("#/defs/", "#/$defs/", 1)
    if "example" in schema:
        written.setdefault("examples", [schema["example"]])
    if written.get("type") == "type_unspecified":
        del written["type"]
    return _nullable(written) if schema.get("nullable") is True else written


def _operand(key: str, value: JsonValue, depth: int) -> Any:
    if key == "type" and isinstance(value, str):
        lower = value.lower()
        return lower if lower in (*_TYPES, "type_unspecified") else value
    if key in ("properties", "defs", "$defs") and isinstance(value, dict):
        return {name: as_json_schema(member, depth) for name, member in value.items()}
    if key in ("items", "additionalProperties"):
        return as_json_schema(value, depth)
    if key == "anyOf" and isinstance(value, list):
        return [as_json_schema(member, depth) for member in value]
    if key in _COUNTS and isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return value


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with null allowed beside what it allows."""
    if isinstance(schema.get("anyOf"), list):
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if not isinstance(schema.get("type"), str):
        return schema
    widened = {**schema, "type": [schema["type"], "null"]}
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        widened["enum"] = [*schema["enum"], None]
    return widened
