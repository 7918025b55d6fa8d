"""The news of a call: progress in its order, requests to stop with what came of them, and results that came too late."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.model.journal import NewsBody, Payload, ResultPayload, Segment, StoredEntry, encode
from ferrule.model.news import (
    HAPPENED,
    Fact,
    cancellations,
    facts_in,
    facts_of,
    late_results,
    progress_records,
    progress_row,
)

CANCEL = "tool.invocation.cancel_"
PROGRESS = "tool.invocation.progress"


def row(
    body: NewsBody, outcome: str = "progress", payload: Payload | None = None, *, is_erased: bool = False
) -> StoredEntry:
    """A `news` row as it was read."""
    return StoredEntry(
        seq=1, kind="news", call="inv_1", at=900, tool="t", outcome=outcome, body=encode(body),
        payload=None if payload is None else encode(payload), is_erased=is_erased, mark=b"", hash=b"",
    )  # fmt: skip


def requested(at: int, **data: Any) -> Fact:
    """Somebody asks to stop a call."""
    return Fact(at, CANCEL + "requested", data)


def test_parts_of_results_stand_in_the_payload_and_are_read_back() -> None:
    happened = [
        {"at": 1, "event": PROGRESS, "data": {"sequence": 1}},
        {"at": 2, "event": PROGRESS, "data": {"sequence": 2, "content": [{"type": "text", "text": "half"}]}},
    ]
    body, payload = progress_row(happened, 2)
    assert b"half" not in encode(body) and payload is not None
    assert [fact.data for fact in facts_in(row(body, payload=payload))] == [said["data"] for said in happened]
    assert "content" not in facts_in(row(body, is_erased=True))[1].data


def test_progress_without_parts_needs_no_payload() -> None:
    assert progress_row([{"at": 1, "event": PROGRESS, "data": {"sequence": 1}}], 1)[1] is None


def test_facts_of_segments_and_rows_come_in_the_order_of_time() -> None:
    notes = {HAPPENED: [{"at": 5_000, "event": "b", "data": {"x": 1}}]}
    segment = Segment(msgspec.Raw(encode({})), 100, [], [], notes=notes)
    news = row(NewsBody([{"at": 200, "event": "c"}, {"at": 50, "event": "a"}]))
    assert [(fact.at, fact.event) for fact in facts_of([segment], [news])] == [(50, "a"), (105, "b"), (200, "c")]


@pytest.mark.parametrize("at", [None, True, "soon"])
def test_a_time_that_is_none_is_that_of_the_row(at: Any) -> None:
    assert facts_in(row(NewsBody([{"at": at, "event": "e", "data": "no members"}]))) == [Fact(900, "e", {})]


def test_progress_is_listed_by_its_numbers_and_cannot_rename_itself() -> None:
    facts = [
        Fact(2, PROGRESS, {"sequence": 2, "status": "completed", "invocation_id": "inv_other"}),
        Fact(1, PROGRESS, {"sequence": 1, "percent": 5}),
        Fact(3, CANCEL + "requested", {"sequence": 3}),
        Fact(4, "tool.invocation.reminded", {}),
    ]
    first, second = progress_records("inv_1", facts)
    assert (first["progress_id"], first["status"], first["percent"]) == ("prg_1.1", "running", 5)
    assert (second["invocation_id"], second["status"]) == ("inv_1", "completed")


def test_a_call_that_was_stopped_settles_who_asked_for_it() -> None:
    facts = [requested(10, by="ada", reason="wrong one"), Fact(20, CANCEL + "acknowledged", {})]
    (one,) = cancellations(facts, "canceled", 30)
    assert (one.by, one.reason, one.acknowledged_at, one.outcome, one.settled_at) == (
        "ada",
        "wrong one",
        20,
        "canceled",
        30,
    )


def test_a_call_that_ended_otherwise_was_not_stopped() -> None:
    (one,) = cancellations([requested(10)], "succeeded", 30)
    assert (one.outcome, one.settled_at, one.why) == ("cancel_failed", 30, "the call succeeded")


def test_whoever_asked_after_the_end_asked_too_late() -> None:
    early, late = cancellations([requested(10), requested(40)], "canceled", 30)
    assert early.outcome == "canceled"
    assert (late.outcome, late.settled_at, late.why) == ("cancel_failed", 40, "too_late")


def test_while_a_call_runs_nobody_knows_what_comes_of_it() -> None:
    (one,) = cancellations([requested(10)], "", None)
    assert one.outcome == "" and one.to_record() == {"requested_at": "1970-01-01T00:00:00.000010Z"}


def test_a_time_limit_stops_a_call_that_timed_out() -> None:
    (one,) = cancellations([requested(10, abort_reason="timeout")], "timed_out", 30)
    assert one.outcome == "canceled"


def test_a_failed_stop_says_why() -> None:
    (one,) = cancellations([requested(10), Fact(20, CANCEL + "failed", {"why": "deaf"})], "canceled", 30)
    assert (one.outcome, one.settled_at, one.why) == ("cancel_failed", 20, "deaf")


def test_a_stop_that_nobody_asked_for_is_told_too() -> None:
    (one,) = cancellations([Fact(20, CANCEL + "acknowledged", {"abort_reason": "sibling_error"})], "canceled", 30)
    assert (one.requested_at, one.abort_reason, one.outcome) == (None, "sibling_error", "canceled")


def test_a_result_that_came_too_late_is_kept_apart() -> None:
    body = NewsBody([{"at": 5, "event": "tool.invocation.late_result", "data": {"status": "succeeded"}}])
    payload = Payload(result=encode(ResultPayload(({"type": "text", "text": "x"},), {"n": 1})))
    told, erased = late_results([
        row(body, "late_result", payload), row(body, "progress"), row(body, "late_result", is_erased=True),
    ])  # fmt: skip
    assert told.to_record() == {
        "at": "1970-01-01T00:00:00.000005Z",
        "status": "succeeded",
        "content": [{"type": "text", "text": "x"}],
        "structured_content": {"n": 1},
    }
    assert erased.to_record()["is_erased"] is True and "content" not in erased.to_record()
