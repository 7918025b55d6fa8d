"""A definition file after reading: its value and its text. Positions are worked out later, and only if somebody asks."""

from __future__ import annotations

from typing import Literal

import msgspec

from ferrule.model.value import JsonValue, Path

Syntax = Literal["front_matter", "yaml", "json"]
IssueKind = Literal["syntax", "duplicate_key", "recursion", "extra_document", "front_matter"]


class Source(msgspec.Struct, frozen=True):
    """One file as found: the name shown to people and its bytes."""

    file: str
    """As shown in diagnostics: relative to where the user stands, with forward slashes."""
    data: bytes
    problem: str | None = None
    """Why the bytes could not be had (too large, unreadable, not a regular file); `data` is then empty."""
    hint: str | None = None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.file.rsplit("/", 1)[-1]


class Issue(msgspec.Struct, frozen=True):
    """Something the reader itself noticed. The dialect decides which rule it breaks."""

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
