"""The `tool_invocation` record, from rows alone."""

from __future__ import annotations

import msgspec
import pytest

from ferrule.ledger.audit.records import make_invocation_record
from ferrule.ledger.stores.entries import chain_row, to_stored_entry
from ferrule.model import story as stories
from ferrule.model.journal import KINDS, Entry, Payload, StoredEntry, encode
from ferrule.model.lifecycle import STATES, TERMINAL
from tests.ledger.audit.build import Story, make_full_story, make_mark, make_payload, make_segment

REQUIRED: dict[str, type] = {
    "schema_version": str,
    "invocation_id": str,
    "tool_id": str,
    "status": str,
    "created_at": str,
}
"""The standard's five required fields."""
OPTIONAL: dict[str, type] = {
    "surface_id": str,
    "native_call_id": str,
    "model_input_ref": str,
    "observable_input_ref": str,
    "permission_input_ref": str,
    "call_input_ref": str,
    "actor_ref": str,
    "runtime_refs": list,
    "policy_refs": list,
    "permission_decision_refs": list,
    "hook_refs": list,
    "evidence_refs": list,
    "telemetry_refs": list,
    "artifact_refs": list,
    "approval_request_ref": str,
    "status_transitions": list,
    "started_at": str,
    "ended_at": str,
}


def rows(entries: list[Entry], *, is_erased: bool = False) -> list[StoredEntry]:
    """Entries as the ledger gives them back."""
    found, before, at = [], bytes(32), 0
    for seq, entry in enumerate(entries, start=1):
        row = chain_row(entry, seq, before, at, b"s" * 16)
        before, at = row[9], row[3]
        found.append(
            to_stored_entry(*row[:7], None if is_erased else row[7], is_erased and row[7] is not None, *row[8:])
        )
    return found


def by_call(story: Story) -> dict[str, list[StoredEntry]]:
    """The rows of each call."""
    calls: dict[str, list[StoredEntry]] = {}
    for row in rows(story.entries):
        if row.call and row.kind != "news":
            calls.setdefault(row.call, []).append(row)
    return calls


@pytest.mark.parametrize("is_whole", [True, False])
def test_every_call_at_every_row_has_a_valid_record(is_whole: bool) -> None:
    """AT-90, AT-92, AT-97, AT-99: required fields, known states, ordered times, however far the call got."""
    for call, found in by_call(make_full_story(2)).items():
        for end in range(1 if not is_whole else len(found), len(found) + 1):
            record = make_invocation_record(stories.Story(found[:end]))
            check(record)
            assert record["invocation_id"] == call


def check(record: dict[str, object]) -> None:
    for name, kind in REQUIRED.items():
        assert isinstance(record[name], kind), name
        assert record[name]
    for name, kind in OPTIONAL.items():
        assert name not in record or isinstance(record[name], kind), name
    assert record["status"] in STATES
    moves = record["status_transitions"]
    assert isinstance(moves, list)
    assert [move["from"] for move in moves] == [None, *(move["to"] for move in moves[:-1])]
    assert [move["at"] for move in moves] == sorted(move["at"] for move in moves)
    assert moves[-1]["to"] == record["status"]
    assert ("ended_at" in record) is (record["status"] in TERMINAL)
    assert ("started_at" in record) is ("running" in [move["to"] for move in moves])
    assert msgspec.json.encode(record)


def test_an_unknown_tool_still_has_an_id() -> None:
    """AT-91"""
    story = Story()
    story.unknown_tool()
    record = make_invocation_record(stories.Story(rows(story.entries)))
    assert (record["tool_id"], record["status"]) == ("unknown:nothing", "failed")
    assert [move["to"] for move in record["status_transitions"]] == ["planned", "failed"]


def test_a_denied_call_never_started() -> None:
    """AT-99, AT-102"""
    story = Story()
    story.refused()
    record = make_invocation_record(stories.Story(rows(story.entries)))
    assert record["status"] == "denied"
    assert "started_at" not in record
    assert record["status_transitions"][-1]["reason"] == "permission_denied"


