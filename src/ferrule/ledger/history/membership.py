"""What the record of a call says of the batch it belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ferrule.model.scheduling import DEFAULT_POLICY

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


def membership_in(notes: Iterable[Mapping[str, Any]]) -> Membership | None:
    """The place of a call in its batch, from the notes of its rows; None for a call by itself."""
    said: dict[str, Any] = {}
    for note in notes:
        batch = note.get("batch")
        said |= batch if isinstance(batch, dict) else {}
    try:
        return msgspec.convert(said, Membership) if said.get("batch_id") else None
    except msgspec.ValidationError:
        return None


def begun_at(batch_id: str) -> int | None:
    """When a batch began, as its id tells, in microseconds since 1970; None for what is no such id."""
    digits = batch_id.removeprefix(PREFIX)[:_TIME_DIGITS]
    if not batch_id.startswith(PREFIX) or len(digits) < _TIME_DIGITS:
        return None
    try:
        return int(digits, 16)
    except ValueError:
        return None
