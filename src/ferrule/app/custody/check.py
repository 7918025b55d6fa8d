"""Checks a ledger's file, an export of one, or some rows by themselves.

A single row is intact if its hash follows from the row before it. That does not check the whole: a person who can write
the file may change a row and every row after it. `verify_ledger` detects that.
"""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ferrule.app.custody.paths import translate_damage
from ferrule.contracts.ledger import RawRow
from ferrule.errors import LedgerError
from ferrule.ledger.audit.export import ExportSource, verify_export
from ferrule.ledger.audit.findings import AuditVerdict
from ferrule.ledger.audit.histories import from_facts
from ferrule.ledger.audit.verify import verify
from ferrule.ledger.audit.walk import UNREADABLE, Progress
from ferrule.ledger.audit.witness import Sighting, read_witness
from ferrule.ledger.chain import NO_PAYLOAD, START, compute_commitment, compute_row_hash
from ferrule.ledger.stores.sqlite.raw import SqliteSource


def verify_ledger(
    ledger: Path, keys: Iterable[bytes], *, witness: Path | None = None, progress: Progress | None = None
) -> AuditVerdict:
    """Verifies a ledger. Raises LedgerError for another file, or one that cannot be opened."""
    with read_sightings(witness) as seen, SqliteSource(ledger) as source:
        return verify(source, keys, witness=seen, progress=progress)


@contextmanager
def read_sightings(witness: Path | None) -> Iterator[Iterable[Sighting] | None]:
    """Yields the lines a witness has written by now."""
    # Later lines may be about rows that our snapshot of the ledger lacks, so the size of the file is fixed first.
    if witness is None:
        yield None
        return
    try:
        file = witness.open("rb")
    except OSError as error:
        raise LedgerError(f"the witness {witness} cannot be read: {error.strerror}") from None
    with file:
        yield read_witness(_lines(file, os.fstat(file.fileno()).st_size))


def _lines(file: Iterable[bytes], size: int) -> Iterator[bytes]:
    done = 0
    for line in file:
        done += len(line)
        if done > size:
            return
        yield line


def verify_file(export: Path, keys: Iterable[bytes] | None, *, progress: Progress | None = None) -> AuditVerdict:
    """Verifies an export; without keys, by the one it carries. Raises LedgerError for another file."""
    source = ExportSource(export)
    try:
        return verify_export(source, (read_key(source),) if keys is None else keys, progress)
    finally:
        source.close()


def read_key(source: ExportSource) -> bytes:
    """Returns the public key that an export carries. Raises LedgerError."""
    try:
        key = b64decode(source.opening.public_key, validate=True)
    except ValueError:
        key = b""
    if len(key) != 32:
        raise LedgerError(f"the export {source.path} carries no public key; name one with --key")
    return key


class RowCheck(NamedTuple):
    """One row and its place in the chain."""

    seq: int
    before: bytes | None
    """The hash of the row before it; None when that row is missing."""
    hash: bytes
    is_intact: bool | None
    """None when the row before is missing."""


def check_rows(ledger: Path, numbers: Iterable[int]) -> list[RowCheck]:
    """Checks rows of a ledger file; missing ones are left out. Raises LedgerError."""
    with SqliteSource(ledger) as source, translate_damage(ledger):
        found = []
        for number in numbers:
            for values in source.rows(number, number):
                row = RawRow._make(values)
                before = _hash_before(source, row.seq)
                found.append(RowCheck(row.seq, before, row.hash, None if before is None else is_intact(before, row)))
        return found


def is_intact(before: bytes, row: RawRow) -> bool:
    """True when a row's hash follows from the hash of the row before."""
    try:
        promise = compute_commitment(row.payload) if row.payload is not None else row.commitment or NO_PAYLOAD
        made = compute_row_hash(
            before, row.seq, row.kind, row.call, row.at, row.tool, row.outcome, row.body, promise, row.mark
        )
    except UNREADABLE:
        return False
    return made == row.hash


def _hash_before(source: SqliteSource, seq: int) -> bytes | None:
    if seq == 1:
        return START
    return source.hash_at(seq - 1) or _hash_in_anchor(source, seq)


def _hash_in_anchor(source: SqliteSource, seq: int) -> bytes | None:
    """Returns the hash before the oldest row of a pruned ledger, from the `pruned` row."""
    pruned: tuple[Any, ...] | None = source.last_pruned()
    if pruned is None:
        return None
    try:
        anchor = from_facts(msgspec.msgpack.decode(RawRow._make(pruned).body))
    except UNREADABLE:
        return None
    return anchor.hash if anchor.last == seq - 1 else None
