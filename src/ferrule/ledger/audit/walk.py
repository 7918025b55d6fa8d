"""One pass over a ledger's rows: numbers, times, hashes, erasures, histories and marks, with bounded memory.

The pass goes on after a finding, from what the file has, so that one changed row is one finding and not all rows after it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from hashlib import sha256 as _sha256
from typing import Any, get_args

import msgspec

from ferrule.contracts.ledger import RawRow, SourceDamaged
from ferrule.ledger.audit.findings import Findings
from ferrule.ledger.audit.histories import Anchor, Histories, RestoreRecord, from_facts
from ferrule.ledger.audit.tables import TableReplay
from ferrule.ledger.chain import CALL, ERASED, LAST_CALL_KIND, NEWS, NO_PAYLOAD, OPENED, PRUNED, START, compute_row_hash
from ferrule.model.journal import KINDS, News, NewsBody
from ferrule.model.value import JsonObject

_decode_facts = msgspec.msgpack.Decoder(dict[str, Any]).decode
_decode_news = msgspec.msgpack.Decoder(NewsBody).decode
_NEWS: frozenset[str] = frozenset(get_args(News))
UNREADABLE = (TypeError, ValueError, AttributeError, KeyError, IndexError, OverflowError, struct.error)
"""The errors that odd bytes in a row cause; msgspec's errors are ValueErrors."""
_PROGRESS_EVERY = 4_096

Progress = Callable[[int, int], None]
"""Receives how many rows are done, and how many there are."""


