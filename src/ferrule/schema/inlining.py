"""Writes JSON Schemas without references: replaces each `$ref` by its target, within bounds (OXP-11).

A schema that refers to itself, to another document or to a missing part cannot be inlined. `unfold` writes recursive
parts out to a bounded depth, since AML takes no references; `plain_schema` leaves a part open where inlining has no
end. Dialects, imports and the OXP server stand above.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from ferrule.model.value import JsonObject, Path
from ferrule.schema.references import SchemaReferences, root_references
from ferrule.schema.walk import DESCENT, copy_schema, map_members, positions

DROPPED = frozenset({"$defs", "definitions", "$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "schemas"})
"""Keywords without effect once there are no references. `id` is one of draft 4."""
_REFUSED = frozenset({"$dynamicRef", "$recursiveRef"})
_BESIDE = frozenset({"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"})
"""Keywords that reject no value, so that they may stay beside an inlined reference."""
REFUSED_BY_AML = frozenset({"$ref", "$id", "definitions", "$defs", "$anchor", "$recursiveRef", "$dynamicRef"})
EXCLUDED_FROM_OXP = frozenset({"$ref", "$defs", "definitions", "$id", "$anchor", "$dynamicRef", "schemas"})
"""Keywords about references that schemas of these standards do not have."""
_MOST_SCHEMAS = 5_000
DEEPEST = 64


class NotInlinable(Exception):
    """A schema that cannot be expressed without references; the message says why."""


def inline(schema: Any, depth: int = DEEPEST) -> JsonObject:
    """Returns the schema without references, at most `depth` levels deep. Raises NotInlinable."""
    if schema is True:
        return {}
    if schema is False:
        return {"not": {}}
    if not isinstance(schema, dict):
        raise NotInlinable("it is no schema")
    schema = root_references(schema)
    found: JsonObject = _Inlining(schema, depth).schema(schema, ())
    return found


class _Inlining:
    """One schema being walked."""

    def __init__(self, root: JsonObject, deepest: int) -> None:
        self._references = SchemaReferences(root)
        self._deepest = deepest
        self._left = _MOST_SCHEMAS

    def schema(self, schema: Any, open_refs: tuple[str, ...], depth: int = 0) -> Any:
        if not isinstance(schema, dict):
            return schema
        self._left -= 1
        if self._left < 0:
            raise NotInlinable(f"it would have more than {_MOST_SCHEMAS:,} parts")
        if depth > self._deepest:
            raise NotInlinable(f"it would be nested more than {self._deepest} levels deep")
        refused = _REFUSED & schema.keys()
        if refused:
            raise NotInlinable(f"it has a {min(refused)}, which depends on where it is read")

        def inside(member: object, _: Path) -> Any:
            return self.schema(member, open_refs, depth + 1)

        kept = {
            keyword: map_members(keyword, operand, inside) if keyword in DESCENT else operand
            for keyword, operand in schema.items()
            if keyword != "$ref" and not _is_dropped(keyword, operand)
        }
        return self._follow(schema["$ref"], kept, open_refs, depth) if "$ref" in schema else kept

    def _follow(self, ref: object, beside: JsonObject, open_refs: tuple[str, ...], depth: int) -> JsonObject:
        if not isinstance(ref, str):
            raise NotInlinable("it has a $ref that is no text")
        # Only references around this place count: two neighbours may lead to the same part.
        if ref in open_refs:
            raise NotInlinable(f"it refers to itself ({ref[:60]})")
        found = self._references.find(ref)
        if found is None:
            is_within = ref.startswith("#")
            raise NotInlinable(
                f"it refers to {ref[:60]}, which is not there"
                if is_within
                else f"it refers to another document ({ref[:60]})"
            )
        target = self.schema(found.value, (*open_refs, ref), depth + 1)
        if target is True:
            target = {}
        if target is False:
            target = {"not": {}}
        if not isinstance(target, dict):
            raise NotInlinable(f"its {ref[:60]} leads to something that is no schema")
        # Annotations may replace the target's own; other keywords must hold beside it.
        if beside.keys() <= _BESIDE:
            return {**target, **beside}
        return {**beside, "allOf": [*beside.get("allOf", ()), target]} if target else beside


def _is_dropped(keyword: str, operand: object) -> bool:
    return keyword in DROPPED and (keyword != "id" or isinstance(operand, str))


_START = "#/$defs/"
_DEPTHS = (3, 2, 1)
"""The levels of a recursive part that are written out, tried in this order until the schema is small enough."""


class UnfoldedSchema(NamedTuple):
    """A schema without references."""

    schema: JsonObject
    cut: tuple[str, ...]
    """Parts that contain themselves, and are open below the last level that is written out."""
    levels: int = 0


def unfold(schema: JsonObject) -> UnfoldedSchema:
    """Returns the schema with each reference replaced by its target. Raises NotInlinable."""
    recursive = sorted(_recursive(schema.get("$defs") or {}))
    if not recursive:
        return UnfoldedSchema(_drop_titles(inline(schema)), ())
    for levels in _DEPTHS:
        try:
            return UnfoldedSchema(
                _drop_titles(inline(_copy_per_level(schema, set(recursive), levels))), tuple(recursive), levels
            )
        except NotInlinable:
            if levels == _DEPTHS[-1]:
                raise
    raise AssertionError("the last depth gives a schema or an error")


def _recursive(parts: JsonObject) -> Iterator[str]:
    """Yields the names of parts that lead back to themselves."""
    leads = {name: set(_ref_names(part)) & parts.keys() for name, part in parts.items()}
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


def _ref_names(schema: object) -> Iterator[str]:
    for position in positions(schema):
        ref = position.schema.get("$ref")
        if isinstance(ref, str) and ref.startswith(_START):
            yield ref.removeprefix(_START)


def _copy_per_level(schema: JsonObject, recursive: set[str], levels: int) -> JsonObject:
    """Copies each such part once per level; each copy leads one level down."""
    parts: JsonObject = schema["$defs"]
    copies: JsonObject = {}
    for name, part in parts.items():
        # Level -1 for a part that is not recursive: its own references then begin at level 0.
        for level in range(levels) if name in recursive else (-1,):
            copy = _point_refs(part, recursive, level + 1)
            copies[_level_name(name, level) if name in recursive else name] = copy
        if name in recursive:
            copies[_level_name(name, levels)] = _open(part)
    whole = _point_refs({key: value for key, value in schema.items() if key != "$defs"}, recursive, 0)
    return {**whole, "$defs": copies}


def _point_refs(schema: object, recursive: set[str], level: int) -> Any:
    def point(part: JsonObject, _: Path) -> None:
        ref = part.get("$ref")
        if isinstance(ref, str) and (name := ref.removeprefix(_START)) in recursive:
            part["$ref"] = _START + _level_name(name, level)

    return copy_schema(schema, point)


def _level_name(name: str, level: int) -> str:
    return f"{name}.{level}"


def _open(part: Any) -> JsonObject:
    """Returns the schema for the place where a part is not written out any more."""
    kind = part.get("type") if isinstance(part, dict) else None
    return {"type": "object", "description": "As above, nested further."} if kind == "object" else {}


def _drop_titles(schema: JsonObject) -> JsonObject:
    """Removes the names of classes, which mean nothing to a model."""

    def strip(part: JsonObject, _: Path) -> None:
        if isinstance(part.get("title"), str):
            del part["title"]

    without: JsonObject = copy_schema(schema, strip)
    return without


_ANNOTATIONS = ("title", "description")


class PlainSchema(NamedTuple):
    """A schema without references."""

    schema: JsonObject
    why: str = ""
    """Why it differs from the input; empty when it does not."""
    put: str = ""


def plain_schema(schema: object, excluded: Collection[str]) -> PlainSchema:
    """Returns the schema without the excluded keywords, with the same meaning where possible."""
    if not isinstance(schema, dict):
        return PlainSchema({} if schema is not False else {"not": {}}, "a schema must be an object", "an object")
    if all(position.schema.keys().isdisjoint(excluded) for position in positions(schema)):
        return PlainSchema(schema)
    named = ", ".join(f"`{key}`" for key in sorted(excluded) if _has(schema, key))
    try:
        return PlainSchema(inline(schema), f"schemas have no {named}", "what it points at, written out in its place")
    except NotInlinable as error:
        put = "a part that takes anything"
        return PlainSchema(_open_refs(schema, excluded), f"schemas have no {named}, and {error}", put)


def _has(schema: JsonObject, keyword: str) -> bool:
    return any(keyword in position.schema for position in positions(schema))


def _open_refs(schema: object, excluded: Collection[str]) -> Any:
    """Returns the schema with every part that has a reference left open."""
    if not isinstance(schema, dict):
        return schema
    if any(key in schema for key in ("$ref", "$dynamicRef", "$recursiveRef")):
        return {key: schema[key] for key in _ANNOTATIONS if key in schema}
    return {
        key: map_members(key, value, lambda member, _: _open_refs(member, excluded))
        for key, value in schema.items()
        if key not in excluded
    }
