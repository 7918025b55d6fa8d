"""The state of a ledger at this moment, unverified: its ends, its head, its witness, and the operations on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from ferrule.app.custody.paths import LedgerPaths, translate_damage
from ferrule.contracts.ledger import HeadRow, RawRow
from ferrule.ledger.audit.walk import UNREADABLE
from ferrule.ledger.audit.witness import read_witness
from ferrule.ledger.chain import NO_PAYLOAD, START, compute_commitment, compute_row_hash
from ferrule.ledger.stores.sqlite.raw import SqliteSource
from ferrule.model.journal import KINDS

_TAIL = 16 * 1024
_decode = msgspec.msgpack.Decoder(dict[str, Any]).decode
Deed = Literal["opened", "restored", "erased", "pruned"]


class LedgerMark(NamedTuple):
    """An operation on the ledger itself, as one of its rows records it."""

    seq: int
    at: int
    deed: Deed
    by: str
    told: str


class LedgerEnds(NamedTuple):
    """The first and the last row, and the signed head."""

    first_seq: int
    first_at: int
    last_seq: int
    last_at: int
    heads: tuple[HeadRow, ...]
    size_bytes: int


class WitnessedHead(NamedTuple):
    """The last head that a witness wrote."""

    seq: int
    at: int


class RowLink(NamedTuple):
    """One row of the hash chain."""

    seq: int
    kind: str
    call: str
    at: int
    tool: str
    outcome: str
    is_erased: bool
    hash: str
    is_whole: bool
    """True when its hash follows from its content and the row before."""
    follows_gap: bool
    """True when rows are missing before it."""


def find_ends(paths: LedgerPaths) -> LedgerEnds:
    """Finds the first and the last row of a ledger. Raises LedgerError."""
    with SqliteSource(paths.ledger) as source, translate_damage(paths.ledger):
        first, last = source.find_bounds()
        times = {number: row[3] for number in (first, last) for row in source.rows(number, number)}
        heads = tuple(source.heads())
    return LedgerEnds(first, times.get(first, 0), last, times.get(last, 0), heads, paths.ledger.stat().st_size)


def list_marks(paths: LedgerPaths, after: int = 0) -> list[LedgerMark]:
    """Returns the operations on a ledger, from rows after a number. Raises LedgerError."""
    with SqliteSource(paths.ledger) as source, translate_damage(paths.ledger):
        return [_make_mark(RawRow._make(row)) for row in source.list_upkeep_rows(after)]


def _make_mark(row: RawRow) -> LedgerMark:
    try:
        facts, kind = _decode(row.body), KINDS[row.kind]
        by = str(facts.get("by", ""))
        if kind == "erased":
            rows, calls, why = len(facts["rows"]), len(facts["calls"]), str(facts.get("reason", ""))
            told = f"payloads of {_count(rows, 'row')} of {_count(calls, 'call')} were destroyed"
            return LedgerMark(row.seq, row.at, "erased", by, f"{told}: {why}" if why else told)
        if kind == "pruned":
            return LedgerMark(row.seq, row.at, "pruned", by, f"rows up to {facts['last']} were removed")
        if "lost_first" in facts:
            last = facts.get("lost_last")
            upto = f" to {last}" if last is not None else " on"
            told = f"it was restored; rows from {facts['lost_first']}{upto} were given up"
            return LedgerMark(row.seq, row.at, "restored", by, told)
        return LedgerMark(row.seq, row.at, "opened", by, "it was created" if row.seq == 1 else "it was opened anew")
    except UNREADABLE:
        return LedgerMark(row.seq, row.at, "opened", "", "the row cannot be understood; a check tells more")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def read_last_head(witness: Path) -> WitnessedHead | None:
    """Returns the last head a witness wrote; None when it is unreadable."""
    try:
        with witness.open("rb") as file:
            size = file.seek(0, 2)
            # The first of these lines may be cut; it then counts as unreadable.
            file.seek(max(0, size - _TAIL))
            lines = file.read().splitlines()
    except OSError:
        return None
    known = [sighting for sighting in read_witness(lines) if sighting.ledger]
    return WitnessedHead(known[-1].seq, known[-1].at) if known else None


def list_links(paths: LedgerPaths, seq: int, count: int) -> list[RowLink]:
    """Returns the rows around one, each checked against its hash. Raises LedgerError."""
    first, last = max(1, seq - count), seq + count
    with SqliteSource(paths.ledger) as source, translate_damage(paths.ledger):
        before = source.hash_at(first - 1) if first > 1 else START
        rows = [RawRow._make(row) for row in source.rows(first, last)]
    found, at = [], first - 1
    for row in rows:
        found.append(_make_link(row, before, at))
        before, at = row.hash, row.seq
    return found


def _make_link(row: RawRow, before: bytes | None, at: int) -> RowLink:
    try:
        promise = compute_commitment(row.payload) if row.payload is not None else row.commitment or NO_PAYLOAD
        fits = before is None or row.hash == compute_row_hash(
            before, row.seq, row.kind, row.call, row.at, row.tool, row.outcome, row.body, promise, row.mark
        )
        kind = KINDS[row.kind]
        return RowLink(
            row.seq, kind, row.call, row.at, row.tool, row.outcome, row.commitment is not None, row.hash.hex(), fits,
            row.seq != at + 1,
        )  # fmt: skip
    except UNREADABLE:
        return RowLink(row.seq, "", "", 0, "", "", False, "", False, row.seq != at + 1)
