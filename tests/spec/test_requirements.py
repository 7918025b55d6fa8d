"""Every requirement of the five standards is met, or listed with the reason why not yet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import pytest
from scripts.reference.coverage import CODE, STANDARDS, STATE, citations, listed, part_of, requirements

from ferrule.workspace.parts import list_rule_pages
from tests import ROOT

CASES = ROOT / "tests" / "definitions" / "rules" / "cases"
PARTS = {
    "importers",
    "servers",
    "telemetry",
    "trust",
}
"""The parts of the system that what is not covered yet can belong to."""
_MARK = re.compile(r"<-- (.+)$")


class Markdown(NamedTuple):
    """What one Markdown case says."""

    file: str
    marked: frozenset[str]
    """The codes it expects."""
    mentioned: frozenset[str]
    """The codes its heading or prose speaks of."""


@cache
def states() -> dict[str, str]:
    return {code: state for table in listed().values() for code, state in table.items()}


@cache
def cases() -> list[Markdown]:
    return [case for path in CASES.glob("**/*.md") for case in _cases_of(str(path), path.read_text(encoding="utf-8"))]


def _cases_of(file: str, text: str) -> Iterator[Markdown]:
    _, *sections = re.split(r"^## ", text, flags=re.MULTILINE)
    for section in sections:
        pieces = re.split(r"^~~~.*$", section, flags=re.MULTILINE)
        prose, blocks = pieces[::2], pieces[1::2]
        marks = [mark for block in blocks for line in block.splitlines() for mark in _MARK.findall(line)]
        marked = frozenset(code for mark in marks for code in CODE.findall(mark))
        yield Markdown(file, marked, frozenset(code for piece in prose for code in CODE.findall(piece)))


def has_passing_case(code: str) -> bool:
    """True when a case speaks of the rule without expecting it, or expects nothing at all beside one that fails it."""
    files = {case.file for case in cases() if code in case.marked}
    return any(
        (code in case.mentioned and code not in case.marked) or (case.file in files and not case.marked)
        for case in cases()
    )


def codes_in_state(word: str) -> list[str]:
    return [code for code, state in states().items() if state.split(":")[0] == word]


def test_every_id_of_every_standard_is_listed_once() -> None:
    assert set(listed()) == set(STANDARDS)
    for table, (_, prefix, count) in STANDARDS.items():
        assert list(listed()[table]) == [f"{prefix}-{number}" for number in range(1, count + 1)]


def test_every_state_is_known_and_every_gap_has_a_reason() -> None:
    for code, state in states().items():
        match = STATE.fullmatch(state)
        assert match, f"{code}: {state!r}"
        if match[1] not in {"rule", "diff"}:
            assert match[2], f"{code} needs a reason after {match[1]!r}"


def test_what_is_checked_with_another_rule_names_one_that_exists() -> None:
    for code, state in states().items():
        if state.startswith("with "):
            assert states()[state.split(":")[0].removeprefix("with ")] == "rule", code


def test_every_reported_code_is_listed_as_checked() -> None:
    for info in list_rule_pages():
        if not info.code.startswith("FER-"):
            assert states()[info.code].split(":")[0] in {"rule", "diff", "build"}, info.code


@pytest.mark.parametrize("code", codes_in_state("rule"))
def test_rule_has_a_page_a_failing_and_a_passing_case(code: str) -> None:
    assert code in {info.code for info in list_rule_pages()}, "no page"
    assert any(code in case.marked for case in cases()), "no failing case"
    assert has_passing_case(code), "no passing case"


@pytest.mark.parametrize("code", [code for word in ("diff", "build", "run") for code in codes_in_state(word)])
def test_what_is_met_elsewhere_is_cited_by_a_test(code: str) -> None:
    assert citations().get(code), f"no test cites {code}"


def test_no_test_cites_an_id_that_does_not_exist() -> None:
    unknown = {code: files for code, files in citations().items() if code not in states()}
    assert not {code: files for code, files in unknown.items() if not code.startswith("FER-")}


def test_what_is_not_covered_yet_names_its_part_of_the_system() -> None:
    later = [each for standard in STANDARDS for each in requirements(standard) if each.state == "later"]
    assert {part_of(each) for each in later} == PARTS


def test_no_case_expects_a_code_without_a_page() -> None:
    known = {info.code for info in list_rule_pages()}
    assert not {code for case in cases() for code in case.marked} - known
