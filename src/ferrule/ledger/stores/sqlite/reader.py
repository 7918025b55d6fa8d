"""Reads the ledger: one thread with a connection of its own, so that neither the event loop nor the writer waits.

It also counts how many calls ended how. Rows are only ever added, so it counts full blocks of them once, by the minute;
when old rows are pruned, or another file takes the ledger's place, it counts everything anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ferrule.contracts.store import CallsWanted, EndingCount, KeyHolder
from ferrule.errors import LedgerError
from ferrule.ledger.chain import to_kind_number
from ferrule.ledger.stores.entries import CANCEL_REQUESTED, to_stored_entry
from ferrule.ledger.stores.sqlite.connection import connect, make_unusable_error
from ferrule.ledger.stores.sqlite.transaction import FileIdentity
from ferrule.model.journal import CALL_KINDS, KINDS, LAST_KINDS, Kind, OpenCall, StoredEntry, Switch

MINUTE = 60_000_000
_BLOCK = 2048
_LAST_KINDS = ",".join(str(to_kind_number(kind)) for kind in sorted(LAST_KINDS))
_FIRST = "SELECT min(seq) FROM journal"
_BLOCKS = f"""SELECT seq / {_BLOCK}, at / {MINUTE} * {MINUTE}, outcome, count(*) FROM journal
    WHERE seq >= ? AND seq < ? AND kind IN ({_LAST_KINDS}) GROUP BY 1, 2, 3"""


class EndingCounter:
    """The counts of endings in one file, by block."""

    def __init__(self) -> None:
        self._blocks: dict[int, list[EndingCount]] = {}
        self._first: int | None = None

    def count(self, db: sqlite3.Connection, after: int, before: int, width: int) -> list[EndingCount]:
        """Counts how calls ended in rows between two numbers. `width`: whole minutes."""
        (first,) = db.execute(_FIRST).fetchone()
        if first != self._first:
            self._first, self._blocks = first, {}
        last = db.execute("SELECT max(seq) FROM journal").fetchone()[0] or 0
        # Only blocks that lie wholly inside are counted from the cache; -(-x // n) rounds up.
        low, high = -(-(after + 1) // _BLOCK), min(before, last + 1) // _BLOCK
        if high <= low:
            return count_endings(db, after, before, width, "")
        self._count_blocks(db, low, high)
        found: Counter[tuple[int, str]] = Counter()
        _add_endings(found, width, (ending for block in range(low, high) for ending in self._blocks[block]))
        _add_endings(found, width, count_endings(db, after, low * _BLOCK, MINUTE, ""))
        _add_endings(found, width, count_endings(db, high * _BLOCK - 1, before, MINUTE, ""))
        return [EndingCount(at, outcome, calls) for (at, outcome), calls in sorted(found.items())]

    def _count_blocks(self, db: sqlite3.Connection, low: int, high: int) -> None:
        """Counts the blocks that were not counted yet, all in one pass."""
        new = [block for block in range(low, high) if block not in self._blocks]
        if not new:
            return
        counted: dict[int, list[EndingCount]] = {block: [] for block in range(new[0], new[-1] + 1)}
        for block, at, outcome, calls in db.execute(_BLOCKS, [new[0] * _BLOCK, (new[-1] + 1) * _BLOCK]):
            counted[block].append(EndingCount(at, outcome, calls))
        self._blocks |= counted


def _add_endings(found: Counter[tuple[int, str]], width: int, endings: Iterable[EndingCount]) -> None:
    for ending in endings:
        found[ending.at // width * width, ending.outcome] += ending.calls


def count_endings(db: sqlite3.Connection, after: int, before: int, width: int, tool: str) -> list[EndingCount]:
    """Counts how calls ended in rows between two numbers, of one tool or of all."""
    tests, values = ["seq > ?", "seq < ?", f"kind IN ({_LAST_KINDS})"], list[Any]([after, before])
    add_test(tests, values, make_tool_test(tool))
    question = (
        f"SELECT at / ? * ?, outcome, count(*) FROM journal WHERE {' AND '.join(tests)} GROUP BY 1, 2 ORDER BY 1, 2"
    )
    return [EndingCount(*row) for row in db.execute(question, [width, width, *values])]


def make_tool_test(tool: str) -> tuple[str, list[Any]]:
    """Makes a test for rows of a tool: its id, or the end of it after a dot."""
    if not tool:
        return "", []
    return "(tool = ? OR substr(tool, ?) = ?)", [tool, -len(tool) - 1, f".{tool}"]


def add_test(tests: list[str], values: list[Any], more: tuple[str, list[Any]]) -> None:
    """Adds a test and its values, if there is one."""
    if more[0]:
        tests.append(more[0])
        values += more[1]


T = TypeVar("T")

_ROWS = "SELECT seq, kind, call, at, tool, outcome, body, payload, commitment IS NOT NULL, mark, hash FROM journal"
_NEWS = to_kind_number("news")
CANCEL_REQUESTS = f"WHERE kind = {_NEWS} AND outcome = '{CANCEL_REQUESTED}' AND seq > ? ORDER BY seq"
"""With literals, as the index has them: for other words SQLite would look at every row after the number."""
_RARE: frozenset[Kind] = frozenset(KINDS) - CALL_KINDS - {"news"}
_IS_RARE = f"kind IN ({', '.join(str(to_kind_number(kind)) for kind in KINDS if kind in _RARE)})"
"""As the index of these kinds has it."""
_CALL = to_kind_number("call")
_CALL_KINDS = ",".join(str(to_kind_number(kind)) for kind in sorted(CALL_KINDS))
# `call <> ''` is the condition of the index of calls; without it SQLite does not use that index.
_SAME = f"call = j.call AND call <> '' AND kind <> {_NEWS}"
_EARLIER = f"SELECT 1 FROM journal WHERE {_SAME} AND seq < j.seq"
_LAST_OUTCOME = f"SELECT outcome FROM journal WHERE {_SAME} ORDER BY seq DESC LIMIT 1"
_ENDS = "SELECT coalesce((SELECT min(seq) FROM journal), 1), coalesce((SELECT max(seq) FROM journal), 0) + 1"
"""Asked for together in one SELECT, SQLite would go through every row."""
_AT_ONCE = 500
"""Names in one question: SQLite takes only so many."""
_CALLS = "SELECT call, state, owner, tool_id, principal, agent, tenant, expires_at, seq FROM open_calls"


class LedgerReader:
    """Answers questions about a ledger's file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ferrule-ledger-reader")
        self._connection: sqlite3.Connection | None = None
        self._file = FileIdentity(path)
        self._counted = EndingCounter()

    def close(self) -> None:
        """Closes the connection and the thread."""
        with contextlib.suppress(RuntimeError):  # at the end of a process the pool may be gone already
            self._pool.submit(self._disconnect)
        self._pool.shutdown()

    async def rows_of(self, call: str) -> list[StoredEntry]:
        """Returns a call's rows in order, without its news. The empty id belongs to no call."""
        where = f"WHERE call = ? AND call <> '' AND kind <> {_NEWS} ORDER BY seq"
        return await self._ask(lambda db: _read_rows(db, where, [call]))

    async def news_of(self, call: str, after: int, limit: int | None) -> list[StoredEntry]:
        """Returns a call's news after a number, in order."""
        where = f"WHERE call = ? AND call <> '' AND kind = {_NEWS} AND seq > ? ORDER BY seq LIMIT ?"
        return await self._ask(lambda db: _read_rows(db, where, [call, after, -1 if limit is None else limit]))

    async def cancel_requests(self, after: int) -> list[StoredEntry]:
        """Returns everybody's requests to cancel after a number, in order."""
        return await self._ask(lambda db: _read_rows(db, CANCEL_REQUESTS, [after]))

    async def rows_after(self, seq: int, limit: int) -> list[StoredEntry]:
        """Returns rows after a number, in order."""
        return await self._ask(lambda db: _read_rows(db, "WHERE seq > ? ORDER BY seq LIMIT ?", [seq, limit]))

    async def rows_before(
        self, seq: int | None, limit: int, kinds: Sequence[Kind], tool: str | None, outcome: str | None
    ) -> list[StoredEntry]:
        """Returns rows before a number (None: from the end) that fit, newest first."""
        tests: list[tuple[str, list[Any]]] = [] if seq is None else [("seq < ?", [seq])]
        if kinds:
            tests.append((f"kind IN ({','.join('?' * len(kinds))})", [*map(to_kind_number, kinds)]))
            # Excludes nothing more: it lets SQLite use the partial index of these kinds.
            tests += [(_IS_RARE, [])] if _RARE.issuperset(kinds) else []
        if tool is not None:
            tests.append(("tool = ?", [tool]))
        if outcome is not None:
            tests.append(("outcome = ?", [outcome]))
        where = "WHERE " + " AND ".join(test for test, _ in tests) if tests else ""
        values = [value for _, some in tests for value in some]
        return await self._ask(lambda db: _read_rows(db, f"{where} ORDER BY seq DESC LIMIT ?", [*values, limit]))

    async def calls_before(self, seq: int | None, limit: int, wanted: CallsWanted) -> list[StoredEntry]:
        """Returns the first rows of calls before a number that fit, newest first."""
        tests, values = ["seq > ?", f"kind IN ({_CALL_KINDS})"], list[Any]([wanted.after])
        if seq is not None:
            tests.append("seq < ?")
            values.append(seq)
        # A row of kind `call` is a whole call; only longer ones have an earlier and a last row to look for.
        whole, longer = [f"kind = {_CALL}"], [f"kind <> {_CALL}", f"NOT EXISTS ({_EARLIER})"]
        add_test(tests, values, make_tool_test(wanted.tool))
        states = ",".join("?" * len(wanted.outcomes))
        if states:
            whole.append(f"outcome IN ({states})")
            longer.append(f"({_LAST_OUTCOME}) IN ({states})")
            values += [*wanted.outcomes, *wanted.outcomes]
        tests.append(f"({' AND '.join(whole)} OR {' AND '.join(longer)})")
        for part in wanted.holding:
            add_test(tests, values, ("instr(body, ?) > 0", [part]))
        where = f"AS j WHERE {' AND '.join(tests)} ORDER BY seq DESC LIMIT ?"
        return await self._ask(lambda db: _read_rows(db, where, [*values, limit]))

    async def rows_of_calls(self, calls: Sequence[str]) -> dict[str, list[StoredEntry]]:
        """Returns the rows of several calls, without their news."""
        found: dict[str, list[StoredEntry]] = {}
        for first in range(0, len(calls), _AT_ONCE):
            some = calls[first : first + _AT_ONCE]
            where = f"WHERE call IN ({','.join('?' * len(some))}) AND call <> '' AND kind <> {_NEWS} ORDER BY seq"
            for row in await self._ask(partial(_read_rows, rest=where, values=some)):
                found.setdefault(row.call, []).append(row)
        return found

    async def seq_at(self, at: int) -> int:
        """Finds the first row at or after a time. Rows are in the order of time, so a binary search works."""
        return await self._ask(lambda db: _find_seq_at(db, at))

    async def endings(self, after: int, before: int, width: int, tool: str) -> list[EndingCount]:
        """Counts how calls ended. Rows never change, so counts of all tools are cached."""
        if tool or width % MINUTE:
            return await self._ask(lambda db: count_endings(db, after, before, width, tool))
        return await self._ask(lambda db: self._counted.count(db, after, before, width))

    async def last(self) -> tuple[int, int]:
        """Returns number and time of the last row."""
        return await self._ask(
            lambda db: db.execute("SELECT seq, at FROM journal ORDER BY seq DESC LIMIT 1").fetchone()
        )

    async def open_calls(self, states: Sequence[str]) -> list[OpenCall]:
        """Returns the open calls, oldest first."""
        where = f" WHERE state IN ({','.join('?' * len(states))})" if states else ""
        found = await self._ask(lambda db: db.execute(f"{_CALLS}{where} ORDER BY seq", states).fetchall())
        return [OpenCall(*row) for row in found]

    async def find_open(self, call: str) -> OpenCall | None:
        """Returns one open call."""
        found = await self._ask(lambda db: db.execute(f"{_CALLS} WHERE call = ?", (call,)).fetchone())
        return OpenCall(*found) if found else None

    async def find_key(self, key: bytes) -> KeyHolder | None:
        """Finds the call that has an idempotency key."""
        question = "SELECT call, input_digest FROM idempotency WHERE key = ?"
        found = await self._ask(lambda db: db.execute(question, (key,)).fetchone())
        return KeyHolder(*found) if found else None

    async def list_disabled(self) -> list[Switch]:
        """Returns the tools that are off."""
        found = await self._ask(lambda db: db.execute("SELECT tool_id, seq FROM switches ORDER BY tool_id").fetchall())
        return [Switch(*row) for row in found]

    async def _ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._run, question)

    def _run(self, question: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return question(self._get_connection())
        except UnicodeError as error:
            raise LedgerError(f"the ledger was asked for something that is no text: {error}") from error
        except (sqlite3.Error, OSError) as error:
            self._disconnect()
            raise LedgerError(str(make_unusable_error(self._path, error))) from error

    def _get_connection(self) -> sqlite3.Connection:
        # After a restore the name leads to another file, and this connection would go on reading the old one.
        if self._connection is not None and not self._file.is_current():
            self._disconnect()
        if self._connection is None:
            self._connection = connect(self._path, is_reader=True)
            self._file = FileIdentity(self._path)
        return self._connection

    def _disconnect(self) -> None:
        self._counted = EndingCounter()
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()


def _find_seq_at(connection: sqlite3.Connection, at: int) -> int:
    low, high = connection.execute(_ENDS).fetchone()
    while low < high:
        middle = (low + high) // 2
        seq, time = connection.execute(
            "SELECT seq, at FROM journal WHERE seq >= ? ORDER BY seq LIMIT 1", [middle]
        ).fetchone()
        low, high = (seq + 1, high) if time < at else (low, middle)
    return int(low)


def _read_rows(connection: sqlite3.Connection, rest: str, values: Sequence[object]) -> list[StoredEntry]:
    return [to_stored_entry(*row) for row in connection.execute(f"{_ROWS} {rest}", values)]
