"""What schemas of one value say together, keyword by keyword: what `allOf` means. None of them has references any more.

`Merger` puts two schemas together as deep as they go, for definitions that are written out (OpenAPI). `fitting/flattening.py`
puts one level of many together, the rest when its turn comes. Both ask `join_operands`, so a keyword means the same to both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ferrule.model.value import MISSING, Missing, is_number

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
_LATER_WINS = frozenset({"description", "default", "sensitive"})


class Never:
    """The type of `NEVER`: no value fits both."""

    __slots__ = ()


NEVER: Final = Never()


def join_operands(keyword: str, one: Any, other: Any) -> Any:
    """Returns the operand of a keyword that says what two say together.

    It is MISSING when no single operand says that, and NEVER when no value can fit both. Of annotations the first stays.
    """
    join = _JOINS.get(keyword)
    joined = MISSING if join is None else join(one, other)
    if joined is not MISSING:
        return joined
    if keyword in ANNOTATIONS or keyword.startswith("x-"):
        return one
    return one if is_same(one, other) else MISSING


def _join_types(one: Any, other: Any) -> Any:
    return common_types(type_words(one), type_words(other)) or NEVER


def _join_enums(one: Any, other: Any) -> Any:
    return same_values(one, other) or NEVER if isinstance(one, list) and isinstance(other, list) else MISSING


def _join_constants(one: Any, other: Any) -> Any:
    return one if is_same(one, other) else NEVER


def _join_names(one: Any, other: Any) -> Any:
    return list(dict.fromkeys([*one, *other])) if isinstance(one, list) and isinstance(other, list) else MISSING


def _join_lowest(one: Any, other: Any) -> Any:
    return max(one, other) if is_number(one) and is_number(other) else MISSING


def _join_highest(one: Any, other: Any) -> Any:
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
    """Merges, and stops where it would not end soon: what it does not merge stays an `allOf`."""

    def __init__(self) -> None:
        self._left = _MOST_MERGES

    def start_anew(self) -> None:
        """Begin another schema, with all the patience there is."""
        self._left = _MOST_MERGES

    def merged(self, one: dict[str, Any], other: dict[str, Any], depth: int = 0) -> dict[str, Any]:
        """A schema that takes what both take. Some annotations of the second win."""
        if not other or one is other:
            return one
        if not one:
            return other
        self._left -= 1
        if self._left < 0 or depth > _MOST_DEPTH:
            return {"allOf": [one, other]}
        out = dict(one)
        rest: dict[str, Any] = {}
        for key, value in other.items():
            if key not in out or key in _LATER_WINS:
                out[key] = value
            elif not is_same(out[key], value):
                made = self._combined(key, out[key], value, depth)
                if isinstance(made, Missing | Never):
                    rest[key] = value  # a contradiction stays for people to see
                else:
                    out[key] = made
        if rest:
            out["allOf"] = [*out.get("allOf", []), rest]
        _open(out, one, other)
        return out

    def _combined(self, key: str, one: Any, other: Any, depth: int) -> Any:
        """One operand of a keyword for two."""
        if key == "allOf":
            return [*one, *other]
        if key == "properties":
            return self._properties(one, other, depth)
        if key in ("items", "additionalProperties"):
            return self._schema(one, other, depth)
        made = join_operands(key, one, other)
        return made[0] if key == "type" and isinstance(made, list) and len(made) == 1 else made

    def _properties(self, one: dict[str, Any], other: dict[str, Any], depth: int) -> dict[str, Any]:
        made = dict(one)
        for name, schema in other.items():
            made[name] = self.merged(made[name], schema, depth + 1) if name in made else schema
        return made

    def _schema(self, one: Any, other: Any, depth: int) -> Any:
        if isinstance(one, bool) or isinstance(other, bool):
            return other if one is True else one if other is True else False
        return self.merged(one, other, depth + 1)


def _open(out: dict[str, Any], one: dict[str, Any], other: dict[str, Any]) -> None:
    """Two closed halves of an object would refuse each other's members, which nobody means."""
    if out.get("additionalProperties") is not False:
        return
    for closed, beside in ((one, other), (other, one)):
        is_closed = closed.get("additionalProperties") is False
        if is_closed and beside.get("properties", {}).keys() - closed.get("properties", {}).keys():
            if beside.get("additionalProperties") is not False:
                del out["additionalProperties"]
            return


def type_words(written: Any) -> list[str]:
    """The words of a `type`, which may be one or a list."""
    if isinstance(written, str):
        return [written]
    return [word for word in written if isinstance(word, str)] if isinstance(written, list) else list(ALL_TYPES)


def common_types(some: list[str], others: list[str]) -> list[str]:
    """The types that both lists have; integers are numbers."""
    found = [word for word in some if word in others or (word == "integer" and "number" in others)]
    if "integer" in others and "number" in some and "integer" not in found:
        found.append("integer")
    return found


def same_values(some: list[Any], others: list[Any]) -> list[Any]:
    """The values that both lists have."""
    known = {key_of(value) for value in others}
    return [value for value in some if key_of(value) in known]


def is_same(one: Any, other: Any) -> bool:
    """True for JSON values that are equal: 1 is 1.0 but not true, however deep inside they stand."""
    return one is other or (bool(one == other) and (one.__class__ is str or key_of(one) == key_of(other)))


def key_of(value: Any) -> Any:
    """Something to compare JSON values by: 1 is 1.0 but not true."""
    if value.__class__ is str:
        return value
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, list):
        return ("list", tuple(key_of(item) for item in value))
    if isinstance(value, dict):
        return ("dict", frozenset((name, key_of(item)) for name, item in value.items()))
    return value


def bounds_in_numbers(keywords: dict[str, Any]) -> None:
    """Says bounds as draft 4 has them (`exclusiveMinimum: true`) in the words of later drafts."""
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(keywords.get(exclusive), bool):
            is_exclusive = keywords.pop(exclusive)
            if is_exclusive and bound in keywords:
                keywords[exclusive] = keywords.pop(bound)
