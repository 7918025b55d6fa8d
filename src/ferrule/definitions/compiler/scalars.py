"""Shared by the YAML and JSON readers: plain scalars in YAML 1.2's core types, the outcome of a reader, and its
exception."""

from __future__ import annotations

import re
from typing import NamedTuple

from ferrule.model.document import Issue, Places
from ferrule.model.value import JsonValue

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_NUMBER_START = frozenset("0123456789+-.")
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = frozenset(
    {".nan", ".NaN", ".NAN"} | {sign + word for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")}
)

MAX_DIGITS = 1000
"""Longer integers are refused: no schema or protocol here can carry them, and reading them takes quadratic time."""


class UnusableNumber(ValueError):
    """A number that JSON cannot carry: infinite, not a number, or absurdly long."""


def parse_plain(text: str) -> JsonValue:
    """Parses an unquoted scalar. Raises UnusableNumber."""
    if text in _NULL:
        return None
    # There is a first character: an empty text is null.
    if text[0] in _NUMBER_START:
        return _parse_number(text)
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    return text


def _parse_number(text: str) -> JsonValue:
    if _INTEGER.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise UnusableNumber(f"a number of {len(text)} digits cannot be used")
        return int(text)
    if _FLOAT.fullmatch(text):
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise UnusableNumber(f"{text[:40]} is too large for a number")
        return value
    if text in _SPECIAL:
        raise UnusableNumber(f"{text} is not a number JSON can carry")
    if len(text) <= MAX_DIGITS:
        if _OCTAL.fullmatch(text):
            return int(text[2:], 8)
        if _HEX.fullmatch(text):
            return int(text[2:], 16)
    return text


MAX_DEPTH = 100
"""Deeper nesting is refused: no definition needs it, and every later step may then recurse without fear."""

FIRST_COUNTS = "the first one is used; remove or rename this one"
"""The hint for a repeated key."""


class Composed(NamedTuple):
    """One document, read with its places."""

    value: JsonValue
    places: Places
    issues: tuple[Issue, ...]
    first_line: int


class Unparsable(Exception):
    """An exception for text that cannot be used; carries the one issue to report."""

    def __init__(self, message: str, line: int, column: int = 1, hint: str | None = None) -> None:
        super().__init__(message)
        self.issue = Issue("syntax", message, line, column, hint=hint)
