"""A JSON Schema as a tree for people: each field with its type in a few words, whether it is required, and its
description.

Schemas come from anybody: references may be circular, so nesting and number of fields are bounded. The console and
`ferrule show` print it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from ferrule.model.value import JsonObject
from ferrule.schema.references import SchemaReferences, root_references

_DEEPEST = 8
_MOST = 400
_MOST_WORK = 8_000
"""Schemas looked at. References can make a small schema mean millions of fields."""
_MOST_REFERENCES = 50
"""One after the other, from the top to a field."""
_MOST_VALUES = 12
_LONGEST = 400
_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
_BRANCHES = {"oneOf": "exactly one of", "anyOf": "one of", "allOf": "all of"}


class SchemaField(msgspec.Struct, frozen=True):
    """One field of a schema, or one of its alternatives."""

    name: str
    """Empty for a schema that describes no object."""
    is_required: bool = False
    type: str = ""
    """In a few words, bounds included."""
    description: str = ""
    values: tuple[str, ...] = ()
    """The first words of an `enum`, as JSON."""
    children: tuple[SchemaField, ...] = ()


def schema_tree(schema: object) -> list[SchemaField]:
    """Returns the fields of a schema; one nameless field for one that describes no object. Empty for no schema."""
    if schema is None:
        return []
    return _Tree(schema).fields()


class _Tree:
    """Walks one schema."""

    def __init__(self, root: object) -> None:
        self._root = root_references(root)
        self._references = SchemaReferences(self._root)
        self._left = _MOST
        self._work = _MOST_WORK

    def fields(self) -> list[SchemaField]:
        schema, seen = self._resolve(self._root, ())
        children = self._children(schema, seen, 0)
        is_plain = isinstance(schema, dict) and (schema.get("type") == "object" or "properties" in schema)
        if is_plain:
            return children
        return [self._node("", self._root, (), 0, is_required=True)]

    def _node(self, name: str, schema: object, seen: tuple[str, ...], depth: int, *, is_required: bool) -> SchemaField:
        self._left -= 1
        found, now_seen = self._resolve(schema, seen)
        description = _text(schema, "description") or _text(found, "description") or _text(found, "title")
        values = found.get("enum") if isinstance(found, dict) else None
        return SchemaField(
            name,
            is_required,
            self._type(schema, seen),
            description[:_LONGEST],
            tuple(_format_json(value) for value in values[:_MOST_VALUES]) if isinstance(values, list) else (),
            tuple(self._children(found, now_seen, depth + 1)),
        )

    def _children(self, schema: object, seen: tuple[str, ...], depth: int) -> list[SchemaField]:
        self._work -= 1
        if not isinstance(schema, dict) or depth > _DEEPEST or self._work < 0:
            return []
        found: list[SchemaField] = []
        for name, member, is_required in _members(schema):
            if self._left <= 0:
                if self._left == 0:  # reported once
                    found.append(SchemaField("… and more", description="not shown: the schema is too large"))
                self._left -= 1
                break
            found.append(self._node(name, member, seen, depth, is_required=is_required))
        found += self._of_items(schema, seen, depth)
        found += self._of_branches(schema, seen, depth)
        return found

    def _of_items(self, schema: JsonObject, seen: tuple[str, ...], depth: int) -> list[SchemaField]:
        items, inner_seen = self._resolve(schema.get("items"), seen)
        return self._children(items, inner_seen, depth) if isinstance(items, dict) else []

    def _of_branches(self, schema: JsonObject, seen: tuple[str, ...], depth: int) -> Iterator[SchemaField]:
        for keyword, word in _BRANCHES.items():
            branches = schema.get(keyword)
            branches = branches if isinstance(branches, list) else []
            telling = [one for one in branches if _is_telling(one)]
            if keyword != "allOf" and len(telling) == 1 and len(branches) <= 2:  # something, or null
                yield from self._children(*self._resolve(telling[0], seen), depth)
                continue
            for number, branch in enumerate(telling, start=1):
                if self._left <= 0:
                    return
                found, now_seen = self._resolve(branch, seen)
                if not _has_children(found):
                    continue
                self._left -= 1
                yield SchemaField(
                    f"{word}, {number}",
                    type=self._type(branch, seen),
                    description=(_text(found, "title") or _text(found, "description"))[:_LONGEST],
                    children=tuple(self._children(found, now_seen, depth + 1)),
                )

    def _resolve(self, schema: object, seen: tuple[str, ...]) -> tuple[object, tuple[str, ...]]:
        """Follows references; returns an empty schema for one that is circular, too long a chain, or unresolved."""
        while isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
            reference = schema["$ref"]
            if reference in seen or len(seen) >= _MOST_REFERENCES:
                return {}, seen
            seen = (*seen, reference)
            target = self._references.find(reference)
            schema = {} if target is None else target.value
        return schema, seen

    def _type(self, schema: object, seen: tuple[str, ...], depth: int = 0) -> str:
        """Describes a type in a few words."""
        self._work -= 1
        if self._work < 0:
            return "…"
        if schema is True or schema == {}:
            return "anything"
        if not isinstance(schema, dict):
            return "nothing"
        if isinstance(schema.get("$ref"), str):
            return self._type_of_reference(schema["$ref"], seen, depth)
        if "const" in schema:
            return f"always {_format_json(schema['const'])}"
        values = schema.get("enum")
        if isinstance(values, list):
            return " | ".join(map(_format_json, values)) if _is_short(values) else f"one of {len(values)}"
        return self._plain_type(schema, seen, depth)

    def _type_of_reference(self, reference: str, seen: tuple[str, ...], depth: int) -> str:
        name = reference.rpartition("/")[2][:60] or "the whole"
        if reference in seen or depth > _DEEPEST:
            return f"{name} again"
        target = self._references.find(reference)
        if target is None:
            return "anything" if reference.startswith("#") else f"as at {reference[:120]}"
        return self._type(target.value, (*seen, reference), depth + 1)

    def _plain_type(self, schema: JsonObject, seen: tuple[str, ...], depth: int) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            word = " or ".join(str(each) for each in kind[:8])
        elif kind == "array" or (kind is None and "items" in schema):
            inner = self._type(schema.get("items", True), seen, depth + 1) if depth < _DEEPEST else "…"
            word = "array" if inner == "anything" else f"array of {inner}"
        elif isinstance(kind, str):
            word = kind[:40]
        else:
            word = self._type_of_branches(schema, seen, depth)
        return "".join((word, *_limits(schema)))

    def _type_of_branches(self, schema: JsonObject, seen: tuple[str, ...], depth: int) -> str:
        if "properties" in schema:
            return "object"
        for keyword in ("anyOf", "oneOf"):
            branches = schema.get(keyword)
            if isinstance(branches, list) and branches and depth < _DEEPEST:
                words = dict.fromkeys(self._type(branch, seen, depth + 1) for branch in branches[:6])
                return " or ".join(words) + (" or …" if len(branches) > 6 else "")
        return "anything"


def _members(schema: JsonObject) -> Iterator[tuple[str, object, bool]]:
    required = schema.get("required")
    required = frozenset(map(str, required)) if isinstance(required, list) else frozenset()
    properties = schema.get("properties")
    named = list(properties.items()) if isinstance(properties, dict) else []
    for name, member in sorted(named, key=lambda one: one[0] not in required):  # catalogs keep no other order
        yield str(name), member, name in required
    patterns = schema.get("patternProperties")
    for pattern, member in patterns.items() if isinstance(patterns, dict) else ():
        yield f"/{pattern}/", member, False
    others = schema.get("additionalProperties")
    if isinstance(others, dict) and others:
        yield "(any other name)", others, False


def _has_children(schema: object) -> bool:
    return isinstance(schema, dict) and any(key in schema for key in ("properties", "items", *_BRANCHES))


def _is_telling(branch: object) -> bool:
    return isinstance(branch, dict) and branch.get("type") != "null"


def _is_short(values: list[object]) -> bool:
    return len(values) <= 4 and len("".join(map(_format_json, values))) <= 60


def _limits(schema: JsonObject) -> Iterator[str]:
    """Yields bounds as people write them: ` > 0`, ` 1 to 99`, `, 1 to 50 items`, ` = true`."""
    if "minimum" in schema and "maximum" in schema:
        yield f" {_short(schema['minimum'])} to {_short(schema['maximum'])}"
    else:
        bounds = [f"{sign} {_short(schema[key])}" for key, sign in _BOUNDS.items() if key in schema]
        yield f" {', '.join(bounds)}" if bounds else ""
    for low, high, noun in (("minLength", "maxLength", "characters"), ("minItems", "maxItems", "items")):
        if low in schema or high in schema:
            yield f", {_range(schema.get(low), schema.get(high))} {noun}"
    if isinstance(schema.get("format"), str):
        yield f", {schema['format'][:40]}"
    if isinstance(schema.get("pattern"), str):
        yield f", like {schema['pattern'][:80]}"
    if "default" in schema:
        yield f" = {_short(schema['default'])}"


def _range(low: object, high: object) -> str:
    if high is None:
        return f"at least {_short(low)}"
    if not low:
        return f"at most {_short(high)}"
    return _short(low) if low == high else f"{_short(low)} to {_short(high)}"


def _short(value: object) -> str:
    return _format_json(value)[:60]


def _format_json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _text(schema: object, key: str) -> str:
    found = schema.get(key) if isinstance(schema, dict) else None
    return " ".join(found.split()) if isinstance(found, str) else ""
