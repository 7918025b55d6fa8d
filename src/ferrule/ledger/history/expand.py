"""Expands one ledger row into its events (AT-265 to AT-272). The same row always gives the same events with the same
ids.

Rows that move no call have events too: news of calls, catalogs, surfaces, policies, switches, erasure. Neither the
level nor the erasure of a payload changes which events there are: both only change what is in them. Pure: it reads
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from ferrule.ledger.history import details
from ferrule.ledger.history.details import Level
from ferrule.ledger.history.order import (
    AnswerGiven,
    CallStep,
    DecisionMade,
    HookBegan,
    HookEnded,
    InputMutated,
    OtherEvent,
    StateEntered,
    is_first,
    order_steps,
)
from ferrule.model.event import EVENT_TYPES, Event, EventType
from ferrule.model.journal import CALL_KINDS, Header, Payload, Segment, StoredEntry, header_of, phase_times
from ferrule.model.lifecycle import PHASES, TERMINAL, State
from ferrule.model.news import Fact, facts_in
from ferrule.model.timestamps import iso
from ferrule.model.value import JsonObject


class EventDraft(NamedTuple):
    """An event that has no id yet."""

    event_type: EventType
    time: int | None
    """Microseconds since 1970; None: the row's time."""
    data: dict[str, Any]
    subject: str | None = None
    invocation_id: str | None = None
    tool_id: str | None = None
    trace_refs: tuple[dict[str, Any], ...] = ()


_CLASSES: dict[str, EventType] = {event: event for event in EVENT_TYPES}
_CHANGES: dict[str, EventType] = {
    "created": "tool.surface.created",
    "updated": "tool.surface.updated",
    "discovered": "tool.deferred.discovered",
    "loaded": "tool.deferred.loaded",
}


def draft_news(row: StoredEntry, level: Level) -> list[EventDraft]:
    """Drafts the events of a call's news. Skips classes that only a newer Ferrule knows."""
    known = [(_CLASSES[event], fact) for fact in facts_in(row) for event in _list_classes(fact) if event in _CLASSES]
    payload = row.inputs() if level == "full" else None
    return [
        EventDraft(
            event,
            fact.at,
            details.describe_news(event, fact.data, payload, level),
            invocation_id=row.call,
            tool_id=row.tool,
        )
        for event, fact in known
    ]


def _list_classes(fact: Fact) -> tuple[str, ...]:
    """Lists the classes of one piece of news. Progress with a part of the result is both."""
    is_part = fact.event == "tool.invocation.progress" and fact.data.get("status") == "partial_result"
    return (fact.event, "tool.invocation.partial_result") if is_part else (fact.event,)


def draft_row(row: StoredEntry) -> list[EventDraft]:
    """Drafts the events of a row that belongs to no call. Rows about the ledger itself have none."""
    facts = row.facts()
    match row.kind:
        case "catalog":
            return list(_draft_catalog(facts))
        case "surface":
            return list(_draft_surface(facts))
        case "policy":
            return [EventDraft("tool.policy.changed", None, facts, subject=facts.get("digest"))]
        case "switch":
            return [
                EventDraft("tool.switched", None, facts, subject=facts.get("tool_id"), tool_id=facts.get("tool_id"))
            ]
        case "erased":
            return list(_draft_erasure(facts))
        case _:
            return []


def _draft_catalog(facts: JsonObject) -> Iterator[EventDraft]:
    for change in ("declared", "removed"):
        for tool_id in facts.get(change, ()):
            data = {"change": change, "catalog_digest": facts.get("digest")}
            yield EventDraft("tool.declared", None, data, subject=tool_id, tool_id=tool_id)


def _draft_surface(facts: JsonObject) -> Iterator[EventDraft]:
    event = _CHANGES[facts.get("change", "updated")]
    surface_id = facts.get("surface_id")
    tools = facts.get("tools", ())
    if not event.startswith("tool.deferred") or not isinstance(tools, list | tuple) or not tools:
        yield EventDraft(event, None, facts, subject=surface_id)
        return
    shared = {name: value for name, value in facts.items() if name != "tools"}
    for tool_id in tools:
        yield EventDraft(event, None, shared, subject=surface_id, tool_id=tool_id)
    if event == "tool.deferred.loaded":  # the sets of the surface changed with it
        yield EventDraft("tool.surface.updated", None, {**facts, "change": "updated"}, subject=surface_id)


