"""Rewrites OXP definitions of later drafts (OXP-49) into the shape of 1.0, where nothing has to be guessed.

Without `--compat` the same shapes are errors of OXP-1 and OXP-9, so each fix is offered under both codes. A description
that a parameter lacks stays with a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ferrule.contracts.fix import Edit, Fix, Fixers, Manuscript
from ferrule.definitions.rules.oxp.missing_schema import LATER_DRAFT
from ferrule.definitions.rules.rewriting import add_member, rename_member, wrap_mapping
from ferrule.model.value import JsonObject, Path

_ID = re.compile(r"[A-Za-z0-9_]+\.[A-Za-z0-9_]+@([0-9]+\.[0-9]+\.[0-9]+)")
_KEYWORDS = frozenset(
    {
        "$schema", "$id", "$ref", "$defs", "$comment", "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary",
        "definitions", "type", "enum", "const", "title", "description", "default", "deprecated", "readOnly", "writeOnly",
        "examples", "properties", "required", "additionalProperties", "patternProperties", "propertyNames",
        "minProperties", "maxProperties", "dependencies", "dependentRequired", "dependentSchemas",
        "unevaluatedProperties", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
    }
)  # fmt: skip
"""Keywords of a schema of arguments; another word in `input_schema` may be a mistake for `parameters`."""
_BEFORE_INPUT = ("id", "name", "description", "version")
_BEFORE_OUTPUT = (*_BEFORE_INPUT, "input_schema")


def rename_items(manuscript: Manuscript) -> Iterator[Fix]:
    """Renames a catalog's `items` to `tools`."""
    if not any(kind == "oxp.catalog" for kind, _, _ in manuscript.definitions) or "tools" in manuscript.value:
        return

    def change(value: JsonObject) -> None:
        value["tools"] = value.pop("items")

    yield from _offer(("items",), "OXP-1", rename_member(manuscript, ("items",), "tools"), change)


def wrap_schema(manuscript: Manuscript) -> Iterator[Fix]:
    """Wraps a schema that stands directly in `input_schema` as its `parameters`."""
    for path, value in _list_tools(manuscript):
        schema = value.get("input_schema")
        if isinstance(schema, dict) and "parameters" not in schema and _is_schema(schema):
            place = (*path, "input_schema")

            def change(value: object, path: Path = path) -> None:
                tool = _find_value(value, path)
                tool["input_schema"] = {"parameters": tool["input_schema"]}

            edit = (
                wrap_mapping(manuscript, place, "parameters") if schema else _write_empty_parameters(manuscript, place)
            )
            yield from _offer((*place, "parameters"), "OXP-9", edit, change)


def _is_schema(value: JsonObject) -> bool:
    if value.get("type", "object") != "object":
        return False
    return all(key in _KEYWORDS or key.startswith("x-") for key in value)


def _write_empty_parameters(manuscript: Manuscript, place: Path) -> Edit | None:
    return add_member(manuscript, place, "parameters", {})


def add_schema(manuscript: Manuscript) -> Iterator[Fix]:
    """Adds a missing `input_schema` or `output_schema` that accepts any value."""
    for path, value in _list_tools(manuscript):
        if "input_schema" not in value:
            yield from _add_member(manuscript, path, "input_schema", {"parameters": {}}, _BEFORE_INPUT)
        if "output_schema" not in value:
            yield from _add_member(manuscript, path, "output_schema", {}, _BEFORE_OUTPUT)


def add_version(manuscript: Manuscript) -> Iterator[Fix]:
    """Adds a missing `version`: the one in the id."""
    for path, value in _list_tools(manuscript):
        identity = value.get("id")
        match = _ID.fullmatch(identity) if isinstance(identity, str) else None
        if match is not None and "version" not in value:
            yield from _add_member(manuscript, path, "version", match[1], _BEFORE_INPUT)


def _add_member(manuscript: Manuscript, path: Path, key: str, member: object, after: tuple[str, ...]) -> Iterator[Fix]:
    def change(value: object) -> None:
        _find_value(value, path)[key] = member

    yield from _offer((*path, key), "OXP-1", add_member(manuscript, path, key, member, after), change)


def _offer(path: Path, error: str, edit: Edit | None, change: Any) -> Iterator[Fix]:
    if edit is not None:
        # In compatibility mode the same defect is reported as OXP-49.
        for rule in (LATER_DRAFT, error):
            yield Fix(rule, (path,), (edit,), change)


def _list_tools(manuscript: Manuscript) -> Iterator[tuple[Path, JsonObject]]:
    for kind, path, value in manuscript.definitions:
        if kind == "oxp.tool":
            yield path, value


def _find_value(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


FIXERS = Fixers(
    fixers=(wrap_schema, add_version, add_schema, rename_items),
    rules=frozenset({LATER_DRAFT, "OXP-1", "OXP-9"}),
)
