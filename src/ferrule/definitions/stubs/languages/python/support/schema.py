"""A JSON Schema as a document: which draft it is, and where its references lead."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urljoin

_HOME = "schema://document/"
_DRAFT = re.compile(r"draft-0?([467])|(2019)-09")
_ONE = (
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_LISTS = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_NAMED = (
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
)


class BrokenSchemaError(Exception):
    """A schema that nobody can check by."""


class SchemaDocument:
    """A schema with what its references mean."""

    def __init__(self, text: str) -> None:
        self.root: Any = json.loads(text)
        self.draft = _draft_of(self.root)
        """4, 6, 7, 2019 or 2020."""
        self.has_unevaluated = False
        """Whether any of it asks for what other keywords left unevaluated."""
        self._resources: dict[str, Any] = {_HOME: self.root}
        self._anchors: dict[str, Any] = {}
        self._bases: dict[int, str] = {}
        self._targets: dict[tuple[str, str], Any] = {}
        self._index()

    def target(self, schema: dict[str, Any], reference: str) -> Any:
        """What a reference in a schema leads to: anything at all where it leads out of
        the document, for nothing is fetched. Raises BrokenSchemaError."""
        base = self._bases.get(id(schema), _HOME)
        if (base, reference) not in self._targets:
            self._targets[base, reference] = self._resolved(base, reference)
        return self._targets[base, reference]

    def _resolved(self, base: str, reference: str) -> Any:
        address, fragment = _split(_joined(base, reference))
        if (anchor := f"{address}#{fragment}") in self._anchors:
            return self._anchors[anchor]
        if address not in self._resources:
            return True
        if fragment and not fragment.startswith("/"):
            raise BrokenSchemaError(f"the schema has no {reference}")
        return _below(self._resources[address], fragment, reference)

    def _index(self) -> None:
        """Notes where everything is."""
        ahead = [(self.root, _HOME)]
        while ahead:
            schema, base = ahead.pop()
            if isinstance(schema, dict):
                base = self._base_of(schema, base)
                self._bases[id(schema)] = base
                for keyword in ("$anchor", "$dynamicAnchor"):
                    if isinstance(anchor := schema.get(keyword), str):
                        self._anchors[f"{base}#{anchor}"] = schema
                self.has_unevaluated |= not schema.keys().isdisjoint(_ONE[-2:])
                ahead += ((part, base) for part in _parts(schema))

    def _base_of(self, schema: dict[str, Any], base: str) -> str:
        said = schema.get("id" if self.draft == 4 else "$id")
        if not isinstance(said, str) or (self.draft <= 7 and "$ref" in schema):
            return base
        address, fragment = _split(_joined(base, said))
        if fragment:
            self._anchors[f"{address}#{fragment}"] = schema
        if not said.startswith("#"):
            self._resources[address] = schema
        return address


def _draft_of(root: Any) -> int:
    said = root.get("$schema") if isinstance(root, dict) else None
    if isinstance(said, str):
        found = _DRAFT.search(said)
        return int(found[1] or found[2]) if found else 2020
    return 7 if _has_list_of_items(root) else 2020


def _has_list_of_items(root: Any) -> bool:
    """Until 2019 `items` could be a list."""
    ahead = [root]
    while ahead:
        schema = ahead.pop()
        if isinstance(schema, dict):
            if isinstance(schema.get("items"), list):
                return True
            ahead += _parts(schema)
    return False


def _parts(schema: dict[str, Any]) -> Iterator[Any]:
    """The schemas right inside a schema."""
    yield from (schema[keyword] for keyword in _ONE if keyword in schema)
    for keyword in _LISTS:
        if isinstance(some := schema.get(keyword), list):
            yield from some
    for keyword in _NAMED:
        if isinstance(named := schema.get(keyword), dict):
            yield from named.values()


def _joined(base: str, reference: str) -> str:
    if reference.startswith("#"):
        return base + reference
    try:
        return urljoin(base, reference)
    except ValueError:
        return reference


def _split(address: str) -> tuple[str, str]:
    before, _, fragment = address.partition("#")
    return before, unquote(fragment)


def _below(root: Any, pointer: str, reference: str) -> Any:
    found = root
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(name)] if isinstance(found, list) else found[name]
        except (KeyError, IndexError, TypeError, ValueError):
            raise BrokenSchemaError(f"the schema has no {reference}") from None
    return found
