"""Mistakes in definitions, and the report of a check: per file, and for the whole run.

A rule makes a `Finding` (a path); `definitions/compiler/locate.py` turns it into a `Diagnostic` (a file, line and
column). `definitions/reporters` write a `Report` as text. This module knows no rule and reads no file.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from ferrule.model.outline import Outline
from ferrule.model.value import Path


class Severity(StrEnum):
    """The severity of a defect. Only errors block a build."""

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


class Suppression(msgspec.Struct, frozen=True, gc=False):
    """A comment that silences rules on one line, or in the whole file."""

    rules: tuple[str, ...]
    line: int
    """Where the comment stands."""
    column: int
    covers: tuple[int, ...]
    """Lines it speaks for; empty means the whole file."""
    reason: str


class FileReport(msgspec.Struct, frozen=True, array_like=True):
    """The results of one file on its own. Cached by content, so it must not depend on any other file."""

    file: str
    dialect: str | None
    """None for a file that holds no definition."""
    tools: int = 0
    outlines: tuple[Outline, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    suppressions: tuple[Suppression, ...] = ()


class Summary(msgspec.Struct, frozen=True):
    """The closing line of a check, in numbers."""

    files: int
    """Files that hold a definition, or should."""
    tools: int
    """Tools defined in those files."""
    errors: int
    """Diagnostics of that severity; a build needs 0."""
    warnings: int
    """Diagnostics of that severity."""
    infos: int
    """Diagnostics of that severity."""
    seconds: float
    """How long the check took."""


class Report(msgspec.Struct, frozen=True):
    """The outcome of a check."""

    diagnostics: tuple[Diagnostic, ...]
    summary: Summary

    @property
    def has_errors(self) -> bool:
        """True when a build would be refused."""
        return self.summary.errors > 0


def summarise(diagnostics: tuple[Diagnostic, ...], *, files: int, tools: int, seconds: float) -> Summary:
    """Counts diagnostics by severity."""
    counts = dict.fromkeys(Severity, 0)
    for diagnostic in diagnostics:
        counts[diagnostic.severity] += 1
    return Summary(
        files, tools, counts[Severity.ERROR], counts[Severity.WARNING], counts[Severity.INFO], round(seconds, 3)
    )
