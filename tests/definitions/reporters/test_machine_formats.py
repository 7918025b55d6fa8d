"""What programs read: JSON, GitHub annotations and JUnit keep their promises whatever the text holds."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from ferrule.definitions.reporters.github import REPORTER as GITHUB
from ferrule.definitions.reporters.json import REPORTER as JSON
from ferrule.definitions.reporters.junit import REPORTER as JUNIT
from tests.definitions.reporters.sample import CLEAN, DIAGNOSTICS, REPORT, surroundings


def test_json_has_exactly_the_documented_members() -> None:
    written = json.loads("".join(JSON.write(REPORT, surroundings())))
    assert list(written) == ["diagnostics", "summary"]
    members = ["rule", "severity", "path", "file", "line", "column", "end_line", "end_column", "message", "hint", "url"]
    assert all(list(found) == members for found in written["diagnostics"])
    assert list(written["summary"]) == ["files", "tools", "errors", "warnings", "infos", "seconds"]


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


def test_junit_is_well_formed_and_counts_failures() -> None:
    root = ElementTree.fromstring("".join(JUNIT.write(REPORT, surroundings())))
    assert root.get("failures") == str(len(root.findall(".//failure"))) == str(REPORT.summary.errors)
    assert root.get("tests") == str(len(root.findall(".//testcase")))


def test_junit_fails_warnings_in_strict_mode_only() -> None:
    root = ElementTree.fromstring("".join(JUNIT.write(REPORT, surroundings(is_strict=True))))
    assert len(root.findall(".//failure")) == REPORT.summary.errors + REPORT.summary.warnings


def test_junit_of_a_clean_check_is_one_passed_test() -> None:
    root = ElementTree.fromstring("".join(JUNIT.write(CLEAN, surroundings())))
    assert len(root.findall(".//testcase")) == 1
    assert not root.findall(".//failure")
