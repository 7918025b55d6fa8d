"""Two schemas of one value made one: what `allOf` means. Both are plain already, without references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MOST_MERGES = 2_000
_MOST_DEPTH = 8
_LATER_WINS = frozenset({"description", "default", "sensitive"})
_GREATER = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems"})
_SMALLER = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems"})


class Merger:
    """Merges, and stops where it would not end soon: what it does not merge stays an `allOf`."""

    def __init__(self) -> None:
        self._left = _MOST_MERGES

    def start_anew(self) -> None:
        """Begin another schema, with all the patience there is."""
        self._left = _MOST_MERGES

    def merged(self, one: dict[str, Any], other: dict[str, Any], depth: int = 0) -> dict[str, Any]:
        """A schema that takes what both take. Annotations of the second win."""
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
            if key not in out:
                out[key] = value
            elif out[key] != value or type(out[key]) is not type(value):
                if key in _LATER_WINS:
                    out[key] = value
                else:
                    made = self._combined(key, out[key], value, depth)
                    if made is None:
                        rest[key] = value
                    else:
                        out[key] = made
        if rest:
            out["allOf"] = [*out.get("allOf", []), rest]
        _opened(out, one, other)
        return out

    def _combined(self, key: str, one: Any, other: Any, depth: int) -> Any:
        """One operand of a keyword for two; None when there is none."""
        if key in _GREATER:
            return max(one, other)
        if key in _SMALLER:
            return min(one, other)
        combine = _COMBINE.get(key)
        return None if combine is None else combine(self, one, other, depth)

    def _properties(self, one: dict[str, Any], other: dict[str, Any], depth: int) -> dict[str, Any]:
        made = dict(one)
        for name, schema in other.items():
            made[name] = self.merged(made[name], schema, depth + 1) if name in made else schema
        return made

    def _schema(self, one: Any, other: Any, depth: int) -> Any:
        if isinstance(one, bool) or isinstance(other, bool):
            return other if one is True else one if other is True else False
        return self.merged(one, other, depth + 1)


def _required(_: Merger, one: list[str], other: list[str], __: int) -> list[str]:
    return [*one, *(name for name in other if name not in one)]


def _type(_: Merger, one: Any, other: Any, __: int) -> Any:
    first = one if isinstance(one, list) else [one]
    second = other if isinstance(other, list) else [other]
    both = [word for word in first if word in second]
    if "integer" not in both and {"integer", "number"} <= {*first, *second}:
        both.append("integer")
    return None if not both else both[0] if len(both) == 1 else both


def _enum(_: Merger, one: list[Any], other: list[Any], __: int) -> Any:
    return [value for value in one if value in other] or None


def _all_of(_: Merger, one: list[Any], other: list[Any], __: int) -> list[Any]:
    return [*one, *other]


_COMBINE: dict[str, Callable[[Merger, Any, Any, int], Any]] = {
    "properties": Merger._properties,
    "items": Merger._schema,
    "additionalProperties": Merger._schema,
    "required": _required,
    "type": _type,
    "enum": _enum,
    "allOf": _all_of,
}


def _opened(out: dict[str, Any], one: dict[str, Any], other: dict[str, Any]) -> None:
    """Two closed halves of an object would refuse each other's members, which nobody means."""
    if out.get("additionalProperties") is not False:
        return
    for closed, beside in ((one, other), (other, one)):
        is_closed = closed.get("additionalProperties") is False
        if is_closed and beside.get("properties", {}).keys() - closed.get("properties", {}).keys():
            if beside.get("additionalProperties") is not False:
                del out["additionalProperties"]
            return
