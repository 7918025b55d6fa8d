"""Turns an entry into the row that is stored: judges its conditions, then encodes, salts and chains it.

The same for every kind of ledger. Conditions are judged against `ledger/tables`: the state first, then switch, key and
limits. It also says which open calls a process holds. It does not know files or transactions.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from ferrule.contracts.store import CommitCondition, Committed, Outcome
from ferrule.ledger.chain import NO_PAYLOAD, SALT_BYTES, START, compute_commitment, compute_row_hash, to_kind_number
from ferrule.ledger.tables import ALL_TOOLS, Tables
from ferrule.model.journal import KINDS, Entry, Kind, Mark, News, OpenCall, StoredEntry, encode

_NO_MARK = Mark()


def find_refusal(tables: Tables, entry: Entry, condition: CommitCondition) -> Committed | None:
    """Finds the reason why the row may not be written; None when it may. Checks the state first, then switch, key and
    limits."""
    call = tables.open_calls.get(entry.call)
    mark = entry.mark or _NO_MARK
    if not _matches_state(call, condition):
        return Committed("state_changed", state=call.state if call else "")
    if condition.is_on and mark.tool_id in tables.switches:
        return Committed("switched_off")
    taken = _find_key_refusal(tables, entry.call, mark) if condition.key_is_free else None
    return taken or _find_limit_refusal(tables, mark, condition.run_limits)


def _matches_state(call: OpenCall | None, condition: CommitCondition) -> bool:
    if call is None:
        return not condition.states and condition.owner is None and condition.seq is None
    return (
        (condition.states is None or call.state in condition.states)
        and (condition.owner is None or call.owner == condition.owner)
        and (condition.seq is None or call.seq == condition.seq)
    )


def _find_key_refusal(tables: Tables, call: str, mark: Mark) -> Committed | None:
    holder = tables.keys.get(mark.key) if mark.key else None
    if holder is None or holder.call == call:
        return None
    outcome: Outcome = "key_taken" if holder.input_digest == mark.input_digest else "key_conflict"
    return Committed(outcome, holder=holder.call)


def _find_limit_refusal(tables: Tables, mark: Mark, limits: tuple[tuple[str, int], ...]) -> Committed | None:
    for tool_id, allowed in limits:
        counts = tool_id in (ALL_TOOLS, mark.tool_id)
        if counts and tables.count_calls(mark.counted_run, tool_id) >= allowed:
            return Committed("limit_reached", limit=tool_id)
    return None


_WAITING = frozenset({"awaiting_approval", "approved", "needs_input"})


def is_running(call: OpenCall) -> bool:
    """Returns True unless the call waits for a person, or for a process to resume it: then no process has to be
    alive."""
    return bool(call.owner) and call.state not in _WAITING


# In the order of the journal's columns, without `commitment`, which is empty until a payload is erased.
Row = tuple[int, int, str, int, str, str, bytes, bytes | None, bytes, bytes]

MALFORMED = (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError, struct.error)
"""The errors of making a row from an entry that cannot be stored."""


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


def chain_row(entry: Entry, seq: int, before: bytes, at: int, salt: bytes) -> Row:
    """Makes the row of an entry as number `seq`, after the row with the hash `before` and the time `at`."""
    body = encode(entry.body)
    if entry.payload is None:
        salted, seal = None, NO_PAYLOAD
    else:
        salted = salt + encode(entry.payload)
        seal = compute_commitment(salted)
    mark = b"" if entry.mark is None else encode(entry.mark)
    # Times never go back along the chain, even when the clock does.
    moment = entry.at if entry.at > at else at
    kind = to_kind_number(entry.kind)
    row = compute_row_hash(before, seq, kind, entry.call, moment, entry.tool, entry.outcome, body, seal, mark)
    return (seq, kind, entry.call, moment, entry.tool, entry.outcome, body, salted, mark, row)


def to_stored_entry(
    seq: int, kind: int, call: str, at: int, tool: str, outcome: str, body: bytes, payload: bytes | None, is_erased: bool,
    mark: bytes, row: bytes,
) -> StoredEntry:  # fmt: skip
    """Converts a row to a stored entry, without the salt of its payload."""
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
