"""Values worth trying against a schema: its edges, its words, and just past them. Small, bounded and always the same.

Nothing here promises that a value fits; callers validate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from math import ceil, floor
from typing import Any

from ferrule.model.value import JsonObject, is_integer, is_number

PER_SCHEMA = 40
"""Values tried for one schema."""
LONGEST = 300
"""The longest string, and the longest list, that is ever made up."""
DEEPEST = 8
_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:30:00Z",
    "time": "12:30:00Z",
    "email": "someone@example.com",
    "uri": "https://example.com/a",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "hostname": "example.com",
    "uri-reference": "a/b",
    "duration": "P1D",
    "regex": "a",
    "json-pointer": "/a",
}
_WORDS = (
    "",
    "a",
    "A",
    "0",
    "1",
    "abc",
    "a b",
    "-",
    "é",
    "aa",
    "2026-01-31",
    "someone@example.com",
    "https://example.com/a",
)
_HOLLOW: tuple[Any, ...] = ({}, [], "", 0, 1, -1, 0.5, True, False, None)


def samples(schema: object) -> list[Any]:
    """Returns values that a schema's own text suggests, likeliest first. They share their parts: read them, do not
    change them."""
    return _Trying().samples(schema, 0)


class _Trying:
    """One schema being sampled. The samples of an inner schema are computed once, however many values hold it."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[object, list[Any]]] = {}

    def samples(self, schema: object, depth: int) -> list[Any]:
        known = self._known.get((id(schema), depth))
        if known is None:  # the schema is kept with its values, so that nothing else gets its id
            values = list(islice(_distinct(self._suggest(schema, depth)), PER_SCHEMA))
            known = self._known[id(schema), depth] = (schema, values)
        return known[1]

    def _suggest(self, schema: object, depth: int) -> Iterator[object]:
        if not isinstance(schema, dict) or depth > DEEPEST:
            yield from _HOLLOW
            return
        if "const" in schema:
            yield schema["const"]
        enum = schema.get("enum")
        if isinstance(enum, list):
            yield from enum[:PER_SCHEMA]
        branches = [
            branch
            for keyword in ("anyOf", "oneOf", "allOf")
            if isinstance(schema.get(keyword), list)
            for branch in schema[keyword]
        ]
        for branch in branches[:12]:
            if isinstance(branch, dict):
                around = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf", "allOf")}
                yield from islice(self._suggest(_join(around, branch), depth + 1), 12)
        for word in _types(schema):
            yield from self._of_type(word, schema, depth)
        yield from _HOLLOW

    def _of_type(self, word: str, schema: JsonObject, depth: int) -> Iterator[Any]:
        match word:
            case "string":
                yield from _strings(schema)
            case "integer" | "number":
                yield from _numbers(schema, whole=word == "integer")
            case "boolean":
                yield from (True, False)
            case "null":
                yield None
            case "array":
                yield from self._lists(schema, depth)
            case "object":
                yield from self._objects(schema, depth)

    def _lists(self, schema: JsonObject, depth: int) -> Iterator[list[Any]]:
        items = schema.get("items", True)
        lowest, highest = _count(schema, "minItems", 0), _count(schema, "maxItems", None)
        inner = self.samples(items, depth + 1)[:6] if not isinstance(items, list) else list(_HOLLOW)
        lengths = (lowest, lowest + 1, highest, None if highest is None else highest + 1, lowest + 2)
        for length in lengths:
            if length is None or not 0 <= length <= LONGEST:
                continue
            for item in inner if length else inner[:1]:
                yield [item] * length
            yield [inner[at % len(inner)] for at in range(length)] if inner else []
            if schema.get("uniqueItems") is True:
                yield list(range(length))
                yield [f"a{at}" for at in range(length)]

    def _objects(self, schema: JsonObject, depth: int) -> Iterator[JsonObject]:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        required = [name for name in schema.get("required") or () if isinstance(name, str)]
        first = {name: self.samples(properties.get(name, True), depth + 1) for name in required[:LONGEST]}
        least = {name: values[0] for name, values in first.items() if values}
        yield least
        for name, values in first.items():
            for value in values[1:6]:
                yield least | {name: value}
        for name, inner in islice(properties.items(), 20):
            for value in self.samples(inner, depth + 1)[:6]:
                yield least | {name: value}
        yield least | {
            name: values[0] for name in islice(properties, 50) if (values := self.samples(properties[name], depth + 1))
        }
        patterned = schema.get("patternProperties")
        if isinstance(patterned, dict):
            for inner in islice(patterned.values(), 4):
                for value in self.samples(inner, depth + 1)[:3]:
                    yield from (least | {name: value} for name in ("a", "x", "x-a", "a_b", "1"))
        additional = schema.get("additionalProperties", True)
        for value in self.samples(additional, depth + 1)[:4] if additional is not True else (0, ""):
            yield least | {"extra": value}


