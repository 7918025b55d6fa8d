"""PostgreSQL through asyncpg.

A retrieval runs in sessions whose transactions are all read-only, set when connecting; a change runs in a transaction of
its own. Short results cost one round trip, long ones come through a cursor. Between two calls a session is reset to its
initial state, unless the statement cannot have changed it. A cancelled query is cancelled at the server.
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
from ferrule.runtime.executors.database.engine import (
    BATCH,
    ConnectionSpec,
    LiveTable,
    Query,
    QueryReport,
    Rows,
    resolve_addresses,
    target_of,
)
from ferrule.runtime.executors.database.failures import (
    LOST,
    SLOW,
    STATES,
    UNPROVEN,
    DatabaseFailed,
    FailureReport,
    as_connect_failure,
    kind_of_state,
    translate_failures,
)
from ferrule.runtime.executors.database.postgresql_traces import SessionTraces
from ferrule.runtime.executors.database.postgresql_values import BadParameter, converts_of, parameters_of, set_codecs
from ferrule.runtime.executors.database.statements import Statement
from ferrule.runtime.executors.database.values import Columns

_FIRST = 200
"""Rows fetched without a cursor."""
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
    """One PostgreSQL database, as one user."""

    def __init__(self, spec: ConnectionSpec, *, size: int, seconds: float) -> None:
        """Raises BadMembers; ExecutionFailed when the driver is missing."""
        self._driver = load_driver("asyncpg")
        self._spec = spec
        self._target = target_of(spec.members)
        self._seconds = seconds
        self.host = f"{self._target.host}:{self._target.port}/{spec.members['database']}"
        self._traces = SessionTraces()
        self._reading: Pool[PostgresSession] = Pool(lambda: self._connect(is_read_only=True), size=size)
        self._changing: Pool[PostgresSession] = Pool(lambda: self._connect(is_read_only=False), size=size)

    async def rows(self, query: Query, answer: QueryReport) -> Rows:
        """Runs a query. Raises DatabaseFailed."""
        pool = self._reading if query.is_read_only else self._changing
        session, is_new = await self._take_session(pool)
        if not is_new:
            session = await self._replace_if_dead(pool, session)
        answer.add_refs(backend_pid=session.pid)
        try:
            running = session.read(query) if query.is_read_only else session.change(query, answer)
            async for batch in running:
                yield batch
            if query.is_read_only and await self._traces.is_session_unchanged(session.raw, query.statement):
                session.leave_unreset(query.statement)
            else:
                await session.reset()
        except BaseException as error:
            # A cancelled query may still run at the server: closing its session cancels it there.
            if isinstance(error, Exception | GeneratorExit) and await session.recover():
                pool.give(session)
            else:
                pool.drop(session)
            report = self._report_failure(error)
            if report is None:
                raise
            raise DatabaseFailed(report, may_have_acted=session.is_in_doubt) from None
        pool.give(session)

    async def check(self, statement: Statement | None) -> str:
        """Connects, and has the server parse a statement. Raises DatabaseFailed."""
        session, _ = await self._take_session(self._reading)
        async with self._reading.lend(session):
            with translate_failures(self._report_failure):
                await session.raw.execute("SELECT 1")
                if statement is not None:
                    await session.prepare(statement)
        return f"connected to {self.host} as {self._spec.members['username']}"

    async def tables(self, schema: str, name: str) -> list[LiveTable]:
        """Returns the tables of that name that the user can see. Raises DatabaseFailed."""
        session, _ = await self._take_session(self._reading)
        async with self._reading.lend(session):
            with translate_failures(self._report_failure):
                found = await session.raw.fetch(_TABLES, name, schema)
        return [LiveTable(row[0], row[1], tuple(row[2])) for row in found]

    def retire(self) -> None:
        """Opens no new connections."""
        self._reading.retire()
        self._changing.retire()

    async def aclose(self) -> None:
        """Closes every connection."""
        await self._reading.aclose()
        await self._changing.aclose()

    async def _take_session(self, pool: Pool[PostgresSession]) -> tuple[PostgresSession, bool]:
        with translate_failures(self._report_connect_failure):
            return await pool.take()

    async def _replace_if_dead(self, pool: Pool[PostgresSession], session: PostgresSession) -> PostgresSession:
        """Returns the session, or a new one when it was cut off while idle. Only one idle for a while is checked."""
        if not session.is_stale():
            return session
        try:
            await session.raw.execute("SELECT 1")
            return session
        except (OSError, self._driver.PostgresError, self._driver.InterfaceError):
            pool.drop(session)
            return (await self._take_session(pool))[0]
        except BaseException:
            pool.drop(session)
            raise

    async def _connect(self, *, is_read_only: bool) -> PostgresSession:
        spec, target, members = self._spec, self._target, self._spec.members
        addresses = await asyncio.to_thread(resolve_addresses, spec, target)
        password = await spec.password()
        milliseconds = str(max(1, round(self._seconds * 1000)))
        settings = {
            "application_name": "ferrule",
            "statement_timeout": milliseconds,
            "lock_timeout": milliseconds,
            "idle_in_transaction_session_timeout": str(max(60_000, 2 * int(milliseconds))),
            "default_transaction_read_only": "on" if is_read_only else "off",
            # `statements.py` reads strings so: otherwise a backslash could escape a quote.
            "standard_conforming_strings": "on",
            # The texts that `postgresql_values.py` reads, whatever the server's own settings are.
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
                    ssl=tls_of(spec, target.host, address) or False,
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
            return PostgresSession(raw, (errors.InvalidCachedStatementError, errors.OutdatedSchemaCacheError))
        raise refused

    def _report_connect_failure(self, error: BaseException) -> FailureReport | None:
        """Reports a failure while connecting."""
        report = self._report_failure(error)
        return None if report is None else as_connect_failure(report, self.host)

    def _report_failure(self, error: BaseException) -> FailureReport | None:
        """Reports a failure of the driver; None for what is not a failure of the database."""
        asyncpg = self._driver
        if isinstance(error, asyncpg.PostgresError):
            state = error.sqlstate or ""
            names = tuple(filter(None, (getattr(error, "constraint_name", None), getattr(error, "column_name", None))))
            return FailureReport(f"sqlstate:{state}", kind_of_state(state), str(error), names)
        if isinstance(error, BadParameter):
            return FailureReport("sqlstate:22000", STATES["22"], "", (f":{error.name}",))
        if isinstance(error, asyncpg.DataError | UnicodeEncodeError | OverflowError):
            return FailureReport("sqlstate:22000", STATES["22"])
        if isinstance(error, ssl.SSLError):
            return FailureReport("tls:refused", UNPROVEN)
        if isinstance(error, asyncpg.UnsupportedClientFeatureError):
            return FailureReport("asyncpg:unsupported", STATES["0A"], str(error))
        if isinstance(error, asyncpg.InterfaceError | asyncpg.InternalClientError | OSError | TimeoutError):
            return FailureReport(
                f"connection:{type(error).__name__}", LOST if not isinstance(error, TimeoutError) else SLOW
            )
        return None


class PostgresSession:
    """One connection to PostgreSQL, and what is known about its state."""

    def __init__(self, raw: Any, outdated: tuple[type[Exception], ...]) -> None:
        """`outdated`: the driver's errors for a prepared statement whose table has changed."""
        self.raw = raw
        self._outdated = outdated
        self.pid = raw.get_server_pid()
        self.is_clean = True
        """False while a statement or transaction is under way."""
        self.is_in_doubt = False
        """True when COMMIT was sent and no answer came."""
        self._statements: OrderedDict[Statement, PreparedStatement] = OrderedDict()
        self._unreset: Statement | None = None
        """The statement after which the session was not reset, because it cannot have changed it."""
        self._used = asyncio.get_running_loop().time()

    def is_usable(self) -> bool:
        """Returns False when it is in the middle of something or the server has closed it."""
        return self.is_clean and not self.raw.is_closed()

    def is_stale(self) -> bool:
        """Returns True when it has been idle for a while."""
        return asyncio.get_running_loop().time() - self._used > 1.0

    async def prepare(self, statement: Statement) -> PreparedStatement:
        """Returns the prepared statement; the server parses it once per session."""
        found = self._statements.get(statement)
        if found is None:
            order = list(dict.fromkeys(statement.names))
            text = statement.text(lambda _, name: f"${order.index(name) + 1}")
            found = self._statements[statement] = PreparedStatement(await self.raw.prepare(text), order)
            while len(self._statements) > _MOST_STATEMENTS:
                self._statements.popitem(last=False)
        return found

    def leave_unreset(self, statement: Statement) -> None:
        """Leaves the session without a reset after a statement that cannot have changed it; another statement resets it first."""
        self._unreset = statement
        self._used = asyncio.get_running_loop().time()

    async def read(self, query: Query) -> Rows:
        """Yields the rows of a query that only reads."""
        if self._unreset is not None and self._unreset != query.statement:
            await self.reset()
        self.is_clean = False
        prepared = await self.prepare(query.statement)
        if not prepared.is_long:
            try:
                first, is_whole = await prepared.fetch_first(self.raw, prepared.values(query.values))
            except self._outdated:
                prepared = await self._prepare_again(query.statement)
                first, is_whole = await prepared.fetch_first(self.raw, prepared.values(query.values))
            if is_whole:
                self.is_clean = True
                yield prepared.columns(query.wants).rows(first)
                return
            prepared.is_long = True
        # A cursor lives only within a transaction.
        await self.raw.execute("BEGIN READ ONLY")
        cursor = await prepared.raw.cursor(*prepared.values(query.values))
        columns = prepared.columns(query.wants)
        while batch := await cursor.fetch(BATCH):
            yield columns.rows(batch)
        await self.raw.execute("COMMIT")
        self.is_clean = True

    async def change(self, query: Query, answer: QueryReport) -> Rows:
        """Makes a change and yields the rows it returns; commits when the consumer asks for more after them."""
        self.is_clean = False
        await self.raw.execute("BEGIN READ WRITE")
        prepared = await self.prepare(query.statement)
        try:
            found = await prepared.raw.fetch(*prepared.values(query.values))
        except self._outdated:
            # The error ended the transaction, and nothing of it took effect.
            await self.raw.execute("ROLLBACK; BEGIN READ WRITE")
            prepared = await self._prepare_again(query.statement)
            found = await prepared.raw.fetch(*prepared.values(query.values))
        answer.affected = _count_changed_rows(prepared.raw.get_statusmsg())
        yield prepared.columns(query.wants).rows(found)
        # From here on a failure leaves it unknown whether the change was made.
        self.is_in_doubt = True
        await self.raw.execute("COMMIT")
        self.is_in_doubt = False
        self.is_clean = True

    async def _prepare_again(self, statement: Statement) -> PreparedStatement:
        """Prepares the statement once more, because a table that it names has changed."""
        self._statements.clear()
        await self.raw.reload_schema_state()
        return await self.prepare(statement)

    async def recover(self) -> bool:
        """Rolls back what was begun; returns True when the session is as good as new."""
        if self.is_in_doubt or self.raw.is_closed():
            return False
        with suppress(Exception):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self.raw.execute("ROLLBACK")
                await self.reset()
                return True
        return False

    async def reset(self) -> None:
        """Resets the session to its initial state: settings, locks, cursors."""
        self.is_clean = False
        await self.raw.execute(_RESET)
        self.is_clean = True
        self._unreset = None
        self._used = asyncio.get_running_loop().time()

    async def aclose(self) -> None:
        """Cancels what it does at the server, and closes it."""
        try:
            await self.raw.close(timeout=_CLOSE_SECONDS)
        except Exception:  # the server is gone, or does not answer
            self.raw.terminate()


