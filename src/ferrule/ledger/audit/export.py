"""Exports the ledger as a file of JSON lines that proves itself: rows with their hashes, the signed head, the public
key.

The first line says what is in it, the last what it ends with. A part that stops before the ledger's last row is
sealed with the ledger's key, because no head vouches for it. Without payloads a row carries the commitment to its
own.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ferrule.contracts.ledger import HeadRow, RawRow, SourceDamaged, TableName
from ferrule.errors import LedgerError
from ferrule.ledger.audit.findings import AuditVerdict, Findings
from ferrule.ledger.audit.verify import check_head, find_anchor, is_signature, make_verdict
from ferrule.ledger.audit.walk import Progress, Walk
from ferrule.ledger.chain import CALL, ENDED, NEWS, PRUNED, compute_commitment, to_kind_number
from ferrule.model.journal import KINDS, Kind
from ferrule.model.timestamps import iso
from ferrule.model.value import JsonObject

VERSION = 1
_SEAL = b"ferrule ledger export 1\n"
_encode = msgspec.json.Encoder().encode

Sign = Callable[[bytes], bytes]


class ExportHeader(msgspec.Struct, kw_only=True):
    """The first line of an export."""

    ferrule_export: int
    ledger: str
    first: int
    last: int
    before: str
    """The hash of the row before the first, hex."""
    is_part: bool
    """True when it begins after the ledger's first row, so that what came before is not known."""
    has_payloads: bool
    public_key: str
    """Base64. Whoever trusts the file compares it with a key they know."""
    exported_at: str


