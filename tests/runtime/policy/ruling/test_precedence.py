"""Deny beats ask beats allow, policy_settings is never weakened, and what a definition requires stays required."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.errors import PolicyError
from ferrule.model.decision import RULE_SOURCES
from tests.runtime.policy.ruling.strictness import STRICTNESS
from tests.runtime.policy.samples import caller, decide, engine, entry, rule, tool

FILES = RULE_SOURCES[:5]
EXPECTED = ("allow", "ask", "deny")

decisions = st.sampled_from(["allow", "ask", "deny", "passthrough"])
rulesets = st.dictionaries(st.sampled_from(RULE_SOURCES), st.lists(decisions, min_size=1, max_size=3), max_size=5)
tools = st.sampled_from(["refund", "*", "ref*", "shop.refund"])


def decide_with(rules: dict[str, list[str]], pattern: str = "refund", **fields: Any) -> str:
    texts: dict[str, Any] = {
        s: "".join(rule(d, tool=pattern, id=f"{s}{n}") for n, d in enumerate(ds))
        for s, ds in rules.items()
        if s in FILES
    }
    handed = [
        {"source": s, "decision": d, "tool": pattern, "id": f"{s}{n}"}
        for s, ds in rules.items()
        if s not in FILES
        for n, d in enumerate(ds)
    ]
    return decide(engine(**texts), entry(tool(), **fields), caller(rules=tuple(handed))).behavior


@given(rulesets, tools)
def test_the_strictest_decision_wins_whatever_its_source(rules: dict[str, list[str]], pattern: str) -> None:
    """AT-135: any deny beats any ask beats any allow, across all eight sources."""
    written = [decision for each in rules.values() for decision in each if decision != "passthrough"]
    strictest = max(written, key=lambda word: STRICTNESS[word], default="ask")  # type: ignore[index]  # a behavior
    assert decide_with(rules, pattern) == strictest


@given(rulesets, rulesets)
def test_policy_settings_are_never_weakened(rules: dict[str, list[str]], others: dict[str, list[str]]) -> None:
    """AT-135: whatever is added elsewhere, the outcome is at least what policy_settings say."""
    said = [
        word for word in rules.get("policy_settings", []) if word != "passthrough"
    ]  # which hands over to the others
    alone = {"policy_settings": said or ["ask"]}
    more = {**others, **alone}
    assert STRICTNESS[decide_with(more)] >= STRICTNESS[decide_with(alone)]  # type: ignore[index]  # behaviors


@given(rulesets, tools)
def test_what_is_required_is_lifted_only_by_a_rule_of_policy_settings_that_names_the_tool(
    rules: dict[str, list[str]], pattern: str
) -> None:
    """AT-123: an approval that a definition, role or agent file requires."""
    outcome = decide_with(rules, pattern, approval_from=("role",))
    lifted = "allow" in rules.get("policy_settings", []) and pattern in ("refund", "shop.refund")
    if outcome == "allow":
        assert lifted
    if not lifted:
        assert outcome in ("ask", "deny")


def test_at_134_the_decision_names_rule_and_source() -> None:
    """AT-132, AT-134: reason type, rule, source; all that matched, the deciding one first."""
    made = engine(
        user_settings=rule("allow", tool="refund", id="mine"),
        project_settings=rule("ask", tool="ref*", id="ours", reason="money"),
        policy_settings=rule("allow", tool="*", id="all"),
    )
    ruling = decide(made)
    assert (ruling.behavior, ruling.reason_type, ruling.source) == ("ask", "rule", "project_settings")
    assert ruling.rule_refs == ("ours", "all", "mine")
    assert ruling.message == "rule 'ours' (project_settings.toml:1) asks first: money"
    assert [ref.split("@")[0] for ref in ruling.policy_refs] == [
        "policy_settings.toml", "project_settings.toml", "user_settings.toml",
    ]  # fmt: skip
    assert all(len(ref.split("@")[1]) == 12 for ref in ruling.policy_refs)


@pytest.mark.parametrize("source", RULE_SOURCES[5:])
def test_rules_handed_over_keep_their_source(source: str) -> None:
    given = {"source": source, "decision": "deny", "tool": "refund"}
    assert decide(engine(), by=caller(rules=(given,))).source == source


def test_nobody_hands_over_a_rule_of_a_file() -> None:
    with pytest.raises(PolicyError, match="policy_settings"):
        decide(engine(), by=caller(rules=({"source": "policy_settings", "decision": "allow"},)))
    with pytest.raises(PolicyError, match="decision"):
        decide(engine(), by=caller(rules=({"tool": "refund"},)))


def test_a_requirement_says_who_requires() -> None:
    ruling = decide(engine(), entry(tool(approval_required=True), approval_from=("tool", "agent")))
    assert (ruling.behavior, ruling.reason_type) == ("ask", "policy")
    assert "the tool's definition and the agent's file require an approval" in ruling.message
    assert ruling.suggested_updates == ()  # an allow of local_settings would not help


def test_a_profile_that_requires_an_approval_counts() -> None:
    """AT-123: no rules, it asks; the rule that lifts it is named."""
    made = tool(payload={"permission_profile": {"approval_required": True, "risk_level": "low"}})
    assert decide(engine(project_settings='mode = "trusted"'), entry(made)).behavior == "ask"
    lifted = decide(engine(policy_settings=rule("allow", tool=["x*", "refund"], id="fine")), entry(made))
    assert (lifted.behavior, lifted.rule_refs) == ("allow", ("fine",))
    for text in (rule("allow", tool="refun?"), rule("allow", risk="low"), rule("allow", tool="old_refund")):
        aliased = tool(
            aliases=("old_refund",), payload={"permission_profile": {"approval_required": True, "risk_level": "low"}}
        )
        assert decide(engine(policy_settings=text), entry(aliased)).behavior == "ask"


def test_a_lift_for_some_arguments_is_one_for_those_alone() -> None:
    made = engine(policy_settings=rule("allow", tool="refund", when={"amount": {"below": 10}}))
    required = entry(approval_from=("tool",))
    assert decide(made, required, amount=5).behavior == "allow"
    assert decide(made, required, amount=50).behavior == "ask"
    assert decide(made, required).behavior == "ask"


def test_an_alias_is_a_name_for_denials_and_none_for_permissions() -> None:
    aliased = entry(tool("refund_v2", aliases=("refund",)))
    assert decide(engine(user_settings=rule("deny", tool="refund")), aliased).behavior == "deny"
    assert decide(engine(user_settings=rule("allow", tool="refund")), aliased).behavior == "ask"


def test_several_asks_make_one_requirement() -> None:
    """Whoever answers must satisfy every rule that asks."""
    text = '[groups]\nfinance = ["ada", "bob"]\nlegal = ["bob", "cem"]\n'
    one = rule("ask", tool="*", approvers=["group:finance"], people=2, channels=["slack", "cli"], expires="4h")
    two = rule(
        "ask", tool="refund", approvers=["group:legal", "dan"], not_requester=True, channels=["cli"], expires="1d"
    )
    ruling = decide(engine(policy_settings=text + one + two))
    wanted = ruling.requirement
    assert wanted.approvers == ("bob",)
    assert (wanted.people, wanted.not_requester, wanted.channels, wanted.expires_seconds) == (2, True, ("cli",), 14400)
    nobody = rule("ask", tool="refund", approvers=["dan"], id="three")
    impossible = decide(engine(policy_settings=text + one + nobody))
    assert impossible.behavior == "deny"
    assert "nobody in common" in impossible.message


def test_groups_of_policy_settings_are_not_filled_elsewhere() -> None:
    ask = rule("ask", tool="refund", approvers=["group:finance"])
    other = rule("ask", tool="refund", approvers=["eve"])
    project = '[groups]\nfinance = ["eve"]\n'
    assert engine(policy_settings=ask, project_settings=project).policy.groups == {}
    assert decide(engine(policy_settings=ask, project_settings=project + other)).behavior == "deny"
    own = engine(policy_settings='[groups]\nfinance = ["ada"]\n' + ask, project_settings=project)
    assert own.policy.groups == {"finance": ("ada",)}


def test_a_principals_group_that_nobody_defines_refuses_everything() -> None:
    with pytest.raises(PolicyError, match="group:ghosts"):
        engine(project_settings=rule("deny", principal="group:ghosts"))
