"""Schemas that no rule has anything to say about: most of them, told apart in one quick look.

Everything here repeats, more narrowly, what the rules about schemas accept; a property test compares the two.
"""

from __future__ import annotations

from typing import Any

from ferrule.model.value import JsonObject

FORMATS = frozenset({"date", "date-time", "time", "email", "uri", "uuid", "ipv4", "ipv6"})
"""The values of `format` the runtime enforces (AML-30)."""
_TYPES = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
_BOUNDS = (("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems"))
_UPPER = frozenset(upper for _, upper in _BOUNDS)
_TYPE, _TEXT, _COUNT, _NUMBER, _FORMAT, _FLAG, _VALUES, _SCHEMA, _NAMES, _MEMBERS = range(10)
_OPERANDS = {
    "type": _TYPE,
    "description": _TEXT,
    "minLength": _COUNT,
    "maxLength": _COUNT,
    "minItems": _COUNT,
    "maxItems": _COUNT,
    "minimum": _NUMBER,
    "maximum": _NUMBER,
    "format": _FORMAT,
    "additionalProperties": _FLAG,
    "enum": _VALUES,
    "items": _SCHEMA,
    "required": _NAMES,
    "properties": _MEMBERS,
}


def is_unremarkable(schema: JsonObject) -> bool:
    """True when the schema itself is certainly sound, usual and described; what is inside it is looked at separately."""
    for keyword, operand in schema.items():
        kind = _OPERANDS.get(keyword)
        of = operand.__class__
        if kind == _TYPE:
            if of is not str or operand not in _TYPES:
                return False
        elif kind == _TEXT:
            if of is not str:
                return False
        elif kind == _MEMBERS:
            if of is not dict or not _are_described(operand):
                return False
        elif kind == _NAMES:
            if of is not list or not _are_declared(operand, schema.get("properties")):
                return False
        elif kind == _FLAG:
            if of is not bool:
                return False
        elif kind == _COUNT:
            if of is not int or operand < 0:
                return False
        elif kind == _NUMBER:
            if of is not int:
                return False
        elif kind == _FORMAT:
            if of is not str or operand not in FORMATS:
                return False
        elif kind == _VALUES:
            if of is not list or not operand:
                return False
        elif kind == _SCHEMA:
            if of is not dict:
                return False
        else:
            return False
    return _UPPER.isdisjoint(schema) or all(_leaves_room(schema, lower, upper) for lower, upper in _BOUNDS)


def _are_described(members: JsonObject) -> bool:
    for member in members.values():
        if member.__class__ is not dict:
            return False
        text = member.get("description")
        if text.__class__ is not str or not text or text.isspace():
            return False
    return "transfer" not in members  # which may make it an attachment


def _are_declared(names: list[Any], properties: Any) -> bool:
    if properties.__class__ is not dict:
        return False
    return all(name.__class__ is str and name in properties for name in names)


def _leaves_room(schema: JsonObject, lower: str, upper: str) -> bool:
    return lower not in schema or upper not in schema or bool(schema[lower] <= schema[upper])
