"""PostgreSQL, through asyncpg.

A retrieval runs in sessions whose transactions are all read-only, set when the connection begins; a change runs in a
transaction of its own. Short answers cost one round trip, long ones come through a cursor. Between two calls a session is
put back to how it began. A query that is cancelled here is cancelled at the server.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ferrule.infra.drivers import load_driver
from ferrule.runtime.executors.database.connections import Pool, tls_of
from ferrule.runtime.executors.database.engine import BATCH, Answer, Opening, Query, Rows, Table, judged, target_of
from ferrule.runtime.executors.database.failures import (
    LOST,
    SLOW,
    STATES,
    UNPROVEN,
    DatabaseFailed,
    Told,
    at_the_door,
    meaning_of,
    translated,
)
from ferrule.runtime.executors.database.postgresql_traces import Traces
from ferrule.runtime.executors.database.postgresql_values import BadValue, converts_of, parameters_of, set_codecs
from ferrule.runtime.executors.database.statements import Statement
from ferrule.runtime.executors.database.values import Columns

_FIRST = 200
"""Rows that are asked for without a cursor."""
_MOST_STATEMENTS = 100
_RESET = "SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL"
_CLOSE_SECONDS = 5.0
_TABLES = """
SELECT n.nspname, c.relname, array_agg(a.attname::text ORDER BY a.attnum) AS columns
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND a.attnum > 0 AND NOT a.attisdropped AND c.relname = $1
  AND CASE WHEN $2 = '' THEN pg_table_is_visible(c.oid) ELSE n.nspname = $2 END
