"""The compiler's parts as they are picked from the shelves: each rule has one page, at an address of its standard."""

from __future__ import annotations

import pytest

from ferrule.workspace.parts import DOCUMENTATION, build_page_url, list_compat_rules, list_rule_pages, load_parts


@pytest.mark.parametrize(
    ("standard", "file"), [("AML", "aml.md"), ("AT", "agent-tool.md"), ("FER", "ferrule.md"), ("NEW", "index.md")]
)
def test_a_rule_has_its_page_in_the_file_of_its_standard(standard: str, file: str) -> None:
    assert build_page_url(f"{standard}-1") == f"{DOCUMENTATION}{file}#{standard.lower()}-1"


def test_no_two_rules_share_a_code() -> None:
    pages = list_rule_pages()
    assert len({page.code for page in pages}) == len(pages) > 0


def test_every_rule_about_what_was_published_has_a_page() -> None:
    assert {rule.code for rule in list_compat_rules()} <= {page.code for page in list_rule_pages()}


def test_the_parts_are_made_once_and_know_every_dialect() -> None:
    assert load_parts() is load_parts()
    assert {dialect.name for dialect in load_parts().dialects} >= {"aml", "adl", "oxp", "agent_tool"}
