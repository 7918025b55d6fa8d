"""The stable JSON form: `{"diagnostics": […], "summary": {…}}`, described in docs/guide/json-output.md."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ferrule.contracts.reporter import ReportContext
from ferrule.model.diagnostic import Report


class JsonReporter:
    """For programs. Every member is always present; those that do not apply are null."""

    def write(self, report: Report, context: ReportContext) -> Iterator[str]:
        """Yields one JSON text, indented."""
        yield msgspec.json.format(msgspec.json.encode(report), indent=2).decode()
        yield "\n"


REPORTER = JsonReporter()
