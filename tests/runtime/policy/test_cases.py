"""Tables of cases: read with their lines, and held against what a policy says."""

from __future__ import annotations

import pytest

from ferrule.errors import PolicyError
from ferrule.model.decision import Ruling
from ferrule.runtime.policy.cases import Case, as_record, failure_of, read_cases
from tests.runtime.policy.samples import decide, engine, rule

TEXT = """
[[cases]]
tool = "refund"
arguments = { amount = 500 }
principal = "ada"
interactive = false
expect = "ask"
rule = "large"

[[cases]]
name = "a small one"
tool = "refund"
expect = "allow"
"""


def case(expect: str = "ask", rule: str = "large") -> Case:
    text = f'[[cases]]\ntool = "refund"\nexpect = "{expect}"\n' + (f'rule = "{rule}"\n' if rule else "")
    return read_cases(text, "policy.test.toml")[0]


def test_cases_have_names_lines_and_callers() -> None:
    first, second = read_cases(TEXT, "policy.test.toml")
    assert (first.name, first.line, first.arguments, first.rule) == ("1: refund", 2, {"amount": 500}, "large")
    assert first.caller == {"principal": "ada", "is_interactive": False}
    assert (second.name, second.line, second.expect) == ("a small one", 10, "allow")
    assert (second.arguments, second.rule, second.caller) == ({}, "", {})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[cases]", "t.toml is not TOML"),
        ('[[cases]]\nexpect = "ask"\n', "t.toml:1: the case has no `tool`"),
        ('[[cases]]\ntool = "x"\n', "t.toml:1: the case has no `expect`"),
        ('[[cases]]\ntool = "x"\nexpect = "alow"\n', "t.toml:3: .*did you mean 'allow'"),
        ('[[cases]]\ntool = "x"\nexpect = "ask"\nprincpal = "a"\n', "t.toml:4: .*did you mean 'principal'"),
        ('[[cases]]\ntool = "x"\nexpect = "ask"\narguments = 3\n', "t.toml:4: `arguments` must be a table"),
        ('[[case]]\ntool = "x"\n', "t.toml:1: .*did you mean 'cases'"),
    ],
)
def test_the_first_mistake_is_told_with_its_line(text: str, says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        read_cases(text, "t.toml")


def test_a_case_fails_by_another_answer_or_another_rule() -> None:
    asked = decide(engine(policy_settings=rule("ask", tool="refund", id="large")))
    assert failure_of(case(), asked) is None
    assert failure_of(case(rule=""), asked) is None
    assert "expected allow, and it is ask" in str(failure_of(case("allow"), asked))
    assert "expected the rule 'small' to decide, and it was 'large'" in str(failure_of(case(rule="small"), asked))


def test_an_answer_of_the_mode_is_decided_by_no_rule() -> None:
    by_mode = decide(engine())
    assert failure_of(case(rule=""), by_mode) is None
    assert "it was 'no rule'" in str(failure_of(case(), by_mode))


def test_a_record_says_whether_the_case_passed() -> None:
    ruling = Ruling("ask", "why", rule_refs=("large",))
    passed, failed = as_record(case(), ruling, None), as_record(case(), None, "there is no such tool")
    assert (passed["passed"], passed["behavior"], passed["rule_refs"]) == (True, "ask", ["large"])
    assert (failed["passed"], failed["behavior"], failed["failure"]) == (False, None, "there is no such tool")
