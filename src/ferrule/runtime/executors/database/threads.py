"""Engines whose drivers block: each call of a driver runs in a thread of the database's own, and the event loop goes on.

A query that is cancelled is stopped at the server as well as the driver can; its thread is waited for before the connection is
closed. What an engine knows (connecting, stopping, what its errors mean) is in its own file.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from ferrule.runtime.executors.database.connections import Pool
from ferrule.runtime.executors.database.engine import BATCH, Answer, Opening, Query, Rows, Table, tables_of
from ferrule.runtime.executors.database.failures import LOST, DatabaseFailed, Told, at_the_door, translated
from ferrule.runtime.executors.database.statements import Statement
from ferrule.runtime.executors.database.values import Columns, json_text

T = TypeVar("T")
_STOP_SECONDS = 5.0


class ThreadedSession:
    """One connection of a driver that blocks."""

    def __init__(self, raw: Any, threads: ThreadPoolExecutor, stop: Callable[[Any, Any], None]) -> None:
        self.raw = raw
        self.cursor: Any = None
        self._threads = threads
        self._stop = stop
        self._running: asyncio.Future[Any] | None = None

    def is_usable(self) -> bool:
        """Nobody knows before it is asked."""
        return True

    async def do(self, work: Callable[..., T], *given: Any) -> T:
        """Have something done in a thread. A cancel leaves it running; closing the session stops it."""
        running = self._running = asyncio.get_running_loop().run_in_executor(self._threads, work, *given)
        done: T = await asyncio.shield(running)
        self._running = None
        return done

    async def aclose(self) -> None:
        """Stop what it does at the server, wait for its thread, and close it."""
        running = self._running
        with suppress(Exception):
            if running is not None and not running.done():
                await asyncio.to_thread(self._stop, self.raw, self.cursor)
                await asyncio.wait({running}, timeout=_STOP_SECONDS)
            if running is not None and running.done() and not running.cancelled():
                running.exception()
            await asyncio.to_thread(self.raw.close)


class ThreadedDatabase(ABC):
    """One database, as one user."""

    host = ""

    def __init__(self, opening: Opening, *, size: int, seconds: float) -> None:
        self._opening = opening
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="ferrule-database")
        self._pool: Pool[ThreadedSession] = Pool(self._connect, size=size)

    @abstractmethod
    def connect(self, password: str) -> Any:
        """A new connection of the driver. In a thread."""

    @abstractmethod
    def stop(self, raw: Any, cursor: Any) -> None:
        """Have the server stop what a connection does. In a thread."""

    @abstractmethod
    def begin(self, raw: Any, query: Query, text: str, values: list[Any]) -> tuple[Any, dict[str, Any]]:
        """Run a statement; the cursor with its rows, and native ids. In a thread."""

    @abstractmethod
    def end(self, raw: Any, keep: bool) -> None:
        """End the transaction, if there is one, and keep what it changed or not. In a thread."""

    @abstractmethod
    def read(self, raw: Any, text: str, count: int) -> None:
        """Have the server read a statement with so many parameters without running it. In a thread."""

    def columns(self, cursor: Any, query: Query) -> Columns:
        """What makes objects of a cursor's rows."""
        return Columns([column[0] for column in cursor.description], query.wants)

    def marker(self, position: int, name: str) -> str:
        """What stands for a parameter in the driver's SQL."""
        return "?"

    @abstractmethod
    def told(self, error: BaseException) -> Told | None:
        """What a failure of the driver means; None for what is no failure of the database."""

    @abstractmethod
    def table_query(self, schema: str, name: str) -> tuple[str, list[Any]]:
        """A query for schema, table and column names of a table, and its values."""

    async def rows(self, query: Query, answer: Answer) -> Rows:
        """Run a query. Raises DatabaseFailed."""
        session = await self._taken()
        is_in_doubt = False
        try:
            text = query.statement.text(self.marker)
            values = [bound(query.values.get(name)) for name in query.statement.names]
            is_in_doubt = not query.is_read_only
            cursor, ref = await session.do(self.begin, session.raw, query, text, values)
            session.cursor = cursor
            answer.tell(**ref)
            if cursor.description:
                columns = self.columns(cursor, query)
                while batch := await session.do(cursor.fetchmany, BATCH):
                    yield columns.rows(batch)
            if not query.is_read_only and cursor.rowcount is not None and cursor.rowcount >= 0:
                answer.affected = cursor.rowcount
            await session.do(self.end, session.raw, not query.is_read_only)
            await session.do(cursor.close)
        except BaseException as error:
            self._pool.drop(session)
            told = self.told(error)
            if told is None:
                raise
            raise DatabaseFailed(told, may_have_acted=is_in_doubt and told.meaning is LOST) from None
        session.cursor = None
        self._pool.give(session)

    async def check(self, statement: Statement | None) -> str:
        """Connect, and have the server read a statement. Raises DatabaseFailed."""
        text, count = (statement.text(self.marker), len(statement.names)) if statement else ("SELECT 1", 0)
        async with self._pool.lent(await self._taken()) as session:
            with translated(self.told):
                await session.do(self.read, session.raw, text, count)
        return f"connected to {self.host} as {self._opening.members['username']}"

    async def tables(self, schema: str, name: str) -> list[Table]:
        """The tables of that name that the user can see. Raises DatabaseFailed."""
        text, values = self.table_query(schema, name)
        statement = Statement((text,), (), ("select",))
        query = Query(statement=statement, values={}, is_read_only=True)
        async with self._pool.lent(await self._taken()) as session:
            with translated(self.told):
                cursor, _ = await session.do(self.begin, session.raw, query, text, values)
                found = await session.do(cursor.fetchall)
                await session.do(self.end, session.raw, False)
        return tables_of(found)

    def retire(self) -> None:
        """No new connections."""
        self._pool.retire()

    async def aclose(self) -> None:
        """Close everything."""
        await self._pool.aclose()
        self._threads.shutdown(wait=False)

    async def _taken(self) -> ThreadedSession:
        with translated(self._told_at_the_door):
            return (await self._pool.take())[0]

    def _told_at_the_door(self, error: BaseException) -> Told | None:
        """What a failure means while a connection is made."""
        told = self.told(error)
        return None if told is None else at_the_door(told, self.host)

    async def _connect(self) -> ThreadedSession:
        password = await self._opening.password()
        loop = asyncio.get_running_loop()
        connecting = loop.run_in_executor(self._threads, self.connect, password)
        try:
            raw = await asyncio.shield(connecting)
        except asyncio.CancelledError:
            connecting.add_done_callback(_close_late)
            raise
        return ThreadedSession(raw, self._threads, self.stop)


def _close_late(connecting: asyncio.Future[Any]) -> None:
    """A connection that came when nobody wanted it any more."""
    if not connecting.cancelled() and connecting.exception() is None:
        with suppress(Exception):
            connecting.result().close()


def bound(value: Any) -> Any:
    """A value of an input as drivers bind it: lists and objects as JSON."""
    return json_text(value) if isinstance(value, list | dict) else value
