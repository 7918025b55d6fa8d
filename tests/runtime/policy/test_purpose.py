"""Rules that can be obeyed and yet do nothing: about nothing, overruled, or asking for what nobody can answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.model.diagnostic import Finding
from ferrule.runtime.policy.purpose import WorkspaceNames, covers, find_purposeless_rules
from ferrule.runtime.policy.read import read_text
from ferrule.runtime.policy.records import PolicyRule
from ferrule.runtime.policy.table import OVERRULED, UNANSWERABLE, UNKNOWN_GROUP, UNREACHABLE
from tests.runtime.policy.samples import caller, decide, engine, entry, rule, tool

KNOWN = WorkspaceNames(
    tools=frozenset({"refund", "shop.refund"}),
    aliases=frozenset({"payback"}),
    agents=frozenset({"clerk"}),
    namespaces=frozenset({"shop"}),
    is_complete=True,
)


def find_purposeless(text: str, known: WorkspaceNames = KNOWN, **groups: tuple[str, ...]) -> list[Finding]:
    read = read_text(text, "policy_settings", "policy.toml")
    assert not read.errors
    return [finding for _, finding in find_purposeless_rules({"policy.toml": read}, groups, known)]


def find_codes(text: str, known: WorkspaceNames = KNOWN, **groups: tuple[str, ...]) -> list[str]:
    return [finding.rule for finding in find_purposeless(text, known, **groups)]


def one(text: str) -> PolicyRule:
    (only,) = read_text(text, "policy_settings", "policy.toml").file.rules
    return only


@pytest.mark.parametrize("matcher", [{"tool": "refnud"}, {"tool": "ghost-*"}, {"namespace": "shops"}])
def test_a_rule_about_nothing_is_told_once_everything_is_known(matcher: dict[str, str]) -> None:
    text = rule("deny", **matcher)
    assert find_codes(text) == [UNREACHABLE]
    assert find_codes(text, KNOWN._replace(is_complete=False)) == []


def test_a_rule_about_something_is_left_alone() -> None:
    for matcher in ({"tool": "refund"}, {"tool": "shop.*"}, {"namespace": "shop"}, {}):
        assert find_codes(rule("deny", **matcher)) == []


def test_an_alias_is_no_name_for_an_allow() -> None:
    assert find_codes(rule("deny", tool="payback")) == []
    (finding,) = find_purposeless(rule("allow", tool="payback"))
    assert "only an alias" in finding.message


def test_a_group_that_nobody_defines_is_told() -> None:
    assert find_codes(rule("deny", principal="group:finance")) == [UNKNOWN_GROUP]
    assert find_codes(rule("deny", principal="group:finance"), finance=("ada",)) == []


@pytest.mark.parametrize(
    ("approvers", "people", "is_told"),
    [
        (["ada"], 2, True),
        (["ada", "ada"], 2, True),
        (["ada", "group:desk"], 3, False),
        (["ada", "group:desk"], 4, True),
        ([], 9, False),
    ],
)
def test_a_question_that_too_few_may_answer_is_told(approvers: list[str], people: int, is_told: bool) -> None:
    said: dict[str, Any] = {"approvers": approvers} if approvers else {}
    assert find_codes(rule("ask", people=people, **said), desk=("bob", "eve")) == ([UNANSWERABLE] if is_told else [])


def test_an_allow_that_a_stricter_rule_covers_never_wins() -> None:
    allow = rule("allow", tool="refund", principal="ada")
    assert find_codes(rule("ask", tool="ref*", id="all") + allow) == [OVERRULED]
    assert find_codes(rule("ask", tool="ref*", principal="bob") + allow) == []
    assert find_codes(rule("ask", tool="ref*", when={"amount": 1}) + allow) == []
    assert find_codes(rule("ask", tool="refund") + rule("allow", principal="ada")) == [], "it allows other tools too"
    assert find_codes(rule("ask", risk="high") + rule("allow", principal="ada")) == []


values = st.sampled_from
matchers = st.fixed_dictionaries(
    {},
    optional={
        "tool": values(["*", "refund", "ref*", "send", ["refund", "send"]]),
        "principal": values(["ada", "a*", "bob", ["ada", "bob"]]),
        "risk": values(["high", ["low", "high"]]),
        "when": values([{"amount": 1}, {"amount": 2}]),
    },
)


@given(matchers, matchers, values(["refund", "send"]), values(["ada", "bob"]), values(["high", "low"]), values([1, 2]))
def test_a_rule_that_covers_another_fits_every_call_the_other_fits(
    wide: dict[str, Any], narrow: dict[str, Any], name: str, who: str, risk: str, amount: int
) -> None:
    if not covers(one(rule("deny", **wide)), one(rule("deny", **narrow))):
        return
    of = entry(tool(name, payload={"permission_profile": {"risk_level": risk}}))

    def fits(said: dict[str, Any]) -> bool:
        made = engine(policy_settings=rule("deny", **said))
        return decide(made, of, caller(principal=who), amount=amount).reason_type == "rule"

    assert fits(wide) or not fits(narrow)
