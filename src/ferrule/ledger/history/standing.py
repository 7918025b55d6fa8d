"""Where a call stands, in one of eight words: for lists, filters and charts. The lifecycle's own word is the finer one."""

from __future__ import annotations

from typing import Literal, get_args

from ferrule.model.journal import Kind
from ferrule.model.lifecycle import STATES, TERMINAL, State

Standing = Literal["running", "waiting", "unknown", "succeeded", "failed", "refused", "canceled", "timed_out"]
STANDINGS: tuple[Standing, ...] = get_args(Standing)
WAITS: tuple[State, ...] = ("awaiting_approval", "needs_input")
"""States in which a call waits for a person."""
_ENDINGS: dict[str, Standing] = {
    "succeeded": "succeeded",
    "failed": "failed",
    "schema_parse_failed": "failed",
    "validation_failed": "failed",
    "denied": "refused",
    "blocked": "refused",
    "canceled": "canceled",
    "timed_out": "timed_out",
}
ENDED_STATES: dict[Standing, tuple[State, ...]] = {
    standing: tuple(state for state in STATES if _ENDINGS.get(state) == standing)
    for standing in dict.fromkeys(_ENDINGS.values())
}
"""The states of each word for a call that has ended."""
OPEN_STATES: dict[Standing, tuple[State, ...]] = {
    "running": tuple(state for state in STATES if state not in TERMINAL and state not in WAITS),
    "waiting": WAITS,
    "unknown": WAITS,
}
"""The same for one that goes on."""


def standing_of(kind: Kind, outcome: str) -> Standing:
    """Where a call stands whose last row is of this kind and left it in this state."""
    if kind == "unknown":
        return "unknown"
    if outcome in WAITS:
        return "waiting"
    return ended_as(outcome) or "running"


def ended_as(outcome: str) -> Standing | None:
    """The word for how a call ended; None for a state that is no end."""
    return _ENDINGS.get(outcome)
