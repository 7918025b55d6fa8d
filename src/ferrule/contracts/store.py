"""The contract of the ledger a runtime writes: an append-only journal with a hash chain, its derived tables, and the
witness.

The witness keeps signed heads in another place. How a store lays out its data is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec

from ferrule.model.journal import Entry, Kind, OpenCall, StoredEntry, Switch


class CommitCondition(msgspec.Struct, frozen=True):
    """The condition for writing a row. All of it is checked in the transaction that writes."""

    states: frozenset[str] | None = None
    """The call must be open in one of these states. Empty set: it must not be open at all. None: not checked."""
    owner: str | None = None
    """The call must belong to this process."""
    seq: int | None = None
    """The call's last row must be this one, so that nothing happened in between."""
    key_is_free: bool = False
    """The mark's idempotency key must not be taken by another call."""
    run_limits: tuple[tuple[str, int], ...] = ()
    """For the mark's `counted_run`: (tool id, or `*` for all tools; calls allowed). The row counts as one more call."""
    is_on: bool = False
    """The mark's tool must not be disabled."""


ALWAYS = CommitCondition()

Outcome = Literal["written", "state_changed", "key_taken", "key_conflict", "limit_reached", "switched_off"]


class Committed(msgspec.Struct, frozen=True):
    """The outcome of a commit."""

    outcome: Outcome
    seq: int = 0
    """The row's number, when it was written."""
    holder: str = ""
    """The call that has the key (`key_taken`: same input; `key_conflict`: another input)."""
    state: str = ""
    """The state the call is really in; empty when it is not open."""
    limit: str = ""
    """Which limit is reached: a tool id, or `*`."""


class CallsWanted(msgspec.Struct, frozen=True):
    """A filter over past calls. All of it has to hold."""

    after: int = 0
    """Begun after this row."""
    tool: str = ""
    """Of this tool: its id, or what comes after the last dot of it."""
    outcomes: tuple[str, ...] = ()
    """In one of these states now."""
    holding: tuple[bytes, ...] = ()
    """Bytes that each have to occur in the body of the call's first row: a quick filter before the exact one."""


ANY_CALL = CallsWanted()


class EndingCount(NamedTuple):
    """The number of calls that ended alike in one stretch of time."""

    at: int
    """When the stretch began: microseconds since 1970."""
    outcome: str
    calls: int


class KeyHolder(msgspec.Struct, frozen=True):
    """The holder of an idempotency key."""

    call: str
    input_digest: bytes


class Store(Protocol):
    """A ledger. Safe to use from one event loop and its threads; several processes may share one where it is on disk."""

    instance: str
    """Names this process among those that share the ledger; the owner of the calls it runs."""

    async def open(self) -> None:
        """Makes the ledger ready. Raises LedgerError when it cannot be used."""

    async def aclose(self) -> None:
        """Writes the waiting rows, then closes. Raises LedgerUnavailable with the number of rows that could not be
        written."""

    def generation(self) -> int:
        """Returns a number that changes when any process changes a switch, the local policy or an open call. Cheap:
        read for every call."""

    def bump(self) -> None:
        """Notifies every process that something outside the rows changed (policy file, catalog)."""

    def record(self, entry: Entry) -> None:
        """Writes a row behind the answer, within a second. Raises LedgerUnavailable while rows cannot be written."""

    async def commit(self, entry: Entry, condition: CommitCondition = ALWAYS) -> Committed:
        """Commits a row if the condition holds; durable when this returns. Raises LedgerUnavailable when it is not
        written, OutcomeUnrecorded when it cannot be known whether it was. A cancellation meanwhile is delivered
        afterwards."""

    async def flush(self) -> None:
        """Waits until everything recorded so far is on disk."""

    def high_water(self) -> int:
        """Returns the latest time in the ledger: expiry is judged by this when the machine's clock was set back."""

    async def rows_of(self, call: str) -> list[StoredEntry]:
        """Returns a call's rows in order, without its `news`; rows recorded before are included."""

    async def news_of(self, call: str, after: int = 0, limit: int | None = None) -> list[StoredEntry]:
        """Returns a call's `news` rows after a number, in order, all or the first `limit`; rows recorded before are
        included."""

    async def cancel_requests(self, after: int) -> list[StoredEntry]:
        """Returns all `news` rows with the outcome `cancel_requested` after a number, in order. Cheap when there are
        none."""

    async def rows_after(self, seq: int, limit: int = 500) -> list[StoredEntry]:
        """Returns rows after a number, in order."""

    async def rows_before(
        self, seq: int | None, limit: int = 50, *, kinds: Sequence[Kind] = (), tool: str | None = None,
        outcome: str | None = None,
    ) -> list[StoredEntry]:  # fmt: skip
        """Returns rows before a number (None: from the end), newest first."""

    async def calls_before(
        self, seq: int | None, limit: int = 50, wanted: CallsWanted = ANY_CALL
    ) -> list[StoredEntry]:  # fmt: skip
        """Returns the first rows of calls that began before a row (None: from the end), newest first. For a call whose
        beginning was pruned, the first row that is left."""

    async def rows_of_calls(self, calls: Sequence[str]) -> dict[str, list[StoredEntry]]:
        """Returns the rows of several calls, as `rows_of` does for one; calls without any are left out."""

    async def seq_at(self, at: int) -> int:
        """Returns the number of the first row at or after a time; one more than the last when there is none."""

    async def endings(self, after: int, before: int, width: int, tool: str = "") -> list[EndingCount]:
        """Counts how calls ended in rows between two numbers, for each `width` microseconds. `tool`: as in
        `CallsWanted`."""

    async def wait_after(self, seq: int, timeout: float) -> bool:
        """Waits until there is a row after a number, written by any process. Returns False on timeout."""

    async def open_calls(self, *states: str) -> list[OpenCall]:
        """Returns the calls that have not ended, oldest first: all, or those in these states."""

    async def find_open(self, call: str) -> OpenCall | None:
        """Returns the call, if it has not ended."""

    async def find_key(self, key: bytes) -> KeyHolder | None:
        """Returns the holder of an idempotency key."""

    async def list_disabled(self) -> list[Switch]:
        """Returns the tools that are disabled."""

    async def find_abandoned(self) -> list[OpenCall]:
        """Returns running calls whose process is gone."""


class Witness(Protocol):
    """One place that keeps heads. Called from a thread of its own, never while a call waits."""

    def write(self, ledger: str, seq: int, row: bytes, at: int, signature: bytes) -> None:
        """Stores one head: the ledger's id, its last row's number, hash and time, the signature. May raise; the write
        is retried."""
