"""Schemas whose parts refer to themselves, written out to a bounded depth: AML takes no references."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, NamedTuple

from ferrule.schema.validation.inlining import NotInlinable, inlined
from ferrule.schema.walk import positions

_START = "#/$defs/"
_DEPTHS = (3, 2, 1)
"""How many levels of a part inside itself are written out: fewer where that would be too many."""


class Unfolded(NamedTuple):
    """A schema without references."""

    schema: dict[str, Any]
    cut: tuple[str, ...]
    """Parts that contain themselves, and are open below the last level that is written out."""
    levels: int = 0


def unfolded(schema: dict[str, Any]) -> Unfolded:
    """The schema with what it refers to in place. Raises NotInlinable."""
    recursive = sorted(_recursive(schema.get("$defs") or {}))
    if not recursive:
        return Unfolded(_untitled(inlined(schema)), ())
    for levels in _DEPTHS:
        try:
            return Unfolded(_untitled(inlined(_levelled(schema, set(recursive), levels))), tuple(recursive), levels)
        except NotInlinable:
            if levels == _DEPTHS[-1]:
                raise
    raise AssertionError("the last depth gives a schema or an error")


def _recursive(parts: dict[str, Any]) -> Iterator[str]:
    """The names of parts that lead back to themselves."""
    leads = {name: set(_named(part)) & parts.keys() for name, part in parts.items()}
    for name in parts:
        seen: set[str] = set()
        waiting = list(leads[name])
        while waiting:
            other = waiting.pop()
            if other not in seen:
                seen.add(other)
                waiting += leads[other]
        if name in seen:
            yield name


def _named(schema: Any) -> Iterator[str]:
    for position in positions(schema):
        ref = position.schema.get("$ref")
        if isinstance(ref, str) and ref.startswith(_START):
            yield ref.removeprefix(_START)


def _levelled(schema: dict[str, Any], recursive: set[str], levels: int) -> dict[str, Any]:
    """The schema with a copy of each such part per level, each of which leads one level down."""
    parts: dict[str, Any] = schema["$defs"]
    copies: dict[str, Any] = {}
    for name, part in parts.items():
        for level in range(levels) if name in recursive else (-1,):
            copy = _pointed(part, recursive, level + 1)
            copies[_called(name, level) if name in recursive else name] = copy
        if name in recursive:
            copies[_called(name, levels)] = _open(part)
    whole = _pointed({key: value for key, value in schema.items() if key != "$defs"}, recursive, 0)
    return {**whole, "$defs": copies}


def _pointed(schema: Any, recursive: set[str], level: int) -> Any:
    copy = deepcopy(schema)
    for position in positions(copy):
        ref = position.schema.get("$ref")
        if isinstance(ref, str) and (name := ref.removeprefix(_START)) in recursive:
            position.schema["$ref"] = _START + _called(name, level)
    return copy


def _called(name: str, level: int) -> str:
    return f"{name}.{level}"


def _open(part: Any) -> dict[str, Any]:
    """What stands where a part is not written out any more."""
    kind = part.get("type") if isinstance(part, dict) else None
    return {"type": "object", "description": "As above, nested further."} if kind == "object" else {}


def _untitled(schema: dict[str, Any]) -> dict[str, Any]:
    """Without the names of classes, which say nothing to a model."""
    for position in positions(schema):
        if isinstance(position.schema.get("title"), str):
            del position.schema["title"]
    return schema
