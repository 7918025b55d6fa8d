"""`ferrule explain`, over a ledger in memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ferrule.cli.explain import review_rules_of
from ferrule.cli.show.story_text import story_lines
from ferrule.errors import WorkspaceError
from ferrule.model.story import Story
from ferrule.workspace.workspace import Workspace
from tests.cli.ledger_runs import Run
from tests.cli.run import ferrule
from tests.ledger.history.rows import SCENARIOS, Ledger, Writer


def test_nothing_yet(run: Run) -> None:
    assert run("log").out == "no calls found\n"
    assert run("log", "--json").out == ""
    with pytest.raises(WorkspaceError, match="no call was made here yet"):
        run("explain", "last")


def test_json_and_events_of_a_call(ledger: Ledger, run: Run) -> None:
    SCENARIOS["success"](ledger)
    SCENARIOS["denied"](ledger)
    assert json.loads(run("explain", "last", "--json").out)["result"]["error"]["error_class"] == "permission_denied"
    events = [json.loads(line) for line in run("explain", "last", "--events", "--json").out.splitlines()]
    assert {event["invocation_id"] for event in events} == {"inv_denied"}
    assert "tool.permission.decided" in run("explain", "last", "--events").out


RULES = """
[[rules]]
id = "replies"
tool = "send-reply"
decision = "ask"

[[rules]]
id = "long-replies"
tool = "send-reply"
decision = "deny"
when = { text = { matches = "^never$" } }

[[rules]]
id = "others"
tool = "find-customer"
decision = "allow"
"""


def test_rules_that_matched_and_those_that_did_not(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AT-143: which rules of the policy fit the call, and what the others missed."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (workspace / "policy.toml").write_text(RULES)
    assert ferrule("build", folder=workspace).code == 0
    ledger = Ledger()
    writer = Writer(ledger, "inv_1", tool="send-reply", version="1.0.0").enter("planned", "selected", "arguments_ready")
    writer.decide("deny").enter("denied").row("call", status="denied", inputs={"text": "hello", "to": "[REDACTED]"})
    told = review_rules_of(Story(ledger.rows), Workspace.open(workspace))
    assert [(rule.rule_ref, rule.behavior, rule.is_matched) for rule in told.rules] == [
        ("replies", "ask", True),
        ("long-replies", "deny", False),
        ("others", "allow", False),
    ]
    assert "`when" in told.rules[1].why and "`tool` does not fit" in told.rules[2].why
    assert "the policy has changed since" in told.remark and "masked" in told.remark
    page = "\n".join(story_lines(Story(ledger.rows, considered=told), str))
    assert "matched           replies (ask, policy_settings): every matcher fits" in page


def test_rules_that_cannot_be_told_say_why(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    ledger = Ledger()
    SCENARIOS["denied"](ledger)
    told = Story(ledger.rows)
    assert "not in the catalog" in review_rules_of(told, Workspace.open(workspace)).remark
    (workspace / "policy.toml").write_text("[[rules]]\n")
    assert "cannot be told" in review_rules_of(told, Workspace.open(workspace)).remark
    SCENARIOS["unknown_tool"](ledger)
    assert review_rules_of(Story(ledger.rows[1:]), Workspace.open(workspace)).remark == ""
