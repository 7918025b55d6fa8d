"""What events say: names, numbers and outcomes at every level, words that may quote a value at level `full` alone."""

from __future__ import annotations

import pytest

from ferrule.ledger.history import details
from ferrule.ledger.history.details import Level
from ferrule.model.decision import ClassifierNote, Decision, Ruling
from ferrule.model.failure import Stop, tool_error
from ferrule.model.journal import HookRun, Mutation, Payload, Segment
from ferrule.model.retry import attempts_in
from ferrule.model.value import json_or_text
from tests.ledger.history.rows import Ledger, success

LEVELS: tuple[Level, ...] = ("standard", "full")


def segment() -> Segment:
    ledger = Ledger()
    success(ledger)
    return ledger.rows[0].segment()


def test_reasons_of_changes_and_outcomes_of_hooks_are_told_at_full_level_alone() -> None:
    mutation = Mutation("hook", "cents", ("amount",), 5, "because of canary")
    run = HookRun(
        "guard", "pre_tool_use", 1_000_000, 3_500_000, ({"type": "block", "outcome": "canary"}, {"b": 1, "a": 2})
    )
    for level in LEVELS:
        told = str(details.describe_mutation(mutation, level)) + str(details.describe_hook(run, level, has_ended=True))
        assert ("canary" in told) is (level == "full")
        assert "amount" in told
    assert details.describe_hook(run, "standard", has_ended=True) == {
        "hook_id": "guard", "hook_event": "pre_tool_use", "duration_ms": 2.5, "outputs": ["block", "a", "b"],
    }  # fmt: skip
    assert details.describe_hook(run, "full", has_ended=False) == {"hook_id": "guard", "hook_event": "pre_tool_use"}


def test_a_decision_keeps_its_words_of_people_and_classifiers_for_the_full_level() -> None:
    note = ClassifierNote("shell", "deny", 0.9, "canary one", "recommend")
    ruling = Ruling("deny", "rule 'x' says no", classifiers=(note,), blocked_path="canary two")
    decision = Decision(ruling, 1, by="bob", feedback="canary three")
    assert str(details.describe_decision(decision, "inv_1", 0, "full")).count("canary") == 3
    told = details.describe_decision(decision, "inv_1", None, "standard")
    assert "canary" not in str(told) and told["classifiers"][0]["authority"] == "recommend"
    assert "decision_id" not in told and "decision_id" in details.describe_decision(decision, "inv_1", 2, "standard")


def test_the_message_of_an_error_may_quote_a_value_and_its_class_may_not() -> None:
    found = tool_error(Stop("execution_failed", "canary"), has_run=True, is_repeatable=False)
    assert "message" not in details.describe_error(found, "standard")
    assert details.describe_error(found, "standard")["error_class"] == "execution_failed"
    assert details.describe_error(found, "full")["message"] == "canary"


def test_what_a_tool_said_is_told_by_numbers_and_names_and_never_as_transitions() -> None:
    said = {"percent": 40, "message": "canary", "status": "running", "transitions": ["succeeded"], "by": "ada"}
    assert details.describe_event(said, "standard") == {"percent": 40, "status": "running", "by": "ada"}
    assert details.describe_event(said, "full") == {name: said[name] for name in said if name != "transitions"}


def test_attempts_are_told_at_full_level_and_those_that_are_none_are_left_out() -> None:
    one = segment()
    one.notes["attempts"] = "three times"
    assert attempts_in(one.notes) == ()
    assert details.describe_result("inv_7", one, None, "full")["attempts"] == []
    told = details.describe_result("inv_7", one, None, "standard")
    assert told == {"result_id": "res_7", "status": "succeeded", "is_error": False}


@pytest.mark.parametrize(
    ("payload", "found"),
    [
        (Payload(), None),
        (Payload(model_input=b"1"), b"1"),
        (Payload(model_input=b"1", observable_input=b"2"), b"2"),
        (Payload(model_input=b"1", permission_input=b"3", call_input=b"4"), b"4"),
    ],
)
def test_the_latest_input_is_what_a_tool_runs_with(payload: Payload, found: bytes | None) -> None:
    assert details.find_final_input(payload) == found


def test_input_that_is_no_json_is_shown_as_its_text() -> None:
    assert json_or_text(b'{"a": [1]}') == {"a": [1]}
    assert json_or_text(b"not json \xff") == "not json \ufffd"
    assert details.describe_start(Payload(model_input=b"[" * 5000)) == {"arguments": "[" * 5000}
    assert details.describe_start(None) == {}
