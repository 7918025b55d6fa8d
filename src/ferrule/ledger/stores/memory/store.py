"""A ledger in memory: the same rows, chain, conditions and tables as on disk, gone with the process.

Several stores may share one ledger, as processes share a file: `sibling` gives another, `crash` is what `kill -9` does to one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from ferrule.contracts.store import ALWAYS, ANY_CALL, CallsWanted, CommitCondition, Committed, EndingCount, KeyHolder
from ferrule.errors import LedgerUnavailable
from ferrule.infra.tasks import Certain, finish_uncancelled
from ferrule.ledger.stores.entries import is_running
from ferrule.ledger.stores.memory.ledger import MemoryLedger
from ferrule.ledger.stores.witness import Head
from ferrule.model.journal import Entry, Kind, OpenCall, StoredEntry, Switch

_QUEUE_LIMIT = 4096


def _now() -> int:
    return time.time_ns() // 1000


class MemoryStore:
    """Meets `contracts/store.py:Store` without a disk."""

    def __init__(
        self,
        key: Ed25519PrivateKey | None = None,
        *,
        behind_seconds: float = 0.25,
        clock: Callable[[], int] = _now,
        ledger: MemoryLedger | None = None,
    ) -> None:
        self.ledger = ledger or MemoryLedger(key or Ed25519PrivateKey.generate(), clock)
        """The ledger that siblings share."""
        self.instance = self.ledger.new_instance()
        self.refusal = ""
        """A reason to refuse every write, as a full disk would; empty: none."""
        self._behind = behind_seconds
        self._recorded: list[Entry] = []
        self._timer: asyncio.TimerHandle | None = None
        self._is_open = False

    def sibling(self) -> MemoryStore:
        """Returns another process's store over the same ledger. It has to be opened."""
        return MemoryStore(behind_seconds=self._behind, ledger=self.ledger)

    def crash(self) -> None:
        """Ends as `kill -9` ends a process: loses queued rows and abandons running calls."""
        self._recorded.clear()
        self._close()

    def sign_head(self) -> Head:
        """Signs the last row."""
        return self.ledger.sign_head()

    async def open(self) -> None:
        """Opens the ledger."""
        self._is_open = True
        self.ledger.living.add(self.instance)

    async def aclose(self) -> None:
        """Writes queued rows, then closes. Raises LedgerUnavailable with the number of rows that could not be
        written."""
        if not self._is_open:
            return
        lost = len(self._recorded) if self.refusal else 0
        if not lost:
            self._write_recorded()
        self._close()
        if lost:
            raise LedgerUnavailable(f"{lost} recorded rows could not be written: {self.refusal}")

    def generation(self) -> int:
        """Returns a number that changes with every switch, policy or parked call, by any store of this ledger."""
        return self.ledger.generation

    def bump(self) -> None:
        """Announces to every store of this ledger that something outside the rows changed."""
        self.ledger.bump()

    def record(self, entry: Entry) -> None:
        """Queues a row, written behind the answer. Raises LedgerUnavailable while rows cannot be written."""
        self._require_writable()
        self._recorded.append(entry)
        if len(self._recorded) >= _QUEUE_LIMIT:
            self._write_recorded()
        elif self._timer is None:
            self._write_later()

    async def commit(self, entry: Entry, condition: CommitCondition = ALWAYS) -> Committed:
        """Writes a row if the condition holds. Raises LedgerUnavailable when it is not written."""
        loop = asyncio.get_running_loop()
        future = Certain[Committed](loop=loop)
        loop.call_soon(self._append, future, entry, condition)  # as on disk, others may come between
        return await finish_uncancelled(future)

    def _append(self, future: Certain[Committed], entry: Entry, condition: CommitCondition) -> None:
        try:
            self._write_recorded()
            future.set_result(self.ledger.append(entry, condition))
        except Exception as error:  # the caller of `commit` gets it
            future.set_exception(error)

    async def flush(self) -> None:
        """Writes everything recorded so far. Raises LedgerUnavailable."""
        if self._recorded:
            self._write_recorded()

    def high_water(self) -> int:
        """Returns the latest time in the ledger."""
        return self.ledger.tail.at

    async def rows_of(self, call: str) -> list[StoredEntry]:
        """Returns a call's rows in order, without its news; what was recorded before is included."""
        await self.flush()
        return self.ledger.rows_of(call)

    async def news_of(self, call: str, after: int = 0, limit: int | None = None) -> list[StoredEntry]:
        """Returns a call's `news` rows after a number, in order; what was recorded before is included."""
        await self.flush()
        return self.ledger.news_of(call, after)[:limit]

    async def cancel_requests(self, after: int) -> list[StoredEntry]:
        """Returns all requests to cancel after a number, in order. One that was just recorded comes as soon as it is
        written."""
        return self.ledger.cancel_requests(after)

    async def rows_after(self, seq: int, limit: int = 500) -> list[StoredEntry]:
        """Returns rows after a number, in order. What was just recorded comes as soon as it is written."""
        return self.ledger.rows[max(seq, 0) : max(seq, 0) + limit]

    async def rows_before(
        self, seq: int | None, limit: int = 50, *, kinds: Sequence[Kind] = (), tool: str | None = None,
        outcome: str | None = None,
    ) -> list[StoredEntry]:  # fmt: skip
        """Returns rows before a number (None: from the end), newest first; what was recorded before is included."""
        await self.flush()
        return self.ledger.rows_before(seq, limit, kinds, tool, outcome)

    async def calls_before(
        self, seq: int | None, limit: int = 50, wanted: CallsWanted = ANY_CALL
    ) -> list[StoredEntry]:  # fmt: skip
        """Returns the first rows of calls before a number that fit, newest first; what was recorded before is
        included."""
        await self.flush()
        return self.ledger.calls_before(seq, limit, wanted)

    async def rows_of_calls(self, calls: Sequence[str]) -> dict[str, list[StoredEntry]]:
        """Returns the rows of several calls, without their news; what was recorded before is included."""
        await self.flush()
        return {call: rows for call in calls if (rows := self.ledger.rows_of(call))}

    async def seq_at(self, at: int) -> int:
        """Returns the first row at or after a time."""
        await self.flush()
        return self.ledger.seq_at(at)

    async def endings(self, after: int, before: int, width: int, tool: str = "") -> list[EndingCount]:
        """Returns how many calls ended how in rows between two numbers, for each `width` microseconds."""
        await self.flush()
        return self.ledger.endings(after, before, width, tool)

    async def wait_after(self, seq: int, timeout: float) -> bool:
        """Waits until there is a row after a number. False when the time is up."""
        until = time.monotonic() + timeout
        while self.ledger.tail.seq <= seq:
            left = until - time.monotonic()
            if left <= 0:
                return False
            # A row that another thread appends between the test and the wait wakes nobody, so no wait is long.
            await self.ledger.watchers.wait(min(left, 0.05))
        return True

    async def open_calls(self, *states: str) -> list[OpenCall]:
        """Returns the calls that have not ended, oldest first: all, or those in these states."""
        await self.flush()
        found = list(self.ledger.tables.open_calls.values())
        return sorted((call for call in found if not states or call.state in states), key=lambda call: call.seq)

    async def find_open(self, call: str) -> OpenCall | None:
        """Returns the call, if it has not ended."""
        await self.flush()
        return self.ledger.tables.open_calls.get(call)

    async def find_key(self, key: bytes) -> KeyHolder | None:
        """Finds the call that has an idempotency key."""
        await self.flush()
        holder = self.ledger.tables.keys.get(key)
        return KeyHolder(holder.call, holder.input_digest) if holder else None

    async def list_disabled(self) -> list[Switch]:
        """Returns the tools that are disabled."""
        await self.flush()
        return [Switch(tool_id, seq) for tool_id, seq in sorted(self.ledger.tables.switches.items())]

    async def find_abandoned(self) -> list[OpenCall]:
        """Returns running calls whose store has crashed or was closed."""
        calls = await self.open_calls()
        return [call for call in calls if is_running(call) and call.owner not in self.ledger.living]

    def _require_writable(self) -> None:
        if not self._is_open:
            raise LedgerUnavailable("the ledger is not open; nothing was recorded")
        if self.refusal:
            raise LedgerUnavailable(f"the ledger cannot be written: {self.refusal}; nothing was recorded")

    def _write_later(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # a thread without a loop: nothing would come back to it
            self._write_recorded()
        else:
            self._timer = loop.call_later(self._behind, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        if self._is_open and not self.refusal:
            self._write_recorded()

    def _write_recorded(self) -> None:
        self._require_writable()
        recorded, self._recorded = self._recorded, []
        for entry in recorded:
            self.ledger.append(entry, ALWAYS)

    def _close(self) -> None:
        self._is_open = False
        self.ledger.living.discard(self.instance)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
