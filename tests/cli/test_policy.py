"""`ferrule policy`: asking the rules about a call, and a table of what they should say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import ferrule
from tests.runtime.policy.samples import write

POLICY = """\
[groups]
support = ["ada", "bob"]

[[rules]]
id = "mail"
decision = "ask"
tool = "send-reply"
approvers = ["group:support"]
people = 2
not_requester = true
expires = "90m"
reason = "mail cannot be called back"

[[rules]]
id = "no-eve"
decision = "deny"
principal = "eve"
"""


@pytest.fixture
def governed(workspace: Path) -> Path:
    write(workspace, "policy.toml", POLICY)
    return workspace


def test_explain_tells_the_decision_and_every_rule(governed: Path) -> None:
    ran = ferrule("policy", "explain", "send-reply", "--principal", "ada", "--input", '{"to": "x"}', folder=governed)
    assert (ran.code, ran.err) == (0, "")
    assert "decision  ask: rule 'mail' (policy.toml:4) asks first: mail cannot be called back" in ran.out
    assert "approval  group:support, 2 people, not the requester, within 90m" in ran.out
    assert "* ask         mail    policy.toml:4  every matcher fits" in ran.out
    assert "  deny        no-eve  policy.toml:14  `principal` does not fit the caller" in ran.out


def test_explain_in_json(governed: Path) -> None:
    ran = ferrule("policy", "explain", "find-customer", "--principal", "eve", "--json", folder=governed)
    told = json.loads(ran.out)
    assert (told["ruling"]["behavior"], told["ruling"]["rule_refs"]) == ("deny", ["no-eve"])
    assert [(each["id"], each["matched"]) for each in told["rules"]] == [("mail", False), ("no-eve", True)]
    assert told["facts"]["is_read_only"] is True


def test_personal_rules_and_unattended_callers_are_seen(governed: Path, tmp_path: Path) -> None:
    mine = write(tmp_path, "mine.toml", '[[rules]]\nid = "mine"\ndecision = "deny"\ntool = "find-*"\n')
    ran = ferrule("policy", "explain", "find-customer", folder=governed, environment={"FERRULE_POLICY": str(mine)})
    assert "decision  deny: rule 'mine'" in ran.out
    alone = ferrule("policy", "explain", "send-reply", "--unattended", folder=governed)
    assert "nobody can be asked here" in alone.out


def test_what_an_agent_requires_is_seen(governed: Path) -> None:
    (agent,) = [path.name.split(".")[0] for path in (governed / "agents").glob("*.agent.md")]
    ran = ferrule("policy", "explain", "send-reply", "--agent", agent, "--json", folder=governed)
    assert json.loads(ran.out)["ruling"]["behavior"] == "ask"


def test_mistakes_are_said(governed: Path) -> None:
    assert "did you mean 'send-reply'?" in ferrule("policy", "explain", "send-replay", folder=governed).err
    assert "--input is not JSON" in ferrule("policy", "explain", "send-reply", "--input", "{", folder=governed).err
    assert "JSON object" in ferrule("policy", "explain", "send-reply", "--input", "[]", folder=governed).err
    assert ferrule("policy", "explain", "send-reply", "--agent", "nobody", folder=governed).code == 2
    assert ferrule("policy", "test", folder=governed).code == 2
    write(governed, "policy.test.toml", '[[cases]]\ntool = "send-reply"\nexpects = "ask"\n')
    assert "policy.test.toml:3: there is no key `expects` here" in ferrule("policy", "test", folder=governed).err
    write(governed, "policy.toml", 'mode = "x"\n')
    assert ferrule("policy", "explain", "send-reply", folder=governed).code == 2


CASES = """\
[[cases]]
name = "mail is asked about"
tool = "send-reply"
principal = "ada"
expect = "ask"
rule = "mail"

[[cases]]
tool = "find-customer"
arguments = { email = "x@example.com" }
expect = "allow"

[[cases]]
name = "nobody is there"
tool = "send-reply"
interactive = false
expect = "deny"
"""


def test_a_table_of_cases_passes(governed: Path) -> None:
    write(governed, "policy.test.toml", CASES)
    ran = ferrule("policy", "test", folder=governed)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        "pass  mail is asked about",
        "pass  2: find-customer",
        "pass  nobody is there",
        "3 cases: 3 passed, 0 failed",
    ]


def test_a_case_that_fails_is_exit_code_1(governed: Path) -> None:
    wrong = write(governed, "wrong.toml", CASES.replace('"allow"', '"deny"').replace('"mail"', '"other"'))
    ran = ferrule("policy", "test", str(wrong), folder=governed)
    assert ran.code == 1
    assert "line 1: expected the rule 'other' to decide, and it was 'mail'" in ran.out
    assert "line 8: expected deny, and it is allow: the mode is default: it declares to be read-only" in ran.out
    assert ran.out.endswith("3 cases: 1 passed, 2 failed\n")
    told = json.loads(ferrule("policy", "test", str(wrong), "--json", folder=governed).out)
    assert (told["failed"], [each["passed"] for each in told["cases"]]) == (2, [False, False, True])


def test_personal_rules_do_not_change_a_test(governed: Path, tmp_path: Path) -> None:
    write(governed, "policy.test.toml", CASES)
    mine = write(tmp_path, "mine.toml", '[[rules]]\ndecision = "deny"\n')
    assert ferrule("policy", "test", folder=governed, environment={"FERRULE_POLICY": str(mine)}).code == 0
