"""The shared part of the memory stores of one ledger: rows, tables, the chain, living instances."""

from __future__ import annotations

import os
import secrets
import threading
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.contracts.store import CallsWanted, CommitCondition, Committed, EndingCount
from ferrule.errors import LedgerUnavailable
from ferrule.ledger.chain import SALT_BYTES, format_head
from ferrule.ledger.stores.entries import (
    CANCEL_REQUESTED,
    EMPTY,
    MALFORMED,
    TELLING_KINDS,
    Row,
    Tail,
    chain_row,
    find_refusal,
    to_stored_entry,
)
from ferrule.ledger.stores.watchers import Watchers
from ferrule.ledger.stores.witness import Head
from ferrule.ledger.tables import Tables
from ferrule.model.journal import CALL_KINDS, LAST_KINDS, Entry, Kind, StoredEntry


class MemoryLedger:
    """One ledger. Its rows are numbered from 1, without gaps."""

    def __init__(self, key: Ed25519PrivateKey, clock: Callable[[], int]) -> None:
        self.rows: list[StoredEntry] = []
        self.tables = Tables()
        self.tail = EMPTY
        self.generation = 1
        self.living: set[str] = set()
        self.watchers = Watchers()
        self.id = f"ldg_{secrets.token_hex(12)}"
        self._key = key
        self._lock = threading.Lock()
        self._instances = 0
        self._calls: dict[str, list[StoredEntry]] = {}
        self._news: dict[str, list[StoredEntry]] = {}
        self._cancel_requests: list[StoredEntry] = []
        self.append(
            Entry("opened", "", clock(), "", "created", {"ledger": self.id, "schema_version": 0}), CommitCondition()
        )

    def new_instance(self) -> str:
        """Returns a name no other store of this ledger has."""
        with self._lock:
            self._instances += 1
            return f"memory-{self._instances}"

    def bump(self) -> None:
        """Increments the generation."""
        with self._lock:
            self.generation += 1

    def sign_head(self) -> Head:
        """Signs the last row."""
        seq, row, at = self.tail
        return Head(self.id, seq, row, at, self._key.sign(format_head(self.id, seq, row, at)))

    def append(self, entry: Entry, condition: CommitCondition) -> Committed:
        """Writes one row if the condition holds. Raises LedgerUnavailable when the entry cannot be stored."""
        with self._lock:
            refused = find_refusal(self.tables, entry, condition)
            if refused is not None:
                return refused
            self._store(entry, self._chain(entry))
        self.watchers.wake()
        return Committed("written", self.tail.seq)

    def rows_of(self, call: str) -> list[StoredEntry]:
        """Returns a call's rows in order, without its news."""
        return list(self._calls.get(call, ()))

    def news_of(self, call: str, after: int) -> list[StoredEntry]:
        """Returns a call's news after a number, in order."""
        return _list_after(self._news.get(call, ()), after)

    def cancel_requests(self, after: int) -> list[StoredEntry]:
        """Returns everybody's requests to cancel after a number, in order."""
        return _list_after(self._cancel_requests, after)

    def rows_before(
        self, seq: int | None, limit: int, kinds: Sequence[Kind], tool: str | None, outcome: str | None
    ) -> list[StoredEntry]:
        """Returns rows before a number that fit, newest first."""
        found: list[StoredEntry] = []
        last = len(self.rows) if seq is None else min(max(seq - 1, 0), len(self.rows))
        for number in range(last - 1, -1, -1):
            row = self.rows[number]
            if len(found) >= limit:
                break
            if (not kinds or row.kind in kinds) and tool in (None, row.tool) and outcome in (None, row.outcome):
                found.append(row)
        return found

    def calls_before(self, seq: int | None, limit: int, wanted: CallsWanted) -> list[StoredEntry]:
        """Returns the first rows of calls before a number that fit, newest first."""
        found: list[StoredEntry] = []
        for row in reversed(self.rows[: len(self.rows) if seq is None else max(seq - 1, 0)]):
            if len(found) >= limit or row.seq <= wanted.after:
                break
            if row.kind in CALL_KINDS and self._calls.get(row.call, [row])[0] is row and self._fits(row, wanted):
                found.append(row)
        return found

    def _fits(self, row: StoredEntry, wanted: CallsWanted) -> bool:
        return (
            _is_tool(row, wanted.tool)
            and (not wanted.outcomes or self._calls[row.call][-1].outcome in wanted.outcomes)
            and all(part in row.body for part in wanted.holding)
        )

    def seq_at(self, at: int) -> int:
        """Returns the first row at or after a time."""
        return bisect_left(self.rows, at, key=lambda row: row.at) + 1

    def endings(self, after: int, before: int, width: int, tool: str) -> list[EndingCount]:
        """Counts how calls ended."""
        counts = Counter(
            (row.at // width * width, row.outcome)
            for row in self.rows[max(after, 0) : max(before - 1, 0)]
            if row.kind in LAST_KINDS and _is_tool(row, tool)
        )
        return [EndingCount(at, outcome, count) for (at, outcome), count in sorted(counts.items())]

    def _chain(self, entry: Entry) -> Row:
        seq, row, at = self.tail
        try:
            return chain_row(entry, seq + 1, row, at, os.urandom(SALT_BYTES))
        except MALFORMED as error:
            raise LedgerUnavailable(
                f"the {entry.kind!r} row of call {entry.call!r} cannot be stored: {error}"
            ) from error

    def _store(self, entry: Entry, row: Row) -> None:
        seq, kind, call, at, tool, outcome, body, payload, mark, digest = row
        read = to_stored_entry(seq, kind, call, at, tool, outcome, body, payload, False, mark, digest)
        self.rows.append(read)
        if call:
            (self._news if entry.kind == "news" else self._calls).setdefault(call, []).append(read)
        if entry.kind == "news" and outcome == CANCEL_REQUESTED:
            self._cancel_requests.append(read)
        self.tail = Tail(seq, digest, at)
        if entry.mark is not None:
            self.tables.apply_mark(entry.kind, call, seq, entry.mark)
        if entry.kind in TELLING_KINDS:
            self.generation += 1


def _is_tool(row: StoredEntry, tool: str) -> bool:
    return not tool or row.tool == tool or row.tool.endswith(f".{tool}")


def _list_after(rows: Sequence[StoredEntry], seq: int) -> list[StoredEntry]:
    return list(rows[bisect_right(rows, seq, key=lambda row: row.seq) :])
