"""Reading the ledger: one thread with a connection of its own, so that neither the event loop nor the writer waits."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from ferrule.contracts.store import KeyHolder
from ferrule.errors import LedgerError
from ferrule.model.chain import kind_number
from ferrule.model.journal import Kind, OpenCall, StoredEntry, Switch
from ferrule.stores.rows import CANCEL_REQUESTED, stored
from ferrule.stores.sqlite.connection import connect, unusable
from ferrule.stores.sqlite.transaction import FileIdentity

T = TypeVar("T")

_ROWS = "SELECT seq, kind, call, at, tool, outcome, body, payload, commitment IS NOT NULL, mark, hash FROM journal"
_NEWS = kind_number("news")
CANCEL_REQUESTS = f"WHERE kind = {_NEWS} AND outcome = '{CANCEL_REQUESTED}' AND seq > ? ORDER BY seq"
"""With literals, as the index has them: for other words SQLite would look at every row after the number."""
_CALLS = "SELECT call, state, owner, tool_id, principal, agent, tenant, expires_at, seq FROM open_calls"


class Reader:
    """Answers questions about a ledger's file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ferrule-ledger-reader")
        self._connection: sqlite3.Connection | None = None
        self._file = FileIdentity(path)

    def close(self) -> None:
        """Let go."""
        with contextlib.suppress(RuntimeError):  # at the end of a process the pool may be gone already
            self._pool.submit(self._disconnect)
        self._pool.shutdown()

    async def rows_of(self, call: str) -> list[StoredEntry]:
        """A call's rows in order, without its news. The empty id belongs to no call."""
        where = f"WHERE call = ? AND call <> '' AND kind <> {_NEWS} ORDER BY seq"
        return await self._ask(lambda db: _rows(db, where, [call]))

    async def news_of(self, call: str, after: int, limit: int | None) -> list[StoredEntry]:
        """A call's news after a number, in order."""
        where = f"WHERE call = ? AND call <> '' AND kind = {_NEWS} AND seq > ? ORDER BY seq LIMIT ?"
        return await self._ask(lambda db: _rows(db, where, [call, after, -1 if limit is None else limit]))

    async def cancel_requests(self, after: int) -> list[StoredEntry]:
        """Everybody's requests to cancel after a number, in order."""
        return await self._ask(lambda db: _rows(db, CANCEL_REQUESTS, [after]))

    async def rows_after(self, seq: int, limit: int) -> list[StoredEntry]:
        """Rows after a number, in order."""
        return await self._ask(lambda db: _rows(db, "WHERE seq > ? ORDER BY seq LIMIT ?", [seq, limit]))

    async def rows_before(
        self, seq: int | None, limit: int, kinds: Sequence[Kind], tool: str | None, outcome: str | None
    ) -> list[StoredEntry]:
        """Rows before a number (None: from the end) that fit, newest first."""
        tests: list[tuple[str, list[Any]]] = [] if seq is None else [("seq < ?", [seq])]
        if kinds:
            tests.append((f"kind IN ({','.join('?' * len(kinds))})", [*map(kind_number, kinds)]))
        if tool is not None:
            tests.append(("tool = ?", [tool]))
        if outcome is not None:
            tests.append(("outcome = ?", [outcome]))
        where = "WHERE " + " AND ".join(test for test, _ in tests) if tests else ""
        values = [value for _, some in tests for value in some]
        return await self._ask(lambda db: _rows(db, f"{where} ORDER BY seq DESC LIMIT ?", [*values, limit]))

    async def last(self) -> tuple[int, int]:
        """Number and time of the last row."""
        return await self._ask(
            lambda db: db.execute("SELECT seq, at FROM journal ORDER BY seq DESC LIMIT 1").fetchone()
        )

    async def open_calls(self, states: Sequence[str]) -> list[OpenCall]:
        """The open calls, oldest first."""
        where = f" WHERE state IN ({','.join('?' * len(states))})" if states else ""
        found = await self._ask(lambda db: db.execute(f"{_CALLS}{where} ORDER BY seq", states).fetchall())
        return [OpenCall(*row) for row in found]

    async def find_open(self, call: str) -> OpenCall | None:
        """One open call."""
        found = await self._ask(lambda db: db.execute(f"{_CALLS} WHERE call = ?", (call,)).fetchone())
        return OpenCall(*found) if found else None

    async def find_key(self, key: bytes) -> KeyHolder | None:
        """Who has an idempotency key."""
        question = "SELECT call, input_digest FROM idempotency WHERE key = ?"
        found = await self._ask(lambda db: db.execute(question, (key,)).fetchone())
        return KeyHolder(*found) if found else None

    async def switched_off(self) -> list[Switch]:
        """The tools that are off."""
        found = await self._ask(lambda db: db.execute("SELECT tool_id, seq FROM switches ORDER BY tool_id").fetchall())
        return [Switch(*row) for row in found]

    async def _ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._answer, question)

    def _answer(self, question: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return question(self._connected())
        except UnicodeError as error:
            raise LedgerError(f"the ledger was asked for something that is no text: {error}") from error
        except (sqlite3.Error, OSError) as error:
            self._disconnect()
            raise LedgerError(str(unusable(self._path, error))) from error

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None and not self._file.is_current():
            self._disconnect()
        if self._connection is None:
            self._connection = connect(self._path, is_reader=True)
            self._file = FileIdentity(self._path)
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()


def _rows(connection: sqlite3.Connection, rest: str, values: Sequence[Any]) -> list[StoredEntry]:
    return [stored(*row) for row in connection.execute(f"{_ROWS} {rest}", values)]
