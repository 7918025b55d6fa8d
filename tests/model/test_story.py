"""Rows -> the story of a call: what a person asks about a call afterwards (AT-143, AT-252)."""

from __future__ import annotations

import json

import msgspec
import pytest

from ferrule.model.decision import ClassifierNote, Shadow
from ferrule.model.journal import Payload, StoredEntry
from ferrule.model.lifecycle import PHASES, TERMINAL
from ferrule.model.story import RuleNote, RuleReview, Story
from ferrule.model.story_parts import FieldDifference
from tests.ledger.history.rows import ARGUMENTS, SCENARIOS, Ledger, Writer, as_json, crashed, parked


def story(scenario: str) -> Story:
    ledger = Ledger()
    SCENARIOS[scenario](ledger)
    return Story(ledger.rows)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_ending_has_a_whole_story(scenario: str) -> None:
    """AT-90, AT-252: who, which tool, under which surface and policy, how it ended, and the rows that prove it."""
    told = story(scenario)
    record = json.loads(json.dumps(told.to_record()))
    assert record["status"] in TERMINAL
    assert (record["principal"], record["agent"], record["run_id"]) == ("alice", "support-agent", "run_1")
    assert record["tool_digest"] and record["surface_id"] and record["policy_digest"]
    assert [move["from"] for move in record["transitions"]] == [None, *(m["to"] for m in record["transitions"][:-1])]
    assert {phase["phase"] for phase in record["phases"]} == set(PHASES)
    assert [row["seq"] for row in record["rows"]] == [row.seq for row in told.rows]
    assert record["result"]["status"]
    assert (record["result"].get("error") is not None) == (told.error is not None)


def test_the_four_inputs_and_who_changed_them() -> None:
    """AT-75, AT-79, AT-150: inputs stay apart, and each difference is explained by a change with its source."""
    told = story("approved_edited")
    assert [view.name for view in told.inputs] == [
        "model_input", "observable_input", "permission_input", "call_input",
    ]  # fmt: skip
    assert told.inputs[0].value == ARGUMENTS
    assert [view.differences for view in told.inputs[:3]] == [(), (), ()]
    assert told.inputs[3].differences == (FieldDifference("amount", "changed", 120, 90),)
    assert told.final_input["amount"] == 90
    changed = {field for mutation in told.mutations for field in mutation.changed_fields}
    assert {difference.path for difference in told.inputs[3].differences} <= changed
    assert (told.mutations[0].source_type, told.mutations[0].source_ref) == ("permission_prompt", "bob")


def test_why_it_was_allowed() -> None:
    """AT-143, AT-131: the ask, the person, and the decision that followed."""
    told = story("approved_edited")
    assert [decision.ruling.behavior for decision in told.decisions] == ["ask", "allow"]
    assert told.requests[0].message == "refunds above 100 need a person"
    assert (told.answers[0].by, told.answers[0].channel) == ("bob", "token:owner")
    record = told.to_record()
    assert record["decisions"][1]["decided_by"] == "bob"
    assert record["answers"][0]["reason"] == "90 is enough"
    assert "binding" not in json.dumps(record)


def test_phases_and_their_times() -> None:
    told = story("denied")
    ran = [run.phase for run in told.phases if run.is_run]
    assert [run.phase for run in told.phases] == list(PHASES)
    assert ran == [*PHASES[:7], "persist_result", "emit_terminal"]
    assert all(run.duration is not None and run.duration > 0 for run in told.phases if run.is_run)


def test_the_wait_for_a_person_is_no_phase() -> None:
    """Ten minutes of waiting are in the whole duration and in no phase's."""
    told = story("approved_edited")
    assert told.duration_ms is not None and told.duration_ms > 600_000
    assert sum(run.duration or 0 for run in told.phases) < 1_000_000
    assert [run.phase for run in told.phases if run.is_run and run.duration is None] == ["resolve_tool"]


def test_rules_come_from_whoever_knows_them() -> None:
    ledger = Ledger()
    SCENARIOS["denied"](ledger)
    found = RuleReview((RuleNote("refunds", "deny", "policy_settings", True, "every matcher fits"),), "as it is now")
    told = Story(ledger.rows, considered=found)
    assert told.to_record()["rules"][0]["is_matched"] is True
    assert told.to_record()["rules_remark"] == "as it is now"


def test_an_erased_call_keeps_its_story() -> None:
    """AT-101, AT-275: without its payloads, everything else is still told."""
    ledger = Ledger()
    SCENARIOS["approved_edited"](ledger)
    rows = [msgspec.structs.replace(row, payload=None, is_erased=True) for row in ledger.rows]
    told = Story(rows)
    assert told.is_erased and told.inputs == () and told.result is None
    assert told.status == "succeeded" and [d.by for d in told.decisions] == [None, "bob"]


def test_open_calls_have_a_story_too() -> None:
    ledger = Ledger()
    parked(ledger)
    told = Story(ledger.rows)
    assert (told.status, told.ended_at, told.duration_ms) == ("awaiting_approval", None, None)
    assert told.to_record()["result"] is None
    ledger = Ledger()
    crashed(ledger)
    assert Story(ledger.rows).requests[-1].purpose == "outcome"


def test_shadow_and_classifiers_are_told() -> None:
    ledger = Ledger()
    writer = Writer(ledger, "inv_1").enter("planned", "selected", "arguments_ready").through("permission")
    note = ClassifierNote("shell", "deny", 0.9, "removes files", "recommend")
    writer.decide("allow", shadow=Shadow("next@1", "deny", ("r2",), "too much"), classifiers=(note,))
    writer.enter("running", "succeeded").row("call", inputs=Payload(model_input=as_json({})), status="succeeded")
    decision = Story(ledger.rows).to_record()["decisions"][0]
    assert decision["shadow"]["behavior"] == "deny"
    assert decision["classifiers"][0]["authority"] == "recommend"


def test_no_rows_no_story() -> None:
    with pytest.raises(ValueError, match="no story"):
        Story([])


def test_rows_are_named_by_their_place_in_the_chain() -> None:
    ledger = Ledger(first=5)
    SCENARIOS["action"](ledger)
    rows: list[StoredEntry] = ledger.rows
    assert [(row["seq"], row["kind"], row["hash"]) for row in Story(rows).to_record()["rows"]] == [
        (5, "started", rows[0].hash.hex()),
        (6, "ended", rows[1].hash.hex()),
    ]
