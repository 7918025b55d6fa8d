"""Opens the ledger's file: settings of the connection, the first row, migrations to a newer schema.

Only SQLite may open the file once it exists: closing a descriptor of our own would drop the locks SQLite holds on it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from ferrule.errors import LedgerError
from ferrule.ledger.chain import format_head
from ferrule.ledger.stores.entries import EMPTY, Tail, chain_row
from ferrule.ledger.stores.sqlite.schema import MIGRATIONS
from ferrule.model.journal import Entry

_OLDEST_SQLITE = (3, 38, 0)  # STRICT tables and JSON functions
_PAGE_BYTES = 8192
_CHECKPOINT_PAGES = 2000
_BUSY_SECONDS = 5.0

_TAIL = """
    SELECT j.seq, j.hash, j.at, h.ledger, h.seq, h.hash, h.at, h.signature
    FROM head AS h LEFT JOIN (SELECT seq, hash, at FROM journal ORDER BY seq DESC LIMIT 1) AS j
"""
INSERT_ROW = "INSERT INTO journal (seq, kind, call, at, tool, outcome, body, payload, mark, hash) VALUES "
WRITE_HEAD = "INSERT OR REPLACE INTO head (id, ledger, seq, hash, at, signature) VALUES (1, ?, ?, ?, ?, ?)"


class LedgerKeys:
    """The key that signs heads, and the keys that may have signed one."""

    def __init__(self, key: Ed25519PrivateKey, trusted: tuple[Ed25519PublicKey, ...] = ()) -> None:
        self._key = key
        self._trusted = (key.public_key(), *trusted)

    def sign(self, ledger: str, tail: Tail) -> bytes:
        """Signs a head."""
        return self._key.sign(format_head(ledger, tail.seq, tail.hash, tail.at))

    def is_genuine(self, ledger: str, tail: Tail, signature: bytes) -> bool:
        """Returns True when one of the keys signed this head."""
        text = format_head(ledger, tail.seq, tail.hash, tail.at)
        for key in self._trusted:
            with contextlib.suppress(InvalidSignature):
                key.verify(signature, text)
                return True
        return False


def create_file(path: Path) -> None:
    """Creates an empty file that only its owner can read, unless there is one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        # Without the folder's sync a power cut may take the name away, and with it rows that were called durable.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def connect(path: Path, *, is_reader: bool = False) -> sqlite3.Connection:
    """Connects with our settings. Raises sqlite3.Error."""
    connection = sqlite3.connect(
        # `rw`, not `rwc`: a ledger that has vanished is an error, not a new empty one.
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        # A worker thread opens it, and the writer's thread uses it.
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        for pragma in _list_reader_settings() if is_reader else _list_writer_settings():
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def open_ledger(path: Path, keys: LedgerKeys, clock: Callable[[], int]) -> sqlite3.Connection:
    """Opens the writer's connection to a ledger of the newest schema. Raises LedgerError."""
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise LedgerError(f"the ledger needs SQLite 3.38 or newer; this Python has {sqlite3.sqlite_version}")
    try:
        create_file(path)
        connection = _retry_while_busy(lambda: connect(path))
    except (sqlite3.Error, OSError) as error:
        raise make_unusable_error(path, error) from error
    try:
        _migrate(connection, path, keys, clock)
        read_tail(connection, keys, None)
    except BaseException as error:
        connection.close()
        if isinstance(error, (sqlite3.Error, OSError)):
            raise make_unusable_error(path, error) from error
        raise
    return connection


def begin(connection: sqlite3.Connection) -> None:
    """Begins a transaction; waits a bounded time for another process that writes. Raises sqlite3.Error."""
    connection.execute("BEGIN IMMEDIATE")


def roll_back(connection: sqlite3.Connection) -> None:
    """Rolls back everything written since `begin`."""
    with contextlib.suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def read_tail(connection: sqlite3.Connection, keys: LedgerKeys, known: Tail | None) -> tuple[str, Tail]:
    """Reads the ledger's id and last row. Raises LedgerError when the last row is not the one the signed head names.

    Going on after rows were cut off would sign their absence.
    """
    found = connection.execute(_TAIL).fetchone()
    if found is None:
        raise LedgerError("the ledger has no head; run `ferrule audit verify` and restore a backup")
    seq, row, at, ledger, *head = found
    tail, signed = Tail(seq or 0, row or b"", at or 0), Tail(*head[:3])
    # A tail that this process wrote itself needs no signature check; that saves one per group.
    if tail != known and (tail != signed or not keys.is_genuine(ledger, tail, head[3])):
        raise LedgerError(
            f"the ledger's last row ({tail.seq}) is not the one its head ({signed.seq}) names and a key of this workspace "
            "signed; nothing is written to it. Run `ferrule audit verify`, then restore a backup or the right key"
        )
    return ledger, tail


def make_unusable_error(path: Path, error: Exception) -> LedgerError:
    """Makes the error for a file that cannot be used."""
    if isinstance(error, sqlite3.OperationalError) or not isinstance(error, sqlite3.DatabaseError):
        return LedgerError(
            f"the ledger {path} cannot be opened: {error}; check that the folder exists, is writable and has room"
        )
    return LedgerError(
        f"the ledger {path} is damaged or not a ledger: {error}; move it away (keep it, with its -wal file) and restore a "
        "backup, or name another file in the settings"
    )


def _list_writer_settings() -> tuple[str, ...]:
    return (
        # Before the write-ahead log: SQLite does not change a file's page size in that mode.
        f"page_size = {_PAGE_BYTES}",
        "journal_mode = WAL",
        # With NORMAL, a log would lose its last commits in a power cut.
        "synchronous = FULL",
        # On macOS a plain fsync leaves the data in the disk's own cache.
        "fullfsync = ON",
        "cache_size = -2000",
        f"wal_autocheckpoint = {_CHECKPOINT_PAGES}",
        "journal_size_limit = 67108864",
        "trusted_schema = OFF",
        "temp_store = MEMORY",
    )


def _list_reader_settings() -> tuple[str, ...]:
    return ("query_only = ON", "cache_size = -2000", "trusted_schema = OFF", "temp_store = MEMORY")


def _retry_while_busy(attempt: Callable[[], sqlite3.Connection]) -> sqlite3.Connection:
    """Retries while another process switches to the write-ahead log: SQLite fails at once then, without waiting."""
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            return attempt()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _migrate(connection: sqlite3.Connection, path: Path, keys: LedgerKeys, clock: Callable[[], int]) -> None:
    # Without the lock first: there is nearly never anything to migrate.
    if _read_version(connection) == len(MIGRATIONS):
        return
    begin(connection)
    try:
        # Again, under the lock: another process may have migrated the file meanwhile.
        version = _read_version(connection)
        _check_version(connection, path, version)
        if version < len(MIGRATIONS):
            _apply_migrations(connection, version, keys, clock)
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise


def _read_version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _check_version(connection: sqlite3.Connection, path: Path, version: int) -> None:
    if version > len(MIGRATIONS):
        raise LedgerError(
            f"the ledger {path} was written by a newer Ferrule (schema {version}; this one knows {len(MIGRATIONS)}); "
            "upgrade this installation"
        )
    if version == 0 and connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        raise LedgerError(
            f"{path} is an SQLite file of something else; name another file for the ledger in the settings"
        )


def _apply_migrations(connection: sqlite3.Connection, version: int, keys: LedgerKeys, clock: Callable[[], int]) -> None:
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    # Raises for rows that the old head does not vouch for: they are not signed anew.
    ledger, tail = read_tail(connection, keys, None) if version else (f"ldg_{secrets.token_hex(12)}", EMPTY)
    facts = {"ledger": ledger, "schema_version": len(MIGRATIONS), "before": version}
    entry = Entry("opened", "", clock(), "", "migrated" if version else "created", facts)
    row = chain_row(entry, tail.seq + 1, tail.hash, tail.at, b"")
    connection.execute(f"{INSERT_ROW} (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    write_head(connection, keys, ledger, Tail(row[0], row[-1], row[3]))


def write_head(connection: sqlite3.Connection, keys: LedgerKeys, ledger: str, tail: Tail) -> bytes:
    """Signs the last row; returns the signature."""
    signature = keys.sign(ledger, tail)
    connection.execute(WRITE_HEAD, (ledger, *tail, signature))
    return signature
