"""A tiny file next to the ledger that tells every process at once that something changed.

It holds three numbers of 8 bytes: the generation (a switch, an approval, a policy changed), a stamp of the last
write, the time of the last row. They are read through an open descriptor: a mapping would kill the process when the
file is truncated. A value counts for a millisecond, or until this process rings: reading releases the interpreter
lock, and that costs a busy caller more than the rest of the read. A tool that another process switches off is off a
millisecond later, sooner than that command ends. Losing the file loses nothing: it is created again, and that counts
as a change.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from os import pread
from pathlib import Path
from time import monotonic

_GENERATION = 0
_STAMP = 8
_LATEST = 16
_BYTES = 24
_LOOK_SECONDS = 1.0
_FRESH_SECONDS = 0.001
_LOCK_ATTEMPTS = 50


class _Rings:
    """Counts how often any bell of this process was rung."""

    count = 0


class Bell:
    """One open bell."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = _open_file(path)
        self._raw = b""
        self._value = 0
        self._look_at = monotonic() + _LOOK_SECONDS
        self._fresh_until = 0.0
        self._rings = 0

    def read_generation(self) -> int:
        """Reads the number of the last change, by any process. Runs for every call."""
        now = monotonic()
        if now < self._fresh_until and self._rings == _Rings.count:
            return self._value
        self._rings = _Rings.count
        self._fresh_until = now + _FRESH_SECONDS
        try:
            if now >= self._look_at:
                self._reopen_if_replaced()
            raw = pread(self._fd, 8, _GENERATION)
        except OSError:  # unknown: everything counts as changed, every time
            self._fresh_until = 0.0
            self._value += 1
            return self._value
        if raw != self._raw:
            self._raw, self._value = raw, int.from_bytes(raw, "little")
        return self._value

    def ring(self) -> None:
        """Announces a change. Raises OSError."""
        _Rings.count += 1
        self._reopen_if_replaced()
        with _hold_lock(self._fd):
            before = int.from_bytes(os.pread(self._fd, 8, _GENERATION), "little")
            # The time, so that a bell that was deleted and created anew never repeats an earlier number.
            os.pwrite(self._fd, max(before + 1, time.time_ns()).to_bytes(8, "little"), _GENERATION)
        _Rings.count += 1  # again: another thread may have read in between

    def read_stamp(self) -> bytes:
        """Reads the stamp, which changes with every write of every process."""
        return self._read(_STAMP)

    def read_latest(self) -> int:
        """Reads the time of the last row, as far as processes announced it."""
        return int.from_bytes(self._read(_LATEST), "little")

    def mark_written(self, at: int) -> None:
        """Announces new rows, the last of this time, to waiting readers. Raises OSError."""
        os.pwrite(self._fd, time.time_ns().to_bytes(8, "little") + at.to_bytes(8, "little"), _STAMP)

    def close(self) -> None:
        """Closes the file. Later reads return unknown values."""
        # The number goes first: another thread must not read a file that got the closed descriptor's number.
        fd, self._fd = self._fd, -1
        self._fresh_until = 0.0
        os.close(fd)

    def _read(self, place: int) -> bytes:
        try:
            return pread(self._fd, 8, place)
        except OSError:
            return b""

    def _reopen_if_replaced(self) -> None:
        """Reopens the file when its name leads to another one: it may have been deleted or replaced."""
        self._look_at = monotonic() + _LOOK_SECONDS
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(self._fd), os.stat(self._path)):
                return
        fresh = _open_file(self._path)
        # The number of the descriptor stays, so that a thread that is just reading through it reads the old or the new file.
        os.dup2(fresh, self._fd, inheritable=False)
        os.close(fresh)


def _open_file(path: Path) -> int:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with _hold_lock(fd):
            if os.fstat(fd).st_size < _BYTES:
                os.pwrite(fd, time.time_ns().to_bytes(8, "little").ljust(_BYTES, b"\0"), 0)
    except BaseException:
        os.close(fd)
        raise
    return fd


@contextlib.contextmanager
def _hold_lock(fd: int) -> Iterator[None]:
    """Holds the file's lock for a moment. Goes on without it when a stopped process keeps it: stamps differ anyhow."""
    for _ in range(_LOCK_ATTEMPTS):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            time.sleep(0.002)
    try:
        yield
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)
