"""A rule's subject hides what was reported already, and a rule's page is made from its docstring."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.rule import RuleSettings, Subject, info_of
from ferrule.model.diagnostic import Finding, Severity
from ferrule.model.document import Document, Source
from ferrule.model.value import MISSING, Path

VALUE: dict[str, Any] = {"meta": {"name": "a", "tags": ["x", "y"]}, "type": "action"}


def subject() -> Subject:
    """A definition of which nothing is reported yet."""
    document = Document(Source("a.yaml", b""), "yaml", "", 1, VALUE)
    return Subject("aml.tool", document, VALUE, RuleSettings(today="2026-01-31"))


def finding(path: Path, severity: Severity = Severity.ERROR) -> Finding:
    """A defect at a path."""
    return Finding("AML-1", path, "it is wrong", severity)


def test_values_are_read_by_their_path() -> None:
    assert subject().get("meta", "tags", 1) == "y"
    assert subject().get("meta", "owner") is MISSING and not subject().has_errors


@pytest.mark.parametrize(
    ("reported", "asked", "is_hidden"),
    [
        (("meta", "name"), ("meta", "name"), True),
        (("meta",), ("meta", "name"), True),
        ((), ("type",), True),
        (("meta", "name"), ("meta",), False),
        (("meta", "name"), ("meta", "tags"), False),
    ],
)
def test_what_was_reported_is_hidden_from_later_rules(reported: Path, asked: Path, is_hidden: bool) -> None:
    tried = subject()
    tried.report(finding(reported))
    assert (tried.get(*asked) is MISSING) is is_hidden
    assert tried.is_reported(asked) is is_hidden and tried.has_errors


@pytest.mark.parametrize("severity", [Severity.WARNING, Severity.INFO])
def test_milder_findings_hide_nothing(severity: Severity) -> None:
    tried = subject()
    tried.report(finding(("meta",), severity))
    assert len(tried.findings) == 1
    assert tried.get("meta", "name") == "a" and not tried.has_errors


def test_errors_inside_of_a_value_are_known() -> None:
    tried = subject()
    tried.report(finding(("meta", "tags", 0)))
    assert tried.has_error_below(("meta",)) and tried.has_error_below(("meta", "tags", 0)) and tried.has_error_below(())
    assert not tried.has_error_below(("meta", "name")) and not tried.has_error_below(("meta", "tags", 0, "x"))


class Named:
    """Names are
    written in small letters.

    Bad:
        name: ADA
    """

    code, name, severity, since = "AML-5", "shouted-name", Severity.WARNING, "0.2"


def test_a_rules_page_is_its_docstring() -> None:
    for rule in (Named, Named()):
        page = info_of(rule)
        assert page.summary == "Names are written in small letters."
        assert page.details == "Bad:\n    name: ADA"
        assert (page.code, page.name, page.severity, page.since) == ("AML-5", "shouted-name", Severity.WARNING, "0.2")
