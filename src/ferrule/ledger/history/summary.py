"""Summarizes a call for lists, filters and charts: one line, its standing, and its batch.

Standing is one of eight words; the lifecycle's own word is the finer one. `ferrule log` and the HTTP API show these.
Pure: it takes rows and reads nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, get_args

import msgspec

from ferrule.model.journal import Kind, StoredEntry
from ferrule.model.lifecycle import STATES, TERMINAL, State
from ferrule.model.scheduling import DEFAULT_POLICY
from ferrule.model.story import Story
from ferrule.model.timestamps import iso, milliseconds
from ferrule.model.value import JsonObject


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `ferrule log`."""

    at: int
    """When it was planned: microseconds since 1970."""
    invocation_id: str
    tool_id: str
    principal: str
    agent: str | None
    status: str
    duration_ms: float | None
    """None while it has not ended."""
    decision: str
    """The last decision: `allow`, `deny`, `ask`, `allow by bob`; empty when none was reached."""
    error_code: str | None
    rules: tuple[str, ...] = ()
    """The rules that the last decision goes back to: of a person's, those that asked."""

    def to_record(self) -> JsonObject:
        """Returns the line as JSON."""
        record = {**msgspec.structs.asdict(self), "at": iso(self.at)}
        del record["rules"]
        return record


def read_brief(rows: Sequence[StoredEntry]) -> Brief:
    """Reads a call as one line, from all its rows in order."""
    story = Story(rows)
    header, states, decisions = story.header, story.states, story.decisions
    decision = decisions[-1] if decisions else None
    said = "" if decision is None else decision.ruling.behavior
    is_over = rows[-1].outcome in TERMINAL
    return Brief(
        at=story.created_at,
        invocation_id=rows[0].call,
        tool_id=header.tool_id,
        principal=header.principal,
        agent=header.agent,
        status=rows[-1].outcome,
        duration_ms=milliseconds(states[-1][1]) if is_over and states else None,
        decision=f"{said} by {decision.by}" if decision is not None and decision.by else said,
        error_code=story.error.error_code if story.error is not None else None,
        rules=next((said.ruling.rule_refs for said in reversed(decisions) if said.ruling.rule_refs), ()),
    )


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


def find_standing(kind: Kind, outcome: str) -> Standing:
    """Finds the standing of a call whose last row is of this kind and left it in this state."""
    if kind == "unknown":
        return "unknown"
    if outcome in WAITS:
        return "waiting"
    return find_ending(outcome) or "running"


def find_ending(outcome: str) -> Standing | None:
    """Finds the standing of an ended call; None for a state that is no end."""
    return _ENDINGS.get(outcome)


PREFIX = "bat_"
_TIME_DIGITS = 14


class Membership(msgspec.Struct, frozen=True, kw_only=True):
    """A call's place in a batch."""

    batch_id: str
    index: int
    """In call order, counted from 0."""
    size: int
    depends_on: tuple[str, ...] = ()
    """Calls that had to end before it could begin."""
    waited_ms: float | None = None
    """How long it waited for those; None when it did not have to."""
    sibling_failure_policy: str = DEFAULT_POLICY.sibling_failure_policy
    ordering_policy: str = DEFAULT_POLICY.ordering_policy


def read_membership(notes: Iterable[Mapping[str, object]]) -> Membership | None:
    """Reads a call's place in its batch from the notes of its rows; None for a call by itself."""
    said: JsonObject = {}
    for note in notes:
        batch = note.get("batch")
        said |= batch if isinstance(batch, dict) else {}
    try:
        return msgspec.convert(said, Membership) if said.get("batch_id") else None
    except msgspec.ValidationError:
        return None


def read_batch_start(batch_id: str) -> int | None:
    """Reads when a batch began from its id, in microseconds since 1970; None for an invalid id."""
    digits = batch_id.removeprefix(PREFIX)[:_TIME_DIGITS]
    if not batch_id.startswith(PREFIX) or len(digits) < _TIME_DIGITS:
        return None
    try:
        return int(digits, 16)
    except ValueError:
        return None
