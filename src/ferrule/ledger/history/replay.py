"""Rebuilds the history of each call from events (AT-273). Works on exported records, so a file of events is enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ferrule.model.event import TERMINAL_EVENT_TYPES


class ReplayedCall(msgspec.Struct):
    """One call, as its events describe it."""

    invocation_id: str
    tool_id: str
    status: str = ""
    """The state the call is in."""
    transitions: list[tuple[str | None, str, str]] = []
    """From, to, and when."""
    behaviors: list[str] = []
    """The behaviors of its decisions, in order."""
    changed_fields: list[str] = []
    result_id: str | None = None
    result_status: str | None = None
    error_class: str | None = None
    planned: dict[str, Any] = {}
    """The data of its planned event."""
    ended: dict[str, Any] | None = None
    """How it ended; None while it has not."""


def replay_events(records: Iterable[Mapping[str, Any]]) -> dict[str, ReplayedCall]:
    """Rebuilds the calls in event records, by invocation id. Skips unknown kinds of events (AT-272)."""
    calls: dict[str, ReplayedCall] = {}
    for record in records:
        invocation_id = record.get("invocation_id")
        if invocation_id is None:
            continue
        call = calls.get(invocation_id)
        if call is None:
            call = calls[invocation_id] = ReplayedCall(invocation_id, record.get("tool_id", ""))
        _apply(call, record["event_type"], record.get("data", {}))
    return calls


def _apply(call: ReplayedCall, event_type: str, data: Mapping[str, Any]) -> None:
    for move in data.get("transitions", ()):
        call.transitions.append((call.status or None, move["to"], move["at"]))
        call.status = move["to"]
    match event_type:
        case "tool.invocation.planned":
            call.planned = {name: value for name, value in data.items() if name != "transitions"}
        case "tool.permission.decided":
            call.behaviors.append(data["behavior"])
        case "tool.input.mutated":
            call.changed_fields += data["changed_fields"]
        case "tool.result.created":
            call.result_id, call.result_status = data["result_id"], data["status"]
            call.error_class = data.get("error", {}).get("error_class")
        case _ if event_type in TERMINAL_EVENT_TYPES:
            call.ended = {name: value for name, value in data.items() if name != "transitions"}
