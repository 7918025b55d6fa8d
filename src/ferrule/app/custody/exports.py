"""Exports of a ledger, or a part of it: verifiable rows, or readable records of calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ferrule.app.custody.paths import LedgerPaths, fingerprint, load_public_keys, now, translate_damage
from ferrule.contracts.ledger import HeadRow, RawRow, SourceDamaged
from ferrule.definitions.compiler.seal import load_key, public_half
from ferrule.errors import LedgerError
from ferrule.infra.atomic_files import flush_folder
from ferrule.ledger.audit.export import VERSION, ExportHeader, Sign, export_lines
from ferrule.ledger.audit.findings import Findings
from ferrule.ledger.audit.records import make_invocation_record
from ferrule.ledger.audit.verify import find_anchor
from ferrule.ledger.audit.walk import UNREADABLE
from ferrule.ledger.chain import START
from ferrule.ledger.stores.entries import to_stored_entry
from ferrule.ledger.stores.sqlite.raw import SqliteSource
from ferrule.model.journal import StoredEntry
from ferrule.model.story import Story
from ferrule.model.timestamps import iso

_encode = msgspec.json.Encoder().encode
IsWanted = Callable[[dict[str, Any]], bool]


def export_rows(
    paths: LedgerPaths, target: Path, *, first: int = 0, last: int | None = None, has_payloads: bool = False
) -> int:
    """Writes rows to a verifiable file, and returns how many. Raises LedgerError.

    The private key seals the file if it is there; a part that ends before the ledger does needs it.
    """
    # Without the opening and the ending.
    return write_lines(target, stream_rows(paths, first=first, last=last, has_payloads=has_payloads)) - 2


def stream_rows(
    paths: LedgerPaths, *, first: int = 0, last: int | None = None, has_payloads: bool = False
) -> Generator[bytes]:
    """Yields the lines of such a file: an opening, the rows, an ending. Raises LedgerError, at the first line where it can."""
    key = load_key(paths.key) if paths.key.is_file() else None
    public = load_public_keys(paths)[0] if key is None else public_half(key)
    with SqliteSource(paths.ledger) as source, translate_damage(paths.ledger):
        opening, head = _make_opening(source, first, last, fingerprint(public), has_payloads)
        sign: Sign | None = None if key is None else key.sign
        rows = source.rows(opening.first, opening.last)
        try:
            yield from export_lines(rows, opening, head, sign)
        except UNREADABLE as error:
            raise SourceDamaged(f"a row cannot be written down: {type(error).__name__}") from None


def _make_opening(
    source: SqliteSource, first: int, last: int | None, public: str, has_payloads: bool
) -> tuple[ExportHeader, HeadRow | None]:
    heads, begin = source.heads(), next(source.rows(), None)
    if len(heads) != 1 or begin is None:
        raise LedgerError(f"the ledger {source.path} has no head or no rows; 'ferrule audit verify' tells more")
    head = heads[0]
    start, end = max(first, begin[0]), head.seq if last is None else min(last, head.seq)
    if start > end:
        raise LedgerError(f"there are no such rows: the ledger has rows {begin[0]} to {head.seq}")
    opening = ExportHeader(
        ferrule_export=VERSION,
        ledger=head.ledger,
        first=start,
        last=end,
        before=_hash_before(source, start).hex(),
        # A pruned ledger from its first row to its last is whole: it begins where its anchor says.
        is_part=start > 1 and not (start == begin[0] and end == head.seq),
        has_payloads=has_payloads,
        public_key=public,
        exported_at=iso(now()),
    )
    return opening, head if end == head.seq else None


def _hash_before(source: SqliteSource, seq: int) -> bytes:
    if seq == 1:
        return START
    anchor = find_anchor(source, Findings())
    if anchor is not None and anchor.last == seq - 1:
        return anchor.hash
    return source.hash_at(seq - 1) or START


def export_calls(paths: LedgerPaths, target: Path, *, first: int = 0, last: int | None = None) -> int:
    """Writes the `tool_invocation` record of every call whose last row is among these, and returns how many."""
    return write_lines(target, stream_calls(paths, first=first, last=last))


def stream_calls(
    paths: LedgerPaths, *, first: int = 0, last: int | None = None, is_wanted: IsWanted | None = None
) -> Generator[bytes]:
    """Yields the same records a line at a time: all, or the wanted ones. Raises LedgerError."""
    with SqliteSource(paths.ledger) as source, translate_damage(paths.ledger):
        yield from _stream_records(source, first, last, is_wanted)


def find_rows_between(paths: LedgerPaths, since: int | None, until: int | None) -> tuple[int, int | None]:
    """Returns the first and the last row of a time span, in microseconds since 1970; None without an end. Raises LedgerError."""
    with SqliteSource(paths.ledger) as source, translate_damage(paths.ledger):
        first = source.find_first_from(since) if since is not None else 0
        last = source.find_first_from(until) - 1 if until is not None else None
        if last is not None and last < max(first, source.find_bounds()[0]):
            raise LedgerError("there are no rows of that time")
        return first, last


def _stream_records(source: SqliteSource, first: int, last: int | None, is_wanted: IsWanted | None) -> Iterator[bytes]:
    for call in source.calls(first, last):
        try:
            entries = [_read_entry(row) for row in source.rows_of(call)]
            rows = [entry for entry in entries if entry.kind != "news"]
            if rows:  # a call with news alone has no record
                news = [entry for entry in entries if entry.kind == "news"]
                record = make_invocation_record(Story(rows, news))
                if is_wanted is None or is_wanted(record):
                    yield _encode(record) + b"\n"
        except UNREADABLE as error:
            raise SourceDamaged(f"the rows of {call!r} cannot be understood: {type(error).__name__}") from None


def _read_entry(values: tuple[object, ...]) -> StoredEntry:
    row = RawRow._make(values)
    return to_stored_entry(*row[:8], row.commitment is not None, row.mark, row.hash)


def write_lines(target: Path, lines: Iterable[bytes]) -> int:
    """Writes lines to a new file that only its owner can read, all or nothing; returns how many. Raises LedgerError."""
    part = target.with_name(f".{target.name}.part")
    count = 0
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            for line in lines:
                file.write(line)
                count += 1
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
        flush_folder(target.absolute().parent)
    except OSError as error:
        raise LedgerError(f"cannot write {target}: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
    return count
