"""Tells which processes share a ledger and are alive: each locks a file of its own as long as it lives.

The system releases the lock when a process dies, however it dies, so a reused process id misleads nobody.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import weakref
from collections.abc import Container
from pathlib import Path

_NAME = re.compile(r"[0-9]+-[0-9a-f]+")


class Instance:
    """This process among those that share a ledger."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / name
        self._fd = _lock_file(self._path)
        _HELD.add(self)

    def close(self) -> None:
        """Leaves: removes the file first, so that no process finds it unlocked."""
        _HELD.discard(self)
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()
        self.release()

    def release(self) -> None:
        """Closes the lock without leaving, as death does; in a forked child the parent keeps it."""
        with contextlib.suppress(OSError):
            os.close(self._fd)


def make_name() -> str:
    """Makes a name no other instance has."""
    return f"{os.getpid()}-{secrets.token_hex(6)}"


def is_alive(folder: Path, name: str) -> bool:
    """Returns True while the process of this name holds its lock."""
    if not _NAME.fullmatch(name):
        return False
    try:
        fd = os.open(folder / name, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _can_lock(fd)
    finally:
        os.close(fd)


def sweep(folder: Path, wanted: Container[str]) -> None:
    """Removes the files of dead processes whose names are no longer wanted."""
    for path in folder.iterdir():
        if path.name not in wanted and _NAME.fullmatch(path.name):
            _remove_if_dead(path)


def _remove_if_dead(path: Path) -> None:
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            # Under its lock: whoever waits for it in `_lock_file` then sees that the name is gone, and tries again.
            if _can_lock(fd):
                path.unlink()
        finally:
            os.close(fd)


def _lock_file(path: Path) -> int:
    """Opens and locks the file. Retries when another process swept the file away before it was locked."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(fd), path.stat()):
                return fd
        os.close(fd)


def _can_lock(fd: int) -> bool:
    try:
        # flock, because fcntl's locks belong to a process: another store of this process would look dead.
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_HELD: weakref.WeakSet[Instance] = weakref.WeakSet()


def _forget_in_child() -> None:
    """Closes the locks in a forked child, which must not keep its parent looking alive."""
    for instance in list(_HELD):
        instance.release()
    _HELD.clear()


os.register_at_fork(after_in_child=_forget_in_child)
