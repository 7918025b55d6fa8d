"""The policy asked about calls that nobody makes: the ruling, the rules that were considered, and tools that are not there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ferrule.app.preview.preview import Preview
from ferrule.app.preview.trial import PolicyTrial, TrialCall, make_case_result, why_case_failed
from ferrule.errors import PolicyError
from ferrule.model.decision import Ruling
from ferrule.model.tool import SafetyFacts
from ferrule.runtime.policy.cases import Case
from tests.runtime.policy.samples import engine
from tests.runtime.surface.surfaces import make_agent_record, make_tool, make_view

RULES = """
[[rules]]
id = "large"
decision = "ask"
tool = "search"
when = { amount = { above = 100 } }
[[rules]]
id = "rest"
decision = "allow"
tool = "search"
"""


def trial(**options: Any) -> PolicyTrial:
    mine, other = make_tool(facts=SafetyFacts(is_read_only=True)), make_tool("other")
    return PolicyTrial(
        make_view(mine, other, records=[make_agent_record(other)]), engine(policy_settings=RULES), **options
    )


def tried(here: PolicyTrial, name: str, arguments: dict[str, Any] | None = None, **caller: Any) -> TrialCall:
    return asyncio.run(here.try_call(name, arguments or {}, caller))


@pytest.mark.parametrize(("amount", "behavior"), [(100, "allow"), (101, "ask")])
def test_the_arguments_decide_as_in_a_real_call(amount: int, behavior: str) -> None:
    assert tried(trial(), "search", {"amount": amount}).preview.verdict == behavior


def test_every_rule_is_told_with_what_came_of_it() -> None:
    here = trial()
    told = {each.rule.rule_id: each.is_matched for each in here.explain(tried(here, "search", {"amount": 1}))}
    assert told == {"large": False, "rest": True}


def test_a_tool_that_is_switched_off_is_held_back_before_any_rule_is_asked() -> None:
    found = tried(trial(switched_off={"acme.search"}), "search").preview
    assert (found.verdict, found.ruling) == ("blocked", None) and "switched off" in found.why


def test_a_tool_that_the_workspace_or_the_agent_does_not_have_is_told_with_the_nearest() -> None:
    with pytest.raises(PolicyError, match="this workspace has no tool 'serch'; did you mean 'search'"):
        tried(trial(), "serch")
    with pytest.raises(PolicyError, match="helper has no tool 'nothing'"):
        tried(trial(), "nothing", agent="helper")


def test_a_case_that_cannot_be_judged_fails_and_the_others_are_tested_all_the_same() -> None:
    asked: tuple[tuple[str, dict[str, Any]], ...] = (
        ("nothing", {}),
        ("search", {"amount": 1}),
        ("search", {"amount": 999}),
    )
    cases = [Case("case", 1, name, "allow", arguments, "", {}) for name, arguments in asked]
    found = asyncio.run(trial().test_cases(cases))
    assert [one.failure is None for one in found] == [False, True, False]
    assert found[0].behavior is None and found[2].behavior == "ask"


LARGE = Case("large", 1, "refund", "ask", {}, "large", {})


def ruled(ruling: Ruling) -> Preview:
    return Preview(verdict="ask", why=ruling.message, ruling=ruling)


def test_a_case_fails_by_another_answer_or_another_rule() -> None:
    asked = ruled(Ruling("ask", "why", "rule", rule_refs=("large",)))
    assert why_case_failed(LARGE, asked) is None
    assert why_case_failed(LARGE._replace(rule=""), asked) is None
    assert "expected allow, and it is ask" in str(why_case_failed(LARGE._replace(expect="allow"), asked))
    other = why_case_failed(LARGE._replace(rule="small"), asked)
    assert "expected the rule 'small' to decide, and it was 'large'" in str(other)


def test_an_answer_of_the_mode_is_decided_by_no_rule() -> None:
    by_mode = ruled(Ruling("ask", "the mode asks", "mode"))
    assert why_case_failed(LARGE._replace(rule=""), by_mode) is None
    assert "it was 'no rule'" in str(why_case_failed(LARGE, by_mode))


def test_a_case_may_expect_a_call_to_be_blocked_and_blocked_is_no_deny() -> None:
    off = trial(switched_off={"acme.search"})
    cases = [Case("off", 1, "search", expect, {}, "", {}) for expect in ("blocked", "deny")]
    found = asyncio.run(off.test_cases(cases))
    assert found[0].failure is None
    assert str(found[1].failure).startswith("expected deny, and it is blocked: it is switched off")


def test_a_record_says_whether_the_case_passed() -> None:
    ruling = Ruling("ask", "why", rule_refs=("large",))
    passed, failed = (
        make_case_result(LARGE, ruled(ruling), None),
        make_case_result(LARGE, None, "there is no such tool"),
    )
    assert (passed.passed, passed.behavior, passed.rule_refs) == (True, "ask", ("large",))
    assert (failed.passed, failed.behavior, failed.failure) == (False, None, "there is no such tool")
