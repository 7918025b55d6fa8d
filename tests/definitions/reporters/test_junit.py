"""JUnit files are well formed and fail the right tests."""

from __future__ import annotations

from xml.etree import ElementTree

from ferrule.definitions.reporters.junit import REPORTER as JUNIT
from tests.definitions.reporters.sample import CLEAN, REPORT, surroundings


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
