"""The words that may stand where a wrong one stood, for hints: msgspec names the wrong one only."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

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