def _draft_erasure(facts: JsonObject) -> Iterator[EventDraft]:
    """Drafts the events of a later redaction. The row names calls, not their tools, so they are its subjects."""
    why = {"redaction_state": "full", "by": facts.get("by"), "reason": facts.get("reason")}
    calls = facts.get("calls", ())
    for call in calls if isinstance(calls, list | tuple) else ():
        yield EventDraft("tool.result.redacted", None, why, subject=call)


_STATE_EVENTS: dict[State, EventType] = {
    "planned": "tool.invocation.planned",
    "selected": "tool.invocation.selected",
    "arguments_ready": "tool.invocation.arguments_ready",
    "awaiting_approval": "tool.permission.requested",
    "queued": "tool.invocation.queued",
    "running": "tool.invocation.started",
    "needs_input": "tool.invocation.needs_input",
    "yielded": "tool.invocation.yielded",
}
_TERMINAL_EVENTS: dict[State, EventType] = {
    "succeeded": "tool.invocation.succeeded",
    "failed": "tool.invocation.failed",
    "denied": "tool.invocation.failed",
    "blocked": "tool.invocation.failed",
    "canceled": "tool.invocation.canceled",
    "timed_out": "tool.invocation.timed_out",
    "schema_parse_failed": "tool.invocation.validation_failed",
    "validation_failed": "tool.invocation.validation_failed",
}
_CHECKS = frozenset(PHASES[1:5])
"""Phases whose stop is a `validation_failed` (the table of section 18)."""
_GOES_ON: frozenset[State | None] = frozenset({"needs_input", "partial_result", "yielded", "running"})
"""States from which `running` means going on, not starting."""


def expand_row(row: StoredEntry, *, source: str, level: Level = "standard") -> list[Event]:
    """Expands a row into its events, in order."""
    if level == "none":
        return []
    if row.kind in CALL_KINDS:
        return _make_events(row, _Expansion(row, level).make_drafts(), source)
    return _make_events(row, draft_news(row, level) if row.kind == "news" else draft_row(row), source)


def _make_events(row: StoredEntry, drafts: list[EventDraft], source: str) -> list[Event]:
    return [
        Event(
            event_id=f"evt_{row.seq}_{number}",
            event_type=draft.event_type,
            source=source,
            time=row.at if draft.time is None else draft.time,
            seq=row.seq,
            subject=draft.subject or row.call or None,
            invocation_id=draft.invocation_id,
            tool_id=draft.tool_id,
            data=draft.data,
            trace_refs=draft.trace_refs,
        )
        for number, draft in enumerate(drafts)
    ]


