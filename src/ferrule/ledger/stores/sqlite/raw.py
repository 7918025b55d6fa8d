"""Reads a ledger file for audits: raw values of one moment, and the file's own defects.

Nothing here trusts the file: a table is read only if it is defined as in the schema, so that no view or changed
column replaces one.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from ferrule.contracts.ledger import KEY_COLUMNS, TABLES, HeadRow, RawRow, SourceDamaged, TableName
from ferrule.errors import LedgerError, LedgerUnavailable
from ferrule.ledger.chain import to_kind_number
from ferrule.ledger.stores.sqlite.schema import MIGRATIONS

COLUMNS = ", ".join(RawRow._fields)
_WAIT_SECONDS = 10.0
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR})
"""Errors of a damaged file on opening; the check explains them better than a refusal to check."""
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_CALL, _ENDED, _PRUNED = to_kind_number("call"), to_kind_number("ended"), to_kind_number("pruned")
_NEWS = to_kind_number("news")
_UPKEEP = (to_kind_number("opened"), to_kind_number("erased"), _PRUNED)
_LATE = f"""
    SELECT call, max(seq) FROM journal
    WHERE call IN (SELECT call FROM journal WHERE call <> '' GROUP BY call HAVING count(*) > 1) AND kind <> {_NEWS}
    GROUP BY call
    HAVING sum(kind IN ({_CALL}, {_ENDED})) > 1
        OR max(seq) > max(CASE WHEN kind IN ({_CALL}, {_ENDED}) THEN seq END)
"""
_SHOWN_DEFECTS = 20

SchemaItem = tuple[str, str, str, str | None]
"""Type, name, table and text of one thing in a database's schema."""


def connect(path: Path, *, is_writable: bool = False) -> sqlite3.Connection:
    """Connects to an existing ledger file, read-only unless told otherwise. Raises LedgerError."""
    _check_is_there(path)
    with ledger_errors(path):
        try:
            return _connect(path, "rw" if is_writable else "ro")
        except sqlite3.OperationalError:
            # A medium that cannot be written has no room for the index of a write-ahead log; without a log none is needed.
            log = Path(f"{path}-wal")
            if is_writable or (log.exists() and log.stat().st_size):
                raise
            return _connect(path, "ro&immutable=1")


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode={mode}"
    db = sqlite3.connect(address, uri=True, isolation_level=None, timeout=_WAIT_SECONDS, check_same_thread=False)
    try:
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cell_size_check = ON")
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # opens the file; until now only its name was known
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF not in _DAMAGE:
            db.close()
            raise
    return db


def _check_is_there(path: Path) -> None:
    # Only SQLite may open the file: closing a descriptor of our own would drop locks that a store in this process holds.
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise LedgerError(f"there is no ledger {path}; name it with --ledger, or its workspace") from None
    except OSError as error:
        raise LedgerError(f"the ledger {path} cannot be read: {error.strerror}") from None
    if not path.is_file() or not size:
        raise LedgerError(f"{path} is no ledger: it is {'empty' if path.is_file() else 'not a file'}")


@contextmanager
def ledger_errors(path: Path) -> Iterator[None]:
    """Translates SQLite's errors into errors an operator can act on."""
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY:
            raise LedgerUnavailable(f"the ledger {path} is in use by another process; try again") from None
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_NOTADB:
            raise LedgerError(
                f"{path} is no ledger: it is not an SQLite file, or its first page is destroyed"
            ) from None
        raise LedgerError(f"the ledger {path} cannot be used: {error}; 'ferrule audit verify' tells more") from None


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY:
            raise LedgerUnavailable("the ledger is locked by another process; try again") from None
        raise SourceDamaged(str(error)) from None


class _IntegrityCheck(threading.Thread):
    """SQLite's integrity check of a whole file, on a connection of its own: it runs without the interpreter lock, so
    it costs no time."""

    def __init__(self, path: Path) -> None:
        super().__init__(name="ferrule-audit", daemon=True)
        self._db = connect(path)
        self._texts: list[str] = []
        self._error: sqlite3.Error | None = None
        self.start()

    def run(self) -> None:
        """Runs the check."""
        try:
            self._texts = [text for (text,) in self._db.execute(f"PRAGMA integrity_check({_SHOWN_DEFECTS})")]
        except sqlite3.Error as error:
            self._error = error

    def result(self) -> list[str]:
        """Returns the defects. Raises sqlite3.Error when the file cannot even be checked."""
        self.join()
        if self._error is not None:
            raise self._error
        return [text for text in self._texts if text != "ok"]

    def stop(self) -> None:
        """Stops the check, finished or not."""
        self._db.interrupt()
        # Joined before closing: the thread still uses the connection.
        self.join()
        self._db.close()


