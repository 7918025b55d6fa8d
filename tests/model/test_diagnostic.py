"""Diagnostics are put in reading order and counted; only errors block a build."""

from __future__ import annotations

import pytest

from ferrule.model.diagnostic import Diagnostic, Report, Severity, summarise


def diagnostic(
    severity: Severity = Severity.ERROR, file: str = "a.yaml", line: int = 1, rule: str = "AML-1"
) -> Diagnostic:
    """A defect at a place."""
    return Diagnostic(rule, severity, "meta.name", file, line, 1, line, 5, "it is wrong")


def test_the_worst_comes_first() -> None:
    assert sorted(Severity, key=lambda severity: severity.rank) == ["error", "warning", "info"]


def test_diagnostics_are_read_by_file_then_line_then_rule() -> None:
    ordered = [
        diagnostic(file="a.yaml", line=2, rule="AML-1"),
        diagnostic(file="a.yaml", line=10, rule="AML-1"),
        diagnostic(file="a.yaml", line=10, rule="AML-2"),
        diagnostic(file="b.yaml", line=1, rule="AML-1"),
    ]
    mixed = [ordered[at] for at in (3, 1, 0, 2)]
    assert sorted(mixed, key=lambda each: each.order) == ordered


def test_a_summary_counts_by_severity() -> None:
    found = tuple(diagnostic(Severity(word)) for word in ("info", "error", "warning", "info", "error", "info"))
    summary = summarise(found, files=4, tools=3, seconds=0.12345)
    assert (summary.errors, summary.warnings, summary.infos) == (2, 1, 3)
    assert (summary.files, summary.tools, summary.seconds) == (4, 3, 0.123)


@pytest.mark.parametrize("severity", Severity)
def test_only_errors_block_a_build(severity: Severity) -> None:
    found = (diagnostic(severity),)
    report = Report(found, summarise(found, files=1, tools=1, seconds=0))
    assert report.has_errors is (severity is Severity.ERROR)
