"""The four inputs of a call, field by field: what the model wrote, what others saw, what was decided on, what ran; and who
changed what."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ferrule.servers.console.calls.call_words import Story

INPUTS = ("model_input", "observable_input", "permission_input", "call_input")
_MOST_FIELDS, _DEEPEST, _LONGEST = 100, 3, 400
_ABSENT = object()
_MASK = "[REDACTED]"
_SOURCES = {"adapter": "read by us", "runtime": "filled in by us", "migration": "moved by us", "hook": "hook"}


def four_inputs(story: Story) -> dict[str, Any]:
    """Rows of cells: `text`, `is_same`, `is_absent`, `by`, and `is_person` where a person changed it."""
    inputs = {view["name"]: view["value"] for view in story["inputs"]}
    if not inputs:
        return {"rows": [], "left": 0, "is_changed": False, "is_erased": bool(story.get("is_erased"))}
    columns, last = [], None
    for name in INPUTS:
        last = inputs.get(name, last)
        columns.append(_flat(last))
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows: list[dict[str, Any]] = [
        {"field": name, "cells": _cells(name, columns, story)} for name in names[:_MOST_FIELDS]
    ]
    is_changed = any(not cell["is_same"] for row in rows for cell in row["cells"][1:])
    return {
        "rows": rows,
        "left": max(0, len(names) - _MOST_FIELDS),
        "is_changed": is_changed,
        "is_erased": bool(story.get("is_erased")),
    }


def _flat(value: Any, path: str = "", depth: int = 0) -> dict[str, Any]:
    """The fields of a value by their dotted names; deep ones stay together."""
    if not isinstance(value, Mapping) or not value or depth == _DEEPEST:
        return {path or "$": value} if path or value is not None else {}
    found: dict[str, Any] = {}
    for name, member in value.items():
        found |= _flat(member, f"{path}.{name}" if path else str(name), depth + 1)
    return found


def _cells(name: str, columns: list[dict[str, Any]], story: Story) -> list[dict[str, Any]]:
    cells = []
    for number, column in enumerate(columns):
        value = column.get(name, _ABSENT)
        before = columns[number - 1].get(name, _ABSENT) if number else _ABSENT
        is_same = number > 0 and _is_equal(value, before)
        by = _changed_by(name, value, number, story) if number and not is_same else {"by": "", "is_person": False}
        cells.append({"text": _text(value), "is_same": is_same, "is_absent": value is _ABSENT, **by})
    return cells


def _is_equal(one: Any, other: Any) -> bool:
    if one is _ABSENT or other is _ABSENT:
        return one is other
    return type(one) is type(other) and bool(one == other)


def _text(value: Any) -> str:
    if value is _ABSENT:
        return ""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _changed_by(name: str, value: Any, number: int, story: Story) -> dict[str, Any]:
    """Who changed a field on the way to one of the inputs. People change the last one; a later change covers an earlier one."""
    if isinstance(value, str) and _MASK in value:
        return {"by": "masked", "is_person": False}
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
    """True when a change of one field is a change of the other: `customer` and `customer.name`."""
    field = field.removeprefix("$.")
    return (
        field in ("$", "", name)
        or name.startswith((f"{field}.", f"{field}["))
        or field.startswith((f"{name}.", f"{name}["))
    )
