"""Which rules apply to a recorded call, and what is said where that cannot be told."""

from __future__ import annotations

from ferrule.app.preview.considered import considered
from ferrule.contracts.surface import Listed
from ferrule.model.story import Story
from tests.ledger.history.rows import SCENARIOS, Ledger, Writer
from tests.runtime.policy.samples import engine
from tests.runtime.surface.parts import a_tool

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
    writer = Writer(ledger, "inv_1", tool="acme.search").enter("planned", "selected", "arguments_ready")
    writer.decide("deny").enter("denied").row("call", status="denied", inputs=inputs)
    return Story(ledger.rows)


def test_every_rule_is_told_with_whether_it_fits_and_what_has_changed() -> None:
    told = considered(decided({"text": "[REDACTED]"}), Listed(a_tool(), "d"), engine(policy_settings=RULES))
    assert [(note.rule_ref, note.is_matched) for note in told.rules] == [("searching", True), ("others", False)]
    assert "the policy has changed since" in told.remark and "masked" in told.remark


def test_a_call_that_no_rule_was_asked_about_has_none() -> None:
    ledger = Ledger()
    SCENARIOS["unknown_tool"](ledger)
    told = considered(Story(ledger.rows), Listed(a_tool(), "d"), engine())
    assert (told.rules, told.remark) == ((), "")


def test_a_tool_that_is_gone_and_a_policy_that_cannot_be_used_are_told() -> None:
    assert "not in the catalog" in considered(decided({}), None, engine()).remark
    broken: object = object()
    assert "cannot be used" in considered(decided({}), Listed(a_tool(), "d"), broken).remark  # type: ignore[arg-type]
