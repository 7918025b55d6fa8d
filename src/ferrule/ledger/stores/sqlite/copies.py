"""Copies a ledger's file, consistently while others write, and puts a copy in the place of the ledger."""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import suppress
from pathlib import Path

from ferrule.errors import LedgerError
from ferrule.ledger.stores.sqlite.instances import is_alive
from ferrule.ledger.stores.sqlite.raw import connect, ledger_errors

_COMPANIONS = ("-wal", "-shm", ".bell")


def copy_ledger(source: Path, target: Path) -> Path:
    """Copies the ledger as it is at this moment to a new file beside `target`; returns the file. Raises LedgerError.

    The copy needs no write-ahead log beside it, and only its owner can read it.
    """
    copy = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        # Created here, because SQLite would give a new file the mode of the umask.
        os.close(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise LedgerError(f"cannot write {target}: {error.strerror}") from None
    try:
        with ledger_errors(source):
            _copy(source, copy)
    except BaseException:
        remove(copy)
        raise
    return copy


def _copy(source: Path, copy: Path) -> None:
    there = connect(source)
    try:
        here = sqlite3.connect(copy, isolation_level=None)
        try:
            there.backup(here)  # in one step: one moment of the ledger, while others go on writing
            here.execute("PRAGMA journal_mode = DELETE")
        finally:
            here.close()
    finally:
        there.close()


def put_in_place(copy: Path, path: Path) -> None:
    """Renames a finished copy to its final name, atomically and durably."""
    with copy.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(copy, path)
    _flush_folder(path.parent)


def set_aside(path: Path, aside: Path) -> None:
    """Keeps the present file under another name, with its log; the ledger's own name stays until it is replaced."""
    with suppress(FileNotFoundError):
        # A link, not a rename: the ledger's own name must never be missing.
        os.link(path, aside)
    _move_log(path, aside)
    _flush_folder(path.parent)


def drop_log(path: Path) -> None:
    """Merges the log into the file and removes it: beside another file it would be taken for that file's."""
    with suppress(sqlite3.Error):
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=5)
        try:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.execute("PRAGMA journal_mode = DELETE")
        finally:
            db.close()


def remove(path: Path) -> None:
    """Removes a copy and the files that SQLite and we put beside it."""
    for name in (path, *(Path(f"{path}{ending}") for ending in _COMPANIONS)):
        name.unlink(missing_ok=True)


def list_users(folder: Path) -> list[str]:
    """Lists the processes that have the ledger open, by the folder in which they hold their locks."""
    try:
        return sorted(entry.name for entry in folder.iterdir() if is_alive(folder, entry.name))
    except FileNotFoundError:
        return []


def _move_log(path: Path, aside: Path) -> None:
    with suppress(FileNotFoundError):
        os.replace(f"{path}-wal", f"{aside}-wal")
    # The index of the moved log: it must not be taken for that of another one.
    Path(f"{path}-shm").unlink(missing_ok=True)


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
