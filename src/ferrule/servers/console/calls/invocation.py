"""The page of one call: `ferrule explain` for people, live while the call runs.

It shows the four inputs field by field: what the model wrote, what others saw, what was decided on, what ran; and who
changed what. `timeline` draws the phases.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ferrule.model.approval import CALL
from ferrule.model.value import JsonObject
from ferrule.servers.api.replies import Problem
from ferrule.servers.asgi import HttpAnswer, HttpStream
from ferrule.servers.console.calls.call_words import (
    Story,
    caller_of,
    display_name,
    microseconds,
    now_micros,
    sentence_of,
    state_of,
)
from ferrule.servers.console.calls.timeline import timeline_of
from ferrule.servers.console.rendering import part
from ferrule.servers.console.view import ConsolePage, ConsoleView

INPUTS = ("model_input", "observable_input", "permission_input", "call_input")
_MOST_FIELDS, _DEEPEST, _LONGEST = 100, 3, 400
_ABSENT = object()
_MASK = "[REDACTED]"
_SOURCES = {
    "adapter": "read by Ferrule",
    "runtime": "filled in by Ferrule",
    "migration": "migrated by Ferrule",
    "hook": "hook",
}


def four_inputs(story: Story) -> JsonObject:
    """Returns rows of cells: `text`, `is_same`, `is_absent`, `by`, and `is_person` where a person changed it."""
    inputs = {view["name"]: view["value"] for view in story["inputs"]}
    if not inputs:
        return {"rows": [], "left": 0, "is_changed": False, "is_erased": bool(story.get("is_erased"))}
    columns, last = [], None
    for name in INPUTS:
        # An input that is not on record is as the one before it.
        last = inputs.get(name, last)
        columns.append(_flatten(last))
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows: list[JsonObject] = [{"field": name, "cells": _cells(name, columns, story)} for name in names[:_MOST_FIELDS]]
    is_changed = any(not cell["is_same"] for row in rows for cell in row["cells"][1:])
    return {
        "rows": rows,
        "left": max(0, len(names) - _MOST_FIELDS),
        "is_changed": is_changed,
        "is_erased": bool(story.get("is_erased")),
    }


def _flatten(value: object, path: str = "", depth: int = 0) -> JsonObject:
    """Returns the fields of a value by their dotted names; deep ones stay together."""
    if not isinstance(value, Mapping) or not value or depth == _DEEPEST:
        return {path or "$": value} if path or value is not None else {}
    found: JsonObject = {}
    for name, member in value.items():
        found |= _flatten(member, f"{path}.{name}" if path else str(name), depth + 1)
    return found


def _cells(name: str, columns: list[JsonObject], story: Story) -> list[JsonObject]:
    cells = []
    for number, column in enumerate(columns):
        value = column.get(name, _ABSENT)
        before = columns[number - 1].get(name, _ABSENT) if number else _ABSENT
        is_same = number > 0 and _is_equal(value, before)
        by = _find_changer(name, value, number, story) if number and not is_same else {"by": "", "is_person": False}
        cells.append({"text": _text(value), "is_same": is_same, "is_absent": value is _ABSENT, **by})
    return cells


def _is_equal(one: object, other: object) -> bool:
    if one is _ABSENT or other is _ABSENT:
        return one is other
    # To Python 1, 1.0 and True are equal; as inputs of a tool they are not.
    return type(one) is type(other) and bool(one == other)


def _text(value: object) -> str:
    if value is _ABSENT:
        return ""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _find_changer(name: str, value: object, number: int, story: Story) -> JsonObject:
    """Returns who changed a field on the way to one of the inputs. People change the last one; a later change hides an
    earlier one.
    """
    if isinstance(value, str) and _MASK in value:
        return {"by": "redacted", "is_person": False}
    people = number == len(INPUTS) - 1
    for change in reversed(story.get("mutations", ())):
        is_person = change["source_type"] == "permission_prompt"
        if is_person > people or not any(_covers(field, name) for field in change["changed_fields"]):
            continue
        if is_person:
            return {"by": change["source_ref"], "is_person": True}
        source = _SOURCES.get(change["source_type"], change["source_type"])
        named = f"hook {change['source_ref']}" if change["source_type"] == "hook" else change["reason"] or source
        return {"by": named, "is_person": False}
    return {"by": "", "is_person": False}


def _covers(field: str, name: str) -> bool:
    """Returns True when a change of one field changes the other: `customer` and `customer.name`."""
    field = field.removeprefix("$.")
    return (
        field in ("$", "", name)
        or name.startswith((f"{field}.", f"{field}["))
        or field.startswith((f"{name}.", f"{name}["))
    )


_MOST_EVENTS, _MOST_PROGRESS = 200, 100
_LONGEST_TEXT = 100_000


async def show(view: ConsoleView) -> HttpAnswer:
    """`GET /console/invocations/{invocation_id}`; a script gets only the part that changes while the call runs."""
    call = view.parts["invocation_id"]
    try:
        story = await view.api.get(f"/invocations/{call}/explain")
    except Problem as problem:
        if problem.status != 404:
            raise
        return await _show_soon(view, call)
    values = await _load_values(view, story)
    if view.is_fragment:
        return view.fragment("invocation_story.html", **values)
    return await view.page("invocation.html", **values)


async def _show_soon(view: ConsoleView, call: str) -> HttpAnswer:
    """Returns the page of a call that has only just begun and has no row yet. Raises Problem for an unknown call."""
    state = await view.api.get(f"/calls/{call}")
    values = {"id": call, "now_in": state["state"], "is_pending": state["is_pending"]}
    if view.is_fragment:
        return view.fragment("invocation_soon_part.html", **values)
    return await view.page("invocation_soon.html", **values)


async def _load_values(view: ConsoleView, story: JsonObject) -> JsonObject:
    call, now = story["invocation_id"], now_micros()
    brief = await view.api.get(f"/invocations/{call}")
    events = (await view.api.get(f"/invocations/{call}/events"))["items"]
    timeline = timeline_of(story, now)
    standing = brief["standing"]
    is_open = story["ended_at"] is None
    rows = story.get("rows", [])
    return {
        "id": call,
        "story": story,
        "tool": display_name(story),
        "caller": caller_of(brief),
        "stands": state_of(brief),
        "risk_level": story["requests"][-1]["risk"] if story.get("requests") else "",
        "sentence": sentence_of(story, standing, timeline["total"], timeline["work"]),
        "timeline": timeline,
        "inputs": four_inputs(story),
        "decision": decision_facts(story),
        "people": people_of(story),
        "result": result_of(story),
        "stored": (await view.api.get(f"/calls/{call}/payloads"))["items"],
        "events": [event_of(event, story) for event in events[:_MOST_EVENTS]],
        "event_count": len(events),
        "progress": story.get("progress", [])[-_MOST_PROGRESS:],
        "relatives": await view.api.get(f"/invocations/{call}/relatives"),
        "chain": chain_of(await view.api.get(f"/invocations/{call}/chain")),
        "audit": view.shared.get("audit"),
        "is_open": is_open,
        "is_runnable": view.may(CALL) and not story["tool_id"].startswith("unknown:"),
        "is_cancelable": is_open and standing != "unknown",
        "quiet_seconds": max(0.0, (now - _find_last_sign(rows, story)) / 1_000_000)
        if is_open and standing == "running"
        else None,
        "again": f"/console/try/{part(story['tool_name'])}?from={part(call)}",
    }


def _find_last_sign(rows: list[JsonObject], story: Story) -> int:
    """Returns when the call last recorded anything."""
    return max([microseconds(row["at"]) for row in rows] or [microseconds(story["created_at"])])


def decision_facts(story: Story) -> JsonObject:
    """Returns the decision in facts: its rules and people, how long it took, and what was changed."""
    decisions = story["decisions"]
    if not decisions:
        return {"word": "none", "kind": "off", "rules": [], "by": "", "message": "", "edits": [], "waited": None}
    last = decisions[-1]
    kinds = {"allow": ("ok", "allowed"), "ask": ("wait", "asks"), "deny": ("deny", "denied")}
    kind, word = kinds.get(last["behavior"], ("off", last["behavior"]))
    request = story["requests"][-1] if story.get("requests") else None
    answer = story["answers"][-1] if story.get("answers") else None
    waited = microseconds(answer["answered_at"]) - microseconds(request["requested_at"]) if request and answer else None
    return {
        "word": "rejected" if last.get("decided_by") and last["behavior"] == "deny" else word,
        "kind": kind,
        "rules": list(dict.fromkeys(ref for one in decisions for ref in one.get("rule_refs", ()))),
        "by": last.get("decided_by", ""),
        "message": last["reason"]["message"],
        "mode": last["mode"],
        "edits": edits_of(story),
        "waited": waited,
        "expires_at": request["expires_at"] if request else None,
        "shadow": last.get("shadow"),
        "classifiers": last.get("classifiers", []),
    }


def edits_of(story: Story) -> list[JsonObject]:
    """Returns a person's changes: the field, the old value, the new value."""
    edited = {
        field
        for change in story.get("mutations", ())
        if change["source_type"] == "permission_prompt"
        for field in change["changed_fields"]
    }
    views = [view for view in story["inputs"] if view["name"] == "call_input"]
    return [one for view in views for one in view["differences"] if one["path"] in edited]


