"""One rule, read from its table: what it means where it is right, and that the engine meets no rule it cannot obey."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from ferrule.model.diagnostic import Finding
from ferrule.runtime.policy.read_rule import find_command_defect, read_rule
from ferrule.runtime.policy.records import Condition, Demand, PolicyRule, ValuePatterns
from ferrule.runtime.policy.table import PolicyTable


def read(**said: Any) -> tuple[PolicyRule, list[Finding]]:
    findings: list[Finding] = []
    return read_rule(PolicyTable(said, ("rules", 0), findings), "project_settings", "a.toml", 3, "a.toml#1"), findings


def rule(**said: Any) -> PolicyRule:
    made, findings = read(**said)
    assert not findings
    return made


def test_a_rule_knows_where_it_stands_and_has_an_id() -> None:
    made = rule(decision="deny")
    assert (made.rule_id, made.place, made.source) == ("a.toml#1", "a.toml:3", "project_settings")
    assert rule(decision="deny", id="mine").rule_id == "mine"


def test_risks_may_be_given_by_their_bounds() -> None:
    assert rule(decision="ask", risk="high").risk == ("high",)
    assert rule(decision="ask", risk={"at_least": "high"}).risk == ("high", "critical")
    assert rule(decision="ask", risk={"at_most": "medium"}).risk == ("low", "medium")
    assert rule(decision="ask", risk={"at_least": "medium", "at_most": "high"}).risk == ("medium", "high")


def test_values_may_be_a_glob_several_or_name_their_arguments() -> None:
    assert rule(decision="deny", path="/etc/**").path == ValuePatterns(("/etc/**",))
    assert rule(decision="deny", url=["https://a.test/*", "https://b.test/*"]).url is not None
    assert rule(decision="deny", path={"match": "/etc/**", "in": "target"}).path == ValuePatterns(
        ("/etc/**",), ("target",)
    )


def test_conditions_are_one_for_each_operator() -> None:
    made = rule(decision="ask", when={"amount": {"above": 5, "below": 9}, "order.items[].country": "DE"})
    assert made.when == (
        Condition(("amount",), "above", 5),
        Condition(("amount",), "below", 9),
        Condition(("order", "items", "country"), "equals", "DE"),
    )


def test_an_ask_says_who_answers_and_how_long_it_stands() -> None:
    demand = rule(
        decision="ask", approvers="ada", people=2, not_requester=True, channels=["desk"], expires="90m"
    ).demand
    assert demand == Demand(("ada",), 2, True, ("desk",), 5400)


@pytest.mark.parametrize("key", ["action", "effect", "behavior", "decison"])
def test_a_misspelt_decision_is_one_mistake_and_the_rule_denies(key: str) -> None:
    made, findings = read(**{key: "allow"})
    assert made.decision == "deny"
    assert [finding.path for finding in findings] == [("rules", 0, key)]


def test_without_a_decision_a_rule_denies() -> None:
    made, findings = read(tool="x")
    assert made.decision == "deny"
    assert [finding.message for finding in findings] == ["the rule has no `decision`"]


@pytest.mark.parametrize(
    ("operator", "operand", "what"),
    [
        ("above", "3", "takes a number"),
        ("at_most", True, "takes a number"),
        ("in", [], "takes a list that is not empty"),
        ("contains", 3, "takes a text"),
        ("present", "yes", "takes true or false"),
        ("matches", "(?=x)", "takes a regular expression"),
        ("equals", ["DE"], "takes one value; for several use `in`"),
        ("not", date(2026, 1, 31), "takes no date"),
        ("abvoe", 3, "there is no condition `abvoe`"),
    ],
)
def test_a_condition_that_cannot_be_tested_is_told(operator: str, operand: Any, what: str) -> None:
    _, findings = read(decision="deny", when={"amount": {operator: operand}})
    (finding,) = findings
    assert what in finding.message and finding.path == ("rules", 0, "when", "amount", operator)


@pytest.mark.parametrize("decision", ["allow", "deny", "passthrough"])
def test_only_an_ask_may_demand_something_of_who_answers(decision: str) -> None:
    _, findings = read(decision=decision, people=2)
    assert [finding.path[-1] for finding in findings] == ["people"]


@pytest.mark.parametrize("pattern", ["ls", "git push *", "echo 'a b'", "rm -rf ?"])
def test_a_pattern_of_one_command_is_fine(pattern: str) -> None:
    assert find_command_defect(pattern) is None


@pytest.mark.parametrize("pattern", ["ls 'x", "ls && rm", "ls | wc", "a ; b"])
def test_a_pattern_of_several_commands_or_an_open_quote_is_none(pattern: str) -> None:
    assert find_command_defect(pattern)
