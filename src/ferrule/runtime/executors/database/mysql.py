"""MySQL and MariaDB through asyncmy: prepared statements, so that values travel beside the SQL and never in it.

A retrieval runs in `START TRANSACTION READ ONLY`. Rows are read as they come (`mysql_rows.py`), so a long result is never in
memory as a whole. A cancelled query is killed at the server, over a second connection. Between two calls the server resets
the session.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import Any

from ferrule.infra.drivers import load_driver
from ferrule.runtime.executors.database.connections import Pool, tls_of
from ferrule.runtime.executors.database.engine import (
    ConnectionSpec,
    LiveTable,
    Query,
    QueryReport,
    Rows,
    group_columns,
    resolve_addresses,
    target_of,
)
from ferrule.runtime.executors.database.failures import (
    LOST,
    STATES,
    UNPROVEN,
    DatabaseFailed,
    FailureKind,
    FailureReport,
    as_connect_failure,
    kind_of_state,
    translate_failures,
)
from ferrule.runtime.executors.database.mysql_rows import Unbindable, execute, values_of
from ferrule.runtime.executors.database.statements import Statement

_RESET_CONNECTION = 0x1F
_READING, _CHANGING = "START TRANSACTION READ ONLY", "START TRANSACTION READ WRITE"
_CLOSE_SECONDS = 5.0
_GONE = frozenset({2002, 2003, 2006, 2013, 2055, 1053, 1158, 1159, 1160, 1161, 1927})
_DENIED = STATES["42501"]
_ERRNOS: dict[int, FailureKind] = {
    **dict.fromkeys(_GONE, LOST),
    **dict.fromkeys((1044, 1142, 1143, 1227, 1290, 1370, 1410), _DENIED),
    **dict.fromkeys((1045, 1251, 1698, 3118, 4151), STATES["28"]),
    **dict.fromkeys((1040, 1203, 1226), STATES["53300"]),
    **dict.fromkeys((1048, 1062, 1216, 1217, 1364, 1451, 1452, 3819, 4025), STATES["23"]),
    **dict.fromkeys((1264, 1265, 1292, 1365, 1366, 1406, 1411, 1690, 1267, 3140, 4038), STATES["22"]),
    **dict.fromkeys((1317, 1969, 3024), STATES["57014"]),
    1049: STATES["3D"],
    1205: STATES["55P03"],
    1213: STATES["40"],
    1644: STATES["P0"],
    1792: STATES["25006"],
    1021: STATES["53"],
    1037: STATES["53"],
    1038: STATES["53"],
}
_TABLES = (
    "SELECT table_schema, table_name, column_name FROM information_schema.columns WHERE table_name = ?"
    " AND table_schema = IF(? = '', DATABASE(), ?) ORDER BY ordinal_position"
)


class MysqlDatabase:
    """One MySQL or MariaDB database, as one user."""

    def __init__(self, spec: ConnectionSpec, *, size: int, seconds: float) -> None:
        """Raises BadMembers; ExecutionFailed when the driver is missing."""
        self._driver = load_driver("asyncmy")
        self._errors = load_driver("asyncmy.errors")
        self._spec = spec
        self._target = target_of(spec.members)
        self._seconds = seconds
        self.host = f"{self._target.host}:{self._target.port}/{spec.members['database']}"
        self._pool: Pool[MysqlSession] = Pool(self._connect, size=size)

    async def rows(self, query: Query, answer: QueryReport) -> Rows:
        """Runs a query. Raises DatabaseFailed."""
        session = await self._begin_session(_READING if query.is_read_only else _CHANGING)
        answer.add_refs(thread_id=session.raw.thread_id())
        is_in_doubt = False
        try:
            text = query.statement.text(_marker)
            values = values_of(query)
            async for batch in execute(session.raw, text, values, query.wants, answer):
                yield batch
            # From here on a failure leaves it unknown whether the change was made.
            is_in_doubt = not query.is_read_only
            await session.raw.commit()
            is_in_doubt = False
            await session.reset()
        except BaseException as error:
            # Unread rows would still arrive on this connection: it is closed, not recovered.
            if self._is_refusal(error) and not is_in_doubt and await session.recover():
                self._pool.give(session)
            else:
                self._pool.drop(session)
            report = self._report_failure(error)
            if report is None:
                raise
            raise DatabaseFailed(report, may_have_acted=is_in_doubt) from None
        self._pool.give(session)

    async def check(self, statement: Statement | None) -> str:
        """Connects, and has the server parse a statement. Raises DatabaseFailed."""
        async with self._pool.lend(await self._begin_session("SELECT 1")) as session:
            with translate_failures(self._report_failure):
                if statement is not None:
                    prepared = await session.raw.prepare(statement.text(_marker))
                    await prepared.close()
                await session.reset()
        return f"connected to {self.host} as {self._spec.members['username']}"

    async def tables(self, schema: str, name: str) -> list[LiveTable]:
        """Returns the tables of that name that the user can see. Raises DatabaseFailed."""
        if max(name + schema, default="") > "\uffff":
            return []  # names have no such letters, and some servers fail when they are asked for them
        async with self._pool.lend(await self._begin_session(_READING)) as session:
            with translate_failures(self._report_failure):
                batches = execute(session.raw, _TABLES, (name, schema, schema), {}, QueryReport())
                found = [tuple(row.values()) async for batch in batches for row in batch]
                await session.raw.rollback()
                await session.reset()
        return group_columns(found)

    def retire(self) -> None:
        """Opens no new connections."""
        self._pool.retire()

    async def aclose(self) -> None:
        """Closes every connection."""
        await self._pool.aclose()

    async def _begin_session(self, begin: str) -> MysqlSession:
        """Takes a session and runs its first statement. Replaces a session that was cut off while idle: nothing was sent yet."""
        while True:
            with translate_failures(self._report_connect_failure):
                session, is_new = await self._pool.take()
            try:
                await session.raw.query(begin)
                return session
            except BaseException as error:
                self._pool.drop(session)
                report = self._report_failure(error)
                if report is None:
                    raise
                if is_new or report.kind is not LOST:
                    raise DatabaseFailed(report) from None

    async def _connect(self) -> MysqlSession:
        raw = await self._dial()
        session = MysqlSession(raw, self._settings(raw), self._dial)
        try:
            await session.set_up()
        except BaseException:
            raw.close()
            raise
        return session

    async def _dial(self) -> Any:
        spec, target, members = self._spec, self._target, self._spec.members
        addresses = await asyncio.to_thread(resolve_addresses, spec, target)
        password = await spec.password()
        refused: Exception = OSError("no address")
        for address in addresses:
            try:
                return await self._driver.connect(
                    host=address,
                    port=target.port,
                    user=str(members["username"]),
                    password=password.encode(),
                    database=str(members["database"]),
                    charset="utf8mb4",
                    # A transaction begins with a statement that says whether it may write.
                    autocommit=True,
                    connect_timeout=min(10.0, self._seconds),
                    ssl=tls_of(spec, target.host, address),
                    program_name="ferrule",
                )
            except (OSError, TimeoutError, self._errors.OperationalError) as error:
                # The server has answered: another address of it would answer the same.
                if isinstance(error, self._errors.OperationalError) and error.args[0] not in _GONE:
                    raise
                refused = error
        raise refused

    def _settings(self, raw: Any) -> tuple[str, ...]:
        """Returns the statements that set up a session: strings and names as `statements.py` parses them, times in UTC."""
        seconds = max(1, round(self._seconds))
        version = str(raw.get_server_info() or "")
        # MariaDB counts in seconds, and MySQL in milliseconds.
        if "mariadb" in version.lower():
            limit = f"max_statement_time = {self._seconds:.3f}"
        else:
            limit = f"max_execution_time = {max(1, round(self._seconds * 1000))}"
        modes = "REPLACE(REPLACE(REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), 'ANSI_QUOTES', ''), 'ANSI', '')"
        return (
            "SET NAMES utf8mb4",
            f"SET SESSION {limit}, lock_wait_timeout = {seconds}, innodb_lock_wait_timeout = {seconds},"
            f" time_zone = '+00:00', sql_mode = {modes}",
        )

    def _is_refusal(self, error: BaseException) -> bool:
        """Returns True when the server refused the command and is ready for the next one."""
        return isinstance(error, Unbindable) or (
            isinstance(error, self._errors.MySQLError) and bool(error.args) and error.args[0] not in _GONE
        )

    def _report_connect_failure(self, error: BaseException) -> FailureReport | None:
        """Reports a failure while connecting."""
        report = self._report_failure(error)
        return None if report is None else as_connect_failure(report, self.host)

    def _report_failure(self, error: BaseException) -> FailureReport | None:
        """Reports a failure of the driver; None for what is not a failure of the database."""
        cause = error.__cause__
        if isinstance(error, ssl.SSLError) or isinstance(cause, ssl.SSLError):
            return FailureReport("tls:refused", UNPROVEN)
        if isinstance(error, Unbindable):
            return FailureReport("sqlstate:22000", STATES["22"], "", (f":{error.name}",))
        if isinstance(error, self._errors.MySQLError):
            number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
            state = str(getattr(error, "sqlstate", None) or "")
            meaning = _ERRNOS.get(number) or (LOST if number == 0 else kind_of_state(state))
            ref = f"sqlstate:{state}" if state and state != "HY000" else f"mysql:{number}"
            return FailureReport(ref, meaning, str(error.args[1]) if len(error.args) > 1 else "")
        if isinstance(error, OSError | TimeoutError):
            return FailureReport(f"connection:{type(error).__name__}", LOST)
        return None


def _marker(position: int, name: str) -> str:
    return "?"


class MysqlSession:
    """One connection to MySQL."""

    def __init__(self, raw: Any, settings: tuple[str, ...], dial: Any) -> None:
        self.raw = raw
        self._settings = settings
        self._dial = dial
        self._is_idle = False

    def is_usable(self) -> bool:
        """Returns False when the server has closed it."""
        return bool(self.raw.connected) and not self.raw._stream_broken

    async def set_up(self) -> None:
        """Applies the session's settings."""
        for statement in self._settings:
            await self.raw.query(statement)

    async def reset(self) -> None:
        """Has the server drop all state of the session: variables, locks, temporary tables."""
        await self.raw._execute_command(_RESET_CONNECTION, b"")
        await self.raw._read_ok_packet()
        await self.set_up()
        self._is_idle = True

    async def recover(self) -> bool:
        """Rolls back what was begun; returns True when the session is as good as new."""
        with suppress(Exception):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self.raw.rollback()
                await self.reset()
                return True
        return False

    async def aclose(self) -> None:
        """Closes it, and kills what it still does at the server over another connection."""
        number, is_idle = self.raw.thread_id(), self._is_idle
        with suppress(Exception):
            self.raw.close()
        if is_idle and self.raw.connected:
            return
        with suppress(Exception):
            async with asyncio.timeout(_CLOSE_SECONDS):
                other = await self._dial()
                try:
                    await other.query(f"KILL {int(number)}")
                finally:
                    await other.ensure_closed()
