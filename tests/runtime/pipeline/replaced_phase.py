"""Puts another function in the place of one phase, in every plan of the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ferrule.app import recorded_calls
from ferrule.model.lifecycle import PHASES
from ferrule.runtime.pipeline import drive


def replace_phase(monkeypatch: pytest.MonkeyPatch, phase: str, replacement: Callable[[Any, Any], Any]) -> Any:
    """Replaces a phase for calls that come from now on. Returns the function that stood there."""
    number = PHASES.index(phase)
    original = (*drive.OPENING, *drive.CLOSING)[number]

    def swap(phases: Any) -> Any:
        return tuple(tuple(replacement if part is original else part for part in each) for each in phases)

    monkeypatch.setattr(drive, "OPENING", tuple(replacement if each is original else each for each in drive.OPENING))
    monkeypatch.setattr(drive, "CLOSING", tuple(replacement if each is original else each for each in drive.CLOSING))
    for name in ("_CLOSING_FAILED", "_CLOSING_NEVER_RAN"):
        monkeypatch.setattr(drive, name, swap(getattr(drive, name)))
    for name in ("ALL_PHASES", "AFTER_APPROVAL", "AFTER_REPLY", "_FROM_PERMISSION"):
        plan = getattr(drive, name)
        changed = drive.PhasePlan(swap(plan.opening), swap(plan.closing))
        monkeypatch.setattr(drive, name, changed)
        if hasattr(recorded_calls, name):
            monkeypatch.setattr(recorded_calls, name, changed)
    monkeypatch.setattr(drive, "_tool_plans", {})
    return original
