"""A source line with carets under part of it, as a terminal shows it: tabs, wide and odd characters, long lines."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

TAB = "    "
ELLIPSIS = "…"


class Excerpt(NamedTuple):
    """The visible part of a line, and the place of the carets below it."""

    text: str
    indent: int
    """Terminal columns before the first caret."""
    carets: int
    """How many carets; at least one."""


def cut_excerpt(line: str, column: int, end_column: int, width: int = 100) -> Excerpt:
    """Cuts the line around 1-based `column` to about `width` terminal columns.

    `end_column` is just past the last character; a place that is no stretch gets one caret.
    """
    line = line.rstrip("\r")
    start = min(max(column - 1, 0), len(line))
    end = min(max(end_column - 1, start), len(line))
    cells = [make_visible(character) for character in line[: max(end, start) + width]]
    first, last = _choose_window([count_columns(cell) for cell in cells], start, end, width)
    before = ELLIPSIS if first else ""
    after = ELLIPSIS if last < len(line) else ""
    shown = before + "".join(cells[first:last]) + after
    indent = len(before) + count_columns("".join(cells[first:start]))
    marked = count_columns("".join(cells[start : min(end, last)]))
    return Excerpt(shown.rstrip() if not after else shown, indent, max(1, marked))


def _choose_window(widths: list[int], start: int, end: int, width: int) -> tuple[int, int]:
    """Returns the part of a line to show: all of it when it fits, else the marked stretch with equal room on both sides."""
    if sum(widths) <= width:
        return 0, len(widths)
    room = max(width - min(sum(widths[start:end]), width // 2), 2) // 2
    first, taken = start, 0
    while first > 0 and taken + widths[first - 1] <= room:
        first -= 1
        taken += widths[first]
    last = first
    taken = 0
    while last < len(widths) and taken + widths[last] <= width:
        taken += widths[last]
        last += 1
    return first, max(last, start)


def make_visible(character: str) -> str:
    """Returns a character that is safe in a terminal: control characters become visible, so no text can play tricks."""
    if character == "\t":
        return TAB
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\ufffd" if code > 0x7F else "\u2421"


def sanitize(text: str) -> str:
    """Returns a message on one line, safe to write to a terminal."""
    if text.isprintable():
        return text
    return "".join(" " if character in "\n\t" else make_visible(character) for character in text)


def count_columns(text: str) -> int:
    """Returns the columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    return sum(_measure_cell(character) for character in text)


def _measure_cell(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
