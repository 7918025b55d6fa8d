"""News of calls: its events, and its part of the story."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.ledger.history.expand import expand_row
from ferrule.ledger.history.replay import replay_events
from ferrule.model.event import EVENT_TYPES, MEANINGS, STANDARD_EVENT_TYPES, Event
from ferrule.model.journal import Entry, NewsBody, Payload, encode
from ferrule.model.news import Fact, cancellations, facts_in, facts_of, progress_records, progress_row
from ferrule.model.progress import Progress
from ferrule.model.retry import Attempt
from ferrule.model.story import Story
from tests.ledger.history.rows import NOON, SCENARIOS, SECRET, Ledger, Writer, encode_result, success

SECOND = 1_000_000


def write_news(number: int, **facts: Any) -> dict[str, Any]:
    """A progress record as the pipeline writes it."""
    progress = Progress(
        invocation_id="inv_success", sequence=number, status="running", timestamp=NOON + number * SECOND, **facts
    )
    return progress.to_record()


def list_events(ledger: Ledger, level: Any = "standard") -> list[Event]:
    return [event for row in ledger.rows for event in expand_row(row, source="shop", level=level)]


def story(ledger: Ledger) -> Story:
    return Story([row for row in ledger.rows if row.kind != "news"], [row for row in ledger.rows if row.kind == "news"])


def test_each_thing_is_an_event_of_its_call() -> None:
    """AT-206, AT-268: a request to cancel has an event, also when it came too late."""
    ledger = Ledger(first=7)
    ledger.news("inv_success", "progress", write_news(1, percent=10), write_news(2, percent=60))
    success(ledger)
    ledger.news("inv_success", "cancel_requested", {"by": "ada", "abort_reason": "user_interruption"}, at=NOON + SECOND)
    ledger.news("inv_success", "cancel_failed", {"why": "too_late"})
    ledger.news("inv_success", "late_result", {"status": "succeeded"})
    found = [event for event in list_events(ledger) if event.seq != 8]
    assert [(event.event_id, event.event_type.removeprefix("tool.invocation.")) for event in found] == [
        ("evt_7_0", "progress"), ("evt_7_1", "progress"), ("evt_9_0", "cancel_requested"), ("evt_10_0", "cancel_failed"),
        ("evt_11_0", "late_result"),
    ]  # fmt: skip
    assert {(event.invocation_id, event.tool_id, event.subject) for event in found} == {
        ("inv_success", "orders.refund-order", "inv_success")
    }
    assert [event.time for event in found[:3]] == [NOON, NOON + SECOND, NOON + SECOND]
    assert [event.data.get("percent") for event in found[:2]] == [10, 60]
    assert found[2].data == {"by": "ada", "abort_reason": "user_interruption"}


def test_the_class_of_late_results_is_an_extension() -> None:
    """AT-272"""
    assert "tool.invocation.late_result" in EVENT_TYPES
    assert "tool.invocation.late_result" not in STANDARD_EVENT_TYPES
    assert MEANINGS.keys() == set(EVENT_TYPES)


def test_words_of_tools_and_people_are_told_at_full_level_alone() -> None:
    """AT-271: free text may quote an argument, and a part of a result is one."""
    ledger = Ledger()
    words = write_news(1, message=SECRET, current_step=SECRET, percent=5.0, extra={"note": SECRET, "stdout_bytes": 9})
    ledger.news("inv_1", "progress", words, {**write_news(2), "content": [{"type": "text", "text": SECRET}]})
    ledger.news("inv_1", "cancel_requested", {"by": "ada", "reason": SECRET})
    late = Payload(result=encode_result({"answer": SECRET}))
    ledger.news("inv_1", "late_result", {"status": "succeeded"}, payload=late)
    standard, full = list_events(ledger), list_events(ledger, "full")
    assert SECRET not in repr(standard)
    assert [event.event_id for event in standard] == [event.event_id for event in full]
    assert standard[0].data["stdout_bytes"] == 9
    assert full[0].data["message"] == SECRET
    assert full[1].data["content"] == [{"type": "text", "text": SECRET}]
    assert full[2].data["reason"] == SECRET
    assert full[3].data["structured_content"] == {"answer": SECRET}
    assert list_events(ledger, "none") == []


def test_whoever_replays_events_is_not_led_astray_by_news() -> None:
    """AT-273: what a tool says moves no call."""
    ledger = Ledger()
    success(ledger)
    alone = replay_events(event.to_record() for event in list_events(ledger, "full"))
    lies = {"sequence": 1, "transitions": [{"to": "failed", "at": "never"}], "status": "failed"}
    mixed = Ledger()
    mixed.news("inv_success", "progress", lies, tool="kb.search")
    success(mixed)
    for outcome in ("cancel_requested", "cancel_acknowledged", "cancel_failed", "late_result"):
        mixed.news("inv_success", outcome, lies)
    assert replay_events(event.to_record() for event in list_events(mixed, "full")) == alone


def test_classes_of_a_newer_ferrule_are_passed_over() -> None:
    ledger = Ledger()
    happened: list[dict[str, Any]] = [
        {"at": NOON, "event": "tool.invocation.levitated", "data": {}},
        {"event": "tool.invocation.progress"},
        {"at": "noon", "event": "tool.invocation.progress", "data": ["no", "members"]},
    ]
    ledger.add(Entry("news", "inv_1", NOON, "t", "progress", NewsBody(happened)))
    assert [(event.time, event.data) for event in list_events(ledger)] == [(NOON, {}), (NOON, {})]


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats() | st.text() | st.binary() | st.datetimes(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(-9, 9), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text().filter(lambda name: name != "sequence"), anything))
def test_whatever_a_tool_says_can_be_read(facts: dict[str, Any]) -> None:
    ledger = Ledger()
    success(ledger)
    ledger.news("inv_success", "progress", {**facts, "sequence": 1})
    ledger.news("inv_success", "cancel_requested", facts)
    for event in list_events(ledger, "full"):
        assert msgspec.json.encode(event.to_record())
        json.dumps(event.to_record())
    assert msgspec.json.encode(story(ledger).to_record())


def test_the_story_has_progress_in_the_order_of_its_numbers() -> None:
    """AT-198, AT-199"""
    ledger = Ledger()
    success(ledger)
    ledger.news("inv_success", "progress", write_news(3), write_news(2, message="half"))
    ledger.news("inv_success", "progress", write_news(1))
    found = story(ledger)
    assert [record["sequence"] for record in found.progress] == [1, 2, 3]
    assert found.progress[1]["message"] == "half"
    assert found.to_record()["progress"][0]["progress_id"] == "prg_success.1"
    assert [note.kind for note in found.all_rows] == ["call", "news", "news"]


def test_requests_to_cancel_and_what_came_of_them() -> None:
    """AT-207: request, acknowledgement, reason and outcome, each with its own time."""
    ledger = Ledger()
    ledger.news("inv_canceled", "cancel_requested", {"by": "ada", "reason": "enough"}, at=NOON)
    ledger.news("inv_canceled", "cancel_acknowledged", {}, at=NOON + SECOND // 10)
    SCENARIOS["canceled"](ledger)
    ledger.news("inv_canceled", "cancel_requested", {"by": "bob"}, at=NOON + 99 * SECOND)
    found = story(ledger)
    assert [(one.by, one.outcome) for one in found.cancellations] == [
        ("ada", "canceled"), ("alice", "canceled"), ("bob", "cancel_failed"),
    ]  # fmt: skip
    first, _, last = found.cancellations
    assert (first.requested_at, first.acknowledged_at, first.settled_at) == (
        NOON, NOON + SECOND // 10, found.ended_at,
    )  # fmt: skip
    assert (last.acknowledged_at, last.why) == (None, "too_late")
    assert found.to_record()["cancellations"][0]["reason"] == "enough"


def test_a_request_that_came_too_late_takes_nothing_from_the_one_that_was_followed() -> None:
    """AT-206, AT-207: each request has its own outcome."""
    ledger = Ledger()
    ledger.news("inv_canceled", "cancel_requested", {"by": "ada"}, at=NOON)
    SCENARIOS["canceled"](ledger)
    ledger.news("inv_canceled", "cancel_acknowledged", {}, at=NOON + 60 * SECOND)
    ledger.news("inv_canceled", "cancel_requested", {"by": "bob"}, at=NOON + 99 * SECOND)
    ledger.news("inv_canceled", "cancel_failed", {"why": "too_late"}, at=NOON + 100 * SECOND)
    found = story(ledger)
    first, *_, last = found.cancellations
    assert (first.by, first.outcome, first.why) == ("ada", "canceled", "")
    assert first.settled_at == found.ended_at
    assert (last.by, last.outcome, last.why) == ("bob", "cancel_failed", "too_late")


def test_nobody_is_heard_after_the_end() -> None:
    """AT-207: a waiting call is ended first and the acknowledgement written then; the times are told in their order."""
    facts = [Fact(1, "tool.invocation.cancel_requested", {}), Fact(9, "tool.invocation.cancel_acknowledged", {})]
    [one] = cancellations(facts, "canceled", ended_at=5)
    assert (one.requested_at, one.acknowledged_at, one.settled_at) == (1, 5, 5)


@pytest.mark.parametrize(
    ("events", "status", "has_ended", "wanted"),
    [
        (["requested"], "running", False, [("", None)]),
        (["requested"], "succeeded", True, [("cancel_failed", None)]),
        (["requested", "failed"], "succeeded", True, [("cancel_failed", None)]),
        (["requested", "failed", "requested", "acknowledged"], "canceled", True, [("cancel_failed", None), ("canceled", 3)]),
        (["acknowledged"], "timed_out", True, [("cancel_failed", 0)]),
        (["requested", "requested", "acknowledged"], "canceled", True, [("canceled", 2), ("canceled", 2)]),
    ],
)  # fmt: skip
def test_what_is_known_of_a_cancellation(
    events: list[str], status: str, has_ended: bool, wanted: list[tuple[str, int | None]]
) -> None:
    ledger = Ledger()
    news = [ledger.news("inv_1", f"cancel_{word}", {}, at=number) for number, word in enumerate(events)]  # type: ignore[arg-type]  # a piece of news
    found = cancellations(facts_of([], news), status, NOON if has_ended else None)
    assert [(one.outcome, one.acknowledged_at) for one in found] == wanted


def test_a_tool_that_is_stopped_in_time_for_its_timeout_was_stopped() -> None:
    row = Ledger().news("inv_1", "cancel_requested", {"abort_reason": "timeout"})
    assert cancellations(facts_in(row), "timed_out", NOON)[0].outcome == "canceled"


def test_late_results_are_told_apart_from_the_result() -> None:
    """AT-177: recorded, not delivered."""
    ledger = Ledger()
    SCENARIOS["canceled"](ledger)
    row = ledger.news("inv_canceled", "late_result", {"status": "succeeded"}, payload=Payload(result=encode_result(7)))
    found = story(ledger)
    assert found.result is None
    (late,) = found.late_results
    assert late.result is not None and late.result.structured_content == 7
    assert found.to_record()["late_results"][0]["structured_content"] == 7
    erased = msgspec.structs.replace(row, payload=None, is_erased=True)
    (gone,) = Story(ledger.of("inv_canceled")[:-1], [erased]).late_results
    assert gone.to_record()["is_erased"] is True


def test_notes_of_the_story() -> None:
    attempts = [Attempt(1, 0, 2_000_000, "rate_limited", "throttled", 0.5), Attempt(2, 3_000_000, 4_000_000, "timeout")]
    notes = {
        "scheduler": {"is_read_only": True},
        "batch": {"batch_id": "bat_1", "index": 2, "depends_on": ["inv_0"]},
        "attempts": msgspec.msgpack.decode(encode(attempts[:1])),
        "redactions": ["card"],
        "abort_reason": "sibling_error",
        "persistence": {"strategy": "ref_only"},
        "context_modifiers": [{"set": "cwd"}],
    }
    ledger = Ledger()
    writer = Writer(ledger, "inv_1").enter("planned", "selected", "arguments_ready", "running")
    writer.row("started", notes=notes)
    more = {**notes, "attempts": msgspec.msgpack.decode(encode(attempts)), "redactions": ["token"]}
    writer.enter("succeeded").row("ended", status="succeeded", notes=more)
    found = Story(ledger.rows)
    assert found.attempts == tuple(attempts), "the second row has the first one's again, and more"
    record = found.to_record()
    assert record["redactions"] == ["card", "token"]
    assert record["attempts"][0]["duration_ms"] == 2.0
    for name in ("scheduler", "batch", "abort_reason", "persistence", "context_modifiers"):
        assert record[name] == notes[name]


def test_parts_of_a_result_can_be_erased_from_progress() -> None:
    """AT-101, AT-218: they stand in the payload; what was told besides stays."""
    happened = [
        {"at": NOON, "event": "tool.invocation.progress", "data": write_news(1)},
        {
            "at": NOON,
            "event": "tool.invocation.progress",
            "data": {**write_news(2), "content": [{"type": "text", "text": SECRET}]},
        },
    ]
    body, payload = progress_row(happened, 2)
    assert payload is not None and SECRET.encode() not in encode(body)
    ledger = Ledger()
    row = ledger.add(Entry("news", "inv_1", NOON, "t", "progress", body, payload))
    assert [fact.data.get("content") for fact in facts_in(row)] == [None, [{"type": "text", "text": SECRET}]]
    assert SECRET not in repr(list_events(ledger))
    assert SECRET in repr(list_events(ledger, "full"))
    erased = msgspec.structs.replace(row, payload=None, is_erased=True)
    assert [fact.data["sequence"] for fact in facts_in(erased)] == [1, 2]
    assert SECRET not in repr(facts_in(erased))
    assert progress_row(happened[:1], 1) == (NewsBody(happened[:1], 1), None)


def test_attempts_that_are_none_do_not_hide_the_story() -> None:
    ledger = Ledger()
    success(ledger)
    writer = Writer(ledger, "inv_1").enter("planned", "selected", "arguments_ready", "running", "succeeded")
    writer.row("call", status="succeeded", notes={"attempts": [["what"]]})
    assert Story(ledger.of("inv_1")).attempts == ()


def test_a_record_of_progress_cannot_name_another_call() -> None:
    row = Ledger().news(
        "inv_1", "progress", {"sequence": 4, "invocation_id": "inv_2", "progress_id": "x", "timestamp": 0}
    )
    (record,) = progress_records("inv_1", facts_in(row))
    assert (record["invocation_id"], record["progress_id"]) == ("inv_1", "prg_1.4")
    assert record["timestamp"] == "2026-01-01T12:00:00.000000Z"