def test_an_approved_call_keeps_its_id_and_its_whole_history() -> None:
    """AT-97, AT-98, AT-100: one record over all rows, with who approved."""
    story = Story()
    call = story.park()
    story.approve(call)
    story.resume(call)
    story.end(call, begin=40)
    found = rows(story.entries)
    record = make_invocation_record(stories.Story(found))
    moves = [(move["from"], move["to"]) for move in record["status_transitions"]]
    assert moves == [
        (None, "planned"),
        ("planned", "selected"),
        ("selected", "arguments_ready"),
        ("arguments_ready", "awaiting_approval"),
        ("awaiting_approval", "approved"),
        ("approved", "running"),
        ("running", "succeeded"),
    ]
    reasons = [move["reason"] for move in record["status_transitions"] if "reason" in move]
    assert reasons == ["a person has to approve it", "approved by olga"]
    assert record["permission_decision_refs"] == ["dec_000001.0", "dec_000001.1"]
    assert record["approval_request_ref"] == "ledger:1"
    assert len(record["evidence_refs"]) == 4
    first = make_invocation_record(stories.Story(found[:1]))
    for name in ("invocation_id", "tool_id", "created_at", "actor_ref", "runtime_refs", "surface_id"):
        assert first[name] == record[name], name


def test_the_four_inputs_are_inline_and_follow_from_one_another() -> None:
    inputs = Payload(model_input=b'{"a":1}', permission_input=b'{"a":"***"}')
    story = Story()
    went = make_segment("selected", "arguments_ready", "running", "succeeded", status="succeeded")
    story.add("call", story.new_call(), "succeeded", went, payload=inputs)
    record = make_invocation_record(stories.Story(rows(story.entries)))
    assert [record[f"{name}_input"] for name in ("model", "observable", "permission", "call")] == [
        {"a": 1},
        {"a": 1},
        {"a": "***"},
        {"a": "***"},
    ]


def test_erased_inputs_leave_a_reference() -> None:
    """AT-101: the invocation stays visible when its payload is gone."""
    story = Story()
    story.read()
    record = make_invocation_record(stories.Story(rows(story.entries, is_erased=True)))
    check(record)
    assert record["call_input_ref"] == "ledger:1:erased"
    assert "call_input" not in record


def test_a_retry_points_to_what_it_repeats() -> None:
    """AT-103"""
    story = Story()
    went = make_segment("failed", status="failed", notes={"retry_of": "inv_old", "native_call_id": "n-1"})
    story.add("call", story.new_call(), "failed", went, payload=make_payload())
    record = make_invocation_record(stories.Story(rows(story.entries)))
    assert (record["retry_of"], record["native_call_id"]) == ("inv_old", "n-1")


def test_what_was_told_while_it_ran_is_in_the_record() -> None:
    """AT-197, AT-207: progress as the standard's records; request, acknowledgement and outcome with their own times."""
    story = Story()
    call = story.begin()
    story.news(call, "progress", sequence=1, percent=10, status="running", invocation_id="inv_forged")
    story.news(call, "progress", sequence=2, percent=50, status="running", message="half")
    story.news(call, "cancel_requested", by="ada", reason="enough", abort_reason="user_interruption")
    story.news(call, "cancel_acknowledged")
    story.add(
        "ended", call, "canceled", make_segment("canceled", begin=400_000_000, status="canceled"), mark=make_mark()
    )
    story.news(call, "late_result", payload=make_payload("too late"), status="succeeded")
    found = rows(story.entries)
    news = [row for row in found if row.kind == "news"]
    record = make_invocation_record(stories.Story([row for row in found if row.kind != "news"], news))
    check(record)
    assert [(one["sequence"], one["percent"], one["progress_id"]) for one in record["progress"]] == [
        (1, 10, "prg_000001.1"), (2, 50, "prg_000001.2"),
    ]  # fmt: skip
    for one in record["progress"]:
        assert (one["invocation_id"], one["schema_version"]) == (call, "0.2.0")
        assert one["timestamp"].endswith("Z")
    asked = record["cancellation"]
    assert (asked["by"], asked["reason"], asked["outcome"]) == ("ada", "enough", "canceled")
    assert asked["requested_at"] < asked["acknowledged_at"] < asked["settled_at"]
    assert asked["requests"] == [{name: value for name, value in asked.items() if name != "requests"}]
    assert record["late_results"][0]["content"] == [{"type": "text", "text": "too late"}]
    assert len(record["evidence_refs"]) == len(found)
    assert "progress" not in make_invocation_record(stories.Story(found[:1]))


def test_a_call_without_rows_has_no_record() -> None:
    with pytest.raises(ValueError, match="without rows"):
        make_invocation_record(stories.Story([]))


def test_the_rows_of_the_tests_are_encoded_as_the_store_does() -> None:
    story = make_full_story(1)
    assert {row.kind for row in rows(story.entries)} >= set(KINDS) - {"erased", "pruned", "opened"}
    assert rows(story.entries)[0].body == encode(story.entries[0].body)