GROUP BY 1, 2
"""


class PostgresDatabase:
    """One database, as one user."""

    def __init__(self, opening: Opening, *, size: int, seconds: float) -> None:
        """Raises BadMembers; ExecutionFailed when the driver is missing."""
        self._driver = load_driver("asyncpg")
        self._opening = opening
        self._target = target_of(opening.members)
        self._seconds = seconds
        self.host = f"{self._target.host}:{self._target.port}/{opening.members['database']}"
        self._traces = Traces()
        self._reading: Pool[Session] = Pool(lambda: self._connect(is_read_only=True), size=size)
        self._changing: Pool[Session] = Pool(lambda: self._connect(is_read_only=False), size=size)

    async def rows(self, query: Query, answer: Answer) -> Rows:
        """Run a query. Raises DatabaseFailed."""
        pool = self._reading if query.is_read_only else self._changing
        session, is_new = await self._taken(pool)
        if not is_new:
            session = await self._living(pool, session)
        answer.tell(backend_pid=session.pid)
        try:
            running = session.read(query) if query.is_read_only else session.change(query, answer)
            async for batch in running:
                yield batch
            if query.is_read_only and await self._traces.is_left_as_it_was(session.raw, query.statement):
                session.leave(query.statement)
            else:
                await session.reset()
        except BaseException as error:
            if isinstance(error, Exception | GeneratorExit) and await session.recovered():
                pool.give(session)
            else:
                pool.drop(session)
            told = self._told(error)
            if told is None:
                raise
            raise DatabaseFailed(told, may_have_acted=session.is_in_doubt) from None
        pool.give(session)

    async def check(self, statement: Statement | None) -> str:
        """Connect, and have the server read a statement. Raises DatabaseFailed."""
        session, _ = await self._taken(self._reading)
        async with self._reading.lent(session):
            with translated(self._told):
                await session.raw.execute("SELECT 1")
                if statement is not None:
                    await session.prepared(statement)
        return f"connected to {self.host} as {self._opening.members['username']}"

    async def tables(self, schema: str, name: str) -> list[Table]:
        """The tables of that name that the user can see. Raises DatabaseFailed."""
        session, _ = await self._taken(self._reading)
        async with self._reading.lent(session):
            with translated(self._told):
                found = await session.raw.fetch(_TABLES, name, schema)
        return [Table(row[0], row[1], tuple(row[2])) for row in found]

    def retire(self) -> None:
        """No new connections."""
        self._reading.retire()
        self._changing.retire()

    async def aclose(self) -> None:
        """Close everything."""
        await self._reading.aclose()
        await self._changing.aclose()

    async def _taken(self, pool: Pool[Session]) -> tuple[Session, bool]:
        with translated(self._told_at_the_door):
            return await pool.take()

    async def _living(self, pool: Pool[Session], session: Session) -> Session:
        """A session that was idle may have been cut off without a word; one that is old enough is asked."""
        if not session.is_stale():
            return session
        try:
            await session.raw.execute("SELECT 1")
            return session
        except (OSError, self._driver.PostgresError, self._driver.InterfaceError):
            pool.drop(session)
            return (await self._taken(pool))[0]
        except BaseException:
            pool.drop(session)
            raise

    async def _connect(self, *, is_read_only: bool) -> Session:
        opening, target, members = self._opening, self._target, self._opening.members
        addresses = await asyncio.to_thread(judged, opening, target)
        password = await opening.password()
        milliseconds = str(max(1, round(self._seconds * 1000)))
        settings = {
            "application_name": "ferrule",
            "statement_timeout": milliseconds,
            "lock_timeout": milliseconds,
            "idle_in_transaction_session_timeout": str(max(60_000, 2 * int(milliseconds))),
            "default_transaction_read_only": "on" if is_read_only else "off",
            "standard_conforming_strings": "on",
            "datestyle": "ISO",
            "intervalstyle": "iso_8601",
            "timezone": "UTC",
            **({"search_path": str(members["schema"])} if members.get("schema") else {}),
        }
        refused: Exception = OSError("no address")
        for address in addresses:
            try:
                raw = await self._driver.connect(
                    host=address,
                    port=target.port,
                    user=str(members["username"]),
                    password=password,
                    database=str(members["database"]),
                    ssl=tls_of(opening, target.host, address) or False,
                    timeout=min(10.0, self._seconds),
                    statement_cache_size=_MOST_STATEMENTS,
                    server_settings=settings,
                )
            except (OSError, TimeoutError) as error:
                refused = error
                continue
            try:
                await set_codecs(raw)
            except BaseException:
                raw.terminate()
                raise
            errors = self._driver.exceptions
            return Session(raw, (errors.InvalidCachedStatementError, errors.OutdatedSchemaCacheError))
        raise refused

    def _told_at_the_door(self, error: BaseException) -> Told | None:
        """The same while a connection is made."""
        told = self._told(error)
        return None if told is None else at_the_door(told, self.host)

    def _told(self, error: BaseException) -> Told | None:
        """What a failure of the driver means; None for what is no failure of the database."""
        asyncpg = self._driver
        if isinstance(error, asyncpg.PostgresError):
            state = error.sqlstate or ""
            names = tuple(filter(None, (getattr(error, "constraint_name", None), getattr(error, "column_name", None))))
            return Told(f"sqlstate:{state}", meaning_of(state), str(error), names)
        if isinstance(error, BadValue):
            return Told("sqlstate:22000", STATES["22"], "", (f":{error.name}",))
        if isinstance(error, asyncpg.DataError | UnicodeEncodeError | OverflowError):
            return Told("sqlstate:22000", STATES["22"])
        if isinstance(error, ssl.SSLError):
            return Told("tls:refused", UNPROVEN)
        if isinstance(error, asyncpg.UnsupportedClientFeatureError):
            return Told("asyncpg:unsupported", STATES["0A"], str(error))
        if isinstance(error, asyncpg.InterfaceError | asyncpg.InternalClientError | OSError | TimeoutError):
            return Told(f"connection:{type(error).__name__}", LOST if not isinstance(error, TimeoutError) else SLOW)
        return None


class Session:
    """One connection, and what is known about it."""

    def __init__(self, raw: Any, outdated: tuple[type[Exception], ...]) -> None:
        """`outdated`: what the driver raises for a prepared statement whose table has changed."""
        self.raw = raw
        self._outdated = outdated
        self.pid = raw.get_server_pid()
        self.is_clean = True
        """False while it is in the middle of something."""
        self.is_in_doubt = False
        """True when a change was sent to be made, and no answer came."""
        self._statements: OrderedDict[Statement, Prepared] = OrderedDict()
        self._unreset: Statement | None = None
        """A plain statement after which the session was not put back, because it is as it was."""
        self._used = asyncio.get_running_loop().time()

    def is_usable(self) -> bool:
        """False when the other side has gone."""
        return self.is_clean and not self.raw.is_closed()

    def is_stale(self) -> bool:
        """True when it has been idle for a while."""
        return asyncio.get_running_loop().time() - self._used > 1.0

    async def prepared(self, statement: Statement) -> Prepared:
        """The statement, read by the server once."""
        found = self._statements.get(statement)
        if found is None:
            order = list(dict.fromkeys(statement.names))
            text = statement.text(lambda _, name: f"${order.index(name) + 1}")
            found = self._statements[statement] = Prepared(await self.raw.prepare(text), order)
            while len(self._statements) > _MOST_STATEMENTS:
                self._statements.popitem(last=False)
        return found

    def leave(self, statement: Statement) -> None:
        """Leave the session after a statement that has left nothing in it. It is put back before another one runs."""
        self._unreset = statement
        self._used = asyncio.get_running_loop().time()

    async def read(self, query: Query) -> Rows:
        """Rows of a query that only reads."""
        if self._unreset is not None and self._unreset != query.statement:
            await self.reset()
        self.is_clean = False
        prepared = await self.prepared(query.statement)
        if not prepared.is_long:
            try:
                first, is_whole = await prepared.first(self.raw, prepared.values(query.values))
            except self._outdated:
                prepared = await self._anew(query.statement)
                first, is_whole = await prepared.first(self.raw, prepared.values(query.values))
            if is_whole:
                self.is_clean = True
                yield prepared.columns(query.wants).rows(first)
                return
            prepared.is_long = True
        await self.raw.execute("BEGIN READ ONLY")
        cursor = await prepared.raw.cursor(*prepared.values(query.values))
        columns = prepared.columns(query.wants)
        while batch := await cursor.fetch(BATCH):
            yield columns.rows(batch)
        await self.raw.execute("COMMIT")
        self.is_clean = True

    async def change(self, query: Query, answer: Answer) -> Rows:
        """Make a change and give what it returns; it is made when the generator is asked for more after that."""
        self.is_clean = False
        await self.raw.execute("BEGIN READ WRITE")
        prepared = await self.prepared(query.statement)
        try:
            found = await prepared.raw.fetch(*prepared.values(query.values))
        except self._outdated:
            await self.raw.execute("ROLLBACK; BEGIN READ WRITE")
            prepared = await self._anew(query.statement)
            found = await prepared.raw.fetch(*prepared.values(query.values))
        answer.affected = _affected(prepared.raw.get_statusmsg())
        yield prepared.columns(query.wants).rows(found)
        self.is_in_doubt = True
        await self.raw.execute("COMMIT")
        self.is_in_doubt = False
        self.is_clean = True

    async def _anew(self, statement: Statement) -> Prepared:
        """The statement, read once more because a table it names has changed."""
        self._statements.clear()
        await self.raw.reload_schema_state()
        return await self.prepared(statement)

    async def recovered(self) -> bool:
        """Take back what was begun; True when the session is as good as new."""
        if self.is_in_doubt or self.raw.is_closed():
            return False
        with suppress(Exception):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self.raw.execute("ROLLBACK")
                await self.reset()
                return True
        return False

    async def reset(self) -> None:
        """Put the session back to how it began."""
        self.is_clean = False
        await self.raw.execute(_RESET)
        self.is_clean = True
        self._unreset = None
        self._used = asyncio.get_running_loop().time()

    async def aclose(self) -> None:
        """Cancel what it does at the server, and close it."""
        try:
            await self.raw.close(timeout=_CLOSE_SECONDS)
        except Exception:  # whatever it was, it is gone
            self.raw.terminate()


class Prepared:
    """A statement that the server has read."""

    def __init__(self, raw: Any, names: Sequence[str]) -> None:
        self.raw = raw
        self._names = names
        self._types = raw.get_parameters()
        self._attributes = raw.get_attributes()
        self._converts = converts_of(self._attributes)
        self._columns: Columns | None = None
        self._wants: Any = None
        self.is_long = False
        """True when it gave more rows than fit into the first answer."""

    def values(self, given: Any) -> list[Any]:
        """Values as the driver wants them. Raises BadValue."""
        return parameters_of(self._names, self._types, given)

    def columns(self, wants: Any) -> Columns:
        """What makes objects of its rows."""
        if self._columns is None or self._wants is not wants:
            self._wants = wants
            self._columns = Columns([attribute.name for attribute in self._attributes], wants, self._converts)
        return self._columns

    async def first(self, connection: Any, values: list[Any]) -> tuple[list[Any], bool]:
        """The first rows in one round trip, and whether they are all."""
        found, _, is_whole = await connection._protocol.bind_execute(self.raw._state, values, "", _FIRST, True, None)
        return found or [], bool(is_whole)


def _affected(status: str | None) -> int | None:
    """`INSERT 0 5` -> 5; a statement that changes no rows has none."""
    verb, _, rest = (status or "").partition(" ")
    count = rest.rpartition(" ")[2]
    return int(count) if verb in ("INSERT", "UPDATE", "DELETE", "MERGE") and count.isdecimal() else None
