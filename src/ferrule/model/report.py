"""What checking gave: per file, and for the whole run."""

from __future__ import annotations

import msgspec

from ferrule.model.diagnostic import Diagnostic, Severity
from ferrule.model.outline import Outline


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
    """Everything one file gives on its own. Cached by content, so it must not depend on any other file."""

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
    """Count by severity."""
    counts = dict.fromkeys(Severity, 0)
    for diagnostic in diagnostics:
        counts[diagnostic.severity] += 1
    return Summary(
        files, tools, counts[Severity.ERROR], counts[Severity.WARNING], counts[Severity.INFO], round(seconds, 3)
    )
