"""The story of a call, as pages are made from it."""

from __future__ import annotations

from typing import Any

from ferrule.model.lifecycle import PHASES

START = 1_767_225_600_000_000


def at(seconds: float) -> str:
    """A moment, so many seconds after the call began."""
    return f"2026-01-01T00:{int(seconds) // 60:02d}:{seconds % 60:09.6f}Z"


def story(**more: Any) -> dict[str, Any]:
    """A call that waited a minute for a person and then worked for a second."""
    phases: list[dict[str, Any]] = [
        {"phase": phase, "ran": True, "ended_after_ms": 10.0, "duration_ms": 1.0} for phase in PHASES[:7]
    ]
    phases.append({"phase": "schedule", "ran": True, "ended_after_ms": 60_011.0, "duration_ms": None})
    phases += [
        {"phase": phase, "ran": True, "ended_after_ms": 61_011.0, "duration_ms": 1000.0} for phase in PHASES[8:9]
    ]
    phases += [{"phase": phase, "ran": True, "ended_after_ms": 61_012.0, "duration_ms": 0.0} for phase in PHASES[9:]]
    moves = (
        ("planned", 0.0),
        ("awaiting_approval", 0.01),
        ("approved", 60.01),
        ("running", 60.011),
        ("succeeded", 61.012),
    )
    return {
        "created_at": at(0), "ended_at": at(61.012), "status": "succeeded", "phases": phases, "tool_id": "shop.pay",
        "agent": None, "principal": "ada", "inputs": [], "decisions": [], "rules": [], "result": {"status": "success"},
        "transitions": [{"from": None, "to": state, "at": at(seconds)} for state, seconds in moves], **more,
    }  # fmt: skip
