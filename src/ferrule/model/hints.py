"""Words for hints: the nearest known word, the words that may stand in a place, and msgspec's complaints in the author's
terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec


def nearest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """A hint that names the nearest known word, when one is near."""
    if len(word) > 100:  # comparing takes quadratic time, and nothing known is that long
        return None
    words = list(known)
    near = [other for other in words if other.casefold() == word.casefold()] or get_close_matches(
        word, words, n=1, cutoff=likeness
    )
    return f"did you mean {near[0]!r}?" if near else None


_STEP = re.compile(r"\.(\w+)|\[")


def choices_at(type_: Any, message: str) -> list[str]:
    """The words allowed at the place a msgspec error about this type names; none when it is not about such words."""
    if not message.startswith("Invalid enum value"):
        return []
    place = message.partition(" - at `$")[2]
    for step in _STEP.finditer(place):
        type_ = _inside(type_, step.group(1))
    return [str(word) for each in _parts(type_) if get_origin(each) is Literal for word in get_args(each)]


def _inside(type_: Any, member: str | None) -> Any:
    """The type of a member, or of the elements when no member is named."""
    for each in _parts(type_):
        if member is None and get_origin(each) in (tuple, list):
            return get_args(each)[0]
        if member is not None and isinstance(each, type) and issubclass(each, msgspec.Struct):
            return get_type_hints(each, include_extras=True).get(member)
    return None


def _parts(type_: Any) -> list[Any]:
    """The members of a union, or the type alone; without its annotations."""
    if get_origin(type_) is Annotated:
        return _parts(get_args(type_)[0])
    if get_origin(type_) in (Literal, tuple, list) or not get_args(type_):
        return [type_]
    return [part for each in get_args(type_) for part in _parts(each)]


_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}
_KIND = r"`(?P<kind>[\w| ]+)`"
_AT = r"(?: - at `\$(?P<place>.*)`)?"
_UNKNOWN = re.compile(rf"Object contains unknown field `(?P<key>.+?)`{_AT}", re.DOTALL)
_MISSING = re.compile(rf"Object missing required field `(?P<key>.+?)`{_AT}", re.DOTALL)
_WORD = re.compile(rf"Invalid enum value (?P<word>.+?){_AT}", re.DOTALL)
_TYPE = re.compile(rf"Expected {_KIND}, got `(?P<got>\w+)`{_AT}", re.DOTALL)
_LIMIT = re.compile(rf"Expected {_KIND} (?P<limit>[<>]=? \S+){_AT}", re.DOTALL)


def in_words(message: str) -> str:
    """The message of a ValidationError without its jargon; as it is where it has none that is known."""
    if found := _UNKNOWN.fullmatch(message):
        where = _place(found)
        return f"there is no key {found['key']!r}" + (f" in {where}" if where else "")
    if found := _MISSING.fullmatch(message):
        return f"{_place(found) or 'it'} lacks {found['key']!r}"
    if found := _WORD.fullmatch(message):
        return f"{_place(found) or 'it'} cannot be {found['word']}"
    if found := _TYPE.fullmatch(message):
        return f"{_place(found) or 'it'} must be {_types(found['kind'])}, not {_types(found['got'])}"
    if found := _LIMIT.fullmatch(message):
        return f"{_place(found) or 'it'} must be {_types(found['kind'])} {found['limit']}"
    return message


def key_of(message: str) -> str:
    """The key a ValidationError is about; empty when it names none."""
    if found := _UNKNOWN.fullmatch(message):
        return str(found["key"])
    place = message.rpartition(" - at `$")[2].rstrip("`")
    return re.sub(r"\[.*?\]", "", place).rpartition(".")[2] if place != message.rstrip("`") else ""


def _place(found: re.Match[str]) -> str:
    return (found["place"] or "").replace("[...]", ".*").removeprefix(".")


def _types(kinds: str) -> str:
    words = [_TYPES.get(kind.strip(), kind.strip()) for kind in kinds.split("|") if kind.strip() != "null"]
    return " or ".join(words) or _TYPES["null"]
