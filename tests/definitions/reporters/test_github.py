"""Annotations for GitHub keep to one line each whatever the text holds."""

from __future__ import annotations

from ferrule.definitions.reporters.github import REPORTER as GITHUB
from tests.definitions.reporters.sample import DIAGNOSTICS, REPORT, surroundings


def test_github_annotations_are_one_line_each_and_escaped() -> None:
    lines = list(GITHUB.write(REPORT, surroundings()))
    assert len(lines) == len(DIAGNOSTICS)
    assert all(line.count("\n") == 1 and line.endswith("\n") for line in lines)
    odd = next(line for line in lines if "title=FER-4" in line)
    assert odd.startswith("::error file=tools/odd%3A name%2C 100%25.yaml,line=5,endLine=5,col=")
    assert "::line one%0Aline two: 100%25, <b>" in odd


def test_github_gives_no_end_column_on_another_line() -> None:
    line = next(line for line in GITHUB.write(REPORT, surroundings()) if "multi.json" in line)
    assert "endLine=4" in line and "endColumn" not in line
