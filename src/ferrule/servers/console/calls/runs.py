"""The panel of one trial call: its state, or how it ended.

A result is a table where it has the shape of one; otherwise the texts that a model receives, and its images.
`catalog/trial_calls` stands above it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ferrule.model.value import JsonObject
from ferrule.servers.api.replies import Problem
from ferrule.servers.console.view import ConsoleView

_MOST_ROWS, _MOST_COLUMNS, _MOST_FACTS = 200, 12, 40
_LONGEST_TEXT = 100_000
_LONGEST_IMAGE = 1_000_000
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_NO = frozenset({"denied", "rejected", "blocked"})


def arrange_value(value: object) -> JsonObject | None:
    """Returns a value as `facts` (names with plain values) and a `table` (columns, rows, and the number of rows); None
    where it is neither.
    """
    if isinstance(value, list):
        table = _arrange_table(value)
        return {"facts": [], "table": table, "name": ""} if table else None
    if not isinstance(value, dict) or not value or len(value) > _MOST_FACTS:
        return None
    lists = {
        name: table for name, member in value.items() if isinstance(member, list) and (table := _arrange_table(member))
    }
    facts = {name: member for name, member in value.items() if _is_plain(member)}
    if len(lists) > 1 or len(facts) + len(lists) < len(value):
        return None
    name, table = next(iter(lists.items()), ("", None))
    return {"facts": list(facts.items()), "table": table, "name": name}


def _arrange_table(rows: list[Any]) -> JsonObject | None:
    if not rows:
        return None
    if all(_is_plain(row) for row in rows):
        return {
            "columns": ["value"],
            "rows": [[row] for row in rows[:_MOST_ROWS]],
            "count": len(rows),
            "numbers": [False],
        }
    if not all(isinstance(row, dict) for row in rows):
        return None
    columns = list(dict.fromkeys(name for row in rows[:_MOST_ROWS] for name in row))
    if len(columns) > _MOST_COLUMNS or not all(_is_plain(cell) for row in rows[:_MOST_ROWS] for cell in row.values()):
        return None
    cells = [[row.get(name, "") for name in columns] for row in rows[:_MOST_ROWS]]
    numbers = [all(_is_number(row[at]) for row in cells) for at in range(len(columns))]
    return {"columns": columns, "rows": cells, "count": len(rows), "numbers": numbers}


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def blocks_of(result: JsonObject) -> list[JsonObject]:
    """Returns the blocks that the model receives: `text`, or `image` with its data, or `says` for anything else."""
    given = result.get("model_facing_content") or result.get("content") or []
    return [_describe_block(block) for block in given if isinstance(block, dict)]


def _describe_block(block: JsonObject) -> JsonObject:
    kind, text = str(block.get("type")), block.get("text")
    if isinstance(text, str):
        cut = len(text) > _LONGEST_TEXT
        return {"kind": kind, "text": text[:_LONGEST_TEXT], "is_cut": cut}
    data, media = block.get("data"), block.get("mimeType") or block.get("media_type")
    if kind == "image" and isinstance(data, str) and media in _IMAGES and len(data) <= _LONGEST_IMAGE:
        return {"kind": kind, "image": f"data:{media};base64,{data}"}
    return {"kind": kind, "says": f"{kind}{f', {media}' if media else ''}"}


def tone_of(status: str) -> str:
    """Returns the tone of a note about an ending: a denial, an error that somebody has to fix, or merely over."""
    return "no" if status in _NO else "over" if status in ("canceled", "cancelled", "discarded") else "bad"


_WAITING = ("awaiting_approval", "needs_input")
_SHOWN_STATES = {
    "awaiting_approval": ("wait", "waits for a person"),
    "needs_input": ("wait", "waits for an answer"),
    "queued": ("queue", "queued"),
    "succeeded": ("ok", "succeeded"),
    "partial_succeeded": ("warn", "partly succeeded"),
    "redacted": ("ok", "succeeded, redacted"),
    "denied": ("deny", "denied"),
    "rejected": ("deny", "rejected"),
    "timed_out": ("time", "timed out"),
    "too_large": ("bad", "too large"),
    "canceled": ("off", "canceled"),
    "discarded": ("off", "discarded"),
}
"""The kind and the word of a state."""


def shown_state(state: str, *, is_pending: bool) -> tuple[str, str]:
    """Returns the kind and the word of a state."""
    return _SHOWN_STATES.get(state) or (("run", "running") if is_pending else ("bad", "failed"))


async def load_run(view: ConsoleView, run: str, number: int) -> JsonObject:
    """Returns all that a panel shows of a call; with `is_gone` for an unknown call, or another person's."""
    shown: JsonObject = {"id": run, "number": number, "is_gone": False}
    try:
        state = await view.api.get(f"/calls/{run}")
    except Problem as problem:
        return {**shown, "is_gone": True, "message": problem.detail}
    kind, word = shown_state(state["state"], is_pending=state["is_pending"])
    brief = await _load_brief(view, run)
    result = state["result"]
    return {
        **shown,
        "kind": kind,
        "word": word,
        "state": state["state"],
        "is_pending": state["is_pending"],
        "is_waiting": state["state"] in _WAITING,
        "message": state["message"][:1].upper() + state["message"][1:],
        "seconds_left": _seconds_until(state["expires_at"]),
        "tool": brief["tool_name"] if brief else "",
        "at": brief["at"] if brief else None,
        "microseconds": brief["duration_ms"] * 1000 if brief and brief["duration_ms"] is not None else None,
        "result": result,
        **(await _describe_result(view, run, result) if result is not None else {}),
    }


async def _describe_result(view: ConsoleView, run: str, result: JsonObject) -> JsonObject:
    structured = result.get("structured_content")
    try:
        stored = (await view.api.get(f"/calls/{run}/payloads"))["items"]
    except Problem:
        stored = []
    return {
        "error": result.get("error"),
        "tone": tone_of(result["status"]),
        "shape": arrange_value(structured),
        "structured": structured,
        "blocks": blocks_of(result),
        "payloads": stored,
    }


async def _load_brief(view: ConsoleView, run: str) -> JsonObject | None:
    """Returns a call in a few words; None before it is on record."""
    try:
        brief: JsonObject = await view.api.get(f"/invocations/{run}")
    except Problem:
        return None
    return brief


def _seconds_until(at: str | None) -> int | None:
    if at is None:
        return None
    return max(0, round((datetime.fromisoformat(at) - datetime.now(UTC)).total_seconds()))
