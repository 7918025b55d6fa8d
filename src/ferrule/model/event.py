"""The lifecycle event envelope and its classes (AT-265 to AT-273)."""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from ferrule.model.timestamps import iso

EventType = Literal[
    "tool.declared",
    "tool.surface.created",
    "tool.surface.updated",
    "tool.deferred.discovered",
    "tool.deferred.loaded",
    "tool.invocation.planned",
    "tool.invocation.selected",
    "tool.invocation.arguments_ready",
    "tool.invocation.validation_failed",
    "tool.hook.pre.started",
    "tool.hook.pre.completed",
    "tool.permission.requested",
    "tool.permission.decided",
    "tool.invocation.queued",
    "tool.invocation.started",
    "tool.invocation.progress",
    "tool.invocation.partial_result",
    "tool.hook.post.started",
    "tool.hook.post.completed",
    "tool.result.persisted",
    "tool.invocation.yielded",
    "tool.invocation.succeeded",
    "tool.invocation.failed",
    "tool.invocation.canceled",
    "tool.invocation.timed_out",
    "tool.result.created",
    "tool.result.redacted",
    # Facts the standard asks for without naming a class; consumers ignore what they do not know (AT-272).
    "tool.invocation.cancel_requested",
    "tool.invocation.cancel_acknowledged",
    "tool.invocation.cancel_failed",
    "tool.invocation.needs_input",
    "tool.input.mutated",
    "tool.switched",
    "tool.policy.changed",
]
EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
STANDARD_EVENT_TYPES: tuple[EventType, ...] = EVENT_TYPES[:27]
TERMINAL_EVENT_TYPES: frozenset[EventType] = frozenset(
    {
        "tool.invocation.succeeded",
        "tool.invocation.failed",
        "tool.invocation.canceled",
        "tool.invocation.timed_out",
        "tool.invocation.validation_failed",
    }
)


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened."""

    event_id: str
    """Follows from the ledger row, so the same fact has the same id wherever it is read."""
    event_type: EventType
    source: str
    """The workspace."""
    time: int
    """Microseconds since 1970."""
    seq: int
    """The ledger row it comes from; followers resume after it."""
    subject: str | None = None
    invocation_id: str | None = None
    tool_id: str | None = None
    data: dict[str, Any] = {}
    """Never a sensitive value (AT-271)."""
    trace_refs: tuple[dict[str, Any], ...] = ()

    def to_record(self) -> dict[str, Any]:
        """The standard's `tool_event` record."""
        record: dict[str, Any] = {
            "schema_version": "0.2.0",
            "event_id": self.event_id,
            "event_type": self.event_type,
            "source": self.source,
            "time": iso(self.time),
            "seq": self.seq,
        }
        for name in ("subject", "invocation_id", "tool_id", "data", "trace_refs"):
            if value := getattr(self, name):
                record[name] = value
        return record
