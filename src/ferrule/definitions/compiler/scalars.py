"""YAML 1.2 core types for plain scalars. Only `true` and `false` are booleans; dates and `12:30` are strings."""

from __future__ import annotations

import re

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


def plain(text: str) -> JsonValue:
    """The value of an unquoted scalar. Raises UnusableNumber."""
    if text in _NULL:
        return None
    if text[0] in _NUMBER_START:
        return _number(text)
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    return text


def _number(text: str) -> JsonValue:
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
