"""What is wrong with a body that does not have its shape, in our words: which member, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import inspect

from ferrule.model.hints import nearest
from ferrule.servers.api.problems import Member, Problem, escaped

_TOLD = re.compile(r"(?P<text>.*?)(?: - at `\$(?P<place>[^`]*)`)?", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_EXPECTED = re.compile(r"Expected `([\w |]+)`, got `(\w+)`")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_KINDS = {
    "object": "an object",
    "array": "a list",
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
}
_LONGEST_NAME = 60


def misshapen(error: msgspec.ValidationError, shape: type[msgspec.Struct]) -> Problem:
    """The problem that such a body is."""
    told = _TOLD.fullmatch(str(error))
    assert told is not None  # whatever it is has a text
    steps = [name or number for name, number in _STEP.findall(told["place"] or "")]
    name, text = _said(told["text"], shape, steps)
    pointer = "".join(f"/{escaped(step)}" for step in (*steps, *name))
    return Problem(400, "invalid_request", f"the body is not as it must be: {text}", errors=[Member(pointer, text)])


def _said(text: str, shape: type[msgspec.Struct], steps: list[str]) -> tuple[tuple[str, ...], str]:
    """The member of the object at a place that is meant, if one is, and what is to be said."""
    if unknown := _UNKNOWN.fullmatch(text):
        name = unknown[1]
        known = _members_at(inspect.type_info(shape), steps)
        hint = nearest(name, known) or (f"known: {', '.join(known)}" if known else "leave it out")
        if len(name) > _LONGEST_NAME:  # nobody needs to be told all of it
            return (), f"there is no member {name[:_LONGEST_NAME] + '…'!r} here; {hint}"
        return (name,), f"there is no member {name!r} here; {hint}"
    if missing := _MISSING.fullmatch(text):
        return (missing[1],), f"the member {missing[1]!r} is missing; add it"
    if expected := _EXPECTED.fullmatch(text):
        wanted = " or ".join(_KINDS.get(kind, kind) for kind in expected[1].split(" | "))
        what = repr(steps[-1]) if steps and not steps[-1].isdecimal() else "this" if steps else "it"
        return (), f"{what} must be {wanted}, and is {_KINDS.get(expected[2], expected[2])}"
    return (), text


def _members_at(kind: inspect.Type, steps: Iterable[str]) -> list[str]:
    """The members of the object at a place of a shape; none where that cannot be told."""
    found = [kind]
    for step in steps:
        found = [inner for outer in found for one in _plain(outer) for inner in _inside(one, step)]
    structs = [one for outer in found for one in _plain(outer) if isinstance(one, inspect.StructType)]
    return [field.encode_name for struct in structs for field in struct.fields]


def _inside(kind: inspect.Type, step: str) -> list[inspect.Type]:
    match kind:
        case inspect.StructType():
            return [field.type for field in kind.fields if field.encode_name == step]
        case inspect.ListType():
            return [kind.item_type]
        case inspect.DictType():
            return [kind.value_type]
        case _:
            return []


def _plain(kind: Any) -> list[inspect.Type]:
    """A type without what is said of it; each of several."""
    if isinstance(kind, inspect.Metadata):
        return _plain(kind.type)
    return [one for inner in kind.types for one in _plain(inner)] if isinstance(kind, inspect.UnionType) else [kind]
