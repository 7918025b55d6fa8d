"""A definition file after reading: its value, its text, and on demand the place of every key and value.

`definitions/compiler` reads files into these records; rules and dialects only name paths.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from ferrule.model.value import JsonValue, Path

Syntax = Literal["front_matter", "yaml", "json"]
IssueKind = Literal["syntax", "duplicate_key", "recursion", "extra_document", "front_matter"]


class Source(msgspec.Struct, frozen=True):
    """One file as discovered: the name shown to people and its bytes."""

    file: str
    """As shown in diagnostics: relative to where the user stands, with forward slashes."""
    data: bytes
    problem: str | None = None
    """Why the file could not be read (too large, unreadable, not a regular file); `data` is then empty."""
    hint: str | None = None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.file.rsplit("/", 1)[-1]


class Issue(msgspec.Struct, frozen=True):
    """A problem that the reader itself noticed. The dialect decides which rule it breaks."""

    kind: IssueKind
    message: str
    line: int
    column: int = 1
    path: Path = ()
    hint: str | None = None


class Document(msgspec.Struct, frozen=True):
    """One document of a file: a front matter, a YAML document, or a JSON text."""

    source: Source
    syntax: Syntax
    text: str
    """The structured text alone, as written (without front-matter delimiters and body)."""
    first_line: int
    """The physical line on which `text` begins."""
    value: JsonValue
    """What was written, with YAML 1.2 core types; null when it could not be parsed."""
    body: str = ""
    """Markdown after the front matter."""
    issues: tuple[Issue, ...] = ()
    index: int = 0
    """Position among the documents of its file."""

    @property
    def is_parsed(self) -> bool:
        """False when there is no value to check, because the text could not be parsed."""
        return not any(issue.kind in ("syntax", "front_matter") for issue in self.issues)


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
        """The text that opens it: its key, the `-` or `{` of a list item, the document's start for a root."""
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
        """Returns the node at a path, or the nearest one around it; whether the path exists; and the path where it is
        written."""
        node = self.root
        for depth, step in enumerate(path):
            child = node.children.get(step)
            if child is None:
                node = node.target or node
                return node, False, node.written + path[depth:]
            node = child
        return node, True, node.written
