"""A definition file as it is edited here: its text, what its front matter says, and where each part of that is written."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from ferrule.contracts.fix import Manuscript
from ferrule.definitions.compiler.locate import find_places
from ferrule.definitions.compiler.read import read
from ferrule.model.document import Document, Node, Places, Source
from ferrule.model.value import Path

_BOM = "\ufeff"
_ODD_BREAKS = ("\x85", "\u2028", "\u2029", "\0")
"""Line breaks to YAML but not to us: places and offsets would disagree, so such a file is not taken apart."""
_FLOW = ("{", "[")
_BLOCK_TEXT = ("|", ">")


class Sheet:
    """One readable file with front matter."""

    def __init__(self, text: str, document: Document) -> None:
        self.bom = _BOM if text.startswith(_BOM) else ""
        self.text = text.removeprefix(_BOM)
        self.value: dict[str, Any] = document.value  # type: ignore[assignment]  # the reader takes nothing else
        self.body = document.body
        self._document = document

    @cached_property
    def places(self) -> Places:
        """Where everything is written."""
        return find_places(self._document)

    @cached_property
    def manuscript(self) -> Manuscript:
        """The words for editing it."""
        return Manuscript(self.text, self.value, self.places)

    def node(self, path: Path) -> Node | None:
        """What is written at a path; None for what comes from an alias or a merge key."""
        return self.manuscript.node(path)

    def line_of(self, path: Path) -> int:
        """The line of a value, or of what it would stand in."""
        node, _, _ = self.places.find(path)
        return node.opener.line

    def body_line(self) -> int:
        """The line on which the body begins."""
        return self.text.count("\n", 0, len(self.text) - len(self.body)) + 1

    def is_flow(self, node: Node) -> bool:
        """True for a list or mapping in brackets."""
        return self._begins_with(node, _FLOW)

    def is_block_text(self, node: Node) -> bool:
        """True for a text on lines of its own, below `|` or `>`."""
        return self._begins_with(node, _BLOCK_TEXT)

    def end_of(self, node: Node) -> int:
        """The offset just past a value, without comments and blank lines after it."""
        manuscript = self.manuscript
        inner = [] if node.target is not None or self.is_flow(node) else _inner(node)
        if inner:
            return max(map(self.end_of, inner))
        if not node.children and self.is_block_text(node):
            return self._end_of_block_text(node)
        return manuscript.offset(node.span.end_line, node.span.end_column)

    def next_line(self, offset: int) -> int:
        """The offset of the line after the one in which an offset lies."""
        at = self.text.find("\n", offset)
        return len(self.text) if at < 0 else at + 1

    def _begins_with(self, node: Node, marks: tuple[str, ...]) -> bool:
        at = self.manuscript.offset(node.span.line, node.span.column)
        return self.text[at : at + 1] in marks

    def _end_of_block_text(self, node: Node) -> int:
        indent = node.opener.column - 1
        end = at = self.next_line(self.manuscript.offset(node.span.line, node.span.column))
        while at < len(self.text):
            after = self.next_line(at)
            line = self.text[at:after].rstrip("\r\n")
            content = line.lstrip(" ")
            if content and len(line) - len(content) <= indent:
                break
            if content:
                end = after
            at = after
        return len(self.text[:end].rstrip("\r\n"))


def _inner(node: Node) -> list[Node]:
    """What is written inside, and not merely named there."""
    depth = len(node.written)
    return [child for child in node.children.values() if child.written[:depth] == node.written and child is not node]


def sheet_of(text: str) -> Sheet | None:
    """A text taken apart; None when it is no file with a front matter that can be read without a complaint."""
    if any(odd in text for odd in _ODD_BREAKS):
        return None
    try:
        data = text.encode()
    except UnicodeEncodeError:  # half a character
        return None
    documents = read(Source("definition.tool.md", data))
    if len(documents) != 1 or documents[0].issues or not isinstance(documents[0].value, dict):
        return None
    return Sheet(text, documents[0])


def fingerprint(value: Any) -> str:
    """A text that two values share when they are the same, down to the kinds of their numbers; the order of keys is nothing."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def is_same(one: Any, other: Any) -> bool:
    """True when two values are the same."""
    if type(one) is not type(other):
        return False
    if not isinstance(one, dict | list | float):
        return bool(one == other)
    return fingerprint(one) == fingerprint(other)
