"""Checks a ledger's file, or an export of one."""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ferrule.errors import LedgerError
from ferrule.ledger.audit.export import ExportSource, verify_export
from ferrule.ledger.audit.findings import Verdict
from ferrule.ledger.audit.verify import verify
from ferrule.ledger.audit.walk import Progress
from ferrule.ledger.audit.witness import Sighting, read_witness
from ferrule.ledger.stores.sqlite.raw import SqliteSource


def verify_ledger(
    ledger: Path, keys: Iterable[bytes], *, witness: Path | None = None, progress: Progress | None = None
) -> Verdict:
    """Check a ledger. Raises LedgerError when it is none, or cannot be opened."""
    with sightings(witness) as seen, SqliteSource(ledger) as source:
        return verify(source, keys, witness=seen, progress=progress)


@contextmanager
def sightings(witness: Path | None) -> Iterator[Iterable[Sighting] | None]:
    """What a witness has written by now: later lines may be about rows that are not in our moment of the ledger."""
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


def verify_file(export: Path, keys: Iterable[bytes] | None, *, progress: Progress | None = None) -> Verdict:
    """Check an export; without keys, against the one it carries. Raises LedgerError when it is none."""
    source = ExportSource(export)
    try:
        return verify_export(source, (key_in(source),) if keys is None else keys, progress)
    finally:
        source.close()


def key_in(source: ExportSource) -> bytes:
    """The public key an export carries. Raises LedgerError."""
    try:
        key = b64decode(source.opening.public_key, validate=True)
    except ValueError:
        key = b""
    if len(key) != 32:
        raise LedgerError(f"the export {source.path} carries no public key; name one with --key")
    return key