class ExportRow(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One row."""

    seq: int
    kind: Kind
    call: str
    at: str
    at_us: int
    tool: str
    outcome: str
    body: bytes
    mark: bytes
    payload: bytes | None = None
    """Salt and payload."""
    commitment: bytes | None = None
    """In the place of a payload that was left out, or erased."""
    is_erased: bool = False
    hash: str


class ExportFooter(msgspec.Struct, kw_only=True):
    """The last line."""

    rows: int
    head: dict[str, Any] | None
    """The ledger's signed head, when the export goes up to it."""
    seal: bytes | None = None
    """A signature over all lines before, made for this export."""


def export_lines(
    rows: Iterable[tuple[object, ...]], opening: ExportHeader, head: HeadRow | None, sign: Sign | None
) -> Iterator[bytes]:
    """Yields the lines of an export. Needs `sign` when there is no head to end with. Raises LedgerError."""
    if head is None and sign is None:
        raise LedgerError("a part that ends before the ledger's last row needs the ledger's key, to be sealed with")
    digest = hashlib.sha256()
    count = 0
    for line in _encode_rows(rows, opening):
        digest.update(line)
        count += 1
        yield line
    said = None if head is None else _encode_head(head)
    # With a prefix of its own the seal can never be used as the head of a shortened ledger.
    seal = None if sign is None else sign(_SEAL + digest.digest())
    # The header is a line and no row.
    yield _encode(ExportFooter(rows=count - 1, head=said, seal=seal)) + b"\n"


def _encode_rows(rows: Iterable[tuple[object, ...]], opening: ExportHeader) -> Iterator[bytes]:
    yield _encode(opening) + b"\n"
    for values in rows:
        yield _encode(_make_row(RawRow._make(values), opening.has_payloads)) + b"\n"


def _make_row(row: RawRow, has_payload: bool) -> ExportRow:
    is_kept = has_payload and row.payload is not None
    promise = row.commitment
    if promise is None and row.payload is not None and not is_kept:
        promise = compute_commitment(row.payload)
    return ExportRow(
        seq=row.seq,
        kind=KINDS[row.kind],
        call=row.call,
        at=iso(row.at),
        at_us=row.at,
        tool=row.tool,
        outcome=row.outcome,
        body=row.body,
        mark=row.mark,
        payload=row.payload if is_kept else None,
        commitment=promise,
        is_erased=row.commitment is not None,
        hash=row.hash.hex(),
    )


def _encode_head(head: HeadRow) -> JsonObject:
    return {**head._asdict(), "hash": head.hash.hex(), "signature": b64encode(head.signature).decode()}


class ExportSource:
    """An export file, read as a ledger. Raises LedgerError when it is not one."""

    has_tables = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.opening = self._read_header()
        self.ending: ExportFooter | None = None
        self.digest = b""
        # An unnamed database spills to a temporary file, so the check needs no memory per call.
        self._scratch = sqlite3.connect("")
        self._scratch.execute("CREATE TABLE ends (call TEXT, seq INTEGER, is_end INTEGER)")

    def close(self) -> None:
        """Closes the scratch database."""
        self._scratch.close()

    def _read_header(self) -> ExportHeader:
        try:
            with self.path.open("rb") as file:
                # Bounded: a file that is no export may be one enormous line.
                opening = msgspec.json.decode(file.readline(1_000_000), type=ExportHeader)
        except OSError as error:
            raise LedgerError(f"the export {self.path} cannot be read: {error.strerror}") from None
        except msgspec.DecodeError:
            raise LedgerError(f"{self.path} is no export of a ledger: its first line is not the head of one") from None
        if opening.ferrule_export != VERSION:
            raise LedgerError(
                f"{self.path} is an export of version {opening.ferrule_export}; this Ferrule reads {VERSION}"
            )
        return opening

    def defects(self) -> Iterator[str]:
        """Yields nothing: a file of lines has no schema."""
        return iter(())

    def damage(self) -> Iterator[str]:
        """Yields nothing: an unreadable line is reported when it is read."""
        return iter(())

    def count(self) -> int:
        """Returns the number of rows the first line promises."""
        return self.opening.last - self.opening.first + 1

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yields the rows, in the order of the file. Afterwards `ending` and `digest` are known."""
        digest = hashlib.sha256()
        self.ending = None
        with self.path.open("rb") as file:
            digest.update(file.readline())
            for line in file:
                if self.ending is not None:
                    raise SourceDamaged("there are lines after the last one")
                # Only the footer begins so; the digest that it seals covers the lines before it.
                if line.startswith(b'{"rows"'):
                    self.ending = _decode(line, ExportFooter)
                    continue
                digest.update(line)
                yield _to_raw(_decode(line, ExportRow))
        self.digest = digest.digest()

    def checked_rows(self) -> Iterator[tuple[object, ...]]:
        """Yields the rows, remembering which calls ended."""
        for row in self.rows():
            if row[2] and row[1] != NEWS:
                self._scratch.execute("INSERT INTO ends VALUES (?, ?, ?)", (row[2], row[0], row[1] in (CALL, ENDED)))
            yield row

    def last_pruned(self) -> tuple[object, ...] | None:
        """Returns the latest `pruned` row."""
        found = None
        for row in self.rows():
            found = row if row[1] == PRUNED else found
        return found

    def heads(self) -> list[HeadRow]:
        """Returns the head of the last line, if it has one. Read the rows first."""
        said = self.ending.head if self.ending is not None else None
        if said is None:
            return []
        try:
            signature = b64decode(said["signature"])
            return [HeadRow(said["ledger"], said["seq"], bytes.fromhex(said["hash"]), said["at"], signature)]
        except (KeyError, ValueError, TypeError):
            return []

    def hash_at(self, seq: int) -> bytes | None:
        """Returns the hash of one row."""
        return next((row[-1] for row in self.rows() if row[0] == seq), None)

    def table(self, name: TableName) -> Iterator[tuple[object, ...]]:
        """Returns nothing: an export has no tables."""
        return iter(())

    def rows_after_the_end(self) -> Iterable[tuple[str, int]]:
        """Returns calls that have rows after the one that ended them."""
        return self._scratch.execute(
            "SELECT call, max(seq) FROM ends GROUP BY call "
            "HAVING sum(is_end) > 1 OR max(seq) > max(CASE WHEN is_end THEN seq END)"
        )


def verify_export(source: ExportSource, keys: Iterable[bytes], progress: Progress | None = None) -> AuditVerdict:
    """Verifies an export by itself: rows, hashes, histories, and the head or seal it ends with."""
    began = time.perf_counter()
    findings, trusted, opening = Findings(), tuple(keys), source.opening
    walk = Walk(findings, is_whole=not opening.is_part, has_payloads=opening.has_payloads)
    try:
        _begin_walk(source, walk, findings)
        walk.run(source.checked_rows(), progress, source.count())
        if source.ending is not None and source.ending.head is not None:
            walk.finish()  # in a part, what was erased may be recorded further on
        _check_end(source, walk, findings, trusted)
    except (SourceDamaged, ValueError) as damage:
        findings.add("file", str(damage))
    finally:
        walk.close()
    return make_verdict(walk, findings, _list_notes(opening), time.perf_counter() - began)


def _begin_walk(source: ExportSource, walk: Walk, findings: Findings) -> None:
    opening = source.opening
    if opening.is_part:
        walk.begin_part(bytes.fromhex(opening.before), opening.first - 1)
        return
    anchor = find_anchor(source, findings)
    if anchor is not None:
        walk.begin(anchor)


def _check_end(source: ExportSource, walk: Walk, findings: Findings, keys: tuple[bytes, ...]) -> None:
    ending, opening = source.ending, source.opening
    if ending is None:
        findings.add("file", f"the export breaks off after row {walk.last}")
        return
    for call, seq in source.rows_after_the_end():
        findings.add("history", "belongs to a call that had ended before", seq, call)
    if (walk.count, walk.last) != (ending.rows, opening.last) or (walk.count and walk.first != opening.first):
        findings.add("sequence", f"the export promises rows {opening.first} to {opening.last}, and has others")
    if ending.head is not None:
        check_head(source.heads(), walk, findings, keys)
    if ending.head is None or ending.seal is not None:
        _check_seal(source, ending, findings, keys)
    if walk.ledger and walk.ledger != opening.ledger:
        findings.add("head", f"the first line names ledger {opening.ledger!r}, the rows belong to {walk.ledger!r}")
    walk.ledger = opening.ledger


def _check_seal(source: ExportSource, ending: ExportFooter, findings: Findings, keys: tuple[bytes, ...]) -> None:
    if ending.seal is None:
        findings.add("head", "the export has neither the ledger's head nor a seal: nothing vouches for it")
    elif not is_signature(ending.seal, _SEAL + source.digest, keys):
        findings.add("head", "the export is not sealed with the ledger's key, or was changed since")


def _list_notes(opening: ExportHeader) -> list[str]:
    notes = ["an export holds rows alone: the tables that follow from them were not checked"]
    if opening.is_part:
        notes.append(f"it begins at row {opening.first}: calls that began before are judged only from there on")
    if not opening.has_payloads:
        notes.append("its payloads were left out; the rows hold the commitments to them")
    return notes


def _decode(line: bytes, kind: object) -> Any:
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.DecodeError as error:
        raise SourceDamaged(f"a line is no row: {error}") from None


def _to_raw(line: ExportRow) -> tuple[object, ...]:
    try:
        row = bytes.fromhex(line.hash)
    except ValueError:
        raise SourceDamaged(f"the hash of row {line.seq} is not hex") from None
    # The hash covers `at_us`, but people read `at`.
    if iso(line.at_us) != line.at:
        raise SourceDamaged(f"the two times of row {line.seq} differ")
    content = (line.body, line.payload, line.commitment, line.mark, row)
    return (line.seq, to_kind_number(line.kind), line.call, line.at_us, line.tool, line.outcome, *content)
