"""The compiler's parts as they are picked from the shelves: each rule has one page, at an address of its standard."""

from __future__ import annotations

import pytest

from ferrule.workspace.parts import DOCUMENTATION, compat_rules, page_of, parts, rule_pages


@pytest.mark.parametrize(
    ("standard", "file"), [("AML", "aml.md"), ("AT", "agent-tool.md"), ("FER", "ferrule.md"), ("NEW", "index.md")]
)
def test_a_rule_has_its_page_in_the_file_of_its_standard(standard: str, file: str) -> None:
    assert page_of(f"{standard}-1") == f"{DOCUMENTATION}{file}#{standard.lower()}-1"


def test_no_two_rules_share_a_code() -> None:
    pages = rule_pages()
    assert len({page.code for page in pages}) == len(pages) > 0


def test_every_rule_about_what_was_published_has_a_page() -> None:
    assert {rule.code for rule in compat_rules()} <= {page.code for page in rule_pages()}


def test_the_parts_are_made_once_and_know_every_dialect() -> None:
    assert parts() is parts()
    assert {dialect.name for dialect in parts().dialects} >= {"aml", "adl", "oxp", "agent_tool"}