def people_of(story: Story) -> list[JsonObject]:
    """Returns what people did about a call, in order: asked, delegated, reminded, answered."""
    found: list[tuple[str, JsonObject]] = []
    for request in story.get("requests", ()):
        needed = request["requirement"]
        who = ", ".join(needed.get("approvers", ())) or "anyone who may approve"
        people = f", {needed['people']} people" if needed.get("people", 1) > 1 else ""
        not_own = ", not the requester" if needed.get("not_requester") else ""
        verbs = {"approval": "asked for approval", "input": "asked by the tool", "outcome": "asked for the outcome"}
        words = verbs.get(request["purpose"], "asked")
        entry = {"who": f"{who}{people}{not_own}", "words": words, "says": request["message"], "is_answer": False}
        found.append((request["requested_at"], entry))
    for handed in story.get("delegations", ()):
        words = f"delegated it to {handed['to']}"
        found.append(
            (handed["at"], {"who": handed["by"], "words": words, "says": handed["reason"], "is_answer": False})
        )
    for at in story.get("reminders", ()):
        found.append((at, {"who": "people", "words": "were reminded", "says": "", "is_answer": False}))
    for answer in story.get("answers", ()):
        words = {"approve": "approved it", "reject": "rejected it"}.get(answer["verdict"], answer["verdict"])
        entry = {"who": answer["by"], "words": words, "says": answer["reason"], "is_answer": True}
        found.append((answer["answered_at"], {**entry, "channel": answer["channel"]}))
    return [{"at": at, "says": "", **entry} for at, entry in sorted(found, key=lambda pair: pair[0])]


