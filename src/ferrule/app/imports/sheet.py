"""A definition file to edit: its text, the value of its front matter, and the place of each part."""

from __future__ import annotations

import json
from functools import cached_property

from ferrule.contracts.fix import Manuscript
from ferrule.definitions.compiler.locate import find_places
from ferrule.definitions.compiler.read import read
from ferrule.model.document import Document, Node, Places, Source
from ferrule.model.value import JsonObject, Path

_BOM = "\ufeff"
_ODD_BREAKS = ("\x85", "\u2028", "\u2029", "\0")
"""Line breaks to YAML but not to us: lines and offsets would disagree, so such a file is not edited."""
_FLOW = ("{", "[")
_BLOCK_TEXT = ("|", ">")


class Sheet:
    """One readable file with front matter."""

    def __init__(self, text: str, document: Document) -> None:
        self.bom = _BOM if text.startswith(_BOM) else ""
        self.text = text.removeprefix(_BOM)
        self.value: JsonObject = document.value  # type: ignore[assignment]  # the reader takes nothing else
        self.body = document.body
        self._document = document

    @cached_property
    def places(self) -> Places:
        """The places of all values."""
        return find_places(self._document)

    @cached_property
    def manuscript(self) -> Manuscript:
        """The words for editing it."""
        return Manuscript(self.text, self.value, self.places)

    def node(self, path: Path) -> Node | None:
        """Returns the node written at a path; None for a value from an alias or a merge key."""
        return self.manuscript.node(path)

    def line_of(self, path: Path) -> int:
        """Returns the line of a value, or of the nearest value around it."""
        node, _, _ = self.places.find(path)
        return node.opener.line

    def body_line(self) -> int:
        """Returns the line on which the body begins."""
        return self.text.count("\n", 0, len(self.text) - len(self.body)) + 1

    def is_flow(self, node: Node) -> bool:
        """Returns True for a list or mapping in brackets."""
        return self._begins_with(node, _FLOW)

    def is_block_text(self, node: Node) -> bool:
        """Returns True for a text on lines of its own, below `|` or `>`."""
        return self._begins_with(node, _BLOCK_TEXT)

    def end_of(self, node: Node) -> int:
        """Returns the offset just past a value, before comments and blank lines after it."""
        manuscript = self.manuscript
        inner = [] if node.target is not None or self.is_flow(node) else _list_inner(node)
        if inner:
            return max(map(self.end_of, inner))
        if not node.children and self.is_block_text(node):
            return self._end_of_block_text(node)
        return manuscript.offset(node.span.end_line, node.span.end_column)

    def next_line(self, offset: int) -> int:
        """Returns the offset of the line after the one in which an offset lies."""
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


def _list_inner(node: Node) -> list[Node]:
    """Returns the nodes written inside this one, without those it only refers to."""
    depth = len(node.written)
    return [child for child in node.children.values() if child.written[:depth] == node.written and child is not node]


def parse_sheet(text: str) -> Sheet | None:
    """Parses a text; returns None for a file without a front matter that is free of syntax errors."""
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


def fingerprint(value: object) -> str:
    """Returns a text that equal values share, numbers by their type too; the order of keys does not matter."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def is_same(one: object, other: object) -> bool:
    """Returns True when two values are the same."""
    if type(one) is not type(other):
        return False
    if not isinstance(one, dict | list | float):
        return bool(one == other)
    return fingerprint(one) == fingerprint(other)
