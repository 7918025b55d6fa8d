"""Fields the runtime fills in and the model never sees nor sends (AT-55 to AT-59): which they are, and schemas without
them.

A contract lists them in `internal_only_fields` (a name counts at any depth, `a.b` at its place) or marks them
`visibility: internal` in either schema. Where references hide the place of a field, its name counts at any depth:
hiding one field too many is a nuisance, showing one is a leak.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.schema.pointers import read_fragment
from ferrule.schema.walk import LIST_KEYWORDS, MAP_KEYWORDS, SCHEMA_KEYWORDS, members

Trail = tuple[str, ...]
"""The property names that lead to a field, from the root of the arguments; lists are stepped through unnamed."""

_ROOTS = ("$defs", "definitions")
_DATA = frozenset({"default", "const", "enum", "examples", "example"})
_TEXT = frozenset(
    {"type", "format", "title", "description", "pattern", "$schema", "$id", "$comment", "contentMediaType"}
)


class InternalFields(msgspec.Struct, frozen=True):
    """The internal fields of one tool. False when it has none."""

    names: frozenset[str] = frozenset()
    """Internal wherever they stand."""
    trails: frozenset[Trail] = frozenset()
    """Internal at this place."""

    def __bool__(self) -> bool:
        return bool(self.names or self.trails)

    def covers(self, trail: Trail) -> bool:
        """Returns True when the field at the end of a trail is internal."""
        return trail[-1] in self.names or trail in self.trails

    def covers_somewhere(self, trail: Trail) -> bool:
        """Returns True when a field may be internal, known only by the end of its trail (inside `$defs`)."""
        return trail[-1] in self.names or any(known[-len(trail) :] == trail for known in self.trails)

    def leaves(self) -> frozenset[str]:
        """Returns the names alone."""
        return self.names | {trail[-1] for trail in self.trails}


NONE = InternalFields()


class _Contract(msgspec.Struct):
    internal_only_fields: Any = None


class _Payload(msgspec.Struct):
    input_contract: _Contract = msgspec.field(default_factory=_Contract)
    tool_interface: _Contract = msgspec.field(default_factory=_Contract)


_decode_payload = msgspec.json.Decoder(_Payload).decode


def internal_fields(tool: Tool) -> InternalFields:
    """Finds the internal fields of a tool's input."""
    names = set(_listed_names(tool))
    trails = {tuple(name.split(".")) for name in names if "." in name}
    for schema in (tool.input_schema, tool.runtime_input_schema):
        if schema is None or not _may_mark(schema):
            continue
        for trail, is_placed in _find_marked(msgspec.json.decode(schema), (), True):
            if is_placed:
                trails.add(trail)
            else:
                names.add(trail[-1])
    return InternalFields(frozenset(names), frozenset(trails)) if names or trails else NONE


def _listed_names(tool: Tool) -> Iterator[str]:
    if tool.dialect in ("aml", "adl", "oxp"):  # their contracts have no such list
        return
    try:
        payload = _decode_payload(tool.payload)
    except msgspec.DecodeError:  # a member is no mapping, so it lists no fields
        return
    for contract in (payload.input_contract, payload.tool_interface):
        if isinstance(contract.internal_only_fields, list):
            yield from (name for name in contract.internal_only_fields if isinstance(name, str) and name)


def _may_mark(schema: msgspec.Raw) -> bool:
    """Returns True when a schema can hold a mark, by a look at its bytes; an escaped letter may hide one."""
    text = bytes(schema)
    return b'"internal"' in text or b"\\u" in text


def is_marked(schema: object) -> bool:
    """Returns True when a schema marks its field as internal."""
    return isinstance(schema, dict) and schema.get("visibility") == "internal"


def _find_marked(schema: object, trail: Trail, is_placed: bool) -> Iterator[tuple[Trail, bool]]:
    """Yields every marked field with its trail, and whether the trail begins at the root."""
    for steps, member in members(schema) if isinstance(schema, dict) else ():
        keyword = steps[0]
        below = (*trail, str(steps[-1])) if keyword == "properties" else () if keyword in _ROOTS else trail
        if keyword == "properties" and is_marked(member):
            yield below, is_placed
        else:
            yield from _find_marked(member, below, is_placed and keyword not in _ROOTS)


def model_schema(tool: Tool, fields: InternalFields | None = None) -> msgspec.Raw:
    """Returns the input schema as a model may see it: the tool's own bytes when nothing of it is internal."""
    fields = internal_fields(tool) if fields is None else fields
    if not fields:
        return tool.input_schema
    return msgspec.Raw(msgspec.json.encode(without_internal(msgspec.json.decode(tool.input_schema), fields)))


def without_internal(schema: object, fields: InternalFields) -> object:
    """Returns a schema with every trace of internal fields removed: properties, requirements, conditions, examples,
    defaults."""
    return _Strip(fields).schema(schema, (), True) if fields else schema


