"""SQL Server through mssql-python. Written from documentation, not run against the service.

SQL Server has no read-only transaction: a retrieval's statement may only begin with a reading verb, and its transaction is
rolled back at the end. Give it a user that may only read.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from ferrule.infra.drivers import load_driver
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.database.engine import BadMembers, ConnectionSpec, Query, resolve_addresses, target_of
from ferrule.runtime.executors.database.failures import LOST, STATES, FailureKind, FailureReport, kind_of_state
from ferrule.runtime.executors.database.threads import ThreadedDatabase

_STATE = re.compile(r"\[?\b([0-9A-Z]{5})\b\]?")
_BY_TYPE: tuple[tuple[str, FailureKind], ...] = (
    ("IntegrityError", STATES["23"]),
    ("DataError", STATES["22"]),
    ("OperationalError", LOST),
    ("ProgrammingError", STATES["42"]),
)


class MssqlDatabase(ThreadedDatabase):
    """One SQL Server database, as one user."""

    def __init__(self, spec: ConnectionSpec, *, size: int, seconds: float) -> None:
        """Raises BadMembers; ExecutionFailed when the driver is missing."""
        super().__init__(spec, size=size, seconds=seconds)
        self._driver = load_driver("mssql_python")
        self._target = target_of(spec.members)
        self.host = f"{self._target.host}:{self._target.port}/{spec.members['database']}"

    def connect(self, password: str) -> Any:
        """Opens a connection to a checked address; the certificate is checked against the host's name."""
        members, target = self._spec.members, self._target
        address = resolve_addresses(self._spec, target)[0]
        mode = str(members.get("sslmode", "verify-full"))
        parts = {
            "Server": f"tcp:{address},{target.port}",
            "Database": str(members["database"]),
            "UID": str(members["username"]),
            "PWD": password,
            "Encrypt": "no" if mode == "disable" else "yes",
            "TrustServerCertificate": "yes" if mode == "require" else "no",
            "HostNameInCertificate": target.host,
        }
        text = ";".join(f"{name}={_brace_value(value)}" for name, value in parts.items())
        connection = self._driver.connect(text, autocommit=False, timeout=max(1, round(self._seconds)))
        cursor = connection.cursor()
        cursor.execute(f"SET LOCK_TIMEOUT {max(1, round(self._seconds * 1000))}")
        cursor.close()
        return connection

    def stop(self, raw: Any, cursor: Any) -> None:
        """Closes the cursor, which ends the request: the driver has no cancel. The query timeout ends what goes on."""
        if cursor is not None:
            with suppress(Exception):
                cursor.close()

    def begin(self, raw: Any, query: Query, text: str, values: list[Any]) -> tuple[Any, JsonObject]:
        """Runs a statement in a transaction of its own."""
        raw.timeout = max(1, round(query.seconds))
        cursor = raw.cursor()
        cursor.execute(text, *([values] if values else []))
        return cursor, {}

    def end(self, raw: Any, keep: bool) -> None:
        """Ends the transaction."""
        if keep:
            raw.commit()
        else:
            raw.rollback()

    def parse(self, raw: Any, text: str, count: int) -> None:
        """Has the server compile a statement without running it."""
        cursor = raw.cursor()
        try:
            cursor.execute("SET NOEXEC ON")
            cursor.execute(text, *([[None] * count] if count else []))
        finally:
            cursor.execute("SET NOEXEC OFF")
            cursor.close()
            raw.rollback()

    def report_failure(self, error: BaseException) -> FailureReport | None:
        """Reports a failure of the driver, by its SQLSTATE or else by its type."""
        if isinstance(error, BadMembers):
            return None
        if not isinstance(error, self._driver.Error):
            return FailureReport(f"connection:{type(error).__name__}", LOST) if isinstance(error, OSError) else None
        said = str(getattr(error, "driver_error", "") or "")
        state = _STATE.search(said)
        if state is not None:
            return FailureReport(f"sqlstate:{state[1]}", kind_of_state(state[1]), str(getattr(error, "ddbc_error", "")))
        kind = type(error).__name__
        meaning = next((meaning for name, meaning in _BY_TYPE if name == kind), STATES["HY000"])
        return FailureReport(f"mssql:{kind}", meaning, str(getattr(error, "ddbc_error", "")))

    def table_query(self, schema: str, name: str) -> tuple[str, list[Any]]:
        """Returns a query of the information schema."""
        return (
            "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = ?"
            " AND TABLE_SCHEMA = COALESCE(NULLIF(?, ''), SCHEMA_NAME()) ORDER BY ORDINAL_POSITION",
            [name, schema],
        )


def _brace_value(value: str) -> str:
    """Puts a value of a connection string into braces, within which no character is special."""
    return "{" + value.replace("}", "}}") + "}"
