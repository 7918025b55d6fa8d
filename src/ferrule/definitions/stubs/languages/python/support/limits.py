"""What a schema says of a value as such: its type, its length, its bounds."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import Any, NamedTuple

from .patterns import matches

Path = tuple[Any, ...]
"""Where a value is: `()` for all of it, else where the value around it is, and the name
or the number in there."""
_MOST_CHOICES = 10
_FLOATS_SKIP = 2**53


class Problem(NamedTuple):
    """Why a value does not fit."""

    path: Path
    expected: str

    @property
    def place(self) -> str:
        """A JSON pointer."""
        steps, path = [], self.path
        while path:
            path, step = path
            steps.append(str(step).replace("~", "~0").replace("/", "~1"))
        return "".join(f"/{step}" for step in reversed(steps))

    @property
    def depth(self) -> int:
        """How far inside the value it is."""
        steps, path = 0, self.path
        while path:
            path, steps = path[0], steps + 1
        return steps


def plain_problem(
    schema: dict[str, Any], value: Any, path: Path, draft: int
) -> Problem | None:
    """What is wrong with a value as such, whatever is inside it."""
    if "type" in schema:
        said = schema["type"]
        types = said if isinstance(said, list) else [said]
        if not any(_is_of_type(value, word, draft) for word in types):
            return Problem(path, f"must be {' or '.join(map(str, types))}")
    if "const" in schema and draft > 4 and not are_equal(schema["const"], value):
        return Problem(path, f"must be {shown(schema['const'])}")
    some = schema.get("enum")
    if isinstance(some, list) and not any(are_equal(choice, value) for choice in some):
        return Problem(path, choices(some))
    if isinstance(value, str):
        return _text_problem(schema, value, path)
    if _is_number(value):
        return _number_problem(schema, value, path)
    return None


def _text_problem(schema: dict[str, Any], value: str, path: Path) -> Problem | None:
    problem = size_problem(schema, value, path, "Length", "characters")
    if problem is not None:
        return problem
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and not matches(pattern, value):
        return Problem(path, f"must match {pattern}")
    return None


def _number_problem(schema: dict[str, Any], value: float, path: Path) -> Problem | None:
    for keyword, is_wrong, told in _BOUNDS:
        limit = schema.get(keyword)
        if limit is True:  # until draft 4
            limit = schema.get("m" + keyword.removeprefix("exclusiveM"))
        if _is_number(limit) and is_wrong(exact(value), exact(limit)):
            return Problem(path, f"must be {told} {limit}")
    step = schema.get("multipleOf")
    if _is_number(step) and step and not _is_multiple(value, step):
        return Problem(path, f"must be a multiple of {step}")
    return None


_Comparison = Callable[[Any, Any], bool]
_BOUNDS: tuple[tuple[str, _Comparison, str], ...] = (
    ("minimum", lambda value, limit: bool(value < limit), "at least"),
    ("maximum", lambda value, limit: bool(value > limit), "at most"),
    ("exclusiveMinimum", lambda value, limit: bool(value <= limit), "more than"),
    ("exclusiveMaximum", lambda value, limit: bool(value >= limit), "less than"),
)


def _is_multiple(value: float, step: float) -> bool:
    """By their digits: 19.99 is a multiple of 0.01."""
    exact = Fraction(Decimal(repr(value))) / Fraction(Decimal(repr(step)))
    return exact.denominator == 1


def size_problem(
    schema: dict[str, Any],
    value: Sequence[Any] | dict[str, Any],
    path: Path,
    ending: str,
    unit: str,
) -> Problem | None:
    """What is wrong with the length of a value."""
    least, most = limit(schema, f"min{ending}"), limit(schema, f"max{ending}")
    if least is not None and len(value) < least:
        return Problem(path, f"must have at least {least} {unit}")
    if most is not None and len(value) > most:
        return Problem(path, f"must have at most {most} {unit}")
    return None


def missing(names: Any, value: dict[str, Any], path: Path) -> Problem | None:
    """The first member that should be there."""
    for name in names if isinstance(names, list) else ():
        if isinstance(name, str) and name not in value:
            return Problem(path, f"the member {shown(name)} is missing")
    return None


def schemas_of(schema: dict[str, Any], name: str) -> list[Any]:
    """Every schema that a member has to fit."""
    parts = []
    properties = named(schema, "properties")
    if name in properties:
        parts.append(properties[name])
    for pattern, part in named(schema, "patternProperties").items():
        if matches(pattern, name):
            parts.append(part)
    if not parts and "additionalProperties" in schema:
        parts.append(schema["additionalProperties"])
    return parts


def positions(schema: dict[str, Any], draft: int) -> tuple[list[Any], Any]:
    """The schemas of the first items, and of those after them."""
    items = schema.get("items")
    if isinstance(items, list):
        return items, schema.get("additionalItems")
    return listed(schema, "prefixItems") if draft >= 2020 else [], items


def listed(schema: dict[str, Any], keyword: str) -> list[Any]:
    """What a keyword lists."""
    found = schema.get(keyword)
    return found if isinstance(found, list) else []


def named(schema: dict[str, Any], keyword: str) -> dict[str, Any]:
    """What a keyword says by name."""
    found = schema.get(keyword)
    return found if isinstance(found, dict) else {}


def limit(schema: dict[str, Any], keyword: str) -> int | float | None:
    """The number that a keyword says."""
    found = schema.get(keyword)
    return found if _is_number(found) else None


def _is_of_type(value: Any, word: Any, draft: int) -> bool:
    match word:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            if isinstance(value, float):
                return draft > 4 and value.is_integer()
            return _is_number(value)
        case "number":
            return _is_number(value)
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
        case _:
            return word == "object" and isinstance(value, dict)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def exact(value: Any) -> Any:
    """A number beyond those that floats tell apart, by the digits that it is written
    with: 1e30 is 10**30, and not the float next to it."""
    if isinstance(value, float) and _FLOATS_SKIP <= abs(value) < inf:
        return int(Decimal(repr(value)))
    return value


def are_equal(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same: 1 and 1.0 are, 1 and true are not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(are_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            are_equal(item, right[name]) for name, item in left.items()
        )
    return bool(exact(left) == exact(right))


def has_repeated(items: list[Any]) -> bool:
    """Whether two items are equal."""
    plain: set[Any] = set()
    nested: list[Any] = []
    for item in items:
        if isinstance(item, dict | list):
            if any(are_equal(item, other) for other in nested):
                return True
            nested.append(item)
        else:
            key = (isinstance(item, bool), exact(item))
            if key in plain:
                return True
            plain.add(key)
    return False


def choices(values: list[Any]) -> str:
    """What a value must be one of, for a message."""
    every = list(dict.fromkeys(map(shown, values)))
    if len(every) == 1:
        return f"must be {every[0]}"
    more = len(every) - _MOST_CHOICES
    end = f" and {more} more" if more > 0 else ""
    return f"must be one of {', '.join(every[:_MOST_CHOICES])}{end}"


def shown(value: Any) -> str:
    """A value for a message."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"
