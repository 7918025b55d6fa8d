"""What readers give and what they raise: shared by the YAML and the JSON reader."""

from __future__ import annotations

from typing import NamedTuple

from ferrule.model.document import Issue
from ferrule.model.place import Places
from ferrule.model.value import JsonValue

MAX_DEPTH = 100
"""Deeper nesting is refused: no definition needs it, and every later step may then walk values without fear."""

FIRST_COUNTS = "the first one is used; remove or rename this one"
"""The hint for a repeated key."""


class Composed(NamedTuple):
    """One document, read with its places."""

    value: JsonValue
    places: Places
    issues: tuple[Issue, ...]
    first_line: int


class Unparsable(Exception):
    """The text cannot be used; carries the one issue to report."""

    def __init__(self, message: str, line: int, column: int = 1, hint: str | None = None) -> None:
        super().__init__(message)
        self.issue = Issue("syntax", message, line, column, hint=hint)
