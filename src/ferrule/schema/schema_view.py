"""Walks a tool's schema beside a value: which schemas describe the value, and its members.

Used where a validator's yes or no is not enough: for masking, fixing and explaining. Judges no value.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ferrule.model.value import JsonObject
from ferrule.schema.references import SchemaReferences, root_references

Schemas = tuple[dict[str, Any], ...]
"""Schemas that describe one value together."""

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("if", "then", "else", "not")
_MAPS = ("dependentSchemas", "dependencies")
CLOSURE_LIMIT = 2000
"""More schemas than this about one value are ignored: no definition needs them."""


class SchemaView:
    """One schema document and the targets of its references."""

    __slots__ = ("_references", "root", "unresolved")

    def __init__(self, root: object) -> None:
        self.root: JsonObject = root_references(root) if isinstance(root, dict) else {}
        self.unresolved = False
        """True once a reference led nowhere."""
        self._references = SchemaReferences(self.root)

    def about(self, schemas: Iterable[object], *, negated: bool = True) -> Schemas:
        """Returns these schemas and every one they combine with in place: `$ref`, `allOf`, `anyOf`, `then`, …

        Without `negated`, schemas under `not` and `if` are left out: they do not say what the value should be.
        """
        found: dict[int, JsonObject] = {}
        stack = [schema for schema in schemas if isinstance(schema, dict)]
        while stack and len(found) < CLOSURE_LIMIT:
            schema = stack.pop()
            if id(schema) not in found:
                found[id(schema)] = schema
                stack += [member for member in self._in_place(schema, negated) if isinstance(member, dict)]
        return tuple(found.values())

    def member(self, schemas: Schemas, name: str) -> list[Any]:
        """Returns the schemas of a property. Those under `patternProperties` count without matching the pattern."""
        found: list[Any] = []
        for schema in schemas:
            properties = _mapping(schema, "properties")
            if name in properties:
                found.append(properties[name])
            else:
                found += [schema[key] for key in ("additionalProperties", "unevaluatedProperties") if key in schema]
            found += _mapping(schema, "patternProperties").values()
        return found

    def items(self, schemas: Schemas) -> list[Any]:
        """Returns the schemas of a list's members, at any position."""
        found: list[Any] = []
        for schema in schemas:
            for key in ("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"):
                operand = schema.get(key)
                found += operand if isinstance(operand, list) else [operand]
        return found

    def neighbours(self, schema: JsonObject) -> list[JsonObject]:
        """Returns the schemas one step away: about the same value, about its members, about its names."""
        found = [*self._in_place(schema, True), *self.items((schema,)), schema.get("propertyNames")]
        for key in ("properties", "patternProperties"):
            found += _mapping(schema, key).values()
        found += [schema.get(key) for key in ("additionalProperties", "unevaluatedProperties", "contentSchema")]
        return [member for member in found if isinstance(member, dict)]

    def target(self, reference: object) -> JsonObject | None:
        """Returns the schema a `$ref` leads to, within this document."""
        return self._references.schema(reference)

    def _in_place(self, schema: JsonObject, negated: bool) -> list[object]:
        found: list[Any] = []
        for key in _REFERENCES:
            if key in schema:
                target = self.target(schema[key])
                self.unresolved = self.unresolved or target is None
                found.append(target)
        for key in _LISTS:
            operand = schema.get(key)
            found += operand if isinstance(operand, list) else ()
        found += [schema.get(key) for key in (_SINGLE if negated else ("then", "else"))]
        for key in _MAPS:
            found += _mapping(schema, key).values()
        return found


def types_of(schemas: Schemas) -> frozenset[str]:
    """Returns the JSON types these schemas name; empty when they name none. A value may still have to fit only some of
    them."""
    found: set[str] = set()
    for schema in schemas:
        stated = schema.get("type")
        if isinstance(stated, str):
            found.add(stated)
        elif isinstance(stated, list):
            found.update(word for word in stated if isinstance(word, str))
        for value in _choices(schema):
            found.add(json_type(value))
    return frozenset(found)


def _choices(schema: JsonObject) -> list[object]:
    """Returns the values an `enum` or `const` without a `type` allows."""
    if "type" in schema:
        return []
    if "const" in schema:
        return [schema["const"]]
    choices = schema.get("enum")
    return choices if isinstance(choices, list) else []


def json_type(value: object) -> str:
    """Returns the JSON Schema word for a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _mapping(schema: JsonObject, key: str) -> JsonObject:
    found = schema.get(key)
    return found if isinstance(found, dict) else {}
