"""Handles references of a schema to fit: finds recursive ones, names definitions, and makes standalone copies."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from ferrule.model.value import JsonObject
from ferrule.schema.fitting.steps import CannotFit
from ferrule.schema.references import SchemaReferences
from ferrule.schema.walk import map_members, positions

DYNAMIC = ("$dynamicRef", "$recursiveRef")
"""References whose target depends on the reader: they are treated as unrestricted."""
_MOST_FOLLOWED = 50_000
"""The most references that are followed to find recursive ones."""


class FittedReferences:
    """The references of one schema, each of which leads to a schema or is rejected."""

    def __init__(self, root: object) -> None:
        self._within = SchemaReferences(root)
        self._targets: JsonObject = {}
        self._below: dict[str, frozenset[str]] = {}
        self._left = _MOST_FOLLOWED

    def target(self, ref: object, path: str) -> Any:
        """Returns the target of a reference. Raises CannotFit."""
        if not isinstance(ref, str):
            raise CannotFit("the $ref is no text; write one such as #/$defs/name", path)
        if ref not in self._targets:
            self._targets[ref] = self._find(ref, path)
        return self._targets[ref]

    def is_recursive(self, ref: str, path: str) -> bool:
        """Returns True when the target leads back to the reference."""
        seen: set[str] = set()
        ahead = list(self._refs_below(ref, path))
        while ahead:
            self._left -= 1
            if self._left < 0:
                raise CannotFit("its references lead too far; write it more simply", path)
            met = ahead.pop()
            # Two references of other words may lead to one schema.
            if met == ref or self.target(met, path) is self.target(ref, path):
                return True
            if met not in seen:
                seen.add(met)
                ahead += self._refs_below(met, path)
        return False

    def _refs_below(self, ref: str, path: str) -> frozenset[str]:
        if ref not in self._below:
            self._below[ref] = frozenset(refs_in(self.target(ref, path)))
        return self._below[ref]

    def _find(self, ref: str, path: str) -> object:
        found = self._within.find(ref)
        if found is None and not ref.startswith("#"):
            raise CannotFit(f"it refers to another document ({ref[:80]}); put what it points at under $defs", path)
        if found is None:
            raise CannotFit(f"it refers to {ref[:80]}, which is not there; correct the $ref", path)
        if not isinstance(found.value, dict | bool):
            raise CannotFit(f"it refers to {ref[:80]}, which is no schema; correct the $ref", path)
        return found.value


def refs_in(schema: object) -> set[str]:
    """Returns every reference somewhere in a schema, without following any."""
    # A definition counts only where something refers to it.
    return {ref for position in positions(schema, skip=_HOMES) if isinstance(ref := position.schema.get("$ref"), str)}


_HOMES = frozenset({"$defs", "definitions"})


class DefinitionNames:
    """The names of referenced schemas, each of which is one definition of a new schema."""

    def __init__(self) -> None:
        self._names: dict[str, tuple[str, str]] = {}
        self._taken: set[tuple[str, str]] = set()

    def of(self, ref: str, *, is_plain_kept: bool = True) -> tuple[str, str, bool]:
        """Returns the keyword and the name for a reference, and whether it is new."""
        if ref in self._names:
            return *self._names[ref], False
        home = "definitions" if is_plain_kept and ref.startswith("#/definitions/") else "$defs"
        stem = legal_definition(unquote(ref).rstrip("/").rpartition("/")[2].lstrip("#") or "root")
        name, count = stem, 1
        while (home, name) in self._taken:
            count += 1
            name = f"{stem}_{count}"
        self._taken.add((home, name))
        self._names[ref] = home, name
        return home, name, True


def legal_definition(name: str) -> str:
    """Returns a name that needs no escapes in a reference."""
    return "".join(sign if sign.isascii() and (sign.isalnum() or sign in "_.-") else "_" for sign in name[:100]) or "_"


def copy_standalone(schema: object, references: FittedReferences, path: str, most: int) -> JsonObject:
    """Returns a copy of the schema with everything that it refers to; at most `most` schemas. Raises CannotFit."""
    copying = _Copying(references, path, most)
    copied = copying.copy(schema)
    alone: JsonObject = copied if isinstance(copied, dict) else ({} if copied else {"not": {}})
    return {**alone, "$defs": copying.definitions} if copying.definitions else alone


_LEFT_OUT = frozenset([*_HOMES, "$id", "id", "$anchor", "$dynamicAnchor", *DYNAMIC])


class _Copying:
    """One schema being copied with what it refers to."""

    def __init__(self, references: FittedReferences, path: str, most: int) -> None:
        self._references, self._path, self._left = references, path, most
        self._homes = DefinitionNames()
        self.definitions: JsonObject = {}

    def copy(self, schema: object) -> Any:
        if not isinstance(schema, dict):
            return schema
        self._left -= 1
        if self._left < 0:
            raise CannotFit("it is too large", self._path)
        copy: JsonObject = {}
        for keyword, operand in schema.items():
            if keyword == "$ref":
                copy[keyword] = self._refer(operand)
            elif keyword not in _LEFT_OUT:
                copy[keyword] = map_members(keyword, operand, lambda member, _: self.copy(member))
        return copy

    def _refer(self, ref: Any) -> str:
        target = self._references.target(ref, self._path)
        _, name, is_new = self._homes.of(ref, is_plain_kept=False)
        if is_new:
            # Takes its place at once; the copy below may refer to more.
            self.definitions[name] = True
            self.definitions[name] = self.copy(target)
        return f"#/$defs/{name}"
