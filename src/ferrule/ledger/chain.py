"""The hash chain of the ledger: each row's hash covers the row and the hash before it; a signed head covers the last.

Pure functions over bytes, and the numbers that kinds of rows are stored with. Stores chain rows with it, `ledger/audit`
checks them with it. A payload enters as a salted commitment, so it can be destroyed without breaking the chain.
It does not know where rows are kept.
"""

from __future__ import annotations

import hashlib
import struct

from ferrule.model.journal import KINDS, Kind

START = bytes(32)
"""The hash before the first row."""
NO_PAYLOAD = bytes(32)
"""The commitment of a row that has no payload."""
SALT_BYTES = 16

_KIND_NUMBERS: dict[str, int] = {kind: number for number, kind in enumerate(KINDS)}
_FIXED = struct.Struct("<qqBIIIII")
_HEAD = struct.Struct("<qq")
_HEAD_PREFIX = b"ferrule ledger head 1\n"


def to_kind_number(kind: Kind) -> int:
    """Returns the number a kind is stored with."""
    return _KIND_NUMBERS[kind]


def compute_commitment(salted: bytes) -> bytes:
    """Computes the commitment that a row's hash covers instead of its payload: `salted` is 16 random bytes and the
    payload."""
    return hashlib.sha256(salted).digest()


def compute_row_hash(
    before: bytes,
    seq: int,
    kind: int,
    call: str,
    at: int,
    tool: str,
    outcome: str,
    body: bytes,
    payload_commitment: bytes,
    mark: bytes,
) -> bytes:
    """Computes the hash of a row: every column, each with its length, after the hash of the row before."""
    call_text, tool_text, outcome_text = call.encode(), tool.encode(), outcome.encode()
    fixed = _FIXED.pack(seq, at, kind, len(call_text), len(tool_text), len(outcome_text), len(mark), len(body))
    parts = (before, fixed, payload_commitment, call_text, tool_text, outcome_text, mark, body)
    return hashlib.sha256(b"".join(parts)).digest()


def format_head(ledger: str, seq: int, row: bytes, at: int) -> bytes:
    """Formats the text that a head's signature covers: which ledger, how many rows, the last row's hash, when."""
    return _HEAD_PREFIX + ledger.encode() + b"\n" + _HEAD.pack(seq, at) + row


CALL, PARKED, ANSWERED = to_kind_number("call"), to_kind_number("parked"), to_kind_number("answered")
STARTED, ENDED, UNKNOWN = to_kind_number("started"), to_kind_number("ended"), to_kind_number("unknown")
SWITCH, ERASED, PRUNED, OPENED = (
    to_kind_number("switch"), to_kind_number("erased"), to_kind_number("pruned"), to_kind_number("opened"),
)  # fmt: skip
NEWS = to_kind_number("news")
LAST_CALL_KIND = UNKNOWN
"""Kinds up to this one move calls."""
