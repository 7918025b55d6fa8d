"""Tells comments from text that only looks like one: in a YAML value, or in the prose of a Markdown body."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import yaml
from yaml._yaml import CParser

from ferrule.definitions.compiler.read import split_front_matter
from ferrule.model.document import Syntax


class Comments:
    """The places in one text where a comment may be."""

    def __init__(self, text: str, syntax: Syntax) -> None:
        parts = split_front_matter(text) if syntax == "front_matter" else None
        self._start = 0 if parts is None else text.index("\n") + 1
        self._body = len(text) if parts is None else self._start + len(parts[0])
        self._is_free = syntax == "front_matter" and parts is None
        self._values = [] if self._is_free else _find_values(text[self._start : self._body])
        self._starts = [start for start, _ in self._values]

    def has_comment(self, mark: str, offset: int) -> bool:
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


def _find_values(text: str) -> list[tuple[int, int]]:
    """Returns where the values of a YAML text begin and end, up to its first mistake."""
    parser: Any = CParser(text)
    values: list[tuple[int, int]] = []
    try:
        while (event := parser.get_event()) is not None:
            if isinstance(event, yaml.ScalarEvent) and event.style:  # a comment ends a plain value
                values.append(_measure_value(event, text))
    except (yaml.YAMLError, UnicodeEncodeError):
        pass
    return values


def _measure_value(event: Any, text: str) -> tuple[int, int]:
    start, end = event.start_mark.index, event.end_mark.index
    return (text.find("\n", start) if event.style in "|>" else start), end  # a comment may follow the mark `|`
