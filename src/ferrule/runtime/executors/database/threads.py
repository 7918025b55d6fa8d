"""Base of engines whose drivers block: each call of a driver runs in a thread, so that the event loop goes on.

A cancelled query is stopped at the server as well as the driver can; its thread is waited for before the connection is
closed. Connecting, stopping and the meaning of errors are in each engine's own file.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from ferrule.model.value import JsonObject
from ferrule.runtime.executors.database.connections import Pool
from ferrule.runtime.executors.database.engine import (
    BATCH,
    ConnectionSpec,
    LiveTable,
    Query,
    QueryReport,
    Rows,
    group_columns,
)
from ferrule.runtime.executors.database.failures import (
    LOST,
    DatabaseFailed,
    FailureReport,
    as_connect_failure,
    translate_failures,
)
from ferrule.runtime.executors.database.statements import Statement
from ferrule.runtime.executors.database.values import Columns, json_text

T = TypeVar("T")
_STOP_SECONDS = 5.0


class ThreadedSession:
    """One connection of a blocking driver."""

    def __init__(self, raw: Any, threads: ThreadPoolExecutor, stop: Callable[[Any, Any], None]) -> None:
        self.raw = raw
        self.cursor: Any = None
        self._threads = threads
        self._stop = stop
        self._running: asyncio.Future[Any] | None = None

    def is_usable(self) -> bool:
        """Returns True: blocking drivers cannot tell without a query."""
        return True

    async def run(self, work: Callable[..., T], *given: object) -> T:
        """Runs something in a thread. A cancel leaves it running; closing the session stops it."""
        running = self._running = asyncio.get_running_loop().run_in_executor(self._threads, work, *given)
        done: T = await asyncio.shield(running)
        self._running = None
        return done

    async def aclose(self) -> None:
        """Stops what it does at the server, waits for its thread, and closes it."""
        running = self._running
        with suppress(Exception):
            if running is not None and not running.done():
                # Not by the threads of this database, which may all be busy.
                await asyncio.to_thread(self._stop, self.raw, self.cursor)
                await asyncio.wait({running}, timeout=_STOP_SECONDS)
            if running is not None and running.done() and not running.cancelled():
                # Asked for, so that asyncio does not report it as a failure that nobody has seen.
                running.exception()
            await asyncio.to_thread(self.raw.close)


class ThreadedDatabase(ABC):
    """One database behind a blocking driver, as one user."""

    host = ""

    def __init__(self, spec: ConnectionSpec, *, size: int, seconds: float) -> None:
        self._spec = spec
        self._seconds = seconds
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="ferrule-database")
        self._pool: Pool[ThreadedSession] = Pool(self._connect, size=size)

    @abstractmethod
    def connect(self, password: str) -> Any:
        """Opens a connection of the driver. Called in a thread."""

    @abstractmethod
    def stop(self, raw: object, cursor: object) -> None:
        """Has the server stop what a connection does. Called in a thread."""

    @abstractmethod
    def begin(self, raw: object, query: Query, text: str, values: list[Any]) -> tuple[Any, JsonObject]:
        """Runs a statement; returns the cursor with its rows, and native ids. Called in a thread."""

    @abstractmethod
    def end(self, raw: object, keep: bool) -> None:
        """Ends the transaction, if there is one: commits when `keep`, else rolls back. Called in a thread."""

    @abstractmethod
    def parse(self, raw: object, text: str, count: int) -> None:
        """Has the server parse a statement with `count` parameters without running it. Called in a thread."""

    def columns(self, cursor: Any, query: Query) -> Columns:
        """Returns the converter of a cursor's rows."""
        return Columns([column[0] for column in cursor.description], query.wants)

    def marker(self, position: int, name: str) -> str:
        """Returns the driver's marker for a parameter."""
        return "?"

    @abstractmethod
    def report_failure(self, error: BaseException) -> FailureReport | None:
        """Reports a failure of the driver; None for what is not a failure of the database."""

    @abstractmethod
    def table_query(self, schema: str, name: str) -> tuple[str, list[Any]]:
        """Returns a query for the schema, table and column names of a table, and its values."""

    async def rows(self, query: Query, answer: QueryReport) -> Rows:
        """Runs a query. Raises DatabaseFailed."""
        session = await self._take_session()
        is_in_doubt = False
        try:
            text = query.statement.text(self.marker)
            values = [bind_value(query.values.get(name)) for name in query.statement.names]
            # From the start, because with autocommit the statement itself is the change.
            is_in_doubt = not query.is_read_only
            cursor, ref = await session.run(self.begin, session.raw, query, text, values)
            session.cursor = cursor
            answer.add_refs(**ref)
            if cursor.description:
                columns = self.columns(cursor, query)
                while batch := await session.run(cursor.fetchmany, BATCH):
                    yield columns.rows(batch)
            if not query.is_read_only and cursor.rowcount is not None and cursor.rowcount >= 0:
                answer.affected = cursor.rowcount
            await session.run(self.end, session.raw, not query.is_read_only)
            await session.run(cursor.close)
        except BaseException as error:
            # These drivers do not tell in what state a failure leaves a connection.
            self._pool.drop(session)
            report = self.report_failure(error)
            if report is None:
                raise
            raise DatabaseFailed(report, may_have_acted=is_in_doubt and report.kind is LOST) from None
        session.cursor = None
        self._pool.give(session)

    async def check(self, statement: Statement | None) -> str:
        """Connects, and has the server parse a statement. Raises DatabaseFailed."""
        text, count = (statement.text(self.marker), len(statement.names)) if statement else ("SELECT 1", 0)
        async with self._pool.lend(await self._take_session()) as session:
            with translate_failures(self.report_failure):
                await session.run(self.parse, session.raw, text, count)
        return f"connected to {self.host} as {self._spec.members['username']}"

    async def tables(self, schema: str, name: str) -> list[LiveTable]:
        """Returns the tables of that name that the user can see. Raises DatabaseFailed."""
        text, values = self.table_query(schema, name)
        statement = Statement((text,), (), ("select",))
        query = Query(statement=statement, values={}, is_read_only=True)
        async with self._pool.lend(await self._take_session()) as session:
            with translate_failures(self.report_failure):
                cursor, _ = await session.run(self.begin, session.raw, query, text, values)
                found = await session.run(cursor.fetchall)
                await session.run(self.end, session.raw, False)
        return group_columns(found)

    def retire(self) -> None:
        """Opens no new connections."""
        self._pool.retire()

    async def aclose(self) -> None:
        """Closes every connection and ends the threads."""
        await self._pool.aclose()
        self._threads.shutdown(wait=False)

    async def _take_session(self) -> ThreadedSession:
        with translate_failures(self._report_connect_failure):
            return (await self._pool.take())[0]

    def _report_connect_failure(self, error: BaseException) -> FailureReport | None:
        """Reports a failure while connecting."""
        report = self.report_failure(error)
        return None if report is None else as_connect_failure(report, self.host)

    async def _connect(self) -> ThreadedSession:
        password = await self._spec.password()
        loop = asyncio.get_running_loop()
        connecting = loop.run_in_executor(self._threads, self.connect, password)
        try:
            # The thread goes on in any case: what it opens has to be closed by whoever waits no more.
            raw = await asyncio.shield(connecting)
        except asyncio.CancelledError:
            connecting.add_done_callback(_close_late)
            raise
        return ThreadedSession(raw, self._threads, self.stop)


def _close_late(connecting: asyncio.Future[Any]) -> None:
    """Closes a connection that was opened after its call was cancelled."""
    if not connecting.cancelled() and connecting.exception() is None:
        with suppress(Exception):
            connecting.result().close()


def bind_value(value: object) -> Any:
    """Converts a value of an input for binding: lists and objects become JSON."""
    return json_text(value) if isinstance(value, list | dict) else value
