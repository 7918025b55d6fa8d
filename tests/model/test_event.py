"""An event becomes the standard's record, and every class of event says when it is told."""

from __future__ import annotations

from ferrule.model.event import EVENT_TYPES, MEANINGS, STANDARD_EVENT_TYPES, TERMINAL_EVENT_TYPES, Event


def test_a_record_leaves_out_what_nobody_said() -> None:
    event = Event(event_id="evt_1", event_type="tool.switched", source="desk", time=1, seq=9)
    assert event.to_record() == {
        "schema_version": "0.2.0",
        "event_id": "evt_1",
        "event_type": "tool.switched",
        "source": "desk",
        "time": "1970-01-01T00:00:00.000001Z",
        "seq": 9,
    }


def test_a_record_has_what_was_said() -> None:
    said = {"subject": "inv_1", "invocation_id": "inv_1", "tool_id": "pay", "data": {"status": "failed"}}
    event = Event(
        event_id="evt_1", event_type="tool.invocation.failed", source="desk", time=1, seq=9,
        subject="inv_1", invocation_id="inv_1", tool_id="pay", data={"status": "failed"}, trace_refs=({"trace_id": "t"},),
    )  # fmt: skip
    record = event.to_record()
    assert {name: record[name] for name in said} == said
    assert record["trace_refs"] == ({"trace_id": "t"},)


def test_every_class_is_explained_and_the_ends_are_of_the_standard() -> None:
    assert tuple(MEANINGS) == EVENT_TYPES
    assert set(STANDARD_EVENT_TYPES) >= TERMINAL_EVENT_TYPES
    assert all("the end of a call" in MEANINGS[kind] for kind in TERMINAL_EVENT_TYPES)
