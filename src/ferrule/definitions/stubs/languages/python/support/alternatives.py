"""Which of several alternatives a value was meant to fit, so that what is wrong is told
where it is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .limits import Path, Problem, are_equal, choices, named
from .schema import BrokenSchemaError, SchemaDocument

_MOST_STEPS = 16
"""How many references are followed to see what an alternative is about."""


class Failed(NamedTuple):
    """An alternative that a value does not fit."""

    part: Any
    problem: Problem


def most_telling(
    document: SchemaDocument, failed: list[Failed], value: Any, path: Path
) -> Problem:
    """What is wrong with a value that fits none of some alternatives."""
    left = [each for each in failed if _takes(document, each.part, value)] or failed
    if isinstance(value, dict):
        meant = _by_tag(document, left, value, path)
        if meant is not None:
            return meant
    problems = list(dict.fromkeys(each.problem for each in left))
    if len(problems) == 1:
        return problems[0]
    deepest = max(problems, key=lambda each: each.depth)
    near = [each for each in problems if each.depth == deepest.depth]
    told = f"fits none of the {len(failed)} alternatives"
    if len(near) == 1 and deepest.depth > Problem(path, "").depth:
        told += f"; the nearest says {deepest.place}: {deepest.expected}"
    return Problem(path, told)


def _takes(document: SchemaDocument, part: Any, value: Any) -> bool:
    """Whether an alternative is about values of this kind at all."""
    if isinstance(part, bool):
        return part
    kind = _kind(value)
    for schema in _layers(document, part):
        if "type" in schema:
            said = schema["type"]
            types = said if isinstance(said, list) else [said]
            words = {"number" if word == "integer" else word for word in types}
            if kind not in words:
                return False
        values = _values(schema)
        if values is not None and kind not in map(_kind, values):
            return False
    return True


def _by_tag(
    document: SchemaDocument, left: list[Failed], value: dict[str, Any], path: Path
) -> Problem | None:
    """By a member that all alternatives have, with values of its own in each."""
    tags = [_tags(document, each.part) for each in left]
    for name in tags[0]:
        if name not in value or not all(name in each for each in tags):
            continue
        fitting = [
            each
            for each, tag in zip(left, tags, strict=True)
            if any(are_equal(value[name], one) for one in tag[name])
        ]
        if len(fitting) == 1:
            return fitting[0].problem
        if not fitting:
            every = [one for tag in tags for one in tag[name]]
            return Problem((path, name), choices(every))
    return None


def _tags(document: SchemaDocument, part: Any) -> dict[str, list[Any]]:
    """The members of an alternative that have one value, or one of some."""
    found: dict[str, list[Any]] = {}
    for schema in _layers(document, part):
        for name, member in named(schema, "properties").items():
            for layer in _layers(document, member):
                values = _values(layer)
                if values is not None:
                    found.setdefault(name, values)
    return found


def _values(schema: dict[str, Any]) -> list[Any] | None:
    if "const" in schema:
        return [schema["const"]]
    said = schema.get("enum")
    return said if isinstance(said, list) else None


def _layers(document: SchemaDocument, part: Any) -> Iterator[dict[str, Any]]:
    """A schema, and what it refers to or is made of."""
    ahead = [part]
    for _ in range(_MOST_STEPS):
        if not ahead:
            return
        schema = ahead.pop(0)
        if not isinstance(schema, dict):
            continue
        yield schema
        if isinstance(reference := schema.get("$ref"), str):
            try:
                ahead.append(document.target(schema, reference))
            except BrokenSchemaError:
                continue
        if isinstance(every := schema.get("allOf"), list):
            ahead += every


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "number"
