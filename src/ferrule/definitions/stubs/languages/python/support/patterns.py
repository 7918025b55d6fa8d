"""Patterns of ECMA-262, which is what schemas mean, as patterns of Python.

What Python cannot say (scripts such as `\\p{Script=Greek}`, lookbehinds of any width)
is not checked here, and whatever runs the tool checks it. What could take `re` forever
is left to a matcher that goes through a text once (`machines.py`); where that would be
too large, nothing is checked either. Patterns that look around or refer to their groups
stay with `re`: there is no other for those.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cached_property, lru_cache
from math import inf

from .machines import BeyondError, Machine, Part, Reader, is_plain

_SPACE = (
    "\\t\\n\\x0b\\x0c\\r \\xa0\\u1680\\u2000-\\u200a"
    "\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
)
_SETS = {"d": "0-9", "w": "A-Za-z0-9_", "s": _SPACE}
_ASSERTIONS = {"b": r"\b", "B": r"(?!\b)", "A": r"\A", "z": r"\Z"}
"""The last two are not ECMA's, and servers take them for what others mean by them."""
_CONTROLS = {"n": 10, "t": 9, "r": 13, "f": 12, "v": 11}
_QUANTIFIER = re.compile(r"\{[0-9]+(?:,[0-9]*)?\}")
_GROUP_NAME = re.compile(r"\(\?<([^=!>][^>]*)>")
_GROUP = re.compile(r"\(\?(?:<?[=!]|[imsU-]*:|[ims]+\))")
_REFERENCE = re.compile(r"\\k<([^>]+)>")
_PROPERTY = re.compile(r"\\([pP])\{([A-Za-z0-9_=]+)\}")
_CODE = re.compile(r"\\(?:u\{([0-9A-Fa-f]+)\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")
_LOW_HALF = re.compile(r"\\u([dD][c-fC-F][0-9A-Fa-f]{2})")
_NUMBER = re.compile(r"\\([1-9][0-9]*)")
_OPENING = re.compile(r"\((?!\?)|\(\?<(?![=!])")
_LONG_NAMES = {
    "Letter": "L",
    "Cased_Letter": "LC",
    "Uppercase_Letter": "Lu",
    "Lowercase_Letter": "Ll",
    "Titlecase_Letter": "Lt",
    "Modifier_Letter": "Lm",
    "Other_Letter": "Lo",
    "Mark": "M",
    "Number": "N",
    "Decimal_Number": "Nd",
    "Letter_Number": "Nl",
    "Other_Number": "No",
    "Punctuation": "P",
    "Symbol": "S",
    "Separator": "Z",
    "Other": "C",
}
_CATEGORY = re.compile(
    r"L[Cultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfson]?"
)


