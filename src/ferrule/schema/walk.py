"""Walks JSON Schemas by position, for the rules of every dialect that embeds them.

A word is a keyword only in a schema: names under `properties` are names, and the contents of `enum`, `const`, `default`
and `examples` are data. Judges no schema; malformed operands are simply not descended into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from ferrule.model.value import JsonObject, Path

SCHEMA_KEYWORDS = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
"""Keywords whose operand is a schema. (`items` may be a list of them in older drafts.)"""

LIST_KEYWORDS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
"""Keywords whose operand is a list of schemas."""

MAP_KEYWORDS = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
"""Keywords whose operand maps names to schemas. (`dependencies` may also hold lists of names.)"""

IN_PLACE = frozenset({"allOf", "anyOf", "else", "if", "not", "oneOf", "then", "dependencies", "dependentSchemas"})
"""Keywords whose schemas describe the same value as the schema around them."""

DESCENT = SCHEMA_KEYWORDS | LIST_KEYWORDS | MAP_KEYWORDS
"""Keywords with schemas inside."""


class SchemaPosition(NamedTuple):
    """A mapping where a schema is expected."""

    path: Path
    schema: JsonObject
    around: SchemaPosition | None
    """The schema this one is a branch of (`anyOf`, `then`, …), so that both describe the same value; None otherwise."""

    def declares(self, name: str) -> bool:
        """Returns True when the schema, or one it is a branch of, lists the property."""
        position: SchemaPosition | None = self
        while position is not None:
            properties = position.schema.get("properties")
            if isinstance(properties, dict) and name in properties:
                return True
            position = position.around
        return False


def positions(schema: object, path: Path = (), *, skip: frozenset[str] = frozenset()) -> Iterator[SchemaPosition]:
    """Yields every mapping in a schema position, from the root inwards; `true`, `false` and malformed ones are left
    out.

    The contents of the `skip` keywords are left out too.
    """
    if not isinstance(schema, dict):
        return
    stack = [SchemaPosition(path, schema, None)]
    while stack:
        position = stack.pop()
        yield position
        schema = position.schema
        if not DESCENT.isdisjoint(schema):
            below = _below(position, schema, skip)
            # The stack returns the last one first; reversed, positions come in the schema's order.
            below.reverse()
            stack += below


def members(schema: JsonObject) -> Iterator[tuple[Path, Any]]:
    """Yields the schemas right below one, `true` and `false` too, by the steps that lead to them."""
    for keyword, operand in schema.items():
        if isinstance(operand, list) and (keyword in LIST_KEYWORDS or keyword == "items"):
            yield from (((keyword, at), member) for at, member in enumerate(operand))
        elif isinstance(operand, dict) and keyword in MAP_KEYWORDS:
            yield from (((keyword, name), member) for name, member in operand.items() if not isinstance(member, list))
        elif keyword in SCHEMA_KEYWORDS:
            yield (keyword,), operand


def map_members(keyword: str, operand: object, change: Callable[[Any, Path], Any]) -> Any:
    """Returns the operand of a keyword with each schema right inside it changed; itself when it holds none.

    `change` takes such a schema, and the steps that lead to it from the one around.
    """
    if isinstance(operand, dict) and keyword in MAP_KEYWORDS:
        return {
            name: member if isinstance(member, list) else change(member, (keyword, name))
            for name, member in operand.items()
        }
    if isinstance(operand, list) and (keyword in LIST_KEYWORDS or keyword == "items"):
        return [change(member, (keyword, at)) for at, member in enumerate(operand)]
    return change(operand, (keyword,)) if keyword in SCHEMA_KEYWORDS else operand


def copy_schema(schema: object, change: Callable[[JsonObject, Path], None]) -> Any:
    """Returns a copy in which `change` has seen each schema with its path, from the root inwards.

    It may change the schema it is given, which is not shared. Parts that are no schemas are shared with the original.
    """
    if not isinstance(schema, dict):
        return schema
    whole = dict(schema)
    waiting: list[tuple[JsonObject, Path]] = [(whole, ())]

    def copy_part(around: Path, part: object, steps: Path) -> object:
        if not isinstance(part, dict):
            return part
        waiting.append((made := dict(part), around + steps))
        return made

    while waiting:  # no recursion: schemas of strangers may be nested deep
        made, path = waiting.pop()
        # Only values are replaced, so the walk over the keys stays valid.
        for keyword, operand in made.items():
            if keyword in DESCENT:
                made[keyword] = map_members(keyword, operand, partial(copy_part, path))
        change(made, path)
    return whole


def _below(position: SchemaPosition, schema: JsonObject, skip: frozenset[str]) -> list[SchemaPosition]:
    found: list[SchemaPosition] = []
    for keyword, operand in schema.items():
        if keyword not in DESCENT or keyword in skip:
            continue
        around = position if keyword in IN_PLACE else None
        path = (*position.path, keyword)
        if isinstance(operand, dict):
            if keyword in MAP_KEYWORDS:
                for name, member in operand.items():
                    if isinstance(member, dict):
                        found.append(SchemaPosition((*path, name), member, around))
            elif keyword in SCHEMA_KEYWORDS:
                found.append(SchemaPosition(path, operand, around))
        elif isinstance(operand, list) and (keyword in LIST_KEYWORDS or keyword == "items"):
            for index, member in enumerate(operand):
                if isinstance(member, dict):
                    found.append(SchemaPosition((*path, index), member, around))
    return found
