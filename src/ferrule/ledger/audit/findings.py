"""The findings of a ledger check, and the verdict over all of them."""

from __future__ import annotations

from typing import Literal

import msgspec

Topic = Literal[
    "file",  # the file itself is damaged
    "schema",  # tables, columns, indexes, triggers or views are not those of the ledger
    "sequence",  # rows are missing, added or out of order
    "hash",  # a row is not what was hashed, or does not follow the row before
    "time",  # a row is earlier than the row before
    "head",  # the signed head does not fit the rows
    "table",  # a derived table is not what the rows give
    "erasure",  # a payload is gone without a record, or there in spite of one
    "pruning",  # the start is not backed by a record
    "history",  # a call's rows are no legal history
    "approval",  # something ran that had to be approved first, and was not
    "witness",  # the witness saw something else
]

KEPT = 1_000
"""Findings kept one by one; a ruined ledger of a million rows must not fill the memory with sentences about it."""


class AuditFinding(msgspec.Struct, frozen=True):
    """One thing that is wrong."""

    topic: Topic
    message: str
    """The problem, and the thing it is about."""
    seq: int | None = None
    """The row, where it is about one."""
    call: str = ""
    """The invocation id, where it is about one."""


class Findings:
    """The findings of one check: counts all, keeps the first thousand."""

    def __init__(self) -> None:
        self.kept: list[AuditFinding] = []
        self.count = 0

    def add(self, topic: Topic, message: str, seq: int | None = None, call: str = "") -> None:
        """Adds one finding."""
        self.count += 1
        if len(self.kept) < KEPT:
            self.kept.append(AuditFinding(topic, message, seq, call))


class AuditVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of the check of a whole ledger."""

    ledger: str
    """The ledger's id, as its head has it."""
    rows: int
    first_seq: int
    last_seq: int
    head_hash: str
    """The last row's hash, hex."""
    findings: tuple[AuditFinding, ...]
    finding_count: int
    """All of them; more than are listed when there are very many."""
    notes: tuple[str, ...]
    """Limits of the check, and observations that are not wrong."""
    seconds: float = 0.0

    @property
    def is_clean(self) -> bool:
        """True when nothing is wrong."""
        return self.finding_count == 0
