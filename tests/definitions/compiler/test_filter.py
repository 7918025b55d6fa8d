"""Which diagnostics are shown: the rules selected, less those ignored, less what the settings silence."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from ferrule.contracts.rule import RuleInfo
from ferrule.definitions.compiler.filter import DiagnosticFilter
from ferrule.errors import SettingsError
from ferrule.model.diagnostic import Diagnostic, Severity


class Silence(NamedTuple):
    """A table of the settings file."""

    rule: str
    reason: str = "because"
    path: str = "**"


def pages() -> list[RuleInfo]:
    return [RuleInfo(code, "odd", Severity.ERROR, "Says.") for code in ("AML-1", "AML-10", "OXP-1", "FER-3")]


def make_filter(select: tuple[str, ...] = (), ignore: tuple[str, ...] = (), *silenced: Silence) -> DiagnosticFilter:
    return DiagnosticFilter.build(select, ignore, silenced, pages)


def make_diagnostic(rule: str) -> Diagnostic:
    return Diagnostic(rule, Severity.ERROR, "", "f", 1, 1, 1, 2, "m")


@pytest.mark.parametrize(
    ("select", "ignore", "active"),
    [
        ((), (), ["AML-1", "AML-10", "OXP-1"]),
        (("AML-1",), (), ["AML-1"]),
        (("aml",), (), ["AML-1", "AML-10"]),
        ((), ("AML",), ["OXP-1"]),
        (("AML",), ("aml-10",), ["AML-1"]),
    ],
)
def test_a_word_names_a_rule_or_all_of_a_family(
    select: tuple[str, ...], ignore: tuple[str, ...], active: list[str]
) -> None:
    chosen = make_filter(select, ignore)
    assert [rule for rule in ("AML-1", "AML-10", "OXP-1") if chosen.is_active(rule)] == active


@pytest.mark.parametrize(
    ("select", "ignore", "silenced"), [(("AML-2",), (), ()), ((), ("AML-2",), ()), ((), (), (Silence("AML-2"),))]
)
def test_a_word_that_no_rule_answers_to_is_refused(
    select: tuple[str, ...], ignore: tuple[str, ...], silenced: tuple[Silence, ...]
) -> None:
    with pytest.raises(SettingsError, match="there is no rule 'AML-2'"):
        make_filter(select, ignore, *silenced)


def test_a_silenced_rule_is_not_shown_where_it_is_silenced() -> None:
    chosen = make_filter((), (), Silence("AML-1", path="old/*"))
    assert chosen.filter_file("old/a.md", [make_diagnostic("AML-1"), make_diagnostic("OXP-1")]) == [
        make_diagnostic("OXP-1")
    ]
    assert chosen.filter_file("new/a.md", [make_diagnostic("AML-1")]) == [make_diagnostic("AML-1")]


def test_silencing_that_silences_nothing_is_told_with_its_line(tmp_path: Path) -> None:
    settings = tmp_path / "ferrule.toml"
    settings.write_text('namespace = "x"\n[[check.suppress]]\nrule = "AML-1"\n\n[[check.suppress]]\nrule = "OXP-1"\n')
    chosen = make_filter((), (), Silence("AML-1"), Silence("OXP-1", reason=" "))
    chosen.filter_file("a.md", [make_diagnostic("AML-1")])
    told = chosen.report_unused(settings, "ferrule.toml")
    assert [(each.line, each.message) for each in told] == [
        (5, "nothing in '**' breaks OXP-1, so its suppression has no use"),
        (5, "the suppression of OXP-1 gives no reason"),
    ]


def test_silencing_of_a_rule_that_was_not_run_is_not_called_useless(tmp_path: Path) -> None:
    assert make_filter(("OXP",), (), Silence("AML-1")).report_unused(tmp_path / "gone.toml", "gone.toml") == []
