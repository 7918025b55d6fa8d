"""JSON values without what must not be told: texts, keys, and numbers that are a secret. However deep they are nested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ferrule.runtime.redaction.search import MARK, Search

_MARK = MARK.decode()
_pack = msgspec.msgpack.Encoder().encode
_CONTAINERS = (dict, list, tuple)
_NUMBERS = (int, float)
_UNPACKABLE = (OverflowError, RecursionError, TypeError, UnicodeEncodeError, ValueError)


def number_of(secret: str) -> str:
    """A secret that may stand in a value as a number, as such; empty for any other."""
    text = secret.strip()
    if not text or not text[-1].isdecimal() or len(text) > 400:
        return ""
    try:
        number = float(text) if "." in text or "e" in text else int(text)
    except ValueError:
        return ""
    return _as_text(number) if repr(number) == text else ""


def cleaned_value(search: Search, numbers: Mapping[str, str], value: Any) -> tuple[Any, tuple[str, ...]]:
    """The value without secrets, and what was taken out; the very value given when that is nothing."""
    if not search.patterns and _has_none(search, value, with_numbers=bool(numbers)):
        return value, ()
    changed, names = search.cleaned(dict.fromkeys(_leaves(value, (str,))))
    told = map(_as_text, _leaves(value, _NUMBERS)) if numbers else ()
    counted = dict.fromkeys(numbers[text] for text in told if text in numbers)
    if not changed and not counted:
        return value, ()
    return _copy(value, changed, numbers), (*names, *(name for name in counted if name not in names))


def _has_none(search: Search, value: Any, *, with_numbers: bool) -> bool:
    """A quick look at the whole value as bytes, which settles most of them."""
    try:
        if search.may_hold(_pack(value)):  # texts stand in it as they are
            return False
        return not with_numbers or not search.may_hold(msgspec.json.encode(value))
    except _UNPACKABLE:
        return False


def _leaves(value: Any, kinds: tuple[type, ...]) -> Iterator[Any]:
    """Every text or number in a value, keys included. Parts that are there twice, or within themselves, count once."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, kinds):
            yield node
        elif isinstance(node, _CONTAINERS) and id(node) not in seen:
            seen.add(id(node))
            stack += node
            if isinstance(node, dict):
                stack += node.values()


def _as_text(number: float) -> str:
    """As JSON has it; empty for true and false."""
    if isinstance(number, bool):
        return ""
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    try:
        return repr(number)
    except ValueError:  # more digits than Python likes to write
        return ""


def _copy(value: Any, changed: Mapping[str, str], numbers: Mapping[str, str]) -> Any:
    top: list[Any] = [None]
    made: dict[int, Any] = {}
    tuples: list[tuple[Any, Any]] = []
    stack: list[tuple[Any, Any, Any]] = [(top, 0, value)]
    while stack:
        place, key, node = stack.pop()
        if isinstance(node, str):
            place[key] = changed.get(node, node)
        elif isinstance(node, _CONTAINERS):
            if isinstance(node, tuple):
                tuples.append((place, key))
            if id(node) in made:
                place[key] = made[id(node)]
                continue
            copy: Any = {} if isinstance(node, dict) else [None] * len(node)
            place[key] = made[id(node)] = copy
            named = _renamed(node, changed, copy) if isinstance(node, dict) else enumerate(node)
            stack += ((copy, name, member) for name, member in named)
        elif numbers and isinstance(node, _NUMBERS) and _as_text(node) in numbers:
            place[key] = _MARK
        else:
            place[key] = node
    for place, key in reversed(tuples):
        place[key] = tuple(place[key])
    return top[0]


def _renamed(node: dict[Any, Any], changed: Mapping[str, str], copy: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """The members under the names they will have. Two names that were secret stay two, and all stay in their order."""
    named = []
    number = 1
    for name, member in node.items():
        new = changed.get(name, name) if isinstance(name, str) else name
        while new in copy:
            number += 1
            new = f"{changed.get(name, name)} {number}"
        copy[new] = None
        named.append((new, member))
    return named