def result_of(story: Story) -> JsonObject | None:
    """Returns a result in its representations: the value, the model's view, and the error."""
    result = story["result"]
    if result is None:
        return None
    shown = result.get("model_facing_content") or result.get("content") or []
    texts = [block["text"] if isinstance(block.get("text"), str) else block for block in shown]
    value = result.get("structured_content")
    known = ("status", "error", "content", "structured_content", "model_facing_content")
    return {
        "status": result["status"],
        "error": result.get("error"),
        "value": value if value is not None else (result.get("content") or None),
        "texts": [text[:_LONGEST_TEXT] if isinstance(text, str) else text for text in texts],
        "rest": {name: member for name, member in result.items() if name not in known and member},
        "redactions": story.get("redactions", []),
        "is_erased": bool(story.get("is_erased")) and value is None and not result.get("content"),
    }


def event_of(event: Mapping[str, Any], story: Story) -> JsonObject:
    """Returns one event as a line: seconds since the call was planned, its type, and its main values."""
    data = event["data"]
    words = (
        "rule_refs",
        "hook_id",
        "behavior",
        "decided_by",
        "answered_by",
        "verdict",
        "status",
        "message",
        "error_class",
    )
    values = [
        ", ".join(map(str, value)) if isinstance(value := data[name], list) else str(value)
        for name in words
        if data.get(name)
    ]
    return {
        "after": (microseconds(event["time"]) - microseconds(story["created_at"])) / 1_000_000,
        "type": event["event_type"],
        "about": ", ".join(values),
        "id": event["event_id"],
    }


def chain_of(chain: JsonObject) -> JsonObject:
    """Returns the place of a call's rows in the ledger, and whether they are intact."""
    rows = chain["rows"]
    if not chain["is_checked"] or not rows:
        kind, word = "off", "not checked"
    else:
        kind, word = ("ok", "intact") if chain["is_intact"] else ("bad", "changed")
    return {**chain, "kind": kind, "word": word, "first": rows[0] if rows else None, "last": rows[-1] if rows else None}


async def cancel(view: ConsoleView) -> HttpAnswer:
    """`POST /console/invocations/{invocation_id}/cancel`"""
    call = view.parts["invocation_id"]
    await view.api.post(f"/calls/{call}/cancel", {"reason": view.field("reason")[:4000]})
    return view.redirect(f"/console/invocations/{part(call)}")


async def get_payload(view: ConsoleView) -> HttpAnswer | HttpStream:
    """`GET /console/invocations/{invocation_id}/payloads/{number}`: the bytes of a stored result. A browser only saves
    them.
    """
    return await view.api.answer(f"/calls/{view.parts['invocation_id']}/payloads/{view.parts['number']}")


PAGES = (
    ConsolePage("GET", "/invocations/{invocation_id}", show),
    ConsolePage("POST", "/invocations/{invocation_id}/cancel", cancel),
    ConsolePage("GET", "/invocations/{invocation_id}/payloads/{number}", get_payload),
)
