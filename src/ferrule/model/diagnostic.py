"""Mistakes in definitions. A rule makes a `Finding` (a path); `definitions/compiler/locate.py` turns it into a `Diagnostic`."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from ferrule.model.value import Path


class Severity(StrEnum):
    """How bad it is. Only errors block a build."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return _RANK[self.value]


_RANK = {"error": 0, "warning": 1, "info": 2}


class Finding(msgspec.Struct, frozen=True, gc=False):
    """One defect as a rule sees it: where in the value, not where in the file."""

    rule: str
    """The rule's code, such as `AML-9`."""
    path: Path
    """The offending value or key; for something missing, the path it should have. Relative to the definition."""
    message: str
    """What is wrong, naming the thing."""
    severity: Severity = Severity.ERROR
    hint: str | None = None
    """What to do about it."""
    on_key: bool = False
    """True when the key itself is the mistake (unknown, forbidden, superseded), so the caret goes there."""
    line: int = 0
    """Set only by readers that know the place already; rules leave it 0."""
    column: int = 0
    is_repeat: bool = False
    """True for a key written again, which says nothing against the first one: what is found there is reported as well."""


class Diagnostic(msgspec.Struct, frozen=True, gc=False):
    """One defect at its exact place, in the shape `ferrule check --format json` prints."""

    rule: str
    """The rule's code, such as `AML-9`."""
    severity: Severity
    """Only errors block a build."""
    path: str
    """Dotted, list positions in brackets: `spec.tools[0].id`."""
    file: str
    """Relative to the current folder when it lies inside it."""
    line: int
    """1-based physical line; the front-matter delimiter counts."""
    column: int
    """1-based, in characters."""
    end_line: int
    """The line on which the offending text ends."""
    end_column: int
    """Just past the last character."""
    message: str
    """What is wrong, naming the thing."""
    hint: str | None = None
    """What to do about it."""
    url: str | None = None
    """The rule's documentation page."""

    @property
    def order(self) -> tuple[str, int, int, str, str]:
        """Reading order: file, line, column, then rule."""
        return (self.file, self.line, self.column, self.rule, self.path)
