"""Where schemas stand in a document, and what they refer to.

A value is often described by several schemas at once: those of an `allOf`, what a `$ref` points at and what stands beside it.
Such schemas are kept side by side, each with its place, and never copied into one: stubs check values by the schemas where they
stand.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, NamedTuple

from ferrule.contracts.type_tree import TypeNote
from ferrule.model.value import JsonValue
from ferrule.schema.merging import ANNOTATIONS
from ferrule.schema.references import SchemaReferences, draft_by_name, root_references
from ferrule.schema.walk import positions

NEUTRAL = ANNOTATIONS | {"$ref", "allOf", "format", "$dynamicRef", "$recursiveRef"}
"""Keywords that say nothing about the shape by themselves."""
_SINCE = {
    "const": 6,
    "contains": 6,
    "propertyNames": 6,
    "if": 7,
    "then": 7,
    "else": 7,
    "dependentSchemas": 2019,
    "dependentRequired": 2019,
    "unevaluatedProperties": 2019,
    "unevaluatedItems": 2019,
    "prefixItems": 2020,
}
"""The draft that brought a keyword: a validator of an older one takes no notice of it."""
_MOST_FOLLOWED = 100
"""How many schemas may be on the way from one to what it means."""
MOST_NOTES = 200


_ADDRESS = re.compile(r"""'\$?id': ['"]""")


class SchemaPlace(NamedTuple):
    """A schema and where it stands."""

    schema: Any
    pointer: str
    """As a `$ref` would write it, except that only `%` is escaped: `#/properties/a~1b`."""

    def below(self, keyword: str, name: str | int | None = None) -> SchemaPlace:
        """Returns a schema inside it."""
        inner = self.schema[keyword]
        if name is None:
            return SchemaPlace(inner, f"{self.pointer}/{keyword}")
        return SchemaPlace(inner[name], f"{self.pointer}/{keyword}/{escape_step(name)}")


class SchemaNode(NamedTuple):
    """Schemas that one value must fit, all of them."""

    places: tuple[SchemaPlace, ...]
    chosen: frozenset[str] = frozenset()
    """Unions (by their pointers) of which one branch is among the places, or which are left out of account."""

    @property
    def pointer(self) -> str:
        """Where it stands, for readers and for values that are known to fit."""
        return self.places[0].pointer if self.places else "#"


def escape_step(name: str | int) -> str:
    """Returns a step of a pointer."""
    return name.replace("~", "~0").replace("/", "~1").replace("%", "%25") if isinstance(name, str) else str(name)


class SchemaDocument:
    """One schema with everything in it."""

    def __init__(self, root: JsonValue) -> None:
        self.root = root_references(root) if _has_addresses(root) else root
        self.notes: dict[TypeNote, None] = {}
        self._references = SchemaReferences(self.root)

    @cached_property
    def draft(self) -> int:
        """The draft it is read by."""
        return _find_draft(self.root)

    def note(self, pointer: str, message: str) -> None:
        """Tells something once."""
        if len(self.notes) < MOST_NOTES:
            self.notes[TypeNote(pointer, message)] = None

    def flatten(self, places: tuple[SchemaPlace, ...]) -> tuple[SchemaPlace, ...] | None:
        """Returns the schemas that all of them lead to by `$ref` and `allOf`; None where no value fits."""
        if len(places) == 1:
            schema = places[0].schema
            if type(schema) is dict and _NOT_FLAT.isdisjoint(schema):
                return places
        found: dict[str, SchemaPlace] = {}
        for place in places:
            if not self._gather(place, found, ()):
                return None
        return tuple(found.values())

    def find_origin(self, place: SchemaPlace) -> SchemaPlace:
        """Returns the schema that it stands for: what it refers to, where it says nothing besides."""
        seen = set()  # references may lead in a circle
        while isinstance(place.schema, dict) and "$ref" in place.schema and place.pointer not in seen:
            seen.add(place.pointer)
            if not place.schema.keys() <= _REFERRING and self.draft > 7:
                break
            target = self.find_target(place.schema["$ref"])
            if target is None:
                break
            place = target
        return place

    def _gather(self, place: SchemaPlace, found: dict[str, SchemaPlace], way: tuple[str, ...]) -> bool:
        """Adds everything a value must fit; False where nothing fits."""
        schema = place.schema
        if not isinstance(schema, dict):
            if schema is not True and schema is not False:
                self.note(place.pointer, "this is no schema; any value is taken")
            return schema is not False
        if place.pointer in found:
            return True
        if place.pointer in way:
            self.note(place.pointer, "it refers to itself; that says nothing about a value")
            return True
        if len(way) > _MOST_FOLLOWED:
            self.note(
                place.pointer, f"more than {_MOST_FOLLOWED} references and allOf in each other; any value is taken"
            )
            return True
        if schema.get("not", False) in (True, {}):
            return False
        way = (*way, place.pointer)
        ref = schema.get("$ref")
        if ref is not None and not schema.keys() <= _REFERRING and self.draft <= 7:
            return self._gather_target(place, ref, found, way)
        return self._gather_members(place, ref, found, way)

    def _gather_members(
        self, place: SchemaPlace, ref: object, found: dict[str, SchemaPlace], way: tuple[str, ...]
    ) -> bool:
        """Returns a schema and what is beside it, in the order in which it is written."""
        own = self._read(place)
        for keyword in own.schema:
            # Entered where its members are written, so that members keep their order around a `$ref` or `allOf`.
            if keyword in ("properties", "required") and place.pointer not in found:
                found[place.pointer] = own
            elif keyword == "$ref" and not self._gather_target(place, ref, found, way):
                return False
            elif keyword in ("$dynamicRef", "$recursiveRef"):
                self.note(place.pointer, f"{keyword} is not followed; any value is taken there")
            elif keyword == "allOf" and isinstance(members := own.schema[keyword], list):
                for at in range(len(members)):
                    if not self._gather(place.below(keyword, at), found, way):
                        return False
        found.setdefault(place.pointer, own)
        return True

    def _gather_target(
        self, place: SchemaPlace, ref: object, found: dict[str, SchemaPlace], way: tuple[str, ...]
    ) -> bool:
        target = self.find_target(ref)
        if target is None:
            self.note(place.pointer, f"{str(ref)[:80]!r} is not in this schema; any value is taken")
            return True
        return self._gather(target, found, way)

    def _read(self, place: SchemaPlace) -> SchemaPlace:
        """Returns the place as the document's draft reads it."""
        if _SINCE.keys().isdisjoint(place.schema) or self.draft == 2020:
            return place
        known = {word: said for word, said in place.schema.items() if _SINCE.get(word, 0) <= self.draft}
        return SchemaPlace(known, place.pointer)

    def find_target(self, ref: object) -> SchemaPlace | None:
        """Finds the target of a reference; None where it is in another document."""
        found = self._references.find(ref)
        if found is None or not isinstance(found.value, dict | bool):
            return None
        return SchemaPlace(found.value, "#" + "".join(f"/{escape_step(step)}" for step in found.path))


_REFERRING = NEUTRAL - {"allOf"}
_NOT_FLAT = frozenset({"$ref", "allOf", "not", "$dynamicRef", "$recursiveRef", *_SINCE})


def _has_addresses(root: JsonValue) -> bool:
    """Tells whether some part may have an address of its own (`$id`): few schemas have, and looking for them takes time."""
    try:
        return _ADDRESS.search(repr(root)) is not None
    except RecursionError:
        return True


def _find_draft(root: JsonValue) -> int:
    """Returns the draft a schema is read by: what it says, or draft 7 where only that has lists under `items`."""
    if (
        isinstance(root, dict)
        and "$schema" not in root
        and any(isinstance(each.schema.get("items"), list) for each in positions(root))
    ):
        return 7
    return draft_by_name(root)