def find_internal(arguments: object, fields: InternalFields) -> list[str]:
    """Returns the internal fields that arguments contain, as dotted names: a model must not send them (AT-59)."""
    return [".".join(trail) for trail in _find_sent(arguments, (), fields)] if fields else []


def _find_sent(value: object, trail: Trail, fields: InternalFields) -> Iterator[Trail]:
    if isinstance(value, list):
        for item in value:
            yield from _find_sent(item, trail, fields)
    elif isinstance(value, dict):
        for name, member in value.items():
            below = (*trail, name)
            if fields.covers(below):
                yield below
            else:
                yield from _find_sent(member, below, fields)


class _Strip:
    """Removes internal fields from one schema."""

    def __init__(self, fields: InternalFields) -> None:
        self.fields = fields
        self.leaves = fields.leaves()

    def schema(self, schema: Any, trail: Trail, is_placed: bool) -> Any:
        if isinstance(schema, list):
            return [self.schema(member, trail, is_placed) for member in schema]
        if not isinstance(schema, dict):
            return schema
        if self._points_inside(schema):
            return {}
        kept = {key: self._operand(key, operand, trail, is_placed) for key, operand in schema.items()}
        return _loosen(schema, kept)

    def _operand(self, keyword: str, operand: object, trail: Trail, is_placed: bool) -> object:
        if keyword in MAP_KEYWORDS and isinstance(operand, dict):
            return self._map(keyword, operand, trail, is_placed)
        if keyword == "propertyNames":
            return self._unknown(operand)
        if keyword in SCHEMA_KEYWORDS or keyword in LIST_KEYWORDS:
            return self.schema(operand, trail, is_placed)
        if keyword == "required" and isinstance(operand, list):
            return [name for name in operand if not self._hides(trail, name, is_placed)]
        if keyword == "dependentRequired" and isinstance(operand, dict):
            return self._map("dependencies", operand, trail, is_placed)
        if keyword in _DATA:
            return self._data(operand, trail, is_placed)
        return operand if keyword in _TEXT else self._unknown(operand)

    def _map(self, keyword: str, operand: JsonObject, trail: Trail, is_placed: bool) -> JsonObject:
        # Definitions are used from many places, so a field's place is unknown inside; only its name counts.
        if keyword in _ROOTS:
            return {name: self.schema(part, (), False) for name, part in operand.items() if name not in self.leaves}
        if keyword == "patternProperties":
            # `^secret$` is a name written as a pattern.
            operand = {name: part for name, part in operand.items() if name.strip("^$") not in self.leaves}
        kept: JsonObject = {}
        for name, member in operand.items():
            if self._hides(trail, name, is_placed) or (keyword == "properties" and is_marked(member)):
                continue
            if keyword == "dependencies" and isinstance(member, list):
                kept[name] = [other for other in member if not self._hides(trail, other, is_placed)]
            else:
                kept[name] = self.schema(member, (*trail, name) if keyword == "properties" else trail, is_placed)
        return kept

    def _hides(self, trail: Trail, name: object, is_placed: bool) -> bool:
        if not isinstance(name, str):
            return False
        below = (*trail, name)
        return self.fields.covers(below) if is_placed else self.fields.covers_somewhere(below)

    def _data(self, value: object, trail: Trail, is_placed: bool) -> object:
        if isinstance(value, list):
            return [self._data(item, trail, is_placed) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            name: self._data(member, (*trail, name), is_placed)
            for name, member in value.items()
            if not self._hides(trail, name, is_placed)
        }

    def _unknown(self, value: object) -> object:
        """Removes names of internal fields from the operand of an unknown keyword, wherever they are."""
        if isinstance(value, list):
            return [self._unknown(item) for item in value if not (isinstance(item, str) and item in self.leaves)]
        if isinstance(value, dict):
            return {name: self._unknown(member) for name, member in value.items() if name not in self.leaves}
        return value

    def _points_inside(self, schema: JsonObject) -> bool:
        """Returns True for a reference to a removed part; it would be unresolved, and its text names the field."""
        pointer = schema.get("$ref")
        if not isinstance(pointer, str):
            return False
        # Reading a pointer skips what precedes its first slash; with one in front nothing is skipped.
        return any(step in self.leaves for step in read_fragment(f"/{pointer}"))


def _loosen(schema: JsonObject, kept: JsonObject) -> JsonObject:
    """Removes conditions that nothing could meet any more. The runtime checks by the complete schema."""
    if kept.get("not") != schema.get("not"):
        del kept["not"]
    if kept.get("if") != schema.get("if"):
        for keyword in ("if", "then", "else"):
            kept.pop(keyword, None)
    if kept.get("oneOf") != schema.get("oneOf"):
        # Branches may be alike without the removed fields, and `oneOf` would then refuse what fits several.
        kept.setdefault("anyOf", kept.pop("oneOf"))
    return kept
