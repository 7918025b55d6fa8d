"""Finds the first-level sections of a Markdown body.

It knows headings and code fences, nothing else of Markdown. The AML dialect and its rules ask it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LIST_MARKS = re.compile(r"(?:[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*")
_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
_TELLING = frozenset("#`~=-*+0123456789")
"""What a line that matters here begins with."""


class Line(NamedTuple):
    """One line of the body, and the first-level heading it makes."""

    text: str
    heading: str | None = None
    """Folded to one case; None for any other line."""
    is_underline: bool = False
    """True when the heading is the line before, and this one underlines it."""


class Fence(NamedTuple):
    """An open code block."""

    mark: str
    column: int


def headings(body: str) -> set[str]:
    """The first-level headings, folded to one case. What stands in fenced code is no heading."""
    return {line.heading for line in _lines(body) if line.heading is not None}


def sections(body: str) -> dict[str, str]:
    """Text by heading, headings folded to one case; what stands before the first heading is under the empty name.

    Empty sections are left out; of two sections with one heading the first is kept.
    """
    found: dict[str, list[str]] = {"": []}
    part = found[""]
    for line in _lines(body):
        if line.heading is None:
            part.append(line.text)
            continue
        if line.is_underline:
            part.pop()
        part = []
        found.setdefault(line.heading, part)
    return {heading: text for heading, part in found.items() if (text := "\n".join(part).strip())}


def _lines(body: str) -> Iterator[Line]:
    fence: Fence | None = None
    before = ""
    for text in body.replace("\r\n", "\n").split("\n"):
        bare = text.strip()
        if fence is not None:
            fence = None if _closes(fence, text, bare) else fence
        elif bare and bare[0] in _TELLING:
            fence = _opened(text)
            line = Line(text) if fence is not None else _line(text, before)
            yield line
            before = bare if line.heading is None and fence is None else ""
            continue
        before = "" if fence is not None else bare
        yield Line(text)


def _line(text: str, before: str) -> Line:
    bare = text.lstrip(" ")
    if len(text) - len(bare) > 3:  # indented code
        return Line(text)
    if bare.rstrip() == "#" or bare.startswith(("# ", "#\t")):
        return Line(text, _title(bare))
    if before and bare.startswith("=") and not bare.strip("= \t"):
        return Line(text, _folded(before), is_underline=True)
    return Line(text)


def _title(heading: str) -> str:
    title = heading[1:].strip()
    unmarked = title.rstrip("#")
    if unmarked != title and (not unmarked or unmarked[-1] in " \t"):  # closing marks are no part of the title
        title = unmarked
    return _folded(title)


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _opened(text: str) -> Fence | None:
    """The fence a line opens. In a list it may be indented, or follow the mark; code within a sentence is no fence."""
    marks = _LIST_MARKS.match(text)
    start = marks.end() if marks else 0
    rest = text[start:]
    bare = rest.lstrip(" ")
    indent = len(rest) - len(bare)
    fence = _FENCE.match(bare) if indent <= 3 else None
    return None if fence is None else Fence(fence[1], start + indent)


def _closes(fence: Fence, text: str, bare: str) -> bool:
    if len(bare) < len(fence.mark) or bare.strip(fence.mark[0]):
        return False
    return len(text) - len(text.lstrip()) <= fence.column + 3
