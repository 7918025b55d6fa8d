"""Where every key and value of a document was written. Built only when a diagnostic needs a place."""

from __future__ import annotations

from typing import NamedTuple

from ferrule.model.value import Path


class Span(NamedTuple):
    """A stretch of text; lines and columns count from 1, the end is just past the last character."""

    line: int
    column: int
    end_line: int
    end_column: int


class Node:
    """One written value with its place; containers keep a child per key or item."""

    __slots__ = ("children", "opener", "span", "target", "written")

    def __init__(self, span: Span, opener: Span, written: Path) -> None:
        self.span = span
        """The value itself."""
        self.opener = opener
        """What opens it: its key, the `-` or `{` of a list item, the document's start for a root."""
        self.written = written
        """The path at which it is written; differs from the path asked for below an alias or merge key."""
        self.children: dict[str | int, Node] = {}
        self.target: Node | None = None
        """The anchored node, when this is an alias of it; they share their children."""


class Places:
    """The places of one document, by path."""

    def __init__(self, root: Node) -> None:
        self.root = root

    def find(self, path: Path) -> tuple[Node, bool, Path]:
        """The node at a path, or the nearest one around it; whether the path exists; and the path where it is written."""
        node = self.root
        for depth, step in enumerate(path):
            child = node.children.get(step)
            if child is None:
                node = node.target or node
                return node, False, node.written + path[depth:]
            node = child
        return node, True, node.written
