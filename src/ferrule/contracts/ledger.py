"""The contract of a ledger as an audit reads it: raw rows and tables, exactly as the file has them.

Stores and export files implement it. Values come as they are stored, of whatever type: somebody may have written
anything into the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, Protocol

TableName = Literal["open_calls", "idempotency", "runs", "switches"]

TABLES: dict[TableName, tuple[str, ...]] = {
    "open_calls": ("call", "state", "owner", "tool_id", "principal", "agent", "tenant", "expires_at", "seq"),
    "idempotency": ("key", "call", "input_digest", "seq"),
    "runs": ("run", "tool_id", "used"),
    "switches": ("tool_id", "seq"),
}
"""The derived tables with their columns."""
KEY_COLUMNS: dict[TableName, int] = {"open_calls": 1, "idempotency": 1, "runs": 2, "switches": 1}
"""How many of the first columns are the key."""


class RawRow(NamedTuple):
    """One row of the journal, column by column."""

    seq: int
    kind: int
    call: str
    at: int
    tool: str
    outcome: str
    body: bytes
    payload: bytes | None
    """Salt and payload."""
    commitment: bytes | None
    """Only where the payload was erased."""
    mark: bytes
    hash: bytes


class HeadRow(NamedTuple):
    """The signed last row."""

    ledger: str
    seq: int
    hash: bytes
    at: int
    signature: bytes


class SourceDamaged(Exception):
    """Reading stopped: the data cannot be read as a ledger."""


class LedgerSource(Protocol):
    """A ledger to check. All its answers belong to one moment. Raises SourceDamaged where reading fails."""

    has_tables: bool
    """False for an export, which holds rows alone."""

    def defects(self) -> Iterator[str]:
        """Yields how the data differs from the ledger's schema. Called first."""

    def damage(self) -> Iterator[str]:
        """Yields what is wrong with the container itself. Called last, because it may run in the background until then."""

    def count(self) -> int:
        """Returns about how many rows there are, for the progress bar."""

    def rows(self) -> Iterable[tuple[Any, ...]]:
        """Returns the journal in the order of `seq`, with the columns of `RawRow`."""

    def last_pruned(self) -> tuple[Any, ...] | None:
        """Returns the latest `pruned` row."""

    def heads(self) -> list[HeadRow]:
        """Returns the rows of the head table: exactly one, in a sound ledger."""

    def hash_at(self, seq: int) -> bytes | None:
        """Returns the hash of one row."""

    def table(self, name: TableName) -> Iterable[tuple[Any, ...]]:
        """Returns a derived table in the order of its key."""

    def rows_after_the_end(self) -> Iterable[tuple[str, int]]:
        """Returns calls that have rows after the one that ended them, each with such a row's number."""
