"""Facts per call, and the classifiers that are inputs to a decision."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from ferrule.contracts.policy import Classification, Judged
from ferrule.model.decision import Ruling
from ferrule.model.surface import SurfaceEntry
from ferrule.model.tool import SafetyFacts
from ferrule.runtime.policy.classifiers import BUILTIN, SHELL
from ferrule.runtime.policy.facts import call_facts
from tests.runtime.policy.samples import caller, decide, engine, entry, rule, tool

SHELL_TOOL = tool(
    "run",
    tool_kind="shell_command",
    is_read_only="classifier:shell",
    is_concurrency_safe="same_as:is_read_only",
    is_destructive="classifier:shell",
    classifier_input="input.command",
    schema={"properties": {"command": {"type": "string"}}},
)


class Says:
    """A classifier that says what it was told to, or fails, or takes its time."""

    name = "says"

    def __init__(self, behavior: str = "allow", *, error: Exception | None = None, is_slow: bool = False) -> None:
        self.behavior = behavior
        self.error = error
        self.is_slow = is_slow
        self.subjects: list[Any] = []

    def classify(self, entry: SurfaceEntry, subject: Any) -> Classification | Awaitable[Classification]:
        self.subjects.append(subject)
        if self.is_slow:
            return self._later()
        if self.error is not None:
            raise self.error
        return Classification(self.behavior, 0.9, "so it thinks")

    async def _later(self) -> Classification:
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        return Classification(self.behavior, 0.9, "so it thinks")


def test_at_53_one_declaration_two_commands() -> None:
    """AT-53: `ls` gives read-only true, `rm` gives false."""
    looked, failures = call_facts(SHELL_TOOL, {"command": "ls -l | wc"}, BUILTIN)
    assert (looked.is_read_only, looked.is_concurrency_safe, looked.is_destructive) == (True, True, False)
    removed, _ = call_facts(SHELL_TOOL, {"command": "rm x"}, BUILTIN)
    assert (removed.is_read_only, removed.is_concurrency_safe, removed.is_destructive) == (False, False, True)
    assert failures == ()


def test_plain_facts_are_left_as_they_are() -> None:
    made = tool()
    assert call_facts(made, {}, {})[0] is made.facts


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
    classifiers = {"crash": Says(error=RuntimeError("no")), "slow": Says(is_slow=True)}
    facts, failures = call_facts(tool(**flags), {}, classifiers)
    assert (facts.is_read_only, facts.is_concurrency_safe, facts.is_destructive, facts.is_open_world) == (
        False, False, True, True,
    )  # fmt: skip
    assert failures


def test_a_fact_that_follows_one_nobody_can_answer_is_closed_itself() -> None:
    facts, _ = call_facts(tool(is_destructive="same_as:is_read_only", is_read_only="classifier:nobody"), {}, {})
    assert facts.is_destructive is True


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


def test_a_mode_decides_by_the_facts_of_the_call() -> None:
    program = engine().program(entry(SHELL_TOOL), caller())
    assert program.fixed is None
    for line, expected in (("ls", "allow"), ("rm x", "ask")):
        facts, _ = call_facts(SHELL_TOOL, {"command": line}, BUILTIN)
        ruling = program.decide(Judged({"command": line}, facts, 0))
        assert isinstance(ruling, Ruling)
        assert ruling.behavior == expected
    unasked = program.decide(Judged({"command": "ls"}, SHELL_TOOL.facts, 0))
    assert isinstance(unasked, Ruling)
    assert unasked.behavior == "ask"  # expressions nobody worked out prove nothing


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
    ruling = decide(engine({"says": Says(says)}, policy_settings=uses(authority)))
    assert (ruling.behavior, ruling.reason_type) == (expected, reason_type)
    (note,) = ruling.classifiers
    assert (note.classifier_ref, note.behavior, note.confidence, note.authority) == ("says", says, 0.9, authority)


def test_a_classifier_lifts_neither_a_rule_nor_a_requirement_nor_a_mode() -> None:
    says = {"says": Says("allow")}
    assert decide(engine(says, policy_settings=uses("decide", x=rule("ask", tool="*")))).behavior == "ask"
    assert decide(engine(says, policy_settings=uses("decide")), entry(approval_from=("tool",))).behavior == "ask"
    assert decide(engine(says, policy_settings='mode = "ask_all"\n' + uses("decide"))).behavior == "ask"


@pytest.mark.parametrize(
    ("authority", "expected"), [("approve", "ask"), ("recommend", "ask"), ("deny", "deny"), ("decide", "deny")]
)
@pytest.mark.parametrize("classifier", [None, Says(error=RuntimeError("boom")), Says("perhaps")])
def test_a_classifier_that_fails_is_no_yes(authority: str, expected: str, classifier: Says | None) -> None:
    made = engine({"says": classifier} if classifier else None, policy_settings=uses(authority))
    ruling = decide(made)
    assert ruling.behavior == expected
    assert ruling.classifiers[0].confidence == 0.0


def test_slow_classifiers_are_waited_for() -> None:
    async def main() -> None:
        for classifier, expected in (
            (Says("allow", is_slow=True), "allow"),
            (Says(error=OSError("x"), is_slow=True), "deny"),
        ):
            program = engine({"says": classifier}, policy_settings=uses("decide")).program(entry(), caller())
            answer = program.decide(Judged({}, SafetyFacts(), 0))
            assert isinstance(answer, Awaitable)
            assert (await answer).behavior == expected

    asyncio.run(main())


def test_a_classifier_sees_what_the_tool_points_at_and_only_its_tools() -> None:
    says = Says("allow")
    made = engine({"says": says}, policy_settings=uses("decide"))
    decide(made, entry(tool("refund", classifier_input="input.order.note")), order={"note": "hi"})
    decide(made, entry(tool("other")), order={"note": "hi"})
    assert says.subjects == ["hi"]


def test_what_a_rule_denies_no_classifier_is_asked_about() -> None:
    says = Says("allow")
    decide(engine({"says": says}, policy_settings=uses("decide", x=rule("deny", tool="*"))))
    assert says.subjects == []
