"""What people read: each diagnostic with its source line and carets, then one closing line."""

from __future__ import annotations

import pytest

from ferrule.definitions.reporters.text import REPORTER
from ferrule.model.diagnostic import Diagnostic, Report, Severity, summarise
from tests.definitions.reporters.sample import CLEAN, REPORT, surroundings


def write_text(*diagnostics: Diagnostic, files: int = 2, has_colour: bool = False) -> list[str]:
    report = Report(diagnostics, summarise(diagnostics, files=files, tools=1, seconds=0.5))
    return "".join(REPORTER.write(report, surroundings(has_colour=has_colour))).splitlines()


def make_diagnostic(
    severity: Severity = Severity.ERROR, file: str = "tools/plain.tool.md", line: int = 3
) -> Diagnostic:
    return Diagnostic("FER-5", severity, "tool_id", file, line, 10, line, 21, "not an id", "no spaces")


def test_carets_stand_under_what_is_wrong() -> None:
    assert write_text(make_diagnostic())[:4] == [
        "tools/plain.tool.md:3:10: error FER-5 not an id",
        '   3 | tool_id: "Send Mail"',
        "     |          ^^^^^^^^^^^",
        "  help: no spaces",
    ]


@pytest.mark.parametrize(
    ("file", "line"), [("tools/gone.json", 1), ("tools/plain.tool.md", 99), ("tools/plain.tool.md", 0)]
)
def test_a_line_that_is_not_there_is_not_shown(file: str, line: int) -> None:
    assert write_text(make_diagnostic(file=file, line=line))[1] == "  help: no spaces"


def test_the_closing_line_counts_what_there_is() -> None:
    assert write_text(make_diagnostic(), make_diagnostic(Severity.WARNING), make_diagnostic(Severity.WARNING))[-1] == (
        "1 error, 2 warnings in 2 files (1 tool) in 0.50 s"
    )
    assert write_text()[-1] == "1 tool in 2 files: no problems"
    assert write_text(files=0)[-1] == "no definitions found"


def test_colours_change_no_words() -> None:
    for report in (REPORT, CLEAN):
        plain = "".join(REPORTER.write(report, surroundings()))
        painted = "".join(REPORTER.write(report, surroundings(has_colour=True)))
        assert painted != plain and "\x1b[" not in plain
    assert "\x1b[1;31merror FER-5\x1b[0m" in write_text(make_diagnostic(), has_colour=True)[0]
