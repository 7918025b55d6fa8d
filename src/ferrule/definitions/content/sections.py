"""Finds the first-level sections of a Markdown body.

It knows headings and code fences, nothing else of Markdown. The AML dialect and its rules use it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_LIST_MARKS = re.compile(r"(?:[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*")
_FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})")
_LINE_STARTS = frozenset("#`~=-*+0123456789")
"""First characters of headings, fences, underlines and list items; all other lines are plain text."""


class MarkdownLine(NamedTuple):
    """One line of the body, and the first-level heading it makes."""

    text: str
    heading: str | None = None
    """Case-folded; None for any other line."""
    is_underline: bool = False
    """True when the heading is the line before, and this one underlines it."""


class Fence(NamedTuple):
    """An open code block."""

    mark: str
    column: int


def list_headings(body: str) -> set[str]:
    """Returns the first-level headings, case-folded. Lines in fenced code are no headings."""
    return {line.heading for line in _parse_lines(body) if line.heading is not None}


def split_sections(body: str) -> dict[str, str]:
    """Returns the text by heading, case-folded; text before the first heading is under the empty name.

    Empty sections are left out; of two sections with one heading the first is kept.
    """
    found: dict[str, list[str]] = {"": []}
    part = found[""]
    for line in _parse_lines(body):
        if line.heading is None:
            part.append(line.text)
            continue
        if line.is_underline:
            part.pop()
        part = []
        found.setdefault(line.heading, part)
    return {heading: text for heading, part in found.items() if (text := "\n".join(part).strip())}


def _parse_lines(body: str) -> Iterator[MarkdownLine]:
    fence: Fence | None = None
    before = ""
    for text in body.replace("\r\n", "\n").split("\n"):
        bare = text.strip()
        if fence is not None:
            fence = None if _is_closing(fence, text, bare) else fence
        elif bare and bare[0] in _LINE_STARTS:
            fence = _find_fence(text)
            line = MarkdownLine(text) if fence is not None else _parse_line(text, before)
            yield line
            before = bare if line.heading is None and fence is None else ""
            continue
        before = "" if fence is not None else bare
        yield MarkdownLine(text)


def _parse_line(text: str, before: str) -> MarkdownLine:
    bare = text.lstrip(" ")
    if len(text) - len(bare) > 3:  # CommonMark: four spaces make indented code
        return MarkdownLine(text)
    if bare.rstrip() == "#" or bare.startswith(("# ", "#\t")):
        return MarkdownLine(text, _parse_title(bare))
    if before and bare.startswith("=") and not bare.strip("= \t"):
        return MarkdownLine(text, _fold_heading(before), is_underline=True)
    return MarkdownLine(text)


def _parse_title(heading: str) -> str:
    title = heading[1:].strip()
    unmarked = title.rstrip("#")
    if unmarked != title and (not unmarked or unmarked[-1] in " \t"):  # closing marks are no part of the title
        title = unmarked
    return _fold_heading(title)


def _fold_heading(text: str) -> str:
    return " ".join(text.split()).casefold()


def _find_fence(text: str) -> Fence | None:
    """Returns the fence that a line opens. In a list it may be indented or follow the mark; inline code is no fence."""
    marks = _LIST_MARKS.match(text)
    start = marks.end() if marks else 0
    rest = text[start:]
    bare = rest.lstrip(" ")
    indent = len(rest) - len(bare)
    fence = _FENCE.match(bare) if indent <= 3 else None
    return None if fence is None else Fence(fence[1], start + indent)


def _is_closing(fence: Fence, text: str, bare: str) -> bool:
    if len(bare) < len(fence.mark) or bare.strip(fence.mark[0]):
        return False
    return len(text) - len(text.lstrip()) <= fence.column + 3