class _UnknownError(Exception):
    """Python has nothing that means this."""


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern is found anywhere in a text; true where Python cannot tell."""
    compiled = _compiled(pattern)
    return compiled is None or compiled.finds(text)


def is_known(pattern: str) -> bool:
    """Whether texts can be held to a pattern here."""
    compiled = _compiled(pattern)
    return compiled is not None and not compiled.is_beyond


class _Compiled:
    """A pattern of Python, and where it is needed the other way to match it."""

    def __init__(self, pieces: list[str]) -> None:
        self._pieces = pieces
        self._expression = re.compile("".join(pieces))

    def finds(self, text: str) -> bool:
        if self._part is None or is_plain(self._part, len(text)):
            return self._expression.search(text) is not None
        if self._machine is not None:
            return self._machine.finds(text)
        return self.is_beyond or self._expression.search(text) is not None

    @property
    def is_beyond(self) -> bool:
        """Whether neither way ends in time."""
        is_endless = self._part is not None and self._part.degree == inf
        return is_endless and self._machine is None

    @cached_property
    def _part(self) -> Part | None:
        try:
            return Reader(self._pieces).whole()
        except (BeyondError, RecursionError):
            return None

    @cached_property
    def _machine(self) -> Machine | None:
        try:
            return Machine(self._part) if self._part is not None else None
        except (BeyondError, RecursionError):
            return None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> _Compiled | None:
    try:
        return _Compiled(Translation(pattern).pieces())
    except (_UnknownError, re.error, OverflowError, RecursionError, ValueError):
        return None


class Translation:
    """One pass over a pattern."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._names: dict[str, str] = {}
        self._groups = len(_OPENING.findall(pattern))

    def pieces(self) -> list[str]:
        made = []
        while self._at < len(self._text):
            made.append(self._next())
        return made

    def _next(self) -> str:
        one = self._text[self._at]
        if one == "\\":
            return self._escape()
        if one == "[":
            return self._class()
        if one == "(" and (named := _GROUP_NAME.match(self._text, self._at)):
            self._at = named.end()
            return f"(?P<{self._named(named[1])}>"
        if one == "(" and (group := _GROUP.match(self._text, self._at)):
            self._at = group.end()
            return group[0]
        if one == "{":
            return self._brace()
        self._at += 1
        if one == "$":
            return r"\Z"
        return one if one in "^.*+?()|" else _literal(ord(one))

    def _named(self, name: str) -> str:
        if name in self._names:
            raise _UnknownError
        return self._names.setdefault(name, f"g{len(self._names)}")

    def _brace(self) -> str:
        """How often something comes, or a brace and nothing more."""
        quantifier = _QUANTIFIER.match(self._text, self._at)
        self._at = quantifier.end() if quantifier else self._at + 1
        return quantifier[0] if quantifier else r"\{"

    def _escape(self) -> str:
        if known := _PROPERTY.match(self._text, self._at):
            self._at = known.end()
            return f"[{'^' if known[1] == 'P' else ''}{_category(known[2])}]"
        if reference := _REFERENCE.match(self._text, self._at):
            self._at = reference.end()
            if reference[1] not in self._names:
                raise _UnknownError
            return f"(?P={self._names[reference[1]]})"
        number = _NUMBER.match(self._text, self._at)
        if number and int(number[1]) <= self._groups:
            self._at = number.end()
            return f"(?:\\{number[1]})"
        letter = self._text[self._at + 1 : self._at + 2]
        if letter in _ASSERTIONS:
            self._at += 2
            return _ASSERTIONS[letter]
        if letter.lower() in _SETS:
            self._at += 2
            return f"[{'^' if letter.isupper() else ''}{_SETS[letter.lower()]}]"
        return _literal(self._code())

    def _code(self) -> int:
        """The character that an escape stands for."""
        if point := _CODE.match(self._text, self._at):
            self._at = point.end()
            code = int(point[1] or point[2] or point[3], 16)
            low = _LOW_HALF.match(self._text, self._at)
            if low and 0xD800 <= code < 0xDC00:
                self._at = low.end()
                return 0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00
            return code
        letter = self._text[self._at + 1 : self._at + 2]
        following = self._text[self._at + 2 : self._at + 3]
        if not letter:
            raise _UnknownError
        if letter == "c" and following.isascii() and following.isalpha():
            self._at += 3
            return ord(following) % 32
        self._at += 2
        if letter in "0123456789":
            if letter != "0" or (following.isdigit() and following.isascii()):
                raise _UnknownError  # octal, of old
            return 0
        return _CONTROLS.get(letter, ord(letter))

    def _class(self) -> str:
        """`[…]`, with everything in it escaped."""
        self._at += 1
        is_negated = self._text.startswith("^", self._at)
        self._at += is_negated
        made = []
        while not self._text.startswith("]", self._at):
            if self._at >= len(self._text):
                raise _UnknownError
            made.append(self._members())
        self._at += 1
        inside = "".join(made)
        if not inside:
            return r"[\s\S]" if is_negated else "(?!)"
        return f"[{'^' if is_negated else ''}{inside}]"

    def _members(self) -> str:
        """One character, a range or a set."""
        low = self._member()
        is_range = (
            self._text.startswith("-", self._at)
            and not self._text.startswith("-]", self._at)
            and self._at + 1 < len(self._text)
        )
        if isinstance(low, str) or not is_range:
            return low if isinstance(low, str) else _literal(low)
        self._at += 1
        high = self._member()
        if isinstance(high, str):
            return f"{_literal(low)}\\-{high}"
        return f"{_literal(low)}-{_literal(high)}"

    def _member(self) -> int | str:
        if self._text[self._at] != "\\":
            self._at += 1
            return ord(self._text[self._at - 1])
        if known := _PROPERTY.match(self._text, self._at):
            self._at = known.end()
            return _category(known[2], is_negated=known[1] == "P")
        letter = self._text[self._at + 1 : self._at + 2]
        if letter == "b":
            self._at += 2
            return 8
        if letter and letter.lower() in _SETS:
            self._at += 2
            inside = _SETS[letter.lower()]
            return inside if letter.islower() else _outside(letter.lower())
        return self._code()


def _literal(code: int) -> str:
    one = chr(code)
    if one.isascii():
        return one if one.isalnum() else f"\\x{code:02x}"
    return one


@lru_cache(maxsize=64)
def _category(name: str, *, is_negated: bool = False) -> str:
    """The inside of a class with every character of a general category."""
    if name in ("Any", "ASCII"):
        most = 0x7F if name == "ASCII" else sys.maxunicode
        return _ranges([code <= most for code in range(sys.maxunicode + 1)], is_negated)
    wanted = name.rpartition("=")[2] if name.startswith(("gc=", "General_")) else name
    wanted = _LONG_NAMES.get(wanted, wanted)
    if not _CATEGORY.fullmatch(wanted):
        raise _UnknownError
    kinds = ("Lu", "Ll", "Lt") if wanted == "LC" else (wanted,)
    found = [
        unicodedata.category(chr(code)).startswith(kinds)
        for code in range(sys.maxunicode + 1)
    ]
    return _ranges(found, is_negated)


@lru_cache(maxsize=8)
def _outside(letter: str) -> str:
    """The inside of a class with everything that is not in `\\d`, `\\w` or `\\s`."""
    inside = re.compile(f"[{_SETS[letter]}]")
    found = [inside.match(chr(code)) is not None for code in range(sys.maxunicode + 1)]
    return _ranges(found, is_negated=True)


def _ranges(found: list[bool], is_negated: bool) -> str:
    made, start = [], None
    for code, is_in in enumerate([*found, is_negated]):
        if is_in is not is_negated and start is None:
            start = code
        elif is_in is is_negated and start is not None:
            made.append(f"\\U{start:08x}-\\U{code - 1:08x}")
            start = None
    return "".join(made)
