"""Functions for Gemini: with a JSON Schema (`parametersJsonSchema`), or the subset of OpenAPI it took first (`parameters`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrule.definitions.formats.entries import Unreadable, entries
from ferrule.definitions.formats.functions import FunctionList, Said
from ferrule.definitions.formats.gemini_schema import as_json_schema
from ferrule.definitions.formats.legal_names import NameRule
from ferrule.definitions.formats.offer import Offered
from ferrule.model.value import JsonValue

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
        """True for lists of declarations, and for declarations that nobody else writes so."""
        return any(
            not _LISTS.isdisjoint(entry.path) or (isinstance(entry.value, dict) and self.claims(entry.value))
            for entry in entries(value)
        )

    def claims(self, definition: dict[str, Any]) -> bool:
        """A schema under Gemini's own key, or with types in capitals."""
        parameters = definition.get("parameters")
        is_capital = isinstance(parameters, dict) and parameters.get("type") in _TYPES
        return "name" in definition and (is_capital or any(key in definition for key in _JSON))

    def said(self, definition: dict[str, Any]) -> Said:
        """What a declaration says, its schema as JSON Schema."""
        if "name" not in definition:
            kinds = ", ".join(sorted(map(str, definition))[:3])
            hint = "whoever calls the model's service lists it there"
            raise Unreadable(f"there is no function in it ({kinds})", (), hint, is_expected=bool(definition))
        schema = next((definition[key] for key in _JSON if definition.get(key) is not None), None)
        if schema is None and definition.get("parameters") is not None:
            schema = as_json_schema(definition["parameters"])
        return Said(definition.get("name"), definition.get("description"), schema)

    def written(self, each: Offered, is_deferred: bool) -> dict[str, Any]:
        """The declaration."""
        return {"name": each.name, "description": each.description, self.member: each.schema}

    def document(self, definitions: list[dict[str, Any]], groups: Sequence[dict[str, Any] | None]) -> JsonValue:
        """What goes into `tools`."""
        return [{"functionDeclarations": definitions}]


FORMAT = Gemini("gemini", "Gemini", "parametersJsonSchema")
OPENAPI_SUBSET = Gemini("gemini-openapi", "Gemini (OpenAPI subset)", "parameters")
