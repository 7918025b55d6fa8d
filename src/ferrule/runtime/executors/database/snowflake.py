"""Snowflake through its connector. A query is started asynchronously, so that its id is known and it can be aborted.

Snowflake has no read-only transaction: a retrieval's statement may only begin with a reading verb. Give it a role that may
only read. The connector resolves the account's host itself; the host is checked before each connection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ferrule.infra.drivers import load_driver
from ferrule.infra.network.urls import BadUrl, Target, parse_host
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.database.engine import BATCH, BadMembers, ConnectionSpec, Query, resolve_addresses
from ferrule.runtime.executors.database.failures import LOST, STATES, FailureKind, FailureReport, kind_of_state
from ferrule.runtime.executors.database.threads import ThreadedDatabase
from ferrule.runtime.executors.database.values import Columns, Convert, parse_json, to_json

_ACCOUNT = re.compile(r"[A-Za-z0-9_.-]+")
_VARIANTS = frozenset({5, 9, 10})
"""Type codes of VARIANT, OBJECT and ARRAY, which come as JSON text."""
_ERRNOS: dict[int, FailureKind] = {
    250001: LOST,
    250003: LOST,
    390100: STATES["28"],
    390144: STATES["28"],
    390101: STATES["28"],
    390201: STATES["3D"],
    604: STATES["57014"],
    630: STATES["57014"],
    3001: STATES["42501"],
    2043: STATES["42"],
    2003: STATES["42"],
    1003: STATES["42"],
    904: STATES["42"],
}


class SnowflakeDatabase(ThreadedDatabase):
    """One Snowflake account, as one user and role."""

    def __init__(self, spec: ConnectionSpec, *, size: int, seconds: float) -> None:
        """Raises BadMembers; ExecutionFailed when the driver is missing."""
        super().__init__(spec, size=size, seconds=seconds)
        self._driver = load_driver("snowflake.connector")
        self._target = _target(spec.members)
        names = (spec.members["account"], spec.members.get("database"), spec.members.get("schema"))
        self.host = "/".join(str(name) for name in names if name)

    def connect(self, password: str) -> Any:
        """Opens a connection, after checking the account's host."""
        members, seconds = self._spec.members, max(1, round(self._seconds))
        resolve_addresses(self._spec, self._target)
        wanted = ("database", "schema", "role", "host", "port", "protocol")
        return self._driver.connect(
            account=str(members["account"]),
            user=str(members["username"]),
            password=password,
            warehouse=str(members["warehouse"]),
            **{name: members[name] for name in wanted if members.get(name)},
            paramstyle="qmark",
            autocommit=True,
            login_timeout=min(10, seconds),
            network_timeout=seconds,
            application="ferrule",
            session_parameters={
                "STATEMENT_TIMEOUT_IN_SECONDS": seconds,
                "ABORT_DETACHED_QUERY": True,
                "TIMEZONE": "UTC",
                "QUERY_TAG": "ferrule",
            },
        )

    def stop(self, raw: Any, cursor: Any) -> None:
        """Aborts the query by its id."""
        number = getattr(cursor, "sfqid", None) or getattr(raw, "ferrule_query", None)
        if number is not None:
            raw.cursor().abort_query(number)

    def begin(self, raw: Any, query: Query, text: str, values: list[Any]) -> tuple[Any, JsonObject]:
        """Starts a statement, and waits for it by its id."""
        cursor = raw.cursor()
        # So that `stop` never aborts the query before this one.
        raw.ferrule_query = None
        cursor.execute_async(text, *([values] if values else []))
        number = raw.ferrule_query = cursor.sfqid
        cursor.get_results_from_sfqid(number)
        return _StartedCursor(cursor), {"query_id": number}

    def end(self, raw: object, keep: bool) -> None:
        """Does nothing: with autocommit each statement is a transaction of its own."""

    def parse(self, raw: Any, text: str, count: int) -> None:
        """Has the server describe the result of a statement without running it."""
        cursor = raw.cursor()
        try:
            cursor.describe(text, *([[None] * count] if count else []))
        finally:
            cursor.close()

    def columns(self, cursor: Any, query: Query) -> Columns:
        """Returns the converter of rows; names that need no quotes are in lower case."""
        names = [_fold_case(column[0]) for column in cursor.description]
        converts: list[Convert] = [parse_json if column[1] in _VARIANTS else to_json for column in cursor.description]
        return Columns(names, query.wants, converts)

    def report_failure(self, error: BaseException) -> FailureReport | None:
        """Reports a failure of the connector, by its number or SQLSTATE."""
        if not isinstance(error, self._driver.errors.Error):
            return FailureReport(f"connection:{type(error).__name__}", LOST) if isinstance(error, OSError) else None
        number = getattr(error, "errno", None)
        state = str(getattr(error, "sqlstate", None) or "")
        meaning = _ERRNOS.get(number) if isinstance(number, int) else None
        if meaning is None:
            is_unreached = isinstance(error, self._driver.errors.OperationalError) and not state
            meaning = LOST if is_unreached else kind_of_state(state)
        text = str(getattr(error, "raw_msg", None) or getattr(error, "msg", None) or "")
        return FailureReport(f"snowflake:{number}" if number else f"sqlstate:{state}", meaning, text)

    def table_query(self, schema: str, name: str) -> tuple[str, list[Any]]:
        """Returns a query of the information schema that matches a name as stored, or as it is written without quotes."""
        return (
            "SELECT table_schema, table_name, column_name FROM information_schema.columns"
            " WHERE table_name IN (?, ?) AND (table_schema IN (?, ?) OR (? = '' AND table_schema = CURRENT_SCHEMA()))"
            " ORDER BY ordinal_position",
            [name, name.upper(), schema, schema.upper(), schema],
        )


class _StartedCursor:
    """A cursor whose first rows were fetched: only then does it know its columns. The counts of a change are not rows."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor
        self._first = cursor.fetchmany(BATCH)
        self.description = cursor.description
        self.rowcount = -1
        names = [str(column[0]).lower() for column in self.description or ()]
        if names and all(name.startswith("number of ") for name in names):
            self.rowcount = sum(int(count) for count in self._first[0]) if self._first else 0
            self.description = None
        elif names == ["status"]:
            self.description = None

    @property
    def sfqid(self) -> Any:
        return self._cursor.sfqid

    def fetchmany(self, size: int) -> list[Any]:
        first, self._first = self._first, []
        return first or list(self._cursor.fetchmany(size))

    def fetchall(self) -> list[Any]:
        return [*self.fetchmany(BATCH), *self._cursor.fetchall()]

    def close(self) -> None:
        self._cursor.close()


def _fold_case(name: str) -> str:
    """Returns a name that needs no quotes in lower case, as people write it."""
    return name.lower() if name == name.upper() else name


def _target(members: Mapping[str, object]) -> Target:
    account = str(members["account"])
    try:
        if not _ACCOUNT.fullmatch(account):
            raise BadUrl
        host = parse_host(str(members.get("host") or f"{account}.snowflakecomputing.com"))
        return Target("https", host, int(str(members.get("port") or 443)), "/")
    except ValueError:
        raise BadMembers(
            "'account' must be the name of a Snowflake account; 'host' and 'port' need not be said"
        ) from None
