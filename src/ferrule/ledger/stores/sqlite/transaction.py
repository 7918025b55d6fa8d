"""The writing connection: one group, one transaction, and a definite answer whether it was committed.

A failed commit is the hard case: its rows may be in the log and come back with the next recovery. It is settled by
reading, and by a commit that overwrites the failed one; until that works, the outcome is unknown.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from ferrule.ledger.stores.entries import Tail
from ferrule.ledger.stores.sqlite.connection import LedgerKeys, begin, connect, read_tail, roll_back
from ferrule.ledger.stores.sqlite.group import Group


class CommitFailed(Exception):
    """The commit itself failed: its rows may be there or not."""


class FileIdentity:
    """The file that a connection has open: its name may lead to another file later."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened = _read_identity(path)

    def is_current(self) -> bool:
        """Returns True while the name still leads to the same file."""
        with contextlib.suppress(OSError):
            return _read_identity(self._path) == self._opened
        return False


class Transactions:
    """The connection that writes. Used by the writer's thread alone."""

    def __init__(self, path: Path, connection: sqlite3.Connection, keys: LedgerKeys) -> None:
        self._path, self._keys = path, keys
        self._connection: sqlite3.Connection | None = connection
        self._file = FileIdentity(path)
        self._known: Tail | None = None

    def write(self, group: Group) -> None:
        """Writes a group. Raises CommitFailed; any other exception means that nothing was written."""
        connection = self._get_connection()
        try:
            begin(connection)
            has_rows = group.write(connection, self._keys, self._known)
        except BaseException:
            roll_back(connection)
            raise
        if has_rows:
            self._commit(connection)
        else:
            roll_back(connection)
        # The next group believes this tail without checking its signature again.
        self._known = group.tail

    def settle(self, group: Group) -> bool:
        """Returns whether the rows of a failed commit are there, made final. Raises sqlite3.Error or OSError when
        that stays unknown."""
        self.disconnect()
        connection = self._get_connection()
        try:
            begin(connection)
            # Number and hash: another process may have used the number meanwhile.
            question = "SELECT count(*) FROM journal WHERE seq = ? AND hash = ?"
            found = connection.execute(question, group.first).fetchone()[0] if group.first else 0
            # This commit overwrites in the log what the failed one may have left there.
            _rewrite_head(connection)
            connection.execute("COMMIT")
        except BaseException:
            roll_back(connection)
            raise
        return bool(found)

    def probe(self) -> None:
        """Tests whether writing works. Raises sqlite3.Error, OSError or LedgerError."""
        connection = self._get_connection()
        try:
            begin(connection)
            read_tail(connection, self._keys, self._known)
            _rewrite_head(connection)
            connection.execute("COMMIT")
        except BaseException:
            roll_back(connection)
            raise

    def disconnect(self) -> None:
        """Closes the connection; the next use opens another."""
        connection, self._connection, self._known = self._connection, None, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def _commit(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except BaseException as error:
            roll_back(connection)
            raise CommitFailed(str(error)) from error

    def _get_connection(self) -> sqlite3.Connection:
        # After a restore the name leads to another file: rows written to the old one would be lost.
        if self._connection is not None and not self._file.is_current():
            self.disconnect()
        if self._connection is None:
            self._connection = connect(self._path)
            self._file = FileIdentity(self._path)
        return self._connection


def _rewrite_head(connection: sqlite3.Connection) -> None:
    """Writes the head again, unchanged. It has to delete: SQLite skips an update that changes nothing."""
    head = connection.execute("SELECT id, ledger, seq, hash, at, signature FROM head").fetchone()
    connection.execute("DELETE FROM head")
    connection.execute("INSERT INTO head VALUES (?, ?, ?, ?, ?, ?)", head)


def _read_identity(path: Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino
