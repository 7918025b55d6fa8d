"""Finds the positions of keys and items in a TOML text: tomllib gives values without lines, and a diagnostic needs
one.

Works on text that tomllib has accepted, so it only has to find the ends of things, not to judge them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from ferrule.model.value import Path

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE = re.compile(r"[^,\]}\n#]*")
_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_DOT = re.compile(r"[ \t]*\.")
_ESCAPE = re.compile(r'\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[btnfr"\\])')
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}


class TomlPosition(NamedTuple):
    """The line and columns of a key or a list item, counted from 1."""

    line: int
    column: int
    end_column: int


class TomlPositions:
    """The positions in one TOML text by path; list items count from 0."""

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._lines = [0, *(found.end() for found in re.finditer("\n", self._text))]
        self._known: dict[Path, TomlPosition] = {}
        self._arrays: dict[Path, int] = {}
        self._at = 0
        self._scan_statements()

    def find(self, path: Path) -> TomlPosition:
        """Finds the position of the key or item at a path, or of its nearest parent that is written."""
        while path and path not in self._known:
            path = path[:-1]
        return self._known.get(path, TomlPosition(1, 1, 1))

    def _scan_statements(self) -> None:
        table: Path = ()
        while self._skip(_BLANK) < len(self._text):
            if self._text[self._at] == "[":
                table = self._scan_header()
            else:
                self._scan_pair(table)

    def _scan_header(self) -> Path:
        is_array = self._text.startswith("[[", self._at)
        start = self._at
        self._at += 2 if is_array else 1
        path: Path = ()
        for part in self._scan_key():
            path = self._last_item((*path, part))
        if is_array:
            bare = path[:-1] if isinstance(path[-1], int) else path
            number = self._arrays.get(bare, -1) + 1
            self._arrays[bare] = number
            path = (*bare, number)
            self._note(bare, start)
        self._skip(_SPACE)
        self._at += 2 if is_array else 1
        self._note(path, start)
        return path

    def _last_item(self, path: Path) -> Path:
        return (*path, self._arrays[path]) if path in self._arrays else path

    def _scan_pair(self, table: Path) -> None:
        path = table
        self._skip(_SPACE)
        start = self._at
        for part in self._scan_key():
            path = (*path, part)
            self._note(path, start)
        self._skip(_SPACE)
        self._at += 1  # the `=`
        self._scan_value(path)

    def _scan_key(self) -> list[str]:
        parts = [self._scan_key_part()]
        while _DOT.match(self._text, self._at):
            self._skip(_DOT)
            parts.append(self._scan_key_part())
        return parts

    def _scan_key_part(self) -> str:
        self._skip(_SPACE)
        quote = self._text[self._at]
        if quote not in "\"'":
            found = _BARE_KEY.match(self._text, self._at)
            self._at = found.end() if found else self._at + 1
            return found[0] if found else ""
        start = self._at + 1
        self._scan_string()
        raw = self._text[start : self._at - 1]
        return raw if quote == "'" else _ESCAPE.sub(_unescape, raw)

    def _scan_value(self, path: Path) -> None:
        self._skip(_SPACE)
        match self._text[self._at : self._at + 1]:
            case '"' | "'":
                self._scan_string()
            case "[":
                self._scan_members(path, "]")
            case "{":
                self._scan_members(path, "}")
            case _:
                self._skip(_BARE_VALUE)

    def _scan_members(self, path: Path, closing: str) -> None:
        self._at += 1
        number = 0
        while self._skip(_BLANK) < len(self._text) and self._text[self._at] != closing:
            if self._text[self._at] == ",":
                self._at += 1
            elif closing == "}":
                self._scan_pair(path)
            else:
                start = self._at
                self._scan_value((*path, number))
                self._note((*path, number), start)
                number += 1
        self._at += 1

    def _scan_string(self) -> None:
        quote = self._text[self._at]
        fence = quote * 3 if self._text.startswith(quote * 3, self._at) else quote
        self._at += len(fence)
        while self._at < len(self._text) and not self._text.startswith(fence, self._at):
            # Only basic strings have escapes; a backslash in a literal string is a backslash.
            self._at += 2 if quote == '"' and self._text[self._at] == "\\" else 1
        self._at += len(fence)
        while len(fence) == 3 and self._text.startswith(quote, self._at):  # """"quoted"""" ends in its own quotes
            self._at += 1

    def _skip(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._at

    def _note(self, path: Path, start: int) -> None:
        line = bisect_right(self._lines, start)
        first = self._lines[line - 1]
        end = self._at if self._at <= self._find_line_end(line) else self._find_line_end(line)
        # The first mention counts: `a.b = 1` and `a.c = 2` both mention `a`.
        self._known.setdefault(path, TomlPosition(line, start - first + 1, max(end - first + 1, start - first + 2)))

    def _find_line_end(self, line: int) -> int:
        return self._lines[line] - 1 if line < len(self._lines) else len(self._text)


def _unescape(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code[1:], 16)) if code[0] in "uU" else _ESCAPED[code]
