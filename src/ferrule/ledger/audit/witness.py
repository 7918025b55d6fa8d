"""Compares the signed heads that a witness recorded, one JSON object a line, with the rows of the ledger.

A sighting that fits its row needs no more proof. One that does not fit counts if its signature is good: then the
ledger was put back or replaced. If it is not, the witness itself was damaged.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from ferrule.ledger.audit.findings import Findings
from ferrule.ledger.audit.histories import RestoreRecord
from ferrule.ledger.audit.walk import Walk


class Sighting(NamedTuple):
    """One head as the witness wrote it down."""

    ledger: str
    seq: int
    hash: bytes
    at: int
    signature: bytes
    line: int


class _Line(msgspec.Struct):
    ledger: str
    seq: int
    hash: str
    at: int
    signature: str


_decode_line = msgspec.json.Decoder(_Line).decode


def read_witness(lines: Iterable[bytes]) -> Iterator[Sighting]:
    """Yields the sightings of a witness file. An unreadable line is a sighting of nothing, so that it is counted."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            read = _decode_line(line)
            yield Sighting(
                read.ledger, read.seq, _decode_bytes(read.hash), read.at, _decode_bytes(read.signature), number
            )
        except (ValueError, binascii.Error):
            yield Sighting("", 0, b"", 0, b"", number)


def check_witness(
    sightings: Iterable[Sighting],
    walk: Walk,
    hash_at: Callable[[int], bytes | None],
    is_genuine: Callable[[Sighting], bool],
    findings: Findings,
) -> list[str]:
    """Compares every sighting with the rows; returns notes. The rows have been checked before, up to the signed head."""
    seen, unread, given_up, furthest = 0, 0, 0, 0
    for sighting in sightings:
        if not sighting.ledger:
            unread += 1
            continue
        seen += 1
        if _fits(sighting, walk, hash_at):
            furthest = max(furthest, sighting.seq)
        elif not is_genuine(sighting):
            findings.add("witness", f"line {sighting.line} of the witness is not signed with the ledger's key")
        elif _was_given_up(sighting, walk):
            given_up += 1
        else:
            findings.add("witness", _describe_problem(sighting, walk), sighting.seq)
    if not seen:
        findings.add("witness", "the witness holds no head: it cannot vouch for this ledger")
    return _list_notes(walk, furthest, given_up, unread)


def _fits(sighting: Sighting, walk: Walk, hash_at: Callable[[int], bytes | None]) -> bool:
    if sighting.ledger != walk.ledger or sighting.seq > walk.last:
        return False
    anchor = walk.anchor
    if anchor is not None and sighting.seq <= anchor.last:
        return sighting.seq < anchor.last or sighting.hash == anchor.hash  # rows that were removed cannot be compared
    return hash_at(sighting.seq) == sighting.hash


def _was_given_up(sighting: Sighting, walk: Walk) -> bool:
    """Returns True when a recorded restore gave up the row that was seen."""
    return sighting.ledger == walk.ledger and any(_covers(restored, sighting) for restored in walk.restored)


def _covers(restored: RestoreRecord, sighting: Sighting) -> bool:
    is_in = restored.first <= sighting.seq and (restored.last is None or sighting.seq <= restored.last)
    # A head from after the restore is not one that it gave up: a later rollback must not hide behind it.
    return is_in and sighting.at <= restored.at


def _describe_problem(sighting: Sighting, walk: Walk) -> str:
    if sighting.ledger != walk.ledger:
        return f"the witness saw ledger {sighting.ledger!r} here (line {sighting.line}): this one took its place"
    if sighting.seq > walk.last:
        return f"the witness saw row {sighting.seq} (line {sighting.line}); this ledger ends with row {walk.last}: put back"
    return f"the witness saw another row {sighting.seq} (line {sighting.line}): the ledger was put back and went another way"


def _list_notes(walk: Walk, furthest: int, given_up: int, unread: int) -> list[str]:
    notes = []
    if furthest:
        notes.append(f"the witness vouches for the rows up to {furthest} of {walk.last}")
    if given_up:
        notes.append(f"{given_up} heads in the witness are of rows that a recorded restore gave up")
    if unread:
        notes.append(f"{unread} lines of the witness cannot be read; a crash may leave half a line")
    return notes


def _decode_bytes(text: Any) -> bytes:
    """Decodes hex, or base64 where it is no hex."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        return base64.b64decode(text, validate=True)
