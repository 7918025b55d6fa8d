"""Which rules apply to a recorded call, and what is said where that cannot be told."""

from __future__ import annotations

import asyncio
from typing import Any

from ferrule.app.preview.rule_review import review_rules
from ferrule.model.canonical import digest_of_tool
from ferrule.model.story import RuleReview, Story
from tests.ledger.history.rows import SCENARIOS, Ledger, Writer
from tests.runtime.policy.samples import engine
from tests.runtime.surface.surfaces import make_agent_record, make_tool, make_view

RULES = """
[[rules]]
id = "searching"
decision = "allow"
tool = "search"
[[rules]]
id = "others"
decision = "deny"
tool = "other"
"""


def decided(inputs: dict[str, object]) -> Story:
    ledger = Ledger()
    writer = Writer(ledger, "inv_1", tool="acme.search", version="1.0.0", agent="helper").enter(
        "planned", "selected", "arguments_ready"
    )
    writer.decide("deny").enter("denied").row("call", status="denied", inputs=inputs)
    return Story(ledger.rows)


def told_of(story: Story, policy: Any, *tools: Any, **records: Any) -> RuleReview:
    return asyncio.run(review_rules(story, make_view(*(tools or (make_tool(),)), **records), policy))


def test_every_rule_is_told_with_whether_it_fits_and_what_has_changed() -> None:
    told = told_of(decided({"text": "[REDACTED]"}), engine(policy_settings=RULES))
    assert [(note.rule_ref, note.is_matched) for note in told.rules] == [("searching", True), ("others", False)]
    assert "the policy has changed since" in told.remark and "masked" in told.remark


def test_a_call_that_no_rule_was_asked_about_has_none() -> None:
    ledger = Ledger()
    SCENARIOS["unknown_tool"](ledger)
    told = told_of(Story(ledger.rows), engine())
    assert (told.rules, told.remark) == ((), "")


def test_a_tool_that_is_gone_and_a_policy_that_cannot_be_used_are_told() -> None:
    assert "not in the catalog" in told_of(decided({}), engine(), make_tool("other")).remark
    broken: Any = object()
    assert "cannot be used" in told_of(decided({}), broken).remark


def test_what_would_become_of_the_call_now_is_told_as_its_agent_has_the_tool() -> None:
    """The agent's file demands an approval, which a rule for several tools does not lift."""
    tool, policy = make_tool(), engine(policy_settings=RULES.replace('"search"', '"sea*"'))
    entry = {"tool_id": tool.tool_id, "version": tool.version, "digest": digest_of_tool(tool)}
    plain, strict = make_agent_record(tool), make_agent_record(tool, tools=[{**entry, "approval_from": ["agent"]}])
    found = [told_of(decided({}), policy, tool, records=[record]) for record in (plain, strict)]
    assert [told.verdict for told in found] == ["allow", "ask"]
    assert [note.is_matched for note in found[1].rules] == [True, False]


def test_an_agent_that_is_gone_is_told_and_the_rules_all_the_same() -> None:
    told = told_of(decided({}), engine(policy_settings=RULES))
    assert "its agent does not have the tool any more" in told.remark
    assert (len(told.rules), told.verdict) == (2, "")
