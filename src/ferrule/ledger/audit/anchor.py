"""What a `pruned` row keeps of the rows that were removed: where the chain goes on, and the state they had led to."""

from __future__ import annotations

from typing import Any

import msgspec

from ferrule.ledger.audit.histories import History


class Restored(msgspec.Struct, array_like=True):
    """A restore that gave up rows, as an `opened` row records it."""

    seq: int
    """The `opened` row."""
    at: int
    first: int
    """The first row number that was given up."""
    last: int | None
    """The last one; None when nobody could tell."""


class Anchor(msgspec.Struct, kw_only=True):
    """Where a pruned ledger begins."""

    ledger: str
    last: int
    """The last row that was removed."""
    hash: bytes
    """Its hash: the next row follows from it."""
    count: int
    """How many rows were removed, all prunings together."""
    first_at: int
    last_at: int
    switches: list[tuple[str, int]] = []
    """Tools that were off at that row."""
    runs: list[tuple[str, str, int]] = []
    """Counters of runs that went on after it. Those of others are gone."""
    keys: list[tuple[bytes, str, bytes, int]] = []
    """Idempotency keys of calls that went on after it. Those of others are gone."""
    open: list[tuple[str, str, str, str, str, str | None, str, int | None, int]] = []
    """Calls that were open at that row and have ended since, as the table of open calls had them."""
    histories: dict[str, History] = {}
    """Where they stood."""
    restored: list[Restored] = []


def to_facts(anchor: Anchor, **more: Any) -> dict[str, Any]:
    """The body of a `pruned` row."""
    facts: dict[str, Any] = msgspec.to_builtins(anchor, builtin_types=(bytes,))
    return facts | more


def from_facts(facts: dict[str, Any]) -> Anchor:
    """The anchor in the body of a `pruned` row. Raises msgspec.ValidationError."""
    return msgspec.convert(facts, Anchor)
