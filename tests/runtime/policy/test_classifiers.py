"""Classifiers are inputs to a decision, heard as far as their authority goes; a failure is no yes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from ferrule.contracts.policy import JudgedCall
from ferrule.model.tool import SafetyFacts
from ferrule.runtime.policy.classifiers import SHELL
from tests.runtime.policy.classifiers import FakeClassifier
from tests.runtime.policy.samples import caller, decide, engine, entry, rule, tool


@pytest.mark.parametrize(
    "line", ["ls", "cat a b | grep x | wc -l", "date +%F", "echo $HOME", "ls 2>/dev/null", ["ls", "-l"]]
)
def test_the_shell_classifier_knows_what_only_looks(line: Any) -> None:
    assert SHELL.classify(entry(), line).behavior == "allow"
    assert SHELL.classify(entry(), {"command": line}).behavior == "allow"


@pytest.mark.parametrize(
    "line",
    ["rm x", "ls; rm x", "ls > x", "ls $(rm x)", "X=1 ls", "/tmp/ls", "date 0101", "git status", "sort -o x y", "tee x", "",
     "find . -delete", "echo 'x", "$LS", "sed -i s/a/b/ x", None, 3, {}, "test -v 'a[$(id)]'"],
)  # fmt: skip
def test_the_shell_classifier_trusts_nothing_else(line: Any) -> None:
    assert SHELL.classify(entry(), line).behavior == "ask"


def uses(authority: str, **more: str) -> str:
    return f'[[classifiers]]\nname = "says"\nauthority = "{authority}"\ntools = "ref*"\n' + "".join(more.values())


@pytest.mark.parametrize(
    ("authority", "says", "expected", "reason_type"),
    [
        ("approve", "allow", "allow", "classifier"),
        ("approve", "deny", "ask", "mode"),
        ("deny", "allow", "ask", "mode"),
        ("deny", "deny", "deny", "classifier"),
        ("deny", "ask", "ask", "classifier"),
        ("decide", "allow", "allow", "classifier"),
        ("decide", "deny", "deny", "classifier"),
        ("recommend", "allow", "ask", "mode"),
        ("recommend", "deny", "ask", "mode"),
    ],
)
def test_at_137_a_classifier_is_heard_as_far_as_its_authority_goes(
    authority: str, says: str, expected: str, reason_type: str
) -> None:
    """AT-137, AT-138: recorded with confidence, reason and authority; recommend-only changes nothing."""
    ruling = decide(engine({"says": FakeClassifier(says)}, policy_settings=uses(authority)))
    assert (ruling.behavior, ruling.reason_type) == (expected, reason_type)
    (note,) = ruling.classifiers
    assert (note.classifier_ref, note.behavior, note.confidence, note.authority) == ("says", says, 0.9, authority)


def test_a_classifier_lifts_neither_a_rule_nor_a_requirement_nor_a_mode() -> None:
    says = {"says": FakeClassifier("allow")}
    assert decide(engine(says, policy_settings=uses("decide", x=rule("ask", tool="*")))).behavior == "ask"
    assert decide(engine(says, policy_settings=uses("decide")), entry(approval_from=("tool",))).behavior == "ask"
    assert decide(engine(says, policy_settings='mode = "ask_all"\n' + uses("decide"))).behavior == "ask"


@pytest.mark.parametrize(
    ("authority", "expected"), [("approve", "ask"), ("recommend", "ask"), ("deny", "deny"), ("decide", "deny")]
)
@pytest.mark.parametrize("classifier", [None, FakeClassifier(error=RuntimeError("boom")), FakeClassifier("perhaps")])
def test_a_classifier_that_fails_is_no_yes(authority: str, expected: str, classifier: FakeClassifier | None) -> None:
    made = engine({"says": classifier} if classifier else None, policy_settings=uses(authority))
    ruling = decide(made)
    assert ruling.behavior == expected
    assert ruling.classifiers[0].confidence == 0.0


def test_slow_classifiers_are_waited_for() -> None:
    async def main() -> None:
        for classifier, expected in (
            (FakeClassifier("allow", is_slow=True), "allow"),
            (FakeClassifier(error=OSError("x"), is_slow=True), "deny"),
        ):
            program = engine({"says": classifier}, policy_settings=uses("decide")).program(entry(), caller())
            answer = program.decide(JudgedCall({}, SafetyFacts(), 0))
            assert isinstance(answer, Awaitable)
            assert (await answer).behavior == expected

    asyncio.run(main())


def test_a_classifier_sees_what_the_tool_points_at_and_only_its_tools() -> None:
    says = FakeClassifier("allow")
    made = engine({"says": says}, policy_settings=uses("decide"))
    decide(made, entry(tool("refund", classifier_input="input.order.note")), order={"note": "hi"})
    decide(made, entry(tool("other")), order={"note": "hi"})
    assert says.subjects == ["hi"]


def test_what_a_rule_denies_no_classifier_is_asked_about() -> None:
    says = FakeClassifier("allow")
    decide(engine({"says": says}, policy_settings=uses("decide", x=rule("deny", tool="*"))))
    assert says.subjects == []
