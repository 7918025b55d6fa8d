"""Maintains a ledger's file: destroys payloads and removes old rows, under the write lock.

Other processes may have the ledger open: they find another last row, signed with the same key, and go on after it.
The caller decides what to destroy or remove, and what to record about it.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from ferrule.contracts.ledger import RawRow
from ferrule.errors import LedgerError
from ferrule.ledger.chain import SALT_BYTES, compute_commitment, to_kind_number
from ferrule.ledger.stores.entries import Tail, chain_row
from ferrule.ledger.stores.sqlite import connection as files
from ferrule.ledger.stores.sqlite.bell import Bell
from ferrule.ledger.stores.sqlite.raw import COLUMNS, ledger_errors
from ferrule.model.journal import Entry

_CHECKPOINT_SECONDS = 10.0
_SEARCHED = 64
"""More payloads than this are not searched for one by one: the whole file is written anew instead."""


class ScrubResult(NamedTuple):
    """How thorough a scrub was."""

    is_gone: bool
    """False when another process kept an old state open, so that bytes remain in the write-ahead log for now."""
    was_rewritten: bool


class Upkeep:
    """A ledger file opened for maintenance. Use it as a context manager. Raises LedgerError."""

    def __init__(self, path: Path, keys: files.LedgerKeys) -> None:
        self.path = path
        self._keys = keys
        self._ledger, self._tail = "", Tail(0, b"", 0)
        if not path.is_file():
            raise LedgerError(f"there is no ledger {path}; name it with --ledger, or its workspace")
        with ledger_errors(path):
            self.db = files.connect(path)

    def __enter__(self) -> Upkeep:
        with ledger_errors(self.path):
            # Freed pages are overwritten with zeros, so that destroyed payloads do not linger in them.
            self.db.execute("PRAGMA secure_delete = ON")
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()

    @contextmanager
    def writing(self) -> Iterator[Tail]:
        """Runs one transaction, all or nothing, that excludes other writers. Yields the last row."""
        with ledger_errors(self.path):
            files.begin(self.db)
            try:
                self._ledger, self._tail = files.read_tail(self.db, self._keys, None)
                yield self._tail
                self.db.execute("COMMIT")
            except BaseException:
                files.roll_back(self.db)
                raise
        self._ring_bell()

    def _ring_bell(self) -> None:
        """Makes other processes look at the ledger again. Losing this loses nothing: they look by themselves after a
        while."""
        with suppress(OSError):
            bell = Bell(self.path.with_name(f"{self.path.name}.bell"))
            try:
                bell.mark_written(self._tail.at)
                bell.ring()
            finally:
                bell.close()

    @property
    def ledger(self) -> str:
        """The ledger's id, known while writing."""
        return self._ledger

    def append(self, entry: Entry) -> int:
        """Appends one row without a mark, and signs it as the last; returns its number. Only while writing."""
        tail = self._tail
        row = chain_row(entry, tail.seq + 1, tail.hash, tail.at, b"")
        self.db.execute(f"{files.INSERT_ROW} (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        self._tail = Tail(row[0], row[-1], row[3])
        files.write_head(self.db, self._keys, self._ledger, self._tail)
        return row[0]

    def open_calls(self) -> dict[str, str]:
        """Returns the calls that have not ended, each with its state."""
        return dict(self.db.execute("SELECT call, state FROM open_calls").fetchall())

    def rows_of(self, call: str) -> list[RawRow]:
        """Returns the rows of one call."""
        query = f"SELECT {COLUMNS} FROM journal WHERE call = ? AND call <> '' ORDER BY seq"
        return [RawRow._make(row) for row in self.db.execute(query, (call,))]

    def rows_after(self, seq: int) -> Iterator[RawRow]:
        """Returns the rows after a number."""
        return map(RawRow._make, self.db.execute(f"SELECT {COLUMNS} FROM journal WHERE seq > ? ORDER BY seq", (seq,)))

    def destroy_payloads(self, seqs: Iterable[int]) -> list[bytes]:
        """Replaces payloads by their commitments; returns the salts, to search for. Only while writing."""
        salts = []
        for seq in seqs:
            found = self.db.execute("SELECT payload FROM journal WHERE seq = ?", (seq,)).fetchone()
            if found is None or found[0] is None:
                continue
            values = (compute_commitment(found[0]), seq)
            self.db.execute("UPDATE journal SET payload = NULL, commitment = ? WHERE seq = ?", values)
            salts.append(found[0][:SALT_BYTES])
        return salts

    def first_row_of_open_calls(self) -> int | None:
        """Returns the oldest row of any open call; None without one."""
        query = "SELECT min(j.seq) FROM open_calls o JOIN journal j ON j.call = o.call AND j.call <> ''"
        seq: int | None = self.db.execute(query).fetchone()[0]
        return seq

    def last_row_before(self, at: int) -> int:
        """Returns the last row from before a moment; 0 when there is none."""
        found = self.db.execute("SELECT seq FROM journal WHERE at < ? ORDER BY seq DESC LIMIT 1", (at,)).fetchone()
        return found[0] if found else 0

    def list_kept_keys(self, seq: int) -> list[tuple[Any, ...]]:
        """Lists the idempotency keys taken up to a row by calls that went on after it."""
        return self.db.execute(f"SELECT * FROM idempotency k WHERE seq <= :seq AND {_GOES_ON}", {"seq": seq}).fetchall()

    def count_calls(self, run: str, tool_id: str) -> int:
        """Returns a run's counter, as the table has it."""
        found = self.db.execute("SELECT used FROM runs WHERE run = ? AND tool_id = ?", (run, tool_id)).fetchone()
        return found[0] if found else 0

    def remove_up_to(self, seq: int, runs: Sequence[tuple[str, str]]) -> None:
        """Deletes rows up to a number, their keys, and the counters of these runs. Only while writing."""
        self.db.execute(f"DELETE FROM idempotency AS k WHERE seq <= :seq AND NOT {_GOES_ON}", {"seq": seq})
        self.db.executemany("DELETE FROM runs WHERE run = ? AND tool_id = ?", runs)
        self.db.execute("DELETE FROM journal WHERE seq <= ?", (seq,))

    def scrub(self, salts: Sequence[bytes]) -> ScrubResult:
        """Ensures that destroyed payloads are in no file of the ledger. Call it after the transaction.

        SQLite overwrites what it frees, but a page that was rearranged long ago may hold a second copy that nothing
        leads to. Each payload begins with 16 random bytes; where they are still found, the whole file is written
        anew.
        """
        with ledger_errors(self.path):
            is_gone = self._checkpoint()
            if not salts or (len(salts) <= _SEARCHED and not contains_any(self.path, salts)):
                return ScrubResult(is_gone, was_rewritten=False)
            self.db.execute("VACUUM")
            return ScrubResult(self._checkpoint(), was_rewritten=True)

    def _checkpoint(self) -> bool:
        """Empties the write-ahead log; returns False when a reader keeps an old state of the ledger open."""
        until = time.monotonic() + _CHECKPOINT_SECONDS
        while True:
            try:
                is_busy = self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            except sqlite3.OperationalError:
                is_busy = 1
            if not is_busy:
                return True
            if time.monotonic() > until:
                return False
            time.sleep(0.05)


_GOES_ON = (
    "EXISTS (SELECT 1 FROM journal j WHERE j.call = k.call AND j.call <> '' AND j.seq > :seq "
    f"AND j.kind <> {to_kind_number('news')})"
)
"""News after a call's end does not hold its key: without the rows that ended it, its result is gone."""

_SEARCH = """
import mmap, sys
needles = [bytes.fromhex(word) for word in sys.stdin.read().split()]
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        if file.seek(0, 2):
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
                if any(text.find(needle) >= 0 for needle in needles):
                    sys.exit(3)
"""


def contains_any(path: Path, needles: Sequence[bytes]) -> bool:
    """Returns True when any of these byte strings is in the ledger's files.

    Another process looks: closing a descriptor of the file here would drop the locks that SQLite holds in this one.
    """
    names = [str(name) for name in (path, Path(f"{path}-wal")) if name.is_file()]
    words = "\n".join(needle.hex() for needle in needles)
    # `-I` keeps the current folder and the environment out of what the search imports.
    done = subprocess.run([sys.executable, "-I", "-c", _SEARCH, *names], input=words, text=True, check=False)
    # A search that failed counts as a find: writing the file anew is the safe answer.
    return done.returncode != 0
