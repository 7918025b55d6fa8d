"""From an entry to the row that is stored: encoded, salted, chained. The same for every kind of ledger."""

from __future__ import annotations

import struct
from typing import NamedTuple

from ferrule.ledger.chain import NO_PAYLOAD, SALT_BYTES, START, commitment, kind_number, row_hash
from ferrule.model.journal import KINDS, Entry, Kind, News, StoredEntry, encode

# In the order of the journal's columns, without `commitment`, which is empty until a payload is erased.
Row = tuple[int, int, str, int, str, str, bytes, bytes | None, bytes, bytes]

MALFORMED = (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError, struct.error)
"""What making a row raises when the entry holds something that cannot be stored."""


class Tail(NamedTuple):
    """The last row of a ledger."""

    seq: int
    hash: bytes
    at: int


EMPTY = Tail(0, START, 0)
TELLING_KINDS: frozenset[Kind] = frozenset({"answered", "catalog", "policy", "switch"})
"""Rows that every process must hear of at once: they change the generation."""

CANCEL_REQUESTED: News = "cancel_requested"
"""The outcome of the `news` every process looks for."""


def chained(entry: Entry, seq: int, before: bytes, at: int, salt: bytes) -> Row:
    """The row an entry becomes as number `seq`, after the row with the hash `before` and the time `at`."""
    body = encode(entry.body)
    if entry.payload is None:
        salted, seal = None, NO_PAYLOAD
    else:
        salted = salt + encode(entry.payload)
        seal = commitment(salted)
    mark = b"" if entry.mark is None else encode(entry.mark)
    moment = entry.at if entry.at > at else at
    kind = kind_number(entry.kind)
    row = row_hash(before, seq, kind, entry.call, moment, entry.tool, entry.outcome, body, seal, mark)
    return (seq, kind, entry.call, moment, entry.tool, entry.outcome, body, salted, mark, row)


def stored(
    seq: int, kind: int, call: str, at: int, tool: str, outcome: str, body: bytes, payload: bytes | None, is_erased: bool,
    mark: bytes, row: bytes,
) -> StoredEntry:  # fmt: skip
    """A row as it is read: without the salt of its payload."""
    return StoredEntry(
        seq=seq,
        kind=KINDS[kind],
        call=call,
        at=at,
        tool=tool,
        outcome=outcome,
        body=body,
        payload=None if payload is None else payload[SALT_BYTES:],
        is_erased=is_erased,
        mark=mark,
        hash=row,
    )
