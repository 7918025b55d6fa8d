"""`ferrule rule`: the page of one rule, and the list of all of them by standard."""

from __future__ import annotations

import json
from pathlib import Path

from ferrule.workspace.parts import list_rule_pages
from tests.cli.run import ferrule


def test_rule_prints_a_page_by_code_or_name(tmp_path: Path) -> None:
    ran = ferrule("rule", "fer-4", folder=tmp_path)
    assert ran.code == 0
    assert ran.out.startswith("FER-4 unexplained-suppression (warning")
    assert "# ferrule: ignore[FER-4]" in ran.out
    assert ferrule("rule", "unexplained-suppression", folder=tmp_path).out == ran.out


def test_rule_lists_all_by_standard(tmp_path: Path) -> None:
    listed = ferrule("rule", folder=tmp_path).out
    assert all(f"  {page.code} " in listed for page in list_rule_pages())
    as_json = json.loads(ferrule("rule", "--json", folder=tmp_path).out)
    assert [rule["code"] for rule in as_json] == [page.code for page in list_rule_pages()]


def test_rule_names_each_standard_once_and_lists_one_by_its_prefix(tmp_path: Path) -> None:
    headings = [line for line in ferrule("rule", folder=tmp_path).out.split("\n") if line and not line.startswith(" ")]
    assert [heading.split(" ")[0] for heading in headings[:-1]] == ["AML", "ADL", "OXP", "Agent", "Ferrule"]
    rows = [line.split()[0] for line in ferrule("rule", "oxp", folder=tmp_path).out.split("\n") if line[:2] == "  "]
    numbers = [int(code.removeprefix("OXP-")) for code in rows]
    assert numbers == sorted(numbers)
    assert len(numbers) == sum(page.code.startswith("OXP-") for page in list_rule_pages())


def test_an_unknown_rule_gets_the_nearest(tmp_path: Path) -> None:
    ran = ferrule("rule", "FER-44", folder=tmp_path)
    assert ran.code == 2
    assert "did you mean 'FER-4'?" in ran.err
