"""The contract of a fix: edits to a file's text, and the change of its value they must amount to.

A fixer reads a `Manuscript` (text, value and places of one YAML or JSON document) and offers fixes.
`definitions/compiler/fix.py` applies them, reads the result again, and keeps it only when the value changed exactly as
promised. Nothing here writes; edits of whole members (rename, wrap, add, drop, move) are in
`definitions/rules/rewriting.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ferrule.contracts.dialect import Definition
from ferrule.model.document import Node, Places, Span
from ferrule.model.value import Path


class Edit(NamedTuple):
    """The replacement of a stretch of the file's text, by character offsets."""

    start: int
    end: int
    text: str


class Fix(NamedTuple):
    """The fix of one defect."""

    rule: str
    """The rule whose diagnostic it answers."""
    paths: tuple[Path, ...]
    """Paths at which that diagnostic may be reported."""
    edits: tuple[Edit, ...]
    change: Callable[[Any], None]
    """Does to the value what the edits do to the text; the proof that they do no more."""


Fixer = Callable[["Manuscript"], Iterator[Fix]]


class Fixers(NamedTuple):
    """The fixers of one dialect."""

    fixers: tuple[Fixer, ...]
    rules: frozenset[str]
    """Every rule they can answer."""


class LineRange(NamedTuple):
    """Whole lines, by number from 1; `end` is just past the last."""

    start: int
    end: int


class Manuscript:
    """A file's text with the places of one of its documents, and the operations for editing it."""

    def __init__(
        self,
        text: str,
        value: Any,
        places: Places,
        *,
        is_json: bool = False,
        definitions: Sequence[Definition] = (),
    ) -> None:
        self.text = text
        self.value = value
        self.is_json = is_json
        self.definitions = definitions
        """What the document defines, each with its path."""
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self._places = places
        # Lines keep their `\r`, so that offsets are those of the text as it is.
        self._lines = text.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def node(self, path: Path) -> Node | None:
        """Returns the written value at a path; None when it is absent or comes from an alias or merge key."""
        node, exists, written = self._places.find(path)
        return node if exists and written == path else None

    def text_of(self, span: Span) -> str:
        """Returns the text of a span, as written."""
        return self.text[self.offset(span.line, span.column) : self.offset(span.end_line, span.end_column)]

    def offset(self, line: int, column: int = 1) -> int:
        """Returns the character offset of a place; past the end of the text for the line after the last."""
        return min(self._starts[line - 1] + column - 1, len(self.text))

    def replace(self, span: Span, text: str) -> Edit:
        """Replaces a span by a text."""
        return Edit(self.offset(span.line, span.column), self.offset(span.end_line, span.end_column), text)

    def reword(self, span: Span, word: str) -> Edit:
        """Replaces a scalar or key by another word, in the quotes it has."""
        old = self.text_of(span)
        quote = old[0] if old[:1] in ("'", '"') else ""
        return self.replace(span, f"{quote}{word}{quote}")

    def text_before(self, place: Span) -> str:
        """Returns the text of a line before a place."""
        return self._lines[place.line - 1][: place.column - 1]

    def is_block_key(self, key: Span) -> bool:
        """True when a key is the first thing on its line, so that other keys can be written on lines around it."""
        return not self.is_json and not self.text_before(key).strip(" ")

    def lines_of(self, node: Node) -> LineRange | None:
        """Returns the whole lines a block key and its value take, without blank lines after them; None for a key in a
        flow."""
        return self.extent(node) if self.is_block_key(node.opener) else None

    def extent(self, node: Node) -> LineRange:
        """Returns the lines a key of a block and its value take; the key may follow the `-` of a list item."""
        indent = node.opener.column - 1
        # Lines of a flow may be indented less than its key, so only its end says where it stops; block lines are
        # indented more.
        opens_flow = self.text_of(node.span)[:1] in ("{", "[")
        last = node.span.end_line if opens_flow else node.opener.line
        number = last + 1
        while number <= len(self._lines):
            line = self._lines[number - 1].rstrip("\r")
            content = line.lstrip(" ")
            if content and len(line) - len(content) <= indent:
                break
            if content:
                last = number
            number += 1
        return LineRange(node.opener.line, last + 1)

    def text_of_lines(self, lines: LineRange) -> str:
        """Returns the text of whole lines, with a line end after the last."""
        text = self.text[self.offset(lines.start) : self.offset(lines.end)]
        return text if text.endswith("\n") else text + self.newline

    def remove_lines(self, lines: LineRange) -> Edit:
        """Removes whole lines, and with them the blank lines that would be left doubled or last."""
        start, end = lines
        is_blank_before = not self._line(start - 1).strip()
        if is_blank_before:
            while not self._line(end).strip() and end <= len(self._lines):
                end += 1
        if self._line(end).rstrip() in ("---", ""):
            while start > 1 and not self._line(start - 1).strip():
                start -= 1
        return Edit(self.offset(start), self.offset(end), "")

    def indent(self, text: str, by: int) -> str:
        """Moves every line that is not blank to the right."""
        return "\n".join(" " * by + line if line.strip() else line for line in text.split("\n"))

    @property
    def step(self) -> int:
        """How many spaces this file indents by: what its first indented line has."""
        for line in self._lines:
            content = line.lstrip(" ")
            if content.strip() and len(content) < len(line):
                return len(line) - len(content)
        return 2

    def _line(self, number: int) -> str:
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""
