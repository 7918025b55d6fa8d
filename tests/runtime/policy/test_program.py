"""What is decided beforehand, and what is denied early."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.policy import JudgedCall
from ferrule.model.decision import Ruling
from ferrule.runtime.policy.program import RuleProgram
from tests.runtime.policy.samples import caller, decide, engine, entry, judged, rule, tool

READING = entry(tool("look", is_read_only=True))
FILE = entry(tool("write", schema={"properties": {"path": {"type": "string"}}}))


def program(text: str = "", of: Any = None, by: Any = None) -> RuleProgram:
    return engine(policy_settings=text).program(of or entry(), by or caller())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "ask"),
        (rule("allow", tool="refund"), "allow"),
        (rule("deny", tool="refund") + rule("deny", when={"x": 1}), "deny"),
        (rule("allow", tool="refund", principal="ada") + rule("deny", tool="other", path="**"), "allow"),
        (rule("deny", principal="eve", path="**"), "ask"),
    ],
)
def test_what_no_argument_can_change_is_decided_beforehand(text: str, expected: str) -> None:
    made = program(text)
    assert made.fixed is not None
    assert made.fixed.behavior == expected
    assert made.decide(JudgedCall({}, tool().facts, 0)) is made.fixed


def test_what_looks_at_arguments_is_not_fixed() -> None:
    made = program(rule("deny", tool="refund", when={"amount": {"above": 5}}))
    assert made.fixed is None
    assert made.denies_statically is None


def test_equal_calls_share_one_ruling() -> None:
    made = program(rule("ask", tool="refund", when={"amount": {"above": 5}}))
    one, two = made.decide(judged(entry(), amount=6)), made.decide(judged(entry(), amount=7))
    assert one is two


def test_at_39_static_denials_are_known_before_anything_is_probed() -> None:
    """AT-39: a denied path is denied by looking at the input alone."""
    made = program(rule("deny", tool="write", path="/etc/**") + rule("ask", tool="write"), FILE)
    early = made.early_deny(judged(FILE, path="/etc/passwd"))
    assert early is not None
    assert (early.behavior, early.blocked_path) == ("deny", "/etc/passwd")
    assert made.early_deny(judged(FILE, path="src/a")) is None
    assert made.denies_statically is None


def test_modes_deny_early_too() -> None:
    assert program('mode = "locked"').denies_statically is not None
    narrowed = program('mode = "read_only"', entry(tool("x", is_read_only="classifier:shell")))
    assert narrowed.denies_statically is None
    assert narrowed.early_deny(JudgedCall({}, tool().facts, 0)) is not None
    assert narrowed.early_deny(JudgedCall({}, tool(is_read_only=True).facts, 0)) is None


def test_a_program_that_is_given_other_input_does_not_remember_the_old() -> None:
    made = program(rule("deny", tool="write", path="/etc/**"), FILE)
    answers = [made.decide(judged(FILE, path=path)) for path in ("/etc/a", "/etc/b", "x")]
    assert [answer.blocked_path for answer in answers if isinstance(answer, Ruling)] == ["/etc/a", "/etc/b", None]


def test_at_136_an_ask_of_the_mode_suggests_a_rule() -> None:
    """AT-136: a suggestion, which changes nothing by itself; none where it would not help."""
    ruling = decide(engine())
    assert ruling.suggested_updates == (
        {
            "kind": "add_rule",
            "destination": "local_settings",
            "rule": {"id": "allow-refund", "decision": "allow", "tool": "refund"},
        },
    )
    assert decide(engine(), READING).suggested_updates == ()
    assert decide(engine(policy_settings=rule("ask", tool="refund"))).suggested_updates == ()


def test_for_a_tool_that_runs_commands_the_command_is_suggested_not_the_tool() -> None:
    shell = entry(tool("run", tool_kind="shell_command"))
    (update,) = decide(engine(), shell, command="make  'test all'").suggested_updates
    assert update["rule"]["command"] == ["make 'test all'"]
    for line in ("a; b", "rm *", "echo 'x", "echo '*'", "X=1 a", "a > b"):
        assert decide(engine(), shell, command=line).suggested_updates == ()
