"""Tables of cases: read with their lines, and held against what a policy says."""

from __future__ import annotations

import pytest

from ferrule.errors import PolicyError
from ferrule.runtime.policy.cases import read_cases

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
