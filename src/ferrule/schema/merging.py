"""Joins schemas of one value, keyword by keyword: the meaning of `allOf`. None of them has references any more.

`Merger` joins two schemas as deep as they go, for definitions that are written out (OpenAPI). `fitting/flattening.py`
joins one level of many, the rest when its turn comes. Both use `join_operands`, so a keyword means the same to both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ferrule.model.value import MISSING, JsonObject, Missing, is_number

ANNOTATIONS = frozenset(
    [
        "title",
        "description",
        "default",
        "examples",
        "example",
        "deprecated",
        "readOnly",
        "writeOnly",
        "$comment",
        "$schema",
        "$id",
        "id",
        "$anchor",
        "$dynamicAnchor",
        "$recursiveAnchor",
        "$vocabulary",
        "$defs",
        "definitions",
        "discriminator",
        "xml",
        "externalDocs",
        "nullable",
    ]
)
"""Keywords that judge no value."""
ALL_TYPES = ("object", "array", "string", "number", "boolean", "null")
_MOST_MERGES = 2_000
_MOST_DEPTH = 8
# The second schema is the nearer one (what stands beside a `$ref` or an `allOf`), so these words of it count.
_LATER_WINS = frozenset({"description", "default", "sensitive"})


class Never:
    """The type of `NEVER`: no value fits both."""

    __slots__ = ()


NEVER: Final = Never()


def join_operands(keyword: str, one: Any, other: Any) -> Any:
    """Returns the operand of a keyword that means the same as two together.

    It is MISSING when no single operand does, and NEVER when no value can fit both. Of annotations the first stays.
    """
    join = _JOINS.get(keyword)
    joined = MISSING if join is None else join(one, other)
    if joined is not MISSING:
        return joined
    if keyword in ANNOTATIONS or keyword.startswith("x-"):
        return one
    return one if is_same(one, other) else MISSING


def _join_types(one: object, other: object) -> object:
    return common_types(type_words(one), type_words(other)) or NEVER


def _join_enums(one: object, other: object) -> object:
    return same_values(one, other) or NEVER if isinstance(one, list) and isinstance(other, list) else MISSING


def _join_constants(one: object, other: object) -> object:
    return one if is_same(one, other) else NEVER


def _join_names(one: object, other: object) -> object:
    return list(dict.fromkeys([*one, *other])) if isinstance(one, list) and isinstance(other, list) else MISSING


def _join_lowest(one: object, other: object) -> object:
    return max(one, other) if is_number(one) and is_number(other) else MISSING


def _join_highest(one: object, other: object) -> object:
    return min(one, other) if is_number(one) and is_number(other) else MISSING


_JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "type": _join_types,
    "enum": _join_enums,
    "const": _join_constants,
    "required": _join_names,
    "uniqueItems": lambda one, other: one is True or other is True,
    "propertyNames": lambda one, other: {"allOf": [one, other]},
    **dict.fromkeys(
        ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"), _join_lowest
    ),
    **dict.fromkeys(
        ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"), _join_highest
    ),
}


class Merger:
    """Merges schemas within a budget: beyond it an `allOf` stays."""

    def __init__(self) -> None:
        self._left = _MOST_MERGES

    def start_anew(self) -> None:
        """Resets the budget for another schema."""
        self._left = _MOST_MERGES

    def merge(self, one: JsonObject, other: JsonObject, depth: int = 0) -> JsonObject:
        """Returns a schema that accepts what both accept. Some annotations of the second win."""
        if not other or one is other:
            return one
        if not one:
            return other
        self._left -= 1
        if self._left < 0 or depth > _MOST_DEPTH:
            return {"allOf": [one, other]}
        out = dict(one)
        rest: JsonObject = {}
        for key, value in other.items():
            if key not in out or key in _LATER_WINS:
                out[key] = value
            elif not is_same(out[key], value):
                joined = self._combine(key, out[key], value, depth)
                if isinstance(joined, Missing | Never):
                    rest[key] = value  # a contradiction stays for people to see
                else:
                    out[key] = joined
        if rest:
            out["allOf"] = [*out.get("allOf", []), rest]
        _open(out, one, other)
        return out

    def _combine(self, key: str, one: Any, other: Any, depth: int) -> Any:
        """Joins the operands of one keyword."""
        if key == "allOf":
            return [*one, *other]
        if key == "properties":
            return self._properties(one, other, depth)
        if key in ("items", "additionalProperties"):
            return self._schema(one, other, depth)
        joined = join_operands(key, one, other)
        return joined[0] if key == "type" and isinstance(joined, list) and len(joined) == 1 else joined

    def _properties(self, one: JsonObject, other: JsonObject, depth: int) -> JsonObject:
        joined = dict(one)
        for name, schema in other.items():
            joined[name] = self.merge(joined[name], schema, depth + 1) if name in joined else schema
        return joined

    def _schema(self, one: Any, other: Any, depth: int) -> Any:
        if isinstance(one, bool) or isinstance(other, bool):
            return other if one is True else one if other is True else False
        return self.merge(one, other, depth + 1)


def _open(out: JsonObject, one: JsonObject, other: JsonObject) -> None:
    """Opens closed objects that would reject each other's members, which no author intends."""
    if out.get("additionalProperties") is not False:
        return
    for closed, beside in ((one, other), (other, one)):
        is_closed = closed.get("additionalProperties") is False
        if is_closed and beside.get("properties", {}).keys() - closed.get("properties", {}).keys():
            if beside.get("additionalProperties") is not False:
                del out["additionalProperties"]
            return


def type_words(written: object) -> list[str]:
    """Returns the words of a `type`, which may be one or a list."""
    if isinstance(written, str):
        return [written]
    return [word for word in written if isinstance(word, str)] if isinstance(written, list) else list(ALL_TYPES)


def common_types(some: list[str], others: list[str]) -> list[str]:
    """Returns the types that both lists have; integers are numbers."""
    found = [word for word in some if word in others or (word == "integer" and "number" in others)]
    if "integer" in others and "number" in some and "integer" not in found:
        found.append("integer")
    return found


def same_values(some: list[object], others: list[object]) -> list[object]:
    """Returns the values that both lists have."""
    known = {key_of(value) for value in others}
    return [value for value in some if key_of(value) in known]


def is_same(one: Any, other: Any) -> bool:
    """Returns True for JSON values that are equal: 1 is 1.0 but not true, at any depth."""
    # To Python 1 == True and 1.0 == 1 at any depth, so `==` alone is not enough; it is only the quick first look.
    return one is other or (bool(one == other) and (one.__class__ is str or key_of(one) == key_of(other)))


def key_of(value: object) -> object:
    """Returns a key to compare JSON values by: 1 is 1.0 but not true."""
    if value.__class__ is str:
        return value
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, list):
        return ("list", tuple(key_of(item) for item in value))
    if isinstance(value, dict):
        return ("dict", frozenset((name, key_of(item)) for name, item in value.items()))
    return value


def bounds_in_numbers(keywords: JsonObject) -> None:
    """Rewrites bounds of draft 4 (`exclusiveMinimum: true`) as later drafts have them."""
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(keywords.get(exclusive), bool):
            is_exclusive = keywords.pop(exclusive)
            if is_exclusive and bound in keywords:
                keywords[exclusive] = keywords.pop(bound)
