"""GitHub Actions annotations: one `::error …::message` line per diagnostic, shown beside the changed lines."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule.contracts.reporter import ReportContext
from ferrule.model.diagnostic import Diagnostic, Report, Severity

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


class GithubReporter:
    """For logs of a GitHub workflow."""

    def write(self, report: Report, context: ReportContext) -> Iterator[str]:
        """Yields a line per diagnostic; nothing when there is none."""
        for diagnostic in report.diagnostics:
            yield _format_annotation(diagnostic)


def _format_annotation(diagnostic: Diagnostic) -> str:
    properties = {
        "file": diagnostic.file,
        "line": str(diagnostic.line),
        "endLine": str(diagnostic.end_line),
        "col": str(diagnostic.column),
    }
    if diagnostic.end_line == diagnostic.line:  # GitHub refuses an end column on another line
        properties["endColumn"] = str(max(diagnostic.end_column, diagnostic.column))
    properties["title"] = diagnostic.rule
    listed = ",".join(f"{name}={_escape_property(value)}" for name, value in properties.items())
    text = diagnostic.message if diagnostic.hint is None else f"{diagnostic.message}\nhelp: {diagnostic.hint}"
    return f"::{_COMMANDS[diagnostic.severity]} {listed}::{_escape_data(text)}\n"


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


REPORTER = GithubReporter()
