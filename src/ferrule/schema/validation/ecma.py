r"""Checks whether a regular expression is valid ECMA-262: a single pass over its text that compiles and runs nothing.

A pattern passes when it is legal with or without the `u` flag, so `\\p{L}` and a needless escape such as `\\-` are both
fine. Python's own syntax (`(?P<n>…)`, `(?i)`, `a++`) is not. Stands below `soundness.py`; knows nothing of schemas.
"""

from __future__ import annotations

import re
from functools import lru_cache

_QUANTIFIER = re.compile(r"[*+?]|\{(\d+)(?:(,)(\d*))?\}")
_ASSERTION = re.compile(r"\(\?(?:[=!]|<[=!])")
_NAMED = re.compile(r"\(\?<([^\W\d][\w$]*|\$[\w$]*)>")
_PLAIN = re.compile(r"\(\?(?::|(?=[ims-])[ims]*(?:-[ims]+)?:)")
_NAMED_REFERENCE = re.compile(r"\\k<([\w$]+)>")
_PROPERTY = re.compile(r"\\[pP]\{[A-Za-z0-9_=]+\}")
_CODE_POINT = re.compile(r"\\(?:u\{([0-9A-Fa-f]+)\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")
_PROSE = re.compile(r"[^\\()\[*+?{|^$]+")
_CONTROL = {"n": 10, "t": 9, "r": 13, "f": 12, "v": 11, "b": 8, "0": 0}
_SET_ESCAPES = frozenset("dDsSwW")


@lru_cache(maxsize=4096)
def pattern_defect(pattern: str) -> str | None:
    """Returns why a pattern is invalid, in a few words, or None for a valid one."""
    try:
        _Scan(pattern).run()
    except _IllegalError as illegal:
        return illegal.reason
    return None


class _IllegalError(Exception):
    """Unwinds the scan of an invalid pattern."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _Scan:
    """One pass over a pattern: where it stands, which groups are open, whether the last thing may be repeated."""

    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0
        self.open: list[bool] = []
        """For every open group, whether it may be repeated once closed (a lookbehind may not)."""
        self.repeatable = False
        self.names: set[str] = set()
        self.wanted: set[str] = set()
        """Names that `\\k<…>` refers to; `""` for one that is cut short."""

    def run(self) -> None:
        text, end = self.text, len(self.text)
        while self.at < end:
            prose = _PROSE.match(text, self.at)
            if prose:
                self.at = prose.end()
                self.repeatable = True
                continue
            self._special(text[self.at])
        if self.open:
            raise _IllegalError("a group is not closed")
        if self.names and not self.wanted <= self.names:  # without named groups `\\k` is an ordinary `k`
            raise _IllegalError(f"no group is called {min(self.wanted - self.names)!r}")

    def _special(self, character: str) -> None:
        match character:
            case "(":
                self._open_group()
            case ")":
                if not self.open:
                    raise _IllegalError("a ')' closes nothing")
                self.repeatable = self.open.pop()
                self.at += 1
            case "[":
                self._character_class()
            case "\\":
                self._escape()
            case "|" | "^" | "$":
                self.repeatable = False
                self.at += 1
            case _:
                self._quantifier()

    def _open_group(self) -> None:
        text, at = self.text, self.at
        self.repeatable = False
        if not text.startswith("(?", at):
            self.open.append(True)
            self.at += 1
            return
        if assertion := _ASSERTION.match(text, at):
            self.open.append("<" not in assertion[0])
            self.at = assertion.end()
        elif named := _NAMED.match(text, at):
            if named[1] in self.names and "|" not in text:  # two branches may share a name
                raise _IllegalError(f"two groups are called {named[1]!r}")
            self.names.add(named[1])
            self.open.append(True)
            self.at = named.end()
        elif plain := _PLAIN.match(text, at):
            self.open.append(True)
            self.at = plain.end()
        else:
            raise _IllegalError(f"{text[at : at + 4]!r} opens no group ECMA-262 knows")

    def _quantifier(self) -> None:
        quantifier = _QUANTIFIER.match(self.text, self.at)
        if quantifier is None:  # a lone brace is an ordinary character
            self.at += 1
            self.repeatable = True
            return
        if not self.repeatable:
            raise _IllegalError(f"{quantifier[0]!r} has nothing to repeat")
        if quantifier[3] and _number(quantifier[1]) > _number(quantifier[3]):
            raise _IllegalError(f"{quantifier[0]!r} counts backwards")
        self.repeatable = False
        self.at = quantifier.end()
        if self.text.startswith("?", self.at):
            self.at += 1

    def _escape(self) -> None:
        text, at = self.text, self.at
        if at + 1 >= len(text):
            raise _IllegalError("it ends in a lone backslash")
        whole = _PROPERTY.match(text, at) or _CODE_POINT.match(text, at)
        if text[at + 1] == "k":
            reference = _NAMED_REFERENCE.match(text, at)
            self.wanted.add(reference[1] if reference else "")
        self.at = whole.end() if whole else at + 2
        self.repeatable = text[at + 1] not in "bB"

    def _character_class(self) -> None:
        text, end = self.text, len(self.text)
        self.at += 2 if text.startswith("[^", self.at) else 1
        low: int | None = None
        """The character a `-` would make a range from; None where none can begin."""
        while self.at < end and text[self.at] != "]":
            started = self.at
            code = self._class_member()
            # An escaped hyphen is two characters long, and never makes a range: `[b\-a]` is three members.
            is_hyphen = code == _HYPHEN and self.at == started + 1
            if low is not None and is_hyphen and self._has_more():
                high = self._class_member()
                if high is not None and low is not None and low > high:
                    raise _IllegalError("a range in a character class runs backwards")
                low = None
            else:
                low = code
        if self.at >= end:
            raise _IllegalError("a character class is not closed")
        self.at += 1
        self.repeatable = True

    def _has_more(self) -> bool:
        return self.at < len(self.text) and self.text[self.at] != "]"

    def _class_member(self) -> int | None:
        """Step over one member of a class; its code point, or None for a set such as `\\w`."""
        text, at = self.text, self.at
        if text[at] != "\\":
            self.at += 1
            return ord(text[at])
        if at + 1 >= len(text):
            raise _IllegalError("it ends in a lone backslash")
        if known := _PROPERTY.match(text, at):
            self.at = known.end()
            return None
        if point := _CODE_POINT.match(text, at):
            self.at = point.end()
            return _number(point[1] or point[2] or point[3], 16)
        self.at += 2
        letter = text[at + 1]
        if letter in _SET_ESCAPES or letter == "c" or letter.isdigit():
            return None
        return _CONTROL.get(letter, ord(letter))


_HYPHEN = ord("-")


def _number(digits: str, base: int = 10) -> int:
    """Parses digits; beyond any sensible size they all count alike."""
    return int(digits, base) if len(digits) < 20 else 10**20 + len(digits)