class Walk:
    """Checks rows in order, and remembers where they led."""

    def __init__(self, findings: Findings, *, is_whole: bool = True, has_payloads: bool = True) -> None:
        self.findings = findings
        self.is_whole = is_whole
        """False for a part that begins in the middle: what came before is not known."""
        self.has_payloads = has_payloads
        """False where payloads were left out, so that a missing one says nothing."""
        self.histories = Histories(findings, is_whole=is_whole)
        self.tables = TableReplay()
        self.before, self.last, self.at = START, 0, 0
        """Hash, number and time of the last row."""
        self.first, self.first_at = 0, 0
        self.count = 0
        self.ledger = ""
        """The id an `opened` or `pruned` row names."""
        self.anchor: Anchor | None = None
        self.restored: list[RestoreRecord] = []
        self._gone: set[int] = set()
        self._backed: set[int] = set()

    def begin(self, anchor: Anchor) -> None:
        """Starts where a `pruned` row says that the chain goes on."""
        self.anchor = anchor
        self.before, self.last, self.at = anchor.hash, anchor.last, anchor.last_at
        self.ledger, self.restored = anchor.ledger, list(anchor.restored)
        self.tables.begin(anchor)
        self.histories.open = dict(anchor.histories)

    def begin_part(self, before: bytes, last: int) -> None:
        """Starts in the middle, after a row of which only number and hash are known."""
        self.before, self.last = before, last

    def run(self, rows: Iterable[tuple[object, ...]], progress: Progress | None = None, total: int = 0) -> None:
        """Checks all rows. A source that breaks off is a finding."""
        try:
            for values in rows:
                self._feed(values)
                if progress is not None and self.count % _PROGRESS_EVERY == 0:
                    progress(self.count, total)
        except SourceDamaged as damage:
            where = f"after row {self.last}" if self.last else "at the first row"
            self.findings.add("file", f"rows cannot be read {where}: {damage}")

    def finish(self) -> None:
        """Reports what only the end of the rows shows."""
        for seq in sorted(self._gone - self._backed):
            self.findings.add("erasure", "its payload is gone, but no `erased` row names it", seq)

    def close(self) -> None:
        """Closes the tables of the pass."""
        self.tables.close()

    def _feed(self, values: tuple[Any, ...]) -> None:
        """Checks one row. Long, because nearly all the time of a check is spent here: one more call per row is
        measurable."""
        self.count += 1
        seq, kind, call, at, tool, outcome, body, payload, kept, mark, stored = values
        try:
            if payload is None:
                promise = NO_PAYLOAD if kept is None else kept
            else:
                promise = _sha256(payload).digest()
            if compute_row_hash(self.before, seq, kind, call, at, tool, outcome, body, promise, mark) != stored:
                self.findings.add("hash", "is not what was written, or does not follow the row before", seq, call)
            if seq != self.last + 1 or at < self.at or kept is not None:
                self._check_odd_row(RawRow._make(values))
        except UNREADABLE as error:
            self.findings.add("hash", f"cannot be hashed: {_shorten(error)}", _as_number(seq))
            self.last, self.before = _as_number(seq) or self.last + 1, _as_bytes(stored)
            return
        # The stored hash, not the computed one: one changed row is then one finding.
        self.before, self.last, self.at = stored, seq, at
        try:
            # The first row takes the other branch, which notes where the ledger begins.
            if kind == CALL and call and not mark and self.first:
                self.histories.feed_whole_call(seq, call, outcome, body)
            else:
                self._judge_row(RawRow._make(values))
        except UNREADABLE as error:
            self.findings.add("history", f"cannot be understood: {_shorten(error)}", seq, call)

    def _check_odd_row(self, row: RawRow) -> None:
        if row.seq != self.last + 1:
            self._report_order(row)
        if row.at < self.at:
            self.findings.add("time", "is earlier than the row before", row.seq, row.call)
        if row.commitment is not None and self.has_payloads:
            self._note_erased(row)

    def _report_order(self, row: RawRow) -> None:
        if self.last == 0 and self.anchor is None:
            self.findings.add(
                "sequence", f"rows 1 to {row.seq - 1} are missing, and no `pruned` row tells of it", row.seq
            )
        elif row.seq <= self.last:
            self.findings.add("sequence", f"comes after row {self.last}; it does not belong there", row.seq, row.call)
        else:
            self.findings.add(
                "sequence", f"comes after row {self.last}; {row.seq - self.last - 1} are missing", row.seq
            )

    def _note_erased(self, row: RawRow) -> None:
        self._gone.add(row.seq)
        if row.payload is not None:
            self.findings.add("erasure", "has both a payload and the commitment of an erased one", row.seq, row.call)

    def _judge_row(self, row: RawRow) -> None:
        if self.first == 0:
            self._check_first(row)
        if row.kind <= LAST_CALL_KIND:
            if not row.call:
                self.findings.add("history", f"is a row of kind `{KINDS[row.kind]}` but names no call", row.seq)
            self.histories.feed(row)
        elif row.kind == NEWS:
            self._check_news(row)
        elif row.kind >= ERASED:
            self._check_upkeep(row)
        if row.mark:
            self.tables.feed(row)

    def _check_first(self, row: RawRow) -> None:
        self.first, self.first_at = row.seq, row.at
        if row.seq == 1 and row.kind != OPENED:
            self.findings.add("sequence", "is the first row, and should be an `opened` row", 1, row.call)

    def _check_news(self, row: RawRow) -> None:
        """Checks news, which may come at any time: before a call's first row, after its last, and where a crash left
        no other."""
        _decode_news(row.body)
        if not row.call:
            self.findings.add("history", "is a row of kind `news` but names no call", row.seq)
        if row.outcome not in _NEWS:
            self.findings.add("history", f"is news of {row.outcome!r}, which does not exist", row.seq, row.call)
        if row.mark:
            self.findings.add("history", "is news, which moves nothing, but has a mark", row.seq, row.call)

    def _check_upkeep(self, row: RawRow) -> None:
        facts = _decode_facts(row.body)
        if row.kind == ERASED:
            self._check_erased(row, facts["rows"])
        elif row.kind == PRUNED:
            self._check_pruned(row, from_facts(facts))
        elif row.kind == OPENED:
            self._check_opened(row, facts)
        else:
            self.findings.add("history", f"is of kind number {row.kind}, which does not exist", row.seq)

    def _check_erased(self, row: RawRow, named: list[int]) -> None:
        for seq in named:
            # Rows before the first were pruned after they were erased.
            if seq >= self.first and seq not in self._gone and self.has_payloads:
                self.findings.add("erasure", f"has its payload, although row {row.seq} says it was erased", seq)
        self._backed.update(named)

    def _check_pruned(self, row: RawRow, anchor: Anchor) -> None:
        if anchor.last >= self.first and self.is_whole:
            text = f"says that rows up to {anchor.last} were removed, but row {self.first} is there"
            self.findings.add("pruning", text, row.seq)
        self._check_ledger(row, anchor.ledger)

    def _check_opened(self, row: RawRow, facts: JsonObject) -> None:
        self._check_ledger(row, facts.get("ledger", ""))
        if "lost_first" in facts:
            self.restored.append(RestoreRecord(row.seq, row.at, facts["lost_first"], facts["lost_last"]))

    def _check_ledger(self, row: RawRow, ledger: str) -> None:
        if ledger and self.ledger and ledger != self.ledger:
            self.findings.add("head", f"belongs to ledger {ledger!r}, the rows before to {self.ledger!r}", row.seq)
        self.ledger = ledger or self.ledger


def _as_number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _as_bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else START


def _shorten(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:120]
