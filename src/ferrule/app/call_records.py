"""The standard's records of one call, made from its rows: for embedding, for tests, and as evidence.

`App.records` returns them. It knows the ledger and how results are packed; it runs nothing and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from ferrule.ledger.audit.records import make_invocation_record
from ferrule.ledger.history.details import Level
from ferrule.ledger.history.expand import expand_row
from ferrule.model.result import Result
from ferrule.model.story import Story
from ferrule.model.story_parts import mutation_records
from ferrule.runtime.pipeline.results.packing import read_answer

JsonRecord: TypeAlias = dict[str, Any]


class CallRecords(msgspec.Struct, frozen=True, kw_only=True):
    """The records of Agent Tool 0.2.0 for one call, each as JSON. Sensitive members are masked, as in the ledger."""

    invocation: JsonRecord
    """The `tool_invocation`."""
    decisions: tuple[JsonRecord, ...]
    """The `tool_permission_decision` records, in order."""
    result: JsonRecord | None
    """The `tool_result`; None while the call has not ended."""
    events: tuple[JsonRecord, ...]
    """The `tool_event` records, in order."""
    progress: tuple[JsonRecord, ...]
    """The `tool_progress` records, by their numbers."""
    persistence: tuple[JsonRecord, ...]
    """The `tool_result_persistence` records: how the bytes of its result were stored."""
    hooks: tuple[JsonRecord, ...]
    """The `tool_hook` records, in the order in which hooks began."""
    mutations: tuple[JsonRecord, ...]
    """The records of changes of its input."""


def make_call_records(story: Story, *, source: str, level: Level = "standard") -> CallRecords:
    """Returns the records of a call. `source`: who its events are from. `level`: how much events may say."""
    call, created_at, answer = story.invocation_id, story.created_at, read_answer(story.rows)
    changes = mutation_records(story.mutations, call, created_at)
    return CallRecords(
        invocation=make_invocation_record(story),
        decisions=tuple(decision.to_record(call, number) for number, decision in enumerate(story.decisions)),
        result=answer.to_record() if isinstance(answer, Result) else None,
        events=tuple(
            event.to_record() for row in story.all_rows for event in expand_row(row, source=source, level=level)
        ),
        progress=story.progress,
        persistence=tuple(_list_persistence(story)),
        hooks=tuple(run.to_record(call, story.header.tool_id, created_at) for run in story.hooks),
        mutations=tuple({name: value for name, value in change.items() if name != "after_ms"} for change in changes),
    )


def _list_persistence(story: Story) -> Iterator[JsonRecord]:
    """Yields the persistence records, each decision once: a resumed call notes earlier ones again."""
    noted = (record for segment in story.segments for record in segment.notes.get("persistence", ()))
    yield from {str(record.get("decision_id")): record for record in noted}.values()
