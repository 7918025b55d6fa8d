"""The embedded ledger: one SQLite file, one writer thread, one reader thread, a bell between processes."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from ferrule.contracts.store import (
    ALWAYS,
    ANY_CALL,
    CallsWanted,
    CommitCondition,
    Committed,
    EndingCount,
    KeyHolder,
    Witness,
)
from ferrule.errors import LedgerError, LedgerUnavailable
from ferrule.infra.tasks import Certain, finish_uncancelled
from ferrule.ledger.stores.entries import is_running
from ferrule.ledger.stores.sqlite.bell import Bell
from ferrule.ledger.stores.sqlite.connection import LedgerKeys, make_unusable_error, open_ledger
from ferrule.ledger.stores.sqlite.group import CommitWaiter, Group
from ferrule.ledger.stores.sqlite.instances import Instance, is_alive, make_name, sweep
from ferrule.ledger.stores.sqlite.reader import LedgerReader
from ferrule.ledger.stores.sqlite.transaction import Transactions
from ferrule.ledger.stores.sqlite.writer import Writer
from ferrule.ledger.stores.watchers import Watchers
from ferrule.ledger.stores.witness import Head, WitnessThread
from ferrule.model.journal import Entry, Kind, OpenCall, StoredEntry, Switch

_log = logging.getLogger("ferrule.ledger")
_POLL_SECONDS = 0.05
_LOOK_SECONDS = 1.0
_PROBLEMS_KEPT = 100


def _now() -> int:
    return time.time_ns() // 1000


class SqliteStore:
    """A ledger in one file. Meets `contracts/store.py:Store`; several processes may have the same file open.

    Next to the file stand `<name>.bell` and `instances/`; both can be deleted while nobody has the ledger open.
    """

    _writer: Writer
    _reader: LedgerReader
    _bell: Bell
    _place: Instance

    def __init__(
        self,
        path: Path,
        key: Ed25519PrivateKey,
        *,
        trusted: Sequence[Ed25519PublicKey] = (),
        witness: Witness | None = None,
        behind_seconds: float = 0.25,
        clock: Callable[[], int] = _now,
    ) -> None:
        self.instance = make_name()
        self.problems: deque[str] = deque(maxlen=_PROBLEMS_KEPT)
        """Recent problems that stopped no call: of the disk, the witness, the bell. Newest last."""
        self._path = Path(path)
        self._keys = LedgerKeys(key, tuple(trusted))
        self._witness = witness
        self._behind, self._clock = behind_seconds, clock
        self._watchers = Watchers()
        self._witness_thread: WitnessThread | None = None
        self._is_open = False
        self._last_seq = self._latest = 0
        self._lost_rings = 0
        self._marked = self._marked_written = 0

    async def open(self) -> None:
        """Opens the ledger. Raises LedgerError when the file cannot be used."""
        await asyncio.to_thread(self._open)
        self._last_seq, self._latest = await self._reader.last()

    async def aclose(self) -> None:
        """Writes queued rows, then closes. Raises LedgerUnavailable with the number of rows that could not be
        written."""
        if self._is_open:
            await asyncio.to_thread(self._close)

    def generation(self) -> int:
        """Returns a number that changes with every switch, policy or parked call, by any process."""
        return self._bell.read_generation() + self._lost_rings

    def bump(self) -> None:
        """Announces to every process that something outside the rows changed."""
        try:
            self._bell.ring()
        except OSError as error:
            # This process at least has to see its own change.
            self._lost_rings += 1
            self._report(f"other processes did not get a change: {error}")

    def record(self, entry: Entry) -> None:
        """Queues a row, written behind the answer. Raises LedgerUnavailable while rows cannot be written."""
        if entry.mark is not None:
            self._marked += 1
        self._writer.record(entry)

    async def commit(self, entry: Entry, condition: CommitCondition = ALWAYS) -> Committed:
        """Writes a row if the condition holds; durable when this returns. Raises LedgerUnavailable,
        OutcomeUnrecorded.

        A cancellation waits until the outcome is known, and is delivered at the next await.
        """
        future = Certain[Committed](loop=asyncio.get_running_loop())
        self._writer.submit(CommitWaiter(future, entry, condition))
        return await finish_uncancelled(future)

    async def flush(self) -> None:
        """Waits until everything recorded so far is on disk. Raises LedgerUnavailable."""
        if self._writer.is_idle():
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._writer.submit(CommitWaiter(future))
        await future

    def high_water(self) -> int:
        """Returns the latest time in the ledger."""
        return max(self._latest, self._bell.read_latest())

    async def rows_of(self, call: str) -> list[StoredEntry]:
        """Returns a call's rows in order, without its news; what was recorded before is included."""
        await self.flush()
        return await self._reader.rows_of(call)

    async def news_of(self, call: str, after: int = 0, limit: int | None = None) -> list[StoredEntry]:
        """Returns a call's `news` rows after a number, in order; what was recorded before is included."""
        await self.flush()
        return await self._reader.news_of(call, after, limit)

    async def cancel_requests(self, after: int) -> list[StoredEntry]:
        """Returns all requests to cancel after a number, in order. One that was just recorded comes as soon as it is
        written."""
        return await self._reader.cancel_requests(after)

    async def rows_after(self, seq: int, limit: int = 500) -> list[StoredEntry]:
        """Returns rows after a number, in order. What was just recorded comes as soon as it is written."""
        return await self._reader.rows_after(seq, limit)

    async def rows_before(
        self, seq: int | None, limit: int = 50, *, kinds: Sequence[Kind] = (), tool: str | None = None,
        outcome: str | None = None,
    ) -> list[StoredEntry]:  # fmt: skip
        """Returns rows before a number (None: from the end), newest first; what was recorded before is included."""
        await self.flush()
        return await self._reader.rows_before(seq, limit, kinds, tool, outcome)

    async def calls_before(
        self, seq: int | None, limit: int = 50, wanted: CallsWanted = ANY_CALL
    ) -> list[StoredEntry]:  # fmt: skip
        """Returns the first rows of calls before a number that fit, newest first; what was recorded before is
        included."""
        await self.flush()
        return await self._reader.calls_before(seq, limit, wanted)

    async def rows_of_calls(self, calls: Sequence[str]) -> dict[str, list[StoredEntry]]:
        """Returns the rows of several calls, without their news; what was recorded before is included."""
        await self.flush()
        return await self._reader.rows_of_calls(calls)

    async def seq_at(self, at: int) -> int:
        """Returns the first row at or after a time."""
        await self.flush()
        return await self._reader.seq_at(at)

    async def endings(self, after: int, before: int, width: int, tool: str = "") -> list[EndingCount]:
        """Returns how many calls ended how in rows between two numbers, for each `width` microseconds."""
        await self.flush()
        return await self._reader.endings(after, before, width, tool)

    async def wait_after(self, seq: int, timeout: float) -> bool:
        """Waits until there is a row after a number, also one of another process. False when the time is up."""
        until = time.monotonic() + timeout
        stamp, look_at = b"", 0.0
        while self._last_seq <= seq:
            now = time.monotonic()
            # Before the last row is read: one that is written in between changes the stamp again.
            newest = self._bell.read_stamp()
            # Also without a new stamp, now and then: a process that could not write the bell announced nothing.
            if newest != stamp or now >= look_at:
                stamp, look_at = newest, now + _LOOK_SECONDS
                await self._read_last()
                continue
            if now >= until:
                return False
            await self._watchers.wait(min(_POLL_SECONDS, until - now))
        return True

    async def open_calls(self, *states: str) -> list[OpenCall]:
        """Returns the calls that have not ended, oldest first: all, or those in these states."""
        await self._flush_marks()
        return await self._reader.open_calls(states)

    async def find_open(self, call: str) -> OpenCall | None:
        """Returns the call, if it has not ended."""
        await self._flush_marks()
        return await self._reader.find_open(call)

    async def find_key(self, key: bytes) -> KeyHolder | None:
        """Finds the call that has an idempotency key."""
        await self._flush_marks()
        return await self._reader.find_key(key)

    async def list_disabled(self) -> list[Switch]:
        """Returns the tools that are disabled."""
        await self._flush_marks()
        return await self._reader.list_disabled()

    async def find_abandoned(self) -> list[OpenCall]:
        """Returns running calls whose process is gone."""
        running = [call for call in await self.open_calls() if is_running(call)]
        owners = {call.owner for call in running}
        dead = await asyncio.to_thread(self._find_dead, owners)
        return [call for call in running if call.owner in dead]

    def _open(self) -> None:
        with contextlib.ExitStack() as undo:
            connection = open_ledger(self._path, self._keys, self._clock)
            undo.callback(connection.close)
            try:
                self._bell = Bell(self._path.with_name(self._path.name + ".bell"))
                undo.callback(self._bell.close)
                self._place = Instance(self._path.parent / "instances", self.instance)
            except OSError as error:
                raise make_unusable_error(self._path, error) from error
            undo.pop_all()
        self._start(connection)

    def _start(self, connection: sqlite3.Connection) -> None:
        if self._witness is not None:
            self._witness_thread = WitnessThread(self._witness, self._report)
        self._reader = LedgerReader(self._path)
        self._writer = Writer(
            Transactions(self._path, connection, self._keys),
            behind_seconds=self._behind,
            written=self._on_written,
            report=self._report,
        )
        self._is_open = True
        atexit.register(self._close_at_exit)

    def _close(self) -> None:
        self._is_open = False
        atexit.unregister(self._close_at_exit)
        # The writer ends first: its last groups still ring the bell and go to the witness.
        lost = self._writer.close()
        self._reader.close()
        if self._witness_thread is not None:
            self._witness_thread.close()
        self._place.close()
        self._bell.close()
        if lost:
            raise LedgerUnavailable(
                f"{lost} recorded rows could not be written to {self._path}: {self._writer.failure}"
            )

    def _close_at_exit(self) -> None:
        """Closes the store at exit, for programs that forget to."""
        with contextlib.suppress(LedgerError):
            self._close()

    def _on_written(self, group: Group) -> None:
        """Publishes a commit. Runs in the writer's thread, before any waiter gets its answer."""
        if group.first is None:
            return
        self._last_seq, self._latest = group.tail.seq, group.tail.at
        # `commit` counts none of its entries, so only recorded ones are counted here.
        self._marked_written += sum(entry.mark is not None for entry in group.unawaited_entries)
        with contextlib.suppress(OSError):
            self._bell.mark_written(group.tail.at)
        if group.is_telling:
            self.bump()
        if self._witness_thread is not None:
            self._witness_thread.offer(
                Head(group.ledger, group.tail.seq, group.tail.hash, group.tail.at, group.signature)
            )
        self._watchers.wake()

    async def _read_last(self) -> None:
        seq, at = await self._reader.last()
        # The writer's thread may have gone further while this was read.
        self._last_seq, self._latest = max(seq, self._last_seq), max(at, self._latest)

    async def _flush_marks(self) -> None:
        """Flushes when a queued row has a mark: only those change the tables that the caller reads."""
        if self._marked != self._marked_written:
            await self.flush()

    def _find_dead(self, owners: set[str]) -> set[str]:
        folder = self._path.parent / "instances"
        dead = {owner for owner in owners if owner != self.instance and not is_alive(folder, owner)}
        sweep(folder, owners)
        return dead

    def _report(self, problem: str) -> None:
        self.problems.append(problem)
        _log.warning("%s: %s", self._path, problem)
