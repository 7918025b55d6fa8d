"""Checks some rows of a ledger by themselves: each is what was written, if it follows from the row before it.

That is no check of the whole: whoever can write the file may change a row and every row after it. `verify_ledger` sees that.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ferrule.app.custody.paths import damage_told
from ferrule.contracts.ledger import RawRow
from ferrule.ledger.audit.anchor import from_facts
from ferrule.ledger.audit.walk import UNREADABLE
from ferrule.ledger.chain import NO_PAYLOAD, START, commitment, row_hash
from ferrule.ledger.stores.sqlite.raw import SqliteSource


class RowCheck(NamedTuple):
    """One row and its place in the chain."""

    seq: int
    before: bytes | None
    """The hash of the row before it; None where that cannot be known."""
    hash: bytes
    is_intact: bool | None
    """None where it cannot be told, because the row before is gone."""


def check_rows(ledger: Path, numbers: Iterable[int]) -> list[RowCheck]:
    """Check rows of a ledger file; those that are not there are left out. Raises LedgerError."""
    with SqliteSource(ledger) as source, damage_told(ledger):
        found = []
        for number in numbers:
            for values in source.rows(number, number):
                row = RawRow._make(values)
                before = _before(source, row.seq)
                found.append(RowCheck(row.seq, before, row.hash, None if before is None else is_intact(before, row)))
        return found


def is_intact(before: bytes, row: RawRow) -> bool:
    """True when a row is what was written after the row with this hash."""
    try:
        promise = commitment(row.payload) if row.payload is not None else row.commitment or NO_PAYLOAD
        made = row_hash(before, row.seq, row.kind, row.call, row.at, row.tool, row.outcome, row.body, promise, row.mark)
    except UNREADABLE:
        return False
    return made == row.hash


def _before(source: SqliteSource, seq: int) -> bytes | None:
    if seq == 1:
        return START
    return source.hash_at(seq - 1) or _anchored(source, seq)


def _anchored(source: SqliteSource, seq: int) -> bytes | None:
    """The hash that the oldest row of a pruned ledger goes on from."""
    pruned: tuple[Any, ...] | None = source.last_pruned()
    if pruned is None:
        return None
    try:
        anchor = from_facts(msgspec.msgpack.decode(RawRow._make(pruned).body))
    except UNREADABLE:
        return None
    return anchor.hash if anchor.last == seq - 1 else None
