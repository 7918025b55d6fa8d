"""Parses msgspec's validation errors: what is wrong, where, and what might be written instead.

The one place that knows how msgspec words them. It is in `model` because credentials are read here already; settings,
hooks, transports and the HTTP API use it too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec

Complaint: TypeAlias = msgspec.ValidationError | str
_KIND_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}
_MESSAGE = re.compile(r"(?P<text>.*?)(?: - at `\$(?P<place>[^`]*)`)?", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`", re.DOTALL)
_CHOICE = re.compile(r"Invalid enum value (.+)", re.DOTALL)
_TYPE = re.compile(r"Expected `([\w| ]+)`, got `(\w+)`")
_LIMIT = re.compile(r"Expected `([\w| ]+)` (.+)", re.DOTALL)
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


class Misfit(NamedTuple):
    """One parsed validation error."""

    kind: Literal["unknown_key", "missing_key", "choice", "type", "limit", "other"]
    text: str
    """The message of msgspec, without the place."""
    place: str = ""
    """Where, as msgspec writes it: `.tools[0].name`; empty for the whole value."""
    key: str = ""
    """The key that is unknown or missing."""
    kinds: tuple[str, ...] = ()
    """The types that were expected."""
    got: str = ""
    """The type that was found, or the word that is no choice."""
    limit: str = ""
    """The bound on the type: `>= 1`."""

    @property
    def steps(self) -> tuple[str, ...]:
        """The names and list positions that lead to the place; `...` for any member."""
        return tuple(name or position for name, position in _STEP.findall(self.place))


def read_misfit(complaint: Complaint) -> Misfit:
    """Parses the message of a ValidationError."""
    message = _MESSAGE.fullmatch(str(complaint))
    assert message is not None  # every text matches
    text, place = message["text"], message["place"] or ""
    if found := _UNKNOWN.fullmatch(text):
        return Misfit("unknown_key", text, place, key=found[1])
    if found := _MISSING.fullmatch(text):
        return Misfit("missing_key", text, place, key=found[1])
    if found := _CHOICE.fullmatch(text):
        return Misfit("choice", text, place, got=found[1])
    if found := _TYPE.fullmatch(text):
        return Misfit("type", text, place, kinds=_split(found[1]), got=found[2])
    if found := _LIMIT.fullmatch(text):
        return Misfit("limit", text, place, kinds=_split(found[1]), limit=found[2])
    return Misfit("other", text, place)


def _split(kinds: str) -> tuple[str, ...]:
    return tuple(kind.strip() for kind in kinds.split("|"))


def name_kinds(kinds: Iterable[str], words: Mapping[str, str] = _KIND_WORDS) -> str:
    """Names msgspec's types in words that people use."""
    return " or ".join(words.get(kind, kind) for kind in kinds)


def describe_complaint(complaint: Complaint) -> str:
    """Rewords a validation error without jargon; returns it as it is where it has none that is known."""
    misfit = read_misfit(complaint)
    place = misfit.place.replace("[...]", ".*").removeprefix(".")
    match misfit.kind:
        case "unknown_key":
            return f"there is no key {misfit.key!r}" + (f" in {place}" if place else "")
        case "missing_key":
            return f"{place or 'it'} lacks {misfit.key!r}"
        case "choice":
            return f"{place or 'it'} cannot be {misfit.got}"
        case "other":
            return str(complaint)
    wanted = name_kinds([kind for kind in misfit.kinds if kind != "null"] or ["null"])
    return f"{place or 'it'} must be {wanted}" + (
        f" {misfit.limit}" if misfit.limit else f", not {name_kinds([misfit.got])}"
    )


def key_of(complaint: Complaint) -> str:
    """Returns the key that a validation error is about; empty when it names none."""
    misfit = read_misfit(complaint)
    if misfit.kind == "unknown_key":
        return misfit.key
    return next((name for name, _ in reversed(_STEP.findall(misfit.place)) if name), "")


def choices_at(shape: Any, complaint: Complaint) -> list[str]:
    """Returns the words allowed at the place of a validation error about this type; none when it is not about such
    words."""
    misfit = read_misfit(complaint)
    kinds = _types_at(shape, misfit.steps) if misfit.kind == "choice" else []
    return [str(word) for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]


def members_at(shape: Any, steps: Iterable[str]) -> list[str]:
    """Returns the members of the object at a place of a type; none where that cannot be known."""
    return [name for kind in _types_at(shape, steps) if _is_struct(kind) for name in kind.__struct_encode_fields__]


def _types_at(shape: Any, steps: Iterable[str]) -> list[Any]:
    found = _parts(shape)
    for step in steps:
        found = [part for kind in found for inner in _inside(kind, step) for part in _parts(inner)]
    return found


def _inside(kind: Any, step: str) -> list[Any]:
    """Returns the types of a member of this name, or of the members of a list or table."""
    # `msgspec.inspect` has them too, but sorts the words of a Literal, and people list the usual one first.
    if _is_struct(kind):
        names = dict(zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True))
        return [get_type_hints(kind, include_extras=True)[names[step]]] if step in names else []
    if get_origin(kind) in (list, tuple, set, frozenset):
        return [inner for inner in get_args(kind) if inner is not ...]
    return [get_args(kind)[1]] if get_origin(kind) is dict else []


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _parts(kind: Any) -> list[Any]:
    """Returns the members of a union, or the type alone; without its annotations."""
    if get_origin(kind) is Annotated:
        return _parts(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [part for each in get_args(kind) for part in _parts(each)]
    return [kind]
