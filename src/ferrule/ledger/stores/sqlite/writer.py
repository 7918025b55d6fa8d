"""The one thread that writes. While it waits for the disk, the next group gathers.

Entries come in through a queue. Those nobody waits for stay there a moment, so that one commit serves many. When the disk
refuses, whoever waits is told the truth, the others stay in the queue, and the thread tries again until it works.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from ferrule.errors import LedgerError, LedgerUnavailable, OutcomeUnrecorded
from ferrule.ledger.stores.entries import MALFORMED
from ferrule.ledger.stores.sqlite.group import CommitWaiter, Group, GroupItem, answer_waiters
from ferrule.ledger.stores.sqlite.transaction import CommitFailed, Transactions
from ferrule.model.journal import Entry

QUEUE_LIMIT = 4096
"""More recorded entries than this do not wait: whoever records has to."""
GROUP_LIMIT = 512
_ENOUGH = 256
_ROOM_SECONDS = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
_CLOSING_ATTEMPTS = 4
_CLOSED = "the ledger is closed; nothing was recorded"
_POISON = (sqlite3.DataError, sqlite3.IntegrityError, *MALFORMED)
"""An entry was refused, not the disk: the others of its group can still be written."""


class Writer:
    """The queue and its thread. `record`, `submit` and `close` may be called from any thread."""

    def __init__(
        self,
        transactions: Transactions,
        *,
        behind_seconds: float,
        written: Callable[[Group], None],
        report: Callable[[str], None],
    ) -> None:
        self.failure = ""
        """Why nothing can be written now; empty while it can."""
        self._transactions, self._behind = transactions, behind_seconds
        self._written, self._report = written, report
        self._doubtful: Group | None = None
        self._queue: deque[GroupItem] = deque()
        self._limit = QUEUE_LIMIT
        self._wake_at = 1
        self._is_asleep = self._is_urgent = self._is_closing = False
        # Always held: releasing it is the wake-up call.
        self._signal = threading.Lock()
        self._signal.acquire()
        self._thread = threading.Thread(target=self._run, name="ferrule-ledger", daemon=True)
        self._thread.start()

    def record(self, entry: Entry) -> None:
        """Queue an entry nobody waits for. Raises LedgerUnavailable."""
        queue = self._queue
        if len(queue) >= self._limit:
            self._make_room()
        # Without a lock: a deque's own operations are atomic, and this runs for every call.
        queue.append(entry)
        # Waking the thread costs more than the row: it is left asleep until a group is worth writing.
        if self._is_asleep and len(queue) >= self._wake_at:
            self._wake()

    def submit(self, waiting: CommitWaiter) -> None:
        """Queue an entry somebody waits for, or a wish to have everything on disk. Raises LedgerUnavailable."""
        if self._is_closing:
            raise LedgerUnavailable(_CLOSED)
        self._queue.append(waiting)
        self._is_urgent = True
        if self._is_asleep:
            self._wake()

    def is_idle(self) -> bool:
        """True when nothing is queued, being written or in doubt."""
        # Only the sleep of an empty queue asks for one entry; the others have some, or a failing disk.
        return self._wake_at == 1 and self._is_asleep and not self._queue

    def close(self) -> int:
        """Write what is queued and end; gives how many recorded entries could not be written."""
        self._is_closing = self._is_urgent = True
        # `record` then goes through `_make_room`, which refuses.
        self._limit = 0
        self._wake()
        self._thread.join()
        left = list(self._queue) + (list(self._doubtful.unawaited_entries) if self._doubtful else [])
        return sum(type(item) is Entry for item in left)

    def _make_room(self) -> None:
        """Let the writer catch up: it gets the processor while we wait."""
        until = time.monotonic() + _ROOM_SECONDS
        while len(self._queue) >= self._limit:
            if self._is_closing:
                raise LedgerUnavailable(_CLOSED)
            if self.failure or time.monotonic() > until:
                raise LedgerUnavailable(_explain(self.failure or "the disk does not keep up"))
            time.sleep(0.0005)

    def _wake(self) -> None:
        self._is_asleep = False
        with contextlib.suppress(RuntimeError):  # it is being woken already
            self._signal.release()

    def _sleep(self, wake_at: int, seconds: float) -> None:
        """Until so many entries are queued, somebody waits, or the time is up (-1: never)."""
        self._wake_at = wake_at
        # Before the queue is looked at: whoever adds an entry after the look sees this and wakes the thread.
        self._is_asleep = True
        if len(self._queue) < wake_at and not self._is_urgent:
            self._signal.acquire(timeout=seconds)
        self._is_asleep = False

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._stop_for(error)
            raise
        finally:
            self._transactions.disconnect()

    def _work(self) -> None:
        pause, attempts = _FIRST_PAUSE, 0
        while not self._is_closing or ((self._queue or self._doubtful) and attempts < _CLOSING_ATTEMPTS):
            self._gather(pause)
            self._attempt()
            attempts = attempts + 1 if self.failure else 0
            pause = min(pause * 2, _LONGEST_PAUSE) if self.failure else _FIRST_PAUSE
        self._refuse(list(self._queue), LedgerUnavailable(_CLOSED))

    def _gather(self, pause: float) -> None:
        if self.failure:
            if self._is_closing:
                time.sleep(pause)
            else:
                # The queue never gets that long: only a waiter or the end of the pause wakes it.
                self._sleep(QUEUE_LIMIT + 1, pause)
            return
        while not self._queue and not self._is_closing:
            self._sleep(1, -1)
        if not self._is_urgent and not self._is_closing:
            self._sleep(_ENOUGH, self._behind)

    def _take_group(self) -> list[GroupItem]:
        # Before entries are taken: a waiter that comes meanwhile sets it again.
        self._is_urgent = False
        queue = self._queue
        items = [queue.popleft() for _ in range(min(len(queue), GROUP_LIMIT))]
        if queue:
            self._is_urgent = True
        return items

    def _attempt(self) -> None:
        """One round: an old doubt first, then what is queued; nothing queued while failing: a probe."""
        doubtful = self._doubtful
        try:
            if doubtful is not None:
                self._settle(doubtful)
            elif self.failure and not self._queue:
                self._transactions.probe()
                self._recover()
        except (sqlite3.Error, OSError, LedgerError) as error:
            self._fail(self._take_group(), error)
            return
        items = self._take_group()
        if items:
            self._write(items)

    def _write(self, items: Sequence[GroupItem]) -> None:
        group = Group(items)
        try:
            self._transactions.write(group)
        except CommitFailed as error:
            self._doubt(group, error)
        except _POISON as error:
            self._write_apart(items, error)
        except (sqlite3.Error, OSError, LedgerError) as error:
            self._fail(items, error)
        else:
            self._succeed(group)

    def _write_apart(self, items: Sequence[GroupItem], error: Exception) -> None:
        """Each entry for itself, so that the one which cannot be stored does not stop the others."""
        if len(items) > 1:
            for item in items:
                self._write([item])
            return
        problem = f"a row cannot be stored: {error}"
        self._report(problem)
        self._refuse(items, LedgerUnavailable(problem))

    def _doubt(self, group: Group, error: CommitFailed) -> None:
        self._doubtful = group
        try:
            self._settle(group, error)
        except (sqlite3.Error, OSError):
            self._lose_power(error)
            self._refuse(group.items, OutcomeUnrecorded(f"the ledger's disk failed while a row was written: {error}"))

    def _settle(self, group: Group, error: Exception | None = None) -> None:
        """Find out what became of a failed commit. Raises sqlite3.Error or OSError while that cannot be known."""
        is_there = self._transactions.settle(group)
        self._doubtful = None
        if is_there:
            self._succeed(group)
        elif error is None:
            # Its waiters were told that the outcome is unknown; only entries without one are written again.
            self._queue.extendleft(reversed(group.unawaited_entries))
        else:
            self._fail(group.items, error)

    def _succeed(self, group: Group) -> None:
        self._recover()
        for problem in group.problems:
            self._report(problem)
        # Before the answers: whoever has one may look for the row at once.
        self._written(group)
        answer_waiters(group.answers)

    def _fail(self, items: Sequence[GroupItem], error: Exception) -> None:
        """Certainly not written: recorded entries wait for better times, the others are told."""
        self._lose_power(error)
        # `extendleft` reverses, so `reversed` keeps the order in which calls were recorded.
        self._queue.extendleft(reversed([item for item in items if type(item) is Entry]))
        self._refuse(items, LedgerUnavailable(_explain(str(error))))

    def _refuse(self, items: Iterable[GroupItem], error: LedgerError) -> None:
        answer_waiters([(item, error) for item in items if type(item) is CommitWaiter])

    def _lose_power(self, error: Exception) -> None:
        if not self.failure:
            self._report(_explain(str(error)))
        self._transactions.disconnect()
        # The limit of 0 sends `record` to `_make_room`, which refuses while there is a failure.
        self.failure, self._limit = str(error) or type(error).__name__, 0

    def _recover(self) -> None:
        if self.failure:
            self._report("the ledger can be written again")
        self.failure = ""
        if not self._is_closing:
            self._limit = QUEUE_LIMIT

    def _stop_for(self, error: BaseException) -> None:
        """A mistake of ours: fail closed, leave nobody waiting."""
        self._lose_power(LedgerError(f"its writer stopped: {error!r}"))
        self._is_closing = True
        self._refuse(list(self._queue), LedgerUnavailable(_explain(self.failure)))


def _explain(problem: str) -> str:
    return f"the ledger cannot be written: {problem}; nothing was recorded. Free space or mend the disk, it goes on by itself"
