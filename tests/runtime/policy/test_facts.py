"""Facts per call: worked out from the input, and closed where they cannot be."""

from __future__ import annotations

import pytest

from ferrule.contracts.policy import JudgedCall
from ferrule.model.decision import Ruling
from ferrule.runtime.policy.classifiers import BUILTIN
from ferrule.runtime.policy.facts import compute_call_facts
from tests.runtime.policy.classifiers import FakeClassifier
from tests.runtime.policy.samples import caller, engine, entry, tool

SHELL_TOOL = tool(
    "run",
    tool_kind="shell_command",
    is_read_only="classifier:shell",
    is_concurrency_safe="same_as:is_read_only",
    is_destructive="classifier:shell",
    classifier_input="input.command",
    schema={"properties": {"command": {"type": "string"}}},
)


def test_at_53_one_declaration_two_commands() -> None:
    """AT-53: `ls` gives read-only true, `rm` gives false."""
    looked, failures = compute_call_facts(SHELL_TOOL, {"command": "ls -l | wc"}, BUILTIN)
    assert (looked.is_read_only, looked.is_concurrency_safe, looked.is_destructive) == (True, True, False)
    removed, _ = compute_call_facts(SHELL_TOOL, {"command": "rm x"}, BUILTIN)
    assert (removed.is_read_only, removed.is_concurrency_safe, removed.is_destructive) == (False, False, True)
    assert failures == ()


def test_plain_facts_are_left_as_they_are() -> None:
    made = tool()
    assert compute_call_facts(made, {}, {})[0] is made.facts


@pytest.mark.parametrize(
    "flags",
    [
        {"is_read_only": "classifier:nobody", "is_open_world": "classifier:nobody", "is_destructive": "classifier:nobody"},
        {"is_read_only": "same_as:is_concurrency_safe", "is_concurrency_safe": "same_as:is_read_only",
         "is_open_world": "same_as:is_open_world", "is_destructive": "same_as:is_read_only"},
        {"is_read_only": "yes", "is_open_world": "same_as:nothing", "is_destructive": "classifier:crash"},
        {"is_read_only": "classifier:slow", "is_open_world": "classifier:slow", "is_destructive": "classifier:slow"},
    ],
)  # fmt: skip
def test_at_54_what_cannot_be_worked_out_is_closed_and_told(flags: dict[str, str]) -> None:
    """AT-54: unknown classifier, exception, circle: the fail-closed value, and the failure is recorded."""
    classifiers = {"crash": FakeClassifier(error=RuntimeError("no")), "slow": FakeClassifier(is_slow=True)}
    facts, failures = compute_call_facts(tool(**flags), {}, classifiers)
    assert (facts.is_read_only, facts.is_concurrency_safe, facts.is_destructive, facts.is_open_world) == (
        False, False, True, True,
    )  # fmt: skip
    assert failures


def test_a_fact_that_follows_one_nobody_can_answer_is_closed_itself() -> None:
    facts, _ = compute_call_facts(tool(is_destructive="same_as:is_read_only", is_read_only="classifier:nobody"), {}, {})
    assert facts.is_destructive is True


def test_a_mode_decides_by_the_facts_of_the_call() -> None:
    program = engine().program(entry(SHELL_TOOL), caller())
    assert program.fixed is None
    for line, expected in (("ls", "allow"), ("rm x", "ask")):
        facts, _ = compute_call_facts(SHELL_TOOL, {"command": line}, BUILTIN)
        ruling = program.decide(JudgedCall({"command": line}, facts, 0))
        assert isinstance(ruling, Ruling)
        assert ruling.behavior == expected
    unasked = program.decide(JudgedCall({"command": "ls"}, SHELL_TOOL.facts, 0))
    assert isinstance(unasked, Ruling)
    assert unasked.behavior == "ask"  # expressions nobody worked out prove nothing
