"""JSON Schemas for dialects that take no references: what one points at is put in its place, and where that has no end the
part is left open."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from ferrule.schema.validation.inlining import NotInlinable, inlined
from ferrule.schema.walk import LIST_KEYWORDS, MAP_KEYWORDS, SCHEMA_KEYWORDS, positions

_ANNOTATIONS = ("title", "description")


class PlainSchema(NamedTuple):
    """A schema without references."""

    schema: dict[str, Any]
    why: str = ""
    """Why it is not the one that was given; empty when it is."""
    put: str = ""


def plain_schema(schema: Any, excluded: Collection[str]) -> PlainSchema:
    """The schema without the excluded keywords, with the same meaning where that can be."""
    if not isinstance(schema, dict):
        return PlainSchema({} if schema is not False else {"not": {}}, "a schema must be an object", "an object")
    if all(position.schema.keys().isdisjoint(excluded) for position in positions(schema)):
        return PlainSchema(schema)
    named = ", ".join(f"`{key}`" for key in sorted(excluded) if _has(schema, key))
    try:
        return PlainSchema(inlined(schema), f"schemas have no {named}", "what it points at, written out in its place")
    except NotInlinable as error:
        put = "a part that takes anything"
        return PlainSchema(_opened(schema, excluded), f"schemas have no {named}, and {error}", put)


def _has(schema: dict[str, Any], keyword: str) -> bool:
    return any(keyword in position.schema for position in positions(schema))


def _opened(schema: Any, excluded: Collection[str]) -> Any:
    """The schema with every part that refers to something left open."""
    if not isinstance(schema, dict):
        return schema
    if any(key in schema for key in ("$ref", "$dynamicRef", "$recursiveRef")):
        return {key: schema[key] for key in _ANNOTATIONS if key in schema}
    return {key: _operand(key, value, excluded) for key, value in schema.items() if key not in excluded}


def _operand(keyword: str, operand: Any, excluded: Collection[str]) -> Any:
    if keyword in MAP_KEYWORDS and isinstance(operand, dict):
        return {name: _opened(member, excluded) for name, member in operand.items()}
    if (keyword in LIST_KEYWORDS or keyword == "items") and isinstance(operand, list):
        return [_opened(member, excluded) for member in operand]
    return _opened(operand, excluded) if keyword in SCHEMA_KEYWORDS else operand