def _join(around: JsonObject, branch: JsonObject) -> JsonObject:
    """Joins both schemas, as far as their keywords are compatible."""
    joined = around | branch
    for keyword in ("properties", "patternProperties"):
        if isinstance(around.get(keyword), dict) and isinstance(branch.get(keyword), dict):
            joined[keyword] = around[keyword] | branch[keyword]
    if isinstance(around.get("required"), list) and isinstance(branch.get("required"), list):
        joined["required"] = around["required"] + branch["required"]
    return joined


def _types(schema: JsonObject) -> Iterable[str]:
    written = schema.get("type")
    if isinstance(written, str):
        return (written,)
    if isinstance(written, list):
        return [word for word in written if isinstance(word, str)]
    if "properties" in schema or "required" in schema:
        return ("object",)
    return _TYPES


def _strings(schema: JsonObject) -> Iterator[str]:
    lowest, highest = _count(schema, "minLength", 0), _count(schema, "maxLength", None)
    written = schema.get("format")
    if isinstance(written, str) and written in _FORMATS:
        yield _FORMATS[written]
    for length in (lowest, highest, None if highest is None else highest + 1, lowest - 1, lowest + 1):
        if length is not None and 0 <= length <= LONGEST:
            if isinstance(written, str):
                yield _stretch(written, length)
            yield "a" * length
    yield from _WORDS
    yield from _FORMATS.values()


def _stretch(written: str, length: int) -> str:
    """Returns a text of a format, as long as requested where the format lets it grow."""
    shortest = _FORMATS.get(written, "a")
    missing = max(0, length - len(shortest))
    if written in ("email", "hostname"):
        # A host name's label has at most 63 characters; six of these reach LONGEST.
        labels = ("a" * 49 + ".") * 6
        head, _, tail = shortest.rpartition("example.com")
        return f"{head}{labels[-missing:] if missing else ''}example.com{tail}"
    return shortest + "a" * missing if written in ("uri", "uri-reference", "regex", "json-pointer") else shortest


def _numbers(schema: JsonObject, *, whole: bool) -> Iterator[int | float]:
    step = schema.get("multipleOf")
    for keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        bound = schema.get(keyword)
        # An integer beyond the range of floats raises in `bound + 0.5`.
        if is_number(bound) and abs(bound) < 1e300:
            if whole:
                yield from (floor(bound), ceil(bound), floor(bound) - 1, ceil(bound) + 1)
            else:
                yield from (bound, bound + 1, bound - 1, bound + 0.5, bound - 0.5)
    if is_number(step) and 0 < step < 1e300:
        yield from (step, step * 2, step * 3)
    yield from (0, 1, -1, 2) if whole else (0, 1, -1, 0.5, 2)


def _count(schema: JsonObject, keyword: str, otherwise: object) -> Any:
    written = schema.get(keyword)
    return written if is_integer(written) and written >= 0 else otherwise


def _distinct(values: Iterable[object]) -> Iterator[object]:
    seen: set[str] = set()
    for value in values:
        # The text tells 1, 1.0 and True apart, which are one member of a set; lists and objects could be no members.
        text = repr(value)
        if text not in seen:
            seen.add(text)
            yield value