class SqliteSource:
    """A ledger file at one moment. Use it as a context manager."""

    has_tables = True

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._db: sqlite3.Connection | None = None
        self._schema: frozenset[SchemaItem] | None = None
        self._soundness: _IntegrityCheck | None = None

    def __enter__(self) -> SqliteSource:
        self._db = connect(self.path)
        self._db.execute("BEGIN")  # one moment, whatever others write meanwhile
        return self

    def __exit__(self, *_: object) -> None:
        if self._soundness is not None:
            self._soundness.stop()
        if self._db is not None:
            self._db.close()

    def defects(self) -> Iterator[str]:
        """Yields the schema's additions and omissions."""
        self._soundness = self._soundness or _IntegrityCheck(self.path)
        with _translate_errors():
            version = self._read_number("PRAGMA user_version")
            if not 1 <= version <= len(MIGRATIONS):
                yield f"the schema's version is {version}; this Ferrule knows 1 to {len(MIGRATIONS)}"
            wanted, found = make_expected_schema(version), self.read_schema()
            for kind, name, _, _ in sorted(found - wanted, key=str):
                yield f"the {kind} {name!r} is not as the ledger's schema has it, or does not belong there"
            names = {(kind, name) for kind, name, _, _ in found}
            for kind, name, _, _ in sorted(wanted - found, key=str):
                if (kind, name) not in names:
                    yield f"the {kind} {name!r} is missing"

    def damage(self) -> Iterator[str]:
        """Yields the defects that SQLite's own check finds. The check runs beside the rest since `defects`."""
        self._soundness = self._soundness or _IntegrityCheck(self.path)
        with _translate_errors():
            for text in self._soundness.result():
                yield f"SQLite finds the file unsound: {text}"

    def read_schema(self) -> frozenset[SchemaItem]:
        """Reads the whole schema, without SQLite's own tables."""
        if self._schema is None:
            self._schema = _read_schema(self._cursor())
        return self._schema

    def count(self) -> int:
        """Estimates the number of rows."""
        with _translate_errors():
            return self._read_number("SELECT coalesce(max(seq) - min(seq) + 1, 0) FROM journal")

    def rows(self, first: int = 0, last: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Yields the journal in order, or a part of it."""
        with _translate_errors():
            self._require_table("journal")
            upper = 2**63 - 1 if last is None else last
            where = "WHERE seq >= ? AND seq <= ?" if first or last is not None else "WHERE ? <= ?"
            # Not `yield from`: it would close the cursor when the reader stops early, after its connection perhaps.
            for row in self._execute(f"SELECT {COLUMNS} FROM journal {where} ORDER BY seq", first, upper):  # noqa: UP028
                yield row

    def calls(self, first: int = 0, last: int | None = None) -> Iterator[str]:
        """Yields the calls whose last row is among these rows, in the order of that row."""
        # `call <> ''` is the condition of the index of calls; without it SQLite does not use that index.
        later = "SELECT 1 FROM journal l WHERE l.call = j.call AND l.call <> '' AND l.seq > j.seq"
        query = (
            f"SELECT call FROM journal j WHERE call <> '' AND seq BETWEEN ? AND ? AND NOT EXISTS ({later}) ORDER BY seq"
        )
        with _translate_errors():
            self._require_table("journal")
            for (call,) in self._execute(query, first, 2**63 - 1 if last is None else last):
                yield call

    def rows_of(self, call: str) -> list[tuple[Any, ...]]:
        """Returns the rows of one call."""
        with _translate_errors():
            query = f"SELECT {COLUMNS} FROM journal WHERE call = ? AND call <> '' ORDER BY seq"
            return self._execute(query, call).fetchall()

    def list_upkeep_rows(self, after: int) -> list[tuple[Any, ...]]:
        """Lists the rows after a number that record changes to the ledger itself: opened, erased, pruned."""
        with _translate_errors():
            self._require_table("journal")
            query = f"SELECT {COLUMNS} FROM journal WHERE seq > ? AND kind IN (?, ?, ?) ORDER BY seq"
            return self._execute(query, after, *_UPKEEP).fetchall()

    def find_bounds(self) -> tuple[int, int]:
        """Finds the numbers of the first and the last row; zeros when there is none."""
        with _translate_errors():
            self._require_table("journal")
            # Two questions: SQLite answers one about both ends by reading all rows.
            ends = [self._execute(f"SELECT {end}(seq) FROM journal").fetchone()[0] for end in ("min", "max")]
            return ends[0] or 0, ends[1] or 0

    def find_first_from(self, at: int) -> int:
        """Finds the first row from a moment on; the number after the last when there is none. Rows are in the order
        of time."""
        low, high = self.find_bounds()
        high += 1
        with _translate_errors():
            while low < high:
                middle = (low + high) // 2
                found = self._execute("SELECT at FROM journal WHERE seq >= ? ORDER BY seq LIMIT 1", middle).fetchone()
                low, high = (low, middle) if found is None or found[0] >= at else (middle + 1, high)
        return low

    def last_pruned(self) -> tuple[object, ...] | None:
        """Returns the latest `pruned` row; None without one."""
        with _translate_errors():
            self._require_table("journal")
            query = f"SELECT {COLUMNS} FROM journal WHERE kind = ? ORDER BY seq DESC LIMIT 1"
            row: tuple[Any, ...] | None = self._execute(query, _PRUNED).fetchone()
            return row

    def heads(self) -> list[HeadRow]:
        """Returns the rows of the head table."""
        with _translate_errors():
            self._require_table("head")
            return [HeadRow._make(row) for row in self._execute("SELECT ledger, seq, hash, at, signature FROM head")]

    def hash_at(self, seq: int) -> bytes | None:
        """Returns the hash of one row."""
        with _translate_errors():
            row = self._execute("SELECT hash FROM journal WHERE seq = ?", seq).fetchone()
            return None if row is None else row[0]

    def table(self, name: TableName) -> Iterator[tuple[Any, ...]]:
        """Yields a derived table in the order of its key."""
        with _translate_errors():
            self._require_table(name)
            columns = TABLES[name]
            order = ", ".join(columns[: KEY_COLUMNS[name]])
            for row in self._execute(f"SELECT {', '.join(columns)} FROM {name} ORDER BY {order}"):  # noqa: UP028  as above
                yield row

    def rows_after_the_end(self) -> Iterable[tuple[str, int]]:
        """Returns calls that have rows after the one that ended them. News is no such row."""
        with _translate_errors():
            self._require_table("journal")
            return self._execute(_LATE).fetchall()

    def _require_table(self, name: str) -> None:
        wanted = {item for item in make_expected_schema(len(MIGRATIONS)) if item[1] == name}
        if not wanted <= self.read_schema():
            raise SourceDamaged(f"the table {name} is not there as the ledger's schema has it")

    def _read_number(self, query: str) -> int:
        number: int = self._execute(query).fetchone()[0]
        return number

    def _execute(self, query: str, *values: object) -> sqlite3.Cursor:
        return self._cursor().execute(query, values)

    def _cursor(self) -> sqlite3.Cursor:
        if self._db is None:
            raise AssertionError("a source is used inside `with`")
        return self._db.cursor()


@cache
def make_expected_schema(version: int) -> frozenset[SchemaItem]:
    """Makes the schema of a ledger of some version."""
    scratch = sqlite3.connect(":memory:")
    try:
        for statements in MIGRATIONS[: max(version, 0)]:
            for statement in statements:
                scratch.execute(statement)
        return _read_schema(scratch.cursor())
    finally:
        scratch.close()


def _read_schema(cursor: sqlite3.Cursor) -> frozenset[SchemaItem]:
    query = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
    return frozenset((kind, name, table, _normalize_sql(sql)) for kind, name, table, sql in cursor.execute(query))


def _normalize_sql(sql: str | None) -> str | None:
    """Returns a statement without its layout."""
    return None if sql is None else " ".join(filter(None, sql.replace("\n", " ").split(" ")))
