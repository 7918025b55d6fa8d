"""A decision becomes the standard's record: what is known is said, and what is not is left out."""

from __future__ import annotations

from typing import Any

from ferrule.model.decision import ClassifierNote, Decision, Requirement, Ruling, Shadow, decision_id, expiry


def record(ruling: Ruling, **said: Any) -> dict[str, Any]:
    """The record of the second decision about a call."""
    return Decision(ruling, 1_000_001, **said).to_record("inv_abc", 1)


def test_a_bare_ruling_has_the_required_members_alone() -> None:
    assert record(Ruling("allow", "nothing forbids it", "mode")) == {
        "schema_version": "0.2.0",
        "decision_id": "dec_abc.1",
        "invocation_id": "inv_abc",
        "behavior": "allow",
        "decided_at": "1970-01-01T00:00:01.000001Z",
        "mode": "default",
        "reason": {"type": "mode", "message": "nothing forbids it"},
    }


def test_the_first_rule_that_matched_is_the_reason() -> None:
    written = record(Ruling("deny", "no", rule_refs=("r2", "r1"), source="project_settings"))
    assert written["reason"]["rule_ref"] == "r2"
    assert written["rule_refs"] == ["r2", "r1"] and written["source"] == "project_settings"


def test_a_person_is_the_source_where_no_rule_is() -> None:
    written = record(Ruling("allow", "yes"), by="grace", user_modified=True, feedback="smaller", expires_at=2_000_000)
    assert (written["source"], written["decided_by"], written["user_modified"]) == ("user", "grace", True)
    assert (written["accept_feedback"], written["expires_at"]) == ("smaller", "1970-01-01T00:00:02.000000Z")


def test_what_classifiers_and_other_policies_said_is_plain_data() -> None:
    note = ClassifierNote("c", "deny", 0.5, "odd", "recommend")
    written = record(Ruling("ask", "?", classifiers=(note,), shadow=Shadow("next", "deny")))
    assert written["classifiers"][0]["classifier_ref"] == "c"
    assert written["shadow"] == {"policy_ref": "next", "behavior": "deny"}


def test_only_the_beginning_of_an_id_is_exchanged() -> None:
    assert decision_id("inv_inv_1", 0) == "dec_inv_1.0"


def test_an_ask_lapses_after_its_seconds() -> None:
    assert expiry(Requirement(expires_seconds=3), 10) == 3_000_010
