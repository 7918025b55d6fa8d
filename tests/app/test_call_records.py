"""The standard's records of one call from Python: of an ended call, a waiting one, one that was erased, and none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ferrule
from ferrule.app.call_records import CallRecords
from ferrule.model.event import TERMINAL_EVENT_TYPES
from ferrule.model.persistence import ResultSettings
from ferrule.model.result import Pending, Result
from tests.runtime.policy.samples import rule
from tests.spec.running_app import RunningApp, run_async, running_app

REQUIRED = {
    "invocation": {"schema_version", "invocation_id", "tool_id", "status", "created_at"},
    "decisions": {"schema_version", "decision_id", "invocation_id", "behavior", "decided_at", "reason"},
    "result": {"schema_version", "result_id", "invocation_id", "status", "created_at", "is_error", "content"},
    "events": {"event_id", "event_type", "source", "time", "schema_version"},
    "progress": {"schema_version", "progress_id", "invocation_id", "sequence", "status", "timestamp"},
    "persistence": {"schema_version", "decision_id", "invocation_id", "result_id", "strategy", "created_at"},
    "hooks": {"schema_version", "hook_id", "hook_event"},
    "mutations": {"schema_version", "mutation_id", "invocation_id", "source_type", "created_at"},
}
"""What the standard requires of each kind of record."""


async def records_of(on: RunningApp, outcome: Result | Pending, **options: Any) -> CallRecords:
    found = await on.app.records(outcome.invocation_id, **options)
    assert found is not None
    return found


def each(found: CallRecords) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in found.__struct_fields__:
        records = getattr(found, name)
        for record in records if isinstance(records, tuple) else () if records is None else (records,):
            yield name, record


def test_every_kind_of_record_is_known_here() -> None:
    assert set(CallRecords.__struct_fields__) == set(REQUIRED)


@run_async
async def test_an_approved_call_has_its_ask_its_answer_and_the_change_a_person_made() -> None:
    """AT-131, AT-150: two decisions with ids of their own; the invocation names them and the result."""
    async with running_app(policy=rule("ask", tool="search")) as on:
        pending = await on.park()
        waiting = await records_of(on, pending)
        assert (waiting.invocation["status"], waiting.result) == ("awaiting_approval", None)
        assert [decision["behavior"] for decision in waiting.decisions] == ["ask"]
        result = await on.answer({"city": "Rome"}, name="bob")
        found = await records_of(on, result)
        assert all(REQUIRED[name] <= set(record) for name, record in each(found))
        assert [decision["behavior"] for decision in found.decisions] == ["ask", "allow"]
        assert found.decisions[1]["decided_by"] == "bob"
        assert found.invocation["permission_decision_refs"] == [one["decision_id"] for one in found.decisions]
        assert found.result is not None and found.invocation["result_ref"] == found.result["result_id"]
        assert {**found.result, "created_at": ""} == {**result.to_record(), "created_at": ""}
        assert [change["changed_fields"] for change in found.mutations] == [["city"]]


@run_async
async def test_events_follow_the_states_and_say_more_at_full_level() -> None:
    """AT-268"""
    async with running_app() as on:
        result = await on.call()
        found = await records_of(on, result)
        assert found.events[0]["event_type"] == "tool.invocation.planned"
        assert found.events[-1]["event_type"] in TERMINAL_EVENT_TYPES
        moves = [move["to"] for event in found.events for move in event["data"].get("transitions", ())]
        assert moves == [move["to"] for move in found.invocation["status_transitions"]]
        assert "Bern" not in repr(found.events)
        assert "Bern" in repr((await records_of(on, result, level="full")).events)
        assert (await records_of(on, result, level="none")).events == ()


@run_async
async def test_a_result_that_was_stored_has_its_decision_once() -> None:
    """AT-223"""
    async with running_app(default="long " * 50, results=ResultSettings(max_inline_chars=20, preview_chars=5)) as on:
        result = await on.call()
        found = await records_of(on, result)
        assert [one["decision_id"] for one in found.persistence] == list(result.persistence_refs)
        assert all(REQUIRED[name] <= set(record) for name, record in each(found))


@run_async
async def test_there_are_no_records_of_a_call_that_nobody_made() -> None:
    async with running_app() as on:
        assert await on.app.records("inv_nothing") is None


def test_they_are_public_and_there_without_await(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text("")
    with ferrule.open_sync(tmp_path) as app:
        result = app.surface(principal="lena").call("nothing", {})
        found = app.records(result.invocation_id)
        assert isinstance(found, ferrule.CallRecords)
        assert found.result is not None and found.invocation["tool_id"] == "unknown:nothing"
        assert all(REQUIRED[name] <= set(record) for name, record in each(found))
