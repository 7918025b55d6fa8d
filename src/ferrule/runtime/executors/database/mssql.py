"""SQL Server, through mssql-python. Written from documentation, not run against the service.

SQL Server has no read-only transaction: a retrieval's statement may only begin with what reads, and whatever its transaction
changed is taken back at its end. Give it a user that may only read.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from ferrule.infra.drivers import load_driver
from ferrule.runtime.executors.database.engine import BadMembers, Opening, Query, judged, target_of
from ferrule.runtime.executors.database.failures import LOST, STATES, Meaning, Told, meaning_of
from ferrule.runtime.executors.database.threads import ThreadedDatabase

_STATE = re.compile(r"\[?\b([0-9A-Z]{5})\b\]?")
_BY_TYPE: tuple[tuple[str, Meaning], ...] = (
    ("IntegrityError", STATES["23"]),
    ("DataError", STATES["22"]),
    ("OperationalError", LOST),
    ("ProgrammingError", STATES["42"]),
)


class MssqlDatabase(ThreadedDatabase):
    """One database, as one user."""

    def __init__(self, opening: Opening, *, size: int, seconds: float) -> None:
        """Raises BadMembers; ExecutionFailed when the driver is missing."""
        super().__init__(opening, size=size, seconds=seconds)
        self._driver = load_driver("mssql_python")
        self._target = target_of(opening.members)
        self.host = f"{self._target.host}:{self._target.port}/{opening.members['database']}"

    def connect(self, password: str) -> Any:
        """A new connection, to an address that was judged; the certificate is checked against the host's name."""
        members, target = self._opening.members, self._target
        address = judged(self._opening, target)[0]
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
        text = ";".join(f"{name}={_braced(value)}" for name, value in parts.items())
        connection = self._driver.connect(text, autocommit=False, timeout=max(1, round(self._seconds)))
        cursor = connection.cursor()
        cursor.execute(f"SET LOCK_TIMEOUT {max(1, round(self._seconds * 1000))}")
        cursor.close()
        return connection

    def stop(self, raw: Any, cursor: Any) -> None:
        """The driver has no cancel of its own: closing the cursor ends the request, and the query timeout ends what does not."""
        if cursor is not None:
            with suppress(Exception):
                cursor.close()

    def begin(self, raw: Any, query: Query, text: str, values: list[Any]) -> tuple[Any, dict[str, Any]]:
        """Run a statement in a transaction of its own."""
        raw.timeout = max(1, round(query.seconds))
        cursor = raw.cursor()
        cursor.execute(text, *([values] if values else []))
        return cursor, {}

    def end(self, raw: Any, keep: bool) -> None:
        """End the transaction."""
        if keep:
            raw.commit()
        else:
            raw.rollback()

    def read(self, raw: Any, text: str, count: int) -> None:
        """Have the server compile a statement and not run it."""
        cursor = raw.cursor()
        try:
            cursor.execute("SET NOEXEC ON")
            cursor.execute(text, *([[None] * count] if count else []))
        finally:
            cursor.execute("SET NOEXEC OFF")
            cursor.close()
            raw.rollback()

    def told(self, error: BaseException) -> Told | None:
        """What a failure of the driver means, by the SQLSTATE it tells, else by its type."""
        if isinstance(error, BadMembers):
            return None
        if not isinstance(error, self._driver.Error):
            return Told(f"connection:{type(error).__name__}", LOST) if isinstance(error, OSError) else None
        said = str(getattr(error, "driver_error", "") or "")
        state = _STATE.search(said)
        if state is not None:
            return Told(f"sqlstate:{state[1]}", meaning_of(state[1]), str(getattr(error, "ddbc_error", "")))
        kind = type(error).__name__
        meaning = next((meaning for name, meaning in _BY_TYPE if name == kind), STATES["HY000"])
        return Told(f"mssql:{kind}", meaning, str(getattr(error, "ddbc_error", "")))

    def table_query(self, schema: str, name: str) -> tuple[str, list[Any]]:
        """From the information schema."""
        return (
            "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = ?"
            " AND TABLE_SCHEMA = COALESCE(NULLIF(?, ''), SCHEMA_NAME()) ORDER BY ORDINAL_POSITION",
            [name, schema],
        )


def _braced(value: str) -> str:
    """A value of a connection string: in braces nothing in it means anything else."""
    return "{" + value.replace("}", "}}") + "}"
