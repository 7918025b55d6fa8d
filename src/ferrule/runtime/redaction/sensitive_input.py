"""Masks the sensitive members of a tool's input wherever people or logs see it (AT-84, AT-253, AT-271).

`Mask` knows the places of sensitive members and replaces them; `scrub_values` removes their values from other texts,
such as an upstream error. Where a schema leaves a doubt, more is masked rather than less.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject, Path, is_deeper
from ferrule.runtime.redaction.redactor import ONLY_GIVEN
from ferrule.runtime.redaction.sensitive_places import SensitivePlaces, find_marked_places, find_sensitive_places

T = TypeVar("T")

REDACTED = "[REDACTED]"
_REDACTED_JSON = b'"[REDACTED]"'
_MAX_DEPTH = 200
"""The nesting limit: twice that of valid input. The interpreter's own limit differs between versions and callers."""


class _TooDeep(Exception):
    """Raised for a value nested deeper than the limit."""


class _Unreadable(Exception):
    """Raised for a text that is no JSON, or JSON that cannot be decoded."""


class Mask:
    """The sensitive members of one tool's input."""

    __slots__ = ("_places",)

    def __init__(self, places: SensitivePlaces) -> None:
        self._places = places

    @classmethod
    def of(cls, tool: Tool) -> Mask | None:
        """Returns the tool's mask; None when nothing in its input is sensitive."""
        places = find_sensitive_places(tool)
        return None if places is None else cls(places)

    @classmethod
    def of_schema(cls, schema: JsonObject) -> Mask | None:
        """Returns the mask of another value with a schema, such as an answer; None when nothing in it is sensitive."""
        places = find_marked_places(schema)
        return None if places is None else cls(places)

    def mask_json(self, text: bytes) -> bytes:
        """Masks the sensitive members of JSON; unreadable text is masked as a whole."""
        try:
            value = _decode(text)
        except (_Unreadable, _TooDeep):
            return _REDACTED_JSON
        return _encode(self.mask_value(value))

    def mask_value(self, value: object) -> Any:
        """Returns a copy of the value with its sensitive members masked."""
        try:
            return _mask(value, self._places, 0)
        except _TooDeep:
            return REDACTED

    def hides(self, path: Path) -> bool:
        """Returns True when the value at a path is sensitive, or part of something sensitive."""
        places = self._places
        for step in path:
            if places.is_sensitive:
                return True
            places = places.find_items() if isinstance(step, int) else places.find_member(step)
        return places.is_sensitive

    def list_values(self, value: object) -> frozenset[str]:
        """Lists the sensitive values of an input as text, for `scrub_values`."""
        found: set[str] = set()
        try:
            _gather_values(value, self._places, found, 0)
        except _TooDeep:
            found.update(_iter_leaves(value))
        return frozenset(found)


def _mask(value: object, places: SensitivePlaces, depth: int) -> object:
    if places.is_sensitive:
        return REDACTED
    if not places.leads_on:
        return value
    if depth > _MAX_DEPTH:
        raise _TooDeep
    if isinstance(value, dict):
        return {name: _mask(member, places.find_member(name), depth + 1) for name, member in value.items()}
    if isinstance(value, list):
        items = places.find_items()
        return [_mask(member, items, depth + 1) for member in value]
    return _mask_text(value, places, depth) if isinstance(value, str) else value


def _mask_text(text: str, places: SensitivePlaces, depth: int) -> str:
    """Masks a text where members were expected: models send JSON inside a string."""
    if not places.admits_text:
        return REDACTED
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        value = _decode(text.encode())
    except _Unreadable:
        return text
    except (_TooDeep, UnicodeEncodeError):
        return REDACTED
    masked = _mask(value, places, depth + 1)
    return text if masked == value else _encode(masked).decode()


def _gather_values(value: object, places: SensitivePlaces, found: set[str], depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise _TooDeep
    if places.is_sensitive:
        found.update(_iter_leaves(value))
    elif isinstance(value, dict):
        for name, member in value.items():
            _gather_values(member, places.find_member(name), found, depth + 1)
    elif isinstance(value, list):
        items = places.find_items()
        for member in value:
            _gather_values(member, items, found, depth + 1)
    elif places.leads_on and isinstance(value, str) and not places.admits_text:
        found.add(value)


def _decode(text: bytes) -> object:
    """Returns the value of a JSON text. Raises _Unreadable or _TooDeep."""
    if is_deeper(text, _MAX_DEPTH):
        raise _TooDeep
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise _Unreadable from None


def _iter_leaves(value: object) -> Iterable[str]:
    """Yields every scalar of a value as text. Booleans and null are no secrets."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack += item.values()
        elif isinstance(item, list):
            stack += item
        elif isinstance(item, str):
            if item and item != REDACTED:
                yield item
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield str(item)


def _encode(value: object) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (OverflowError, RecursionError, UnicodeEncodeError):
        return _REDACTED_JSON


def mask_all_members(value: object) -> object:
    """Masks every member of an input when nothing says which are sensitive; keeps the names."""
    return dict.fromkeys(value, REDACTED) if isinstance(value, dict) else REDACTED


def mask_all_json(text: bytes) -> bytes:
    """Masks every member of JSON; unreadable text is masked as a whole."""
    try:
        return _encode(mask_all_members(_decode(text)))
    except (_Unreadable, _TooDeep):
        return _REDACTED_JSON


def scrub_values(value: T, secrets: Iterable[str]) -> T:
    """Removes values from a text or JSON value, in any spelling; returns the very value when it has none."""
    secrets = tuple(secrets)
    if not secrets:
        return value
    return ONLY_GIVEN.value(value, secrets)[0]