class PreparedStatement:
    """A statement that the server has parsed."""

    def __init__(self, raw: Any, names: Sequence[str]) -> None:
        self.raw = raw
        self._names = names
        self._types = raw.get_parameters()
        self._attributes = raw.get_attributes()
        self._converts = converts_of(self._attributes)
        self._columns: Columns | None = None
        self._wants: Any = None
        self.is_long = False
        """True when it once returned more rows than the first round trip fetches; it gets a cursor at once from then on."""

    def values(self, given: Any) -> list[Any]:
        """Converts values for the driver. Raises BadParameter."""
        return parameters_of(self._names, self._types, given)

    def columns(self, wants: Any) -> Columns:
        """Returns the converter of its rows."""
        if self._columns is None or self._wants is not wants:
            self._wants = wants
            self._columns = Columns([attribute.name for attribute in self._attributes], wants, self._converts)
        return self._columns

    async def fetch_first(self, connection: Any, values: list[Any]) -> tuple[list[Any], bool]:
        """Fetches the first rows in one round trip; also returns whether they are all."""
        # asyncpg's public `fetch` has no limit, and its cursor costs a transaction: hence its protocol object.
        found, _, is_whole = await connection._protocol.bind_execute(self.raw._state, values, "", _FIRST, True, None)
        return found or [], bool(is_whole)


def _count_changed_rows(status: str | None) -> int | None:
    """Reads the number of changed rows from a status such as `INSERT 0 5`; None for a statement that changes none."""
    verb, _, rest = (status or "").partition(" ")
    count = rest.rpartition(" ")[2]
    return int(count) if verb in ("INSERT", "UPDATE", "DELETE", "MERGE") and count.isdecimal() else None
