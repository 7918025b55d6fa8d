"""The policy asked about calls that nobody makes: the ruling, the rules that were considered, and tools that are not there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ferrule.app.preview.trial import Trial, Tried
from ferrule.errors import PolicyError
from ferrule.model.tool import SafetyFacts
from ferrule.runtime.policy.cases import Case
from tests.runtime.policy.samples import engine
from tests.runtime.surface.parts import a_tool, agent_record, view_of

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


def trial(**options: Any) -> Trial:
    mine, other = a_tool(facts=SafetyFacts(is_read_only=True)), a_tool("other")
    return Trial(view_of(mine, other, records=[agent_record(other)]), engine(policy_settings=RULES), **options)


def tried(here: Trial, name: str, arguments: dict[str, Any] | None = None, **caller: Any) -> Tried:
    return asyncio.run(here.try_call(name, arguments or {}, caller))


@pytest.mark.parametrize(("amount", "behavior"), [(100, "allow"), (101, "ask")])
def test_the_arguments_decide_as_in_a_real_call(amount: int, behavior: str) -> None:
    assert tried(trial(), "search", {"amount": amount}).ruling.behavior == behavior


def test_every_rule_is_told_with_what_came_of_it() -> None:
    here = trial()
    told = {each.rule.rule_id: each.is_matched for each in here.considered(tried(here, "search", {"amount": 1}))}
    assert told == {"large": False, "rest": True}


def test_a_tool_that_is_switched_off_is_held_back_before_any_rule_is_asked() -> None:
    ruling = tried(trial(switched_off={"acme.search"}), "search").ruling
    assert ruling.behavior == "deny" and "before any rule is asked" in ruling.message


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
    found = asyncio.run(trial().test(cases))
    assert [one.failure is None for one in found] == [False, True, False]
    assert found[0].ruling is None and found[2].ruling is not None
