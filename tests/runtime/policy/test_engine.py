"""The engine over all rules: it finds those about a tool, watches a shadow policy, and explains every rule."""

from __future__ import annotations

from msgspec.structs import replace

from ferrule.runtime.policy.engine import explain_rules, make_engine
from ferrule.runtime.policy.records import PolicySet
from tests.runtime.policy.samples import caller, decide, engine, entry, judged, policy, rule, tool

READING = entry(tool("look", is_read_only=True))
FILE = entry(tool("write", schema={"properties": {"path": {"type": "string"}}}))


def test_five_hundred_rules_about_other_tools_leave_nothing_to_do() -> None:
    text = "".join(rule("deny", tool=f"other-{n}", when={"amount": {"above": n}}, id=f"r{n}") for n in range(500))
    made = engine(policy_settings=text)
    assert list(made.find_candidates(made.get_view(entry()))) == []
    assert made.program(entry(), caller()).fixed is not None
    assert decide(made, entry(tool("other-7")), amount=8).rule_refs == ("r7",)


def test_a_surface_holds_back_what_every_call_is_denied() -> None:
    made = engine(policy_settings=rule("deny", tool="refund", id="gone") + rule("deny", tool="write", path="/etc/**"))
    held = made.surface_ruling(entry(), caller())
    assert held is not None
    assert held.rule_refs == ("gone",)
    assert made.surface_ruling(FILE, caller()) is None
    assert made.surface_ruling(READING, caller()) is None
    assert (
        engine().surface_ruling(entry(), caller(is_interactive=False)) is None
    )  # refused when called, with the reason


def make_shadowed_engine(in_force: str, watched: str) -> PolicySet:
    made = policy(policy_settings=in_force)
    return replace(made, shadow=policy(policy_settings=watched), shadow_ref="next.toml@1")


def test_a_shadow_policy_is_told_where_it_differs_and_changes_nothing() -> None:
    made = make_engine(
        make_shadowed_engine(
            rule("allow", tool="refund"), rule("deny", tool="refund", when={"amount": {"above": 5}}, id="n")
        )
    )
    same, other = decide(made, amount=1), decide(made, amount=9)
    assert (other.behavior, other.shadow and other.shadow.behavior) == ("allow", "deny")
    assert other.shadow is not None
    assert (other.shadow.policy_ref, other.shadow.rule_refs) == ("next.toml@1", ("n",))
    assert same.behavior == "allow"
    assert same.shadow is not None
    assert same.shadow.behavior == "ask"  # without the allow the mode asks


def test_a_shadow_that_agrees_says_nothing() -> None:
    made = make_engine(make_shadowed_engine(rule("allow", tool="refund"), rule("allow", tool="ref*")))
    program = made.program(entry(), caller())
    assert program.fixed is not None
    assert program.fixed.shadow is None


def test_a_mistake_in_the_shadow_changes_nothing() -> None:
    unusable = replace(
        policy(policy_settings=rule("allow", tool="refund")), shadow_ref="next.toml", shadow_problem="line 3"
    )
    ruling = decide(make_engine(unusable))
    assert ruling.behavior == "allow"
    assert ruling.shadow is not None
    assert (ruling.shadow.behavior, "line 3" in ruling.shadow.message) == ("deny", True)
    ghost = make_shadowed_engine(rule("allow", tool="refund"), rule("deny", principal="x"))
    broken = replace(ghost, shadow=replace(policy(policy_settings=rule("deny", principal="group:ghost")), groups={}))
    assert decide(make_engine(broken)).behavior == "allow"


def test_every_rule_is_explained() -> None:
    """AT-143: which rules were considered, which held, and what the others did not match."""
    text = (
        rule("deny", tool="other", id="a")
        + rule("deny", principal="eve", id="b")
        + rule("ask", when={"amount": {"above": 5}}, path="x", id="c")
        + rule("allow", tool="old", id="d")
        + rule("ask", tool="ref*", id="e")
    )
    of = entry(tool(aliases=("old",)))
    made = engine(policy_settings=text)
    handed = caller(rules=({"decision": "deny", "tool": "refund", "id": "f"},))
    found = explain_rules(made, of, handed, judged(of, amount=1))
    assert [(each.rule.rule_id, each.is_matched, each.why) for each in found] == [
        ("a", False, "`tool` does not fit the tool"),
        ("b", False, "`principal` does not fit the caller"),
        ("c", False, "`path` and `when amount` do not hold for these arguments"),
        ("d", False, "`tool` fits an alias only, and an allow goes by the tool's own name"),
        ("e", True, "every matcher fits"),
        ("f", True, "every matcher fits"),
    ]


def test_equal_policies_have_equal_digests_and_texts_for_people() -> None:
    one, two = (
        engine(policy_settings=rule("ask", tool="x", id="a", reason="money")),
        engine(policy_settings=rule("ask", tool="y")),
    )
    assert one.digest == engine(policy_settings=rule("ask", tool="x", id="a", reason="money")).digest != two.digest
    assert 'ask a (line 1): tool ["x"]; people 1  # money' in one.text
