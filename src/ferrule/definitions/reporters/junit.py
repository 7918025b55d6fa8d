"""JUnit XML, for the test pages of CI systems: one suite per file with diagnostics, one test case per diagnostic.

An error is a failed test. A warning fails only in strict mode; otherwise it passes, as infos do, its text as output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from ferrule.contracts.reporter import ReportContext
from ferrule.model.diagnostic import Diagnostic, Report, Severity

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters XML 1.0 cannot hold, not even escaped."""


class JunitReporter:
    """For CI systems that show tests."""

    def write(self, report: Report, context: ReportContext) -> Iterator[str]:
        """Yields one XML document. A clean check is one passed test, so that the page is never empty."""
        summary = report.summary
        failing = (Severity.ERROR, Severity.WARNING) if context.is_strict else (Severity.ERROR,)
        failures = sum(diagnostic.severity in failing for diagnostic in report.diagnostics)
        tests = max(1, len(report.diagnostics))
        yield '<?xml version="1.0" encoding="UTF-8"?>\n'
        yield f'<testsuites name="ferrule" tests="{tests}" failures="{failures}" errors="0" time="{summary.seconds}">\n'
        if not report.diagnostics:
            yield '  <testsuite name="ferrule" tests="1" failures="0" errors="0">\n'
            yield f'    <testcase classname="ferrule" name="{summary.files} files, {summary.tools} tools"/>\n'
            yield "  </testsuite>\n"
        for file, group in groupby(report.diagnostics, key=lambda diagnostic: diagnostic.file):
            yield from _format_suite(file, list(group), failing)
        yield "</testsuites>\n"


def _format_suite(file: str, diagnostics: list[Diagnostic], failing: tuple[Severity, ...]) -> Iterator[str]:
    failures = sum(diagnostic.severity in failing for diagnostic in diagnostics)
    name = _quote_attribute(file)
    yield f'  <testsuite name={name} tests="{len(diagnostics)}" failures="{failures}" errors="0">\n'
    for diagnostic in diagnostics:
        title = _quote_attribute(f"{diagnostic.rule} at {diagnostic.line}:{diagnostic.column}")
        yield f'    <testcase classname={name} name={title} file={name} line="{diagnostic.line}">\n'
        if diagnostic.severity in failing:
            kind, message = diagnostic.severity.value, _quote_attribute(diagnostic.message)
            yield f'      <failure type="{kind}" message={message}>{_escape_content(_format_text(diagnostic))}</failure>\n'
        else:
            yield f"      <system-out>{_escape_content(_format_text(diagnostic))}</system-out>\n"
        yield "    </testcase>\n"
    yield "  </testsuite>\n"


def _format_text(diagnostic: Diagnostic) -> str:
    place = f"{diagnostic.file}:{diagnostic.line}:{diagnostic.column}"
    lines = [f"{place}: {diagnostic.severity.value} {diagnostic.rule} {diagnostic.message}"]
    if diagnostic.hint is not None:
        lines.append(f"help: {diagnostic.hint}")
    if diagnostic.url is not None:
        lines.append(diagnostic.url)
    return "\n".join(lines)


def _escape_content(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))


def _quote_attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\ufffd", text))


REPORTER = JunitReporter()
