"""Writes and reads functions for Gemini: with a JSON Schema (`parametersJsonSchema`) or its older OpenAPI subset (`parameters`).

`functions.py` handles the list around the functions; `as_json_schema` converts the subset of OpenAPI to JSON Schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrule.definitions.formats.entries import UnreadableTool, find_entries
from ferrule.definitions.formats.functions import FunctionDefinition, FunctionList
from ferrule.definitions.formats.legal_names import NameRule
from ferrule.definitions.formats.offer import PreparedTool
from ferrule.model.value import JsonObject, JsonValue

_SCHEMA_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_COUNTS = ("minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength")
"""Keywords that may be strings, because the protocol has 64-bit numbers and JSON has not."""
_DEEPEST = 200


def convert_schema(schema: JsonValue, depth: int = 0) -> Any:
    """Converts a schema of the subset to JSON Schema; returns anything but an object unchanged. Raises Unreadable."""
    if not isinstance(schema, dict):
        return schema
    if depth > _DEEPEST:
        raise UnreadableTool("the schema is nested too deeply", ("parameters",))
    written = {
        key: _convert_operand(key, value, depth + 1)
        for key, value in schema.items()
        if key not in ("nullable", "example")
    }
    if "defs" in written and isinstance(written["defs"], dict):
        written["$defs"] = written.pop("defs")
    if "ref" in written and isinstance(written["ref"], str) and written["ref"].startswith("#/defs/"):
        written["$ref"] = written.pop("ref").replace("#/defs/", "#/$defs/", 1)
    if "example" in schema:
        written.setdefault("examples", [schema["example"]])
    if written.get("type") == "type_unspecified":
        del written["type"]
    return _allow_null(written) if schema.get("nullable") is True else written


def _convert_operand(key: str, value: JsonValue, depth: int) -> Any:
    if key == "type" and isinstance(value, str):
        lower = value.lower()
        return lower if lower in (*_SCHEMA_TYPES, "type_unspecified") else value
    if key in ("properties", "defs", "$defs") and isinstance(value, dict):
        return {name: convert_schema(member, depth) for name, member in value.items()}
    if key in ("items", "additionalProperties"):
        return convert_schema(value, depth)
    if key == "anyOf" and isinstance(value, list):
        return [convert_schema(member, depth) for member in value]
    if key in _COUNTS and isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return value


def _allow_null(schema: JsonObject) -> JsonObject:
    """Allows null beside the other values of a schema."""
    if isinstance(schema.get("anyOf"), list):
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if not isinstance(schema.get("type"), str):
        return schema
    widened = {**schema, "type": [schema["type"], "null"]}
    if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
        widened["enum"] = [*schema["enum"], None]
    return widened


_LISTS = frozenset({"functionDeclarations", "function_declarations"})
_JSON = ("parametersJsonSchema", "parameters_json_schema")
_TYPES = frozenset({"OBJECT", "STRING", "ARRAY", "NUMBER", "INTEGER", "BOOLEAN"})


class Gemini(FunctionList):
    """`tools` of Gemini."""

    rule = NameRule("A-Za-z0-9_-", 64, "A-Za-z_")
    takes_other_names = True
    needs_description = True
    schema_keys = frozenset({"parameters", *_JSON})

    def __init__(self, name: str, title: str, member: str) -> None:
        self.name = self.profile = name
        self.title = title
        self.member = member

    def detect(self, value: JsonValue) -> bool:
        """Returns True for lists of declarations, and for declarations in Gemini's own format."""
        return any(
            not _LISTS.isdisjoint(entry.path) or (isinstance(entry.value, dict) and self.claims(entry.value))
            for entry in find_entries(value)
        )

    def claims(self, definition: JsonObject) -> bool:
        """Returns True for a schema under Gemini's own key, or with types in capitals."""
        parameters = definition.get("parameters")
        is_capital = isinstance(parameters, dict) and parameters.get("type") in _TYPES
        return "name" in definition and (is_capital or any(key in definition for key in _JSON))

    def read_definition(self, definition: JsonObject) -> FunctionDefinition:
        """Reads a declaration, its schema as JSON Schema."""
        if "name" not in definition:
            kinds = ", ".join(sorted(map(str, definition))[:3])
            hint = "whoever calls the model's service lists it there"
            raise UnreadableTool(f"there is no function in it ({kinds})", (), hint, is_expected=bool(definition))
        schema = next((definition[key] for key in _JSON if definition.get(key) is not None), None)
        if schema is None and definition.get("parameters") is not None:
            schema = convert_schema(definition["parameters"])
        return FunctionDefinition(definition.get("name"), definition.get("description"), schema)

    def write_definition(self, each: PreparedTool, is_deferred: bool) -> JsonObject:
        """Returns the declaration."""
        return {"name": each.name, "description": each.description, self.member: each.schema}

    def build_document(self, definitions: list[JsonObject], groups: Sequence[JsonObject | None]) -> JsonValue:
        """Returns the value of `tools`."""
        return [{"functionDeclarations": definitions}]


FORMAT = Gemini("gemini", "Gemini", "parametersJsonSchema")
OPENAPI_SUBSET = Gemini("gemini-openapi", "Gemini (OpenAPI subset)", "parameters")
