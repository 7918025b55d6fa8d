"""One call that somebody tries, as its panel shows it: where it stands, or how it ended."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ferrule.servers.api.problems import Problem
from ferrule.servers.console.calls.outcome import blocks_of, shape_of, tone_of
from ferrule.servers.console.view import View

_WAITING = ("awaiting_approval", "needs_input")
_STANDS = {
    "awaiting_approval": ("wait", "waits for a person"),
    "needs_input": ("wait", "waits for an answer"),
    "queued": ("queue", "queued"),
    "succeeded": ("ok", "succeeded"),
    "partial_succeeded": ("warn", "partly done"),
    "redacted": ("ok", "succeeded, redacted"),
    "denied": ("deny", "denied"),
    "rejected": ("deny", "rejected"),
    "timed_out": ("time", "timed out"),
    "too_large": ("bad", "too large"),
    "canceled": ("off", "canceled"),
    "discarded": ("off", "discarded"),
}
"""The kind and the word of a state."""


def stands(state: str, *, is_pending: bool) -> tuple[str, str]:
    """How a state is shown."""
    return _STANDS.get(state) or (("run", "running") if is_pending else ("bad", "failed"))


async def run_of(view: View, run: str, number: int) -> dict[str, Any]:
    """All that a panel shows of a call; with `is_gone` for one that is not there, or not theirs."""
    shown: dict[str, Any] = {"id": run, "number": number, "is_gone": False}
    try:
        state = await view.api.get(f"/calls/{run}")
    except Problem as problem:
        return {**shown, "is_gone": True, "message": problem.detail}
    kind, word = stands(state["state"], is_pending=state["is_pending"])
    brief = await _brief(view, run)
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
        **(await _ended(view, run, result) if result is not None else {}),
    }


async def _ended(view: View, run: str, result: dict[str, Any]) -> dict[str, Any]:
    structured = result.get("structured_content")
    try:
        stored = (await view.api.get(f"/calls/{run}/payloads"))["items"]
    except Problem:
        stored = []
    return {
        "error": result.get("error"),
        "tone": tone_of(result["status"]),
        "shape": shape_of(structured),
        "structured": structured,
        "blocks": blocks_of(result),
        "payloads": stored,
    }


async def _brief(view: View, run: str) -> dict[str, Any] | None:
    """A call in a few words; None before it is on record."""
    try:
        brief: dict[str, Any] = await view.api.get(f"/invocations/{run}")
    except Problem:
        return None
    return brief


def _seconds_until(at: str | None) -> int | None:
    if at is None:
        return None
    return max(0, round((datetime.fromisoformat(at) - datetime.now(UTC)).total_seconds()))
