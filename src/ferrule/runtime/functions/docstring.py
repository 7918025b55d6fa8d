"""Reads docstrings: their prose, and a line on each parameter or attribute (Google, NumPy or reST style)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc
from itertools import groupby
from typing import NamedTuple

_FIELD = re.compile(r":(?:param|parameter|arg|argument|ivar|var|attr)\s+(?:[^:]*\s)?\**(\w+)\s*:\s*(.*)")
_GOOGLE = re.compile(
    r"(?:args|arguments|parameters|params|keyword args|keyword arguments|attributes)\s*:", re.IGNORECASE
)
_NUMPY = re.compile(r"(?:parameters|other parameters|arguments|attributes)", re.IGNORECASE)
_ANY_FIELD = re.compile(
    r":(?:param|parameter|arg|argument|key|keyword|kwarg|type|returns?|rtype|yields?|ytype|raises?|except|exception|[ci]?var"
    r"|vartype|attr|meta)(?:\s[^:]*)?:(?:\s|$)"
)
_ANY_GOOGLE = re.compile(
    r"(?:(?:keyword |other )?(?:args|arguments|parameters|params)|attributes|returns?|yields?|raises?|exceptions|examples?)\s*:",
    re.IGNORECASE,
)
"""Notes and warnings are no sections here: callers of the tool should see them."""
_ANY_NUMPY = re.compile(
    r"(?:other )?(?:parameters|arguments)|attributes|methods|returns?|yields?|receives|raises?|warns|warnings|see also|notes?"
    r"|references|examples?",
    re.IGNORECASE,
)
_UNDERLINE = re.compile(r"-{3,}")
_OWN_LINE = re.compile(r"\s|[-*+|>#.]|\d+[.)]\s|={3,}|-{3,}")
"""How lines begin that do not run on: of lists, tables, headings and examples."""
_FENCE = "```"
_GOOGLE_ENTRY = re.compile(r"\**(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY_ENTRY = re.compile(r"\**(\w+(?:\s*,\s*\**\w+)*)\s*(?::.*)?")


class Docs(NamedTuple):
    """The useful parts of a docstring."""

    summary: str
    """The first paragraph, as one line."""
    prose: str
    """All that stands before the first section, each plain paragraph as one line."""
    parameters: dict[str, str]


def read_docstring(text: str | None) -> Docs:
    """Reads the prose of a docstring, and its parameters; of a class's docstring, the attributes too."""
    sound = text.encode(errors="replace").decode() if isinstance(text, str) else ""  # half a character is no text
    lines = cleandoc(sound).splitlines()
    return Docs(
        _read_summary(lines), _read_prose(lines), dict([*_read_rest(lines), *_read_google(lines), *_read_numpy(lines)])
    )


def _read_summary(lines: list[str]) -> str:
    paragraph: list[str] = []
    for line in lines:
        if not line.strip() or _FIELD.match(line) or _GOOGLE.fullmatch(line.strip()):
            break
        paragraph.append(line.strip())
    return " ".join(paragraph)


def _read_prose(lines: list[str]) -> str:
    kept = [line.rstrip() for line in lines[: next(_find_sections(lines), len(lines))]]
    if any(line.lstrip().startswith(_FENCE) for line in kept):
        return "\n".join(kept).strip()
    paragraphs = [list(group) for is_text, group in groupby(kept, bool) if is_text]
    return "\n\n".join(_join_paragraph(paragraph) for paragraph in paragraphs).strip()


def _find_sections(lines: list[str]) -> Iterator[int]:
    """Yields the numbers of the lines that begin a section."""
    for number, line in enumerate(lines):
        words, below = line.strip(), lines[number + 1].strip() if number + 1 < len(lines) else ""
        is_underlined = _UNDERLINE.fullmatch(below) and _ANY_NUMPY.fullmatch(words)
        if is_underlined or _ANY_GOOGLE.fullmatch(words) or _ANY_FIELD.match(words):
            yield number


def _join_paragraph(paragraph: list[str]) -> str:
    """Joins a paragraph to one line, unless its line breaks mean something."""
    return ("\n" if any(_OWN_LINE.match(line) for line in paragraph) else " ").join(paragraph)


def _read_rest(lines: list[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines):
        found = _FIELD.match(line.strip())
        if found:
            below = _take_continuation(
                lines[number + 1 :], lambda text: text.startswith(" ") and not text.strip().startswith(":")
            )
            yield found[1], " ".join([found[2].strip(), *below]).strip()


def _read_google(lines: list[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines):
        if _GOOGLE.fullmatch(line.strip()):
            yield from _read_google_entries(_take_block(lines[number + 1 :], _measure_indent(line) + 1))


def _read_google_entries(block: list[str]) -> Iterator[tuple[str, str]]:
    """Yields entries `name (type): text`, continued on lines that are indented further."""
    margin = min((_measure_indent(line) for line in block if line.strip()), default=0)
    for number, line in enumerate(block):
        found = _GOOGLE_ENTRY.match(line.strip()) if _measure_indent(line) == margin else None
        if found:
            below = _take_continuation(block[number + 1 :], lambda text: _measure_indent(text) > margin)
            yield found[1], " ".join([found[2].strip(), *below]).strip()


def _read_numpy(lines: list[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines[:-1]):
        if _NUMPY.fullmatch(line.strip()) and _UNDERLINE.fullmatch(lines[number + 1].strip()):
            yield from _read_numpy_entries(lines[number + 2 :], _measure_indent(line))


def _read_numpy_entries(lines: list[str], margin: int) -> Iterator[tuple[str, str]]:
    """Yields entries `name : type`, with the text on indented lines below."""
    for number, line in enumerate(lines):
        if _UNDERLINE.fullmatch(line.strip()):
            return
        found = _NUMPY_ENTRY.fullmatch(line.strip()) if line.strip() and _measure_indent(line) == margin else None
        if found:
            text = " ".join(_take_continuation(lines[number + 1 :], lambda text: _measure_indent(text) > margin))
            if text:
                yield from ((name.strip().lstrip("*"), text) for name in found[1].split(","))


def _take_block(lines: list[str], margin: int) -> list[str]:
    """Returns the lines up to the first that is indented less."""
    block: list[str] = []
    for line in lines:
        if line.strip() and _measure_indent(line) < margin:
            break
        block.append(line)
    return block


def _take_continuation(lines: list[str], belongs: object) -> list[str]:
    found: list[str] = []
    for line in lines:
        if not line.strip() or not callable(belongs) or not belongs(line):
            break
        found.append(line.strip())
    return found


def _measure_indent(line: str) -> int:
    return len(line) - len(line.lstrip())