class _Expansion:
    """The expansion of one row of a call."""

    def __init__(self, row: StoredEntry, level: Level) -> None:
        self.row = row
        self.level = level
        self.segment: Segment = row.segment()
        self.header: Header = header_of(self.segment)
        # Level `standard` never even decodes the payload, so it cannot leak it.
        self.payload: Payload | None = row.inputs() if level == "full" else None
        self.moves: list[dict[str, str]] = []
        """State changes that no event carries yet: some states have no event of their own (AT-273)."""
        self.decisions = self._count_earlier_decisions()
        self.is_asked = False
        """True once an event carries the row's question."""

    def make_drafts(self) -> list[EventDraft]:
        """Makes the drafts. Moves that no event follows are attached to the last one."""
        found = [draft for step in order_steps(self.row, self.segment) for draft in self._draft_step(step)]
        if not self.is_asked:
            found += self._draft_question()
        if self.moves and not found:
            found.append(self._make_draft("tool.invocation.progress", self.row.at, {"status": self.row.outcome}))
        elif self.moves:
            last = found[-1]
            moves = [*last.data.get("transitions", ()), *self.moves]
            found[-1] = last._replace(data={**last.data, "transitions": moves})
        return found

    def _draft_step(self, step: CallStep) -> Iterator[EventDraft]:
        time = self._to_time(step.at)
        match step.fact:
            case StateEntered():
                yield from self._draft_state(step.fact, step.at)
            case DecisionMade(decision):
                data = details.describe_decision(decision, self.row.call, self._take_number(), self.level)
                yield self._make_draft("tool.permission.decided", time, data)
            case InputMutated(mutation):
                yield self._make_draft("tool.input.mutated", time, details.describe_mutation(mutation, self.level))
            case HookBegan(run) | HookEnded(run):
                has_ended = isinstance(step.fact, HookEnded)
                data = details.describe_hook(run, self.level, has_ended=has_ended)
                yield self._make_draft(_find_hook_event(run.hook_event, has_ended), time, data)
            case AnswerGiven(answer):
                data = {"status": self.row.outcome, "answered_by": answer.by, "verdict": answer.verdict}
                yield self._make_draft("tool.invocation.progress", time, data)
            case OtherEvent(event, data):
                yield self._make_draft(
                    msgspec.convert(event, EventType), time, details.describe_event(data, self.level)
                )

    def _draft_state(self, entered: StateEntered, at: int) -> Iterator[EventDraft]:
        state, time = entered.state, self._to_time(at)
        move = {"to": state, "at": iso(time)}
        if state in TERMINAL:
            yield from self._draft_result(time)
            # After the result's events, so that the event of the end carries the last move (AT-269).
            self.moves.append(move)
            data = details.describe_end(self.header, self.segment, self.row.call, state, at)
            yield self._make_draft(self._find_terminal_event(state), time, data)
            return
        self.moves.append(move)
        event = _STATE_EVENTS.get(state)
        if event is not None and not (state == "running" and self._is_resuming(entered)):
            yield self._make_draft(event, time, self._describe_state(state))

    def _is_resuming(self, entered: StateEntered) -> bool:
        """Returns True for a call that resumes in another row: that row is a `started` one."""
        if entered.before is None:
            return self.row.kind != "started"
        return entered.before in _GOES_ON

    def _describe_state(self, state: State) -> JsonObject:
        match state:
            case "planned":
                return details.describe_plan(self.header, self.segment, self.payload)
            case "selected":
                return details.describe_tool(self.header)
            case "running":
                return details.describe_start(self.payload)
            case "awaiting_approval" | "needs_input":
                self.is_asked = True
                return details.describe_request(self.segment)
            case _:
                return {}

    def _draft_result(self, time: int) -> Iterator[EventDraft]:
        """Drafts the events of the result, before the event that the call ended (AT-269)."""
        notes = self.segment.notes
        result = {"result_id": details.make_result_id(self.row.call)}
        if self.segment.status == "redacted" or notes.get("redaction_state", "none") != "none":
            state = notes.get("redaction_state", "full")
            yield self._make_draft("tool.result.redacted", time, {**result, "redaction_state": state})
        if notes.get("persistence_refs"):
            refs = list(notes["persistence_refs"])
            yield self._make_draft("tool.result.persisted", time, {**result, "persistence_refs": refs})
        data = details.describe_result(self.row.call, self.segment, self.payload, self.level)
        yield self._make_draft("tool.result.created", time, data)

    def _draft_question(self) -> Iterator[EventDraft]:
        """Drafts a question that changed no state: asked again, or about a call that a crash cut off."""
        request = self.segment.request
        if request is None and self.row.kind != "unknown":
            return
        is_approval = request is not None and request.purpose == "approval"
        event: EventType = "tool.permission.requested" if is_approval else "tool.invocation.needs_input"
        yield self._make_draft(event, self.row.at, details.describe_request(self.segment))

    def _find_terminal_event(self, state: State) -> EventType:
        # The closing phases run after every stop, so they do not tell where it was.
        stopped_in = next((phase for phase, _ in reversed(phase_times(self.segment)) if phase in PHASES[:9]), None)
        if state == "blocked" and stopped_in in _CHECKS:
            return "tool.invocation.validation_failed"
        return _TERMINAL_EVENTS[state]

    def _count_earlier_decisions(self) -> int | None:
        """Counts the decisions in earlier rows; None when this row does not tell."""
        if is_first(self.row, self.segment):
            return 0
        offsets = self.segment.notes.get("offsets")
        return offsets.get("decisions") if isinstance(offsets, dict) else None

    def _take_number(self) -> int | None:
        number = self.decisions
        if number is not None:
            self.decisions = number + 1
        return number

    def _to_time(self, at: int) -> int:
        return self.segment.created_at + at // 1000

    def _make_draft(self, event: EventType, time: int, data: JsonObject) -> EventDraft:
        if self.moves:
            data = {**data, "transitions": self.moves}
            self.moves = []
        trace = tuple(self.segment.notes.get("trace_refs", ()))
        return EventDraft(event, time, data, invocation_id=self.row.call, tool_id=self.header.tool_id, trace_refs=trace)


def _find_hook_event(hook_event: str, has_ended: bool) -> EventType:
    """Returns the event of a hook. Hooks around permission count as before the call, those around persistence as
    after it."""
    if hook_event in ("post_tool_use", "post_tool_use_failure", "result_persistence"):
        return "tool.hook.post.completed" if has_ended else "tool.hook.post.started"
    return "tool.hook.pre.completed" if has_ended else "tool.hook.pre.started"
