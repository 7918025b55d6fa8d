"""The lifecycle event envelope and its classes (AT-265 to AT-273).

`ledger/history` derives events from rows and `ledger/sinks` deliver them; neither is known here.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from ferrule.model.timestamps import iso
from ferrule.model.value import JsonObject

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
    "tool.invocation.late_result",
    "tool.invocation.delegated",
    "tool.invocation.reminded",
    "tool.invocation.input_given",
]
EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
# Ours follow the standard's 27, so a new event of ours goes to the end of the list.
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

MEANINGS: dict[EventType, str] = {
    "tool.declared": "another catalog was adopted: one event per tool that is new, changed (`change: declared`) or gone",
    "tool.surface.created": "a surface was made for a caller",
    "tool.surface.updated": "a surface was made again because policy, catalog, role or a switch changed, or tools were loaded",
    "tool.deferred.discovered": "a search found a deferred tool",
    "tool.deferred.loaded": "a deferred tool's schema became visible",
    "tool.invocation.planned": "a call was requested: by whom, for which tool, through which surface",
    "tool.invocation.selected": "the tool was found on the caller's surface",
    "tool.invocation.arguments_ready": "the arguments fit the schema",
    "tool.invocation.validation_failed": "the end of a call that was stopped by a check of its arguments or its setup",
    "tool.hook.pre.started": "a hook before the call was started, also one around permission",
    "tool.hook.pre.completed": "it answered; `outputs` names the kinds of its answers",
    "tool.permission.requested": "a person is asked: who may answer, until when, why",
    "tool.permission.decided": "a decision was recorded: allow, ask, deny or passthrough, with its rules",
    "tool.invocation.queued": "the call waits for its turn",
    "tool.invocation.started": "the tool is run",
    "tool.invocation.progress": "how far the call is; also a person's answer, before the call goes on",
    "tool.invocation.partial_result": "a part of the result is available",
    "tool.hook.post.started": "a hook after the call was started, on success or failure",
    "tool.hook.post.completed": "it answered",
    "tool.result.persisted": "a large result was stored",
    "tool.invocation.yielded": "the result, or control, was handed over before the end",
    "tool.invocation.succeeded": "the end of a call that succeeded",
    "tool.invocation.failed": "the end of a call that failed, was denied or blocked: `status` says which",
    "tool.invocation.canceled": "the end of a call that was canceled",
    "tool.invocation.timed_out": "the end of a call that took too long, or that nobody approved in time",
    "tool.result.created": "the call's one result exists; comes right before its end",
    "tool.result.redacted": "something was taken out of a result, at once or later (erasure)",
    "tool.invocation.cancel_requested": "somebody asked to stop the call",
    "tool.invocation.cancel_acknowledged": "the tool heard of it",
    "tool.invocation.cancel_failed": "the tool could not be stopped",
    "tool.invocation.needs_input": "the tool waits for somebody; or, after a crash, a person has to say what it did",
    "tool.input.mutated": "the input was changed: by whom, and which fields",
    "tool.switched": "a tool was disabled or enabled",
    "tool.policy.changed": "another policy came into force",
    "tool.invocation.late_result": "a tool that was given up answered after all; recorded, not delivered",
    "tool.invocation.delegated": "somebody handed a task on: `by` whom, and `to` whom",
    "tool.invocation.reminded": "nobody has answered a task for a while, and people were told again",
    "tool.invocation.input_given": "the calling client gave a part of what a tool asked it for; `keys` names the parts",
}
"""The moment of each class; the reference page is generated from this."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened."""

    event_id: str
    """Follows from the ledger row, so the same fact has the same id wherever it is read."""
    event_type: EventType
    """One of the classes below; a reader passes over those it does not know."""
    source: str
    """The workspace."""
    time: int
    """Microseconds since 1970; in JSON RFC 3339, UTC."""
    seq: int
    """The ledger row it comes from; followers resume after it."""
    subject: str | None = None
    """What it is about: a call, a tool, a surface, a policy."""
    invocation_id: str | None = None
    """The call; on every event of a call."""
    tool_id: str | None = None
    """The tool; on every event of a call."""
    data: dict[str, Any] = {}
    """The facts of the event. Never a sensitive value (AT-271)."""
    trace_refs: tuple[dict[str, Any], ...] = ()
    """The caller's trace and span, where it named them."""

    def to_record(self) -> JsonObject:
        """Returns the standard's `tool_event` record."""
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
