"""Tells comments from text that looks like one: in a value of the YAML, or in the prose of a Markdown body."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import yaml
from yaml._yaml import CParser

from ferrule.definitions.compiler.read import split_front_matter
from ferrule.model.document import Syntax


class Comments:
    """Where comments may stand in one text."""

    def __init__(self, text: str, syntax: Syntax) -> None:
        parts = split_front_matter(text) if syntax == "front_matter" else None
        self._start = 0 if parts is None else text.index("\n") + 1
        self._body = len(text) if parts is None else self._start + len(parts[0])
        self._is_free = syntax == "front_matter" and parts is None
        self._values = [] if self._is_free else _values(text[self._start : self._body])
        self._starts = [start for start, _ in self._values]

    def has(self, mark: str, offset: int) -> bool:
        """True when `#` or `<!--` at this offset begins a comment. In front matter that is not closed, both do."""
        if self._is_free:
            return True
        if offset >= self._body:
            return mark != "#"
        if mark != "#":
            return False
        at = offset - self._start
        before = bisect_right(self._starts, at) - 1
        return before < 0 or at >= self._values[before][1]


def _values(text: str) -> list[tuple[int, int]]:
    """Where the values of a YAML text begin and end; up to its first mistake."""
    parser: Any = CParser(text)
    values: list[tuple[int, int]] = []
    try:
        while (event := parser.get_event()) is not None:
            if isinstance(event, yaml.ScalarEvent) and event.style:  # a comment ends a plain value
                values.append(_extent(event, text))
    except (yaml.YAMLError, UnicodeEncodeError):
        pass
    return values


def _extent(event: Any, text: str) -> tuple[int, int]:
    start, end = event.start_mark.index, event.end_mark.index
    return (text.find("\n", start) if event.style in "|>" else start), end  # a comment may follow the mark `|`
