"""The events of rows that move no call: news of calls, catalogs, surfaces, policies, switches, erasure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ferrule.ledger.history import details
from ferrule.ledger.history.details import Level
from ferrule.model.event import EVENT_TYPES, EventType
from ferrule.model.journal import StoredEntry
from ferrule.model.news import Fact, facts_in


class Draft(NamedTuple):
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


def news_drafts(row: StoredEntry, level: Level) -> list[Draft]:
    """What news of a call stands for: an event each. Classes that a newer Ferrule wrote are passed over."""
    known = [(_CLASSES[event], fact) for fact in facts_in(row) for event in _told(fact) if event in _CLASSES]
    payload = row.inputs() if level == "full" else None
    return [
        Draft(event, fact.at, details.news(event, fact.data, payload, level), invocation_id=row.call, tool_id=row.tool)
        for event, fact in known
    ]


def _told(fact: Fact) -> tuple[str, ...]:
    """The classes of one piece of news. Progress that brings a part of the result is both."""
    is_part = fact.event == "tool.invocation.progress" and fact.data.get("status") == "partial_result"
    return (fact.event, "tool.invocation.partial_result") if is_part else (fact.event,)


def drafts_of(row: StoredEntry) -> list[Draft]:
    """What a row that belongs to no call stands for. Rows about the ledger itself have no events."""
    facts = row.facts()
    match row.kind:
        case "catalog":
            return list(_catalog(facts))
        case "surface":
            return list(_surface(facts))
        case "policy":
            return [Draft("tool.policy.changed", None, facts, subject=facts.get("digest"))]
        case "switch":
            return [Draft("tool.switched", None, facts, subject=facts.get("tool_id"), tool_id=facts.get("tool_id"))]
        case "erased":
            return list(_erased(facts))
        case _:
            return []


def _catalog(facts: dict[str, Any]) -> Iterator[Draft]:
    for change in ("declared", "removed"):
        for tool_id in facts.get(change, ()):
            data = {"change": change, "catalog_digest": facts.get("digest")}
            yield Draft("tool.declared", None, data, subject=tool_id, tool_id=tool_id)


def _surface(facts: dict[str, Any]) -> Iterator[Draft]:
    event = _CHANGES[facts.get("change", "updated")]
    surface_id = facts.get("surface_id")
    tools = facts.get("tools", ())
    if not event.startswith("tool.deferred") or not isinstance(tools, list | tuple) or not tools:
        yield Draft(event, None, facts, subject=surface_id)
        return
    shared = {name: value for name, value in facts.items() if name != "tools"}
    for tool_id in tools:
        yield Draft(event, None, shared, subject=surface_id, tool_id=tool_id)
    if event == "tool.deferred.loaded":  # the sets of the surface changed with it
        yield Draft("tool.surface.updated", None, {**facts, "change": "updated"}, subject=surface_id)


def _erased(facts: dict[str, Any]) -> Iterator[Draft]:
    """Redaction applied later. The row names calls, not their tools, so they are its subjects."""
    why = {"redaction_state": "full", "by": facts.get("by"), "reason": facts.get("reason")}
    calls = facts.get("calls", ())
    for call in calls if isinstance(calls, list | tuple) else ():
        yield Draft("tool.result.redacted", None, why, subject=call)
