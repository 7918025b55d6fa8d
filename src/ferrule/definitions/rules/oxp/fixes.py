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
from ferrule.definitions.rules.rewriting import added, renamed, wrapped
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
"""What may stand in a schema of arguments; another word in `input_schema` may be a mistake for `parameters`."""
_BEFORE_INPUT = ("id", "name", "description", "version")
_BEFORE_OUTPUT = (*_BEFORE_INPUT, "input_schema")


def listed_under_items(manuscript: Manuscript) -> Iterator[Fix]:
    """A catalog's `items` become its `tools`."""
    if not any(kind == "oxp.catalog" for kind, _, _ in manuscript.definitions) or "tools" in manuscript.value:
        return

    def change(value: Any) -> None:
        value["tools"] = value.pop("items")

    yield from _offered(("items",), "OXP-1", renamed(manuscript, ("items",), "tools"), change)


def unwrapped_schema(manuscript: Manuscript) -> Iterator[Fix]:
    """A schema that stands directly in `input_schema` becomes its `parameters`."""
    for path, value in _tools(manuscript):
        schema = value.get("input_schema")
        if isinstance(schema, dict) and "parameters" not in schema and _is_schema(schema):
            place = (*path, "input_schema")

            def change(value: Any, path: Path = path) -> None:
                tool = _at(value, path)
                tool["input_schema"] = {"parameters": tool["input_schema"]}

            edit = wrapped(manuscript, place, "parameters") if schema else _emptied(manuscript, place)
            yield from _offered((*place, "parameters"), "OXP-9", edit, change)


def _is_schema(value: JsonObject) -> bool:
    if value.get("type", "object") != "object":
        return False
    return all(key in _KEYWORDS or key.startswith("x-") for key in value)


def _emptied(manuscript: Manuscript, place: Path) -> Edit | None:
    return added(manuscript, place, "parameters", {})


def absent_schema(manuscript: Manuscript) -> Iterator[Fix]:
    """An `input_schema` or `output_schema` that is not there is written as one that says nothing: any input, any output."""
    for path, value in _tools(manuscript):
        if "input_schema" not in value:
            yield from _completed(manuscript, path, "input_schema", {"parameters": {}}, _BEFORE_INPUT)
        if "output_schema" not in value:
            yield from _completed(manuscript, path, "output_schema", {}, _BEFORE_OUTPUT)


def absent_version(manuscript: Manuscript) -> Iterator[Fix]:
    """A `version` that is not there is the one of the id."""
    for path, value in _tools(manuscript):
        identity = value.get("id")
        match = _ID.fullmatch(identity) if isinstance(identity, str) else None
        if match is not None and "version" not in value:
            yield from _completed(manuscript, path, "version", match[1], _BEFORE_INPUT)


def _completed(manuscript: Manuscript, path: Path, key: str, member: Any, after: tuple[str, ...]) -> Iterator[Fix]:
    def change(value: Any) -> None:
        _at(value, path)[key] = member

    yield from _offered((*path, key), "OXP-1", added(manuscript, path, key, member, after), change)


def _offered(path: Path, error: str, edit: Edit | None, change: Any) -> Iterator[Fix]:
    if edit is not None:
        for rule in (LATER_DRAFT, error):
            yield Fix(rule, (path,), (edit,), change)


def _tools(manuscript: Manuscript) -> Iterator[tuple[Path, JsonObject]]:
    for kind, path, value in manuscript.definitions:
        if kind == "oxp.tool":
            yield path, value


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


FIXERS = Fixers(
    fixers=(unwrapped_schema, absent_version, absent_schema, listed_under_items),
    rules=frozenset({LATER_DRAFT, "OXP-1", "OXP-9"}),
)
