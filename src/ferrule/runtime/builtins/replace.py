"""Replaces a file atomically: writes the new one beside it, syncs it to disk, and renames it.

`write`, `edit` and downloads of `fetch` use it."""

from __future__ import annotations

import os
import secrets
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from ferrule.runtime.builtins.confine import Spot, open_regular

_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_renaming = threading.Lock()
"""Held from the last check to the rename, so that two calls cannot both check and then replace a file."""


class Replacement:
    """A new file that is not in place yet."""

    def __init__(self, spot: Spot, name: str, file: int) -> None:
        self._spot = spot
        self._name = name
        self._file = file
        self.bytes_written = 0
        self.is_done = False

    def write(self, data: bytes) -> None:
        """Appends bytes."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._file, rest) :]
        self.bytes_written += len(data)

    def commit(self, check: Callable[[], None] = lambda: None) -> None:
        """Puts it in place. `check` runs last and raises when the file must not be replaced any more."""
        os.fsync(self._file)
        folder = self._spot.folder
        with _renaming:
            check()
            os.rename(self._name, self._spot.name, src_dir_fd=folder, dst_dir_fd=folder)
            self.is_done = True
        with suppress(OSError):  # the folder may be unreadable; the file itself is in place
            listing = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
            try:
                os.fsync(listing)
            finally:
                os.close(listing)


@contextmanager
def open_replacement(spot: Spot) -> Iterator[Replacement]:
    """Yields a new file for a spot; the existing one stays until `commit`, and for good without it.

    An existing file must be writable; its mode is kept and, where the process may set it, its owner.
    """
    mode, owner = None, None
    if spot.info is not None:
        with open_regular(spot, os.O_WRONLY) as present:
            before = os.fstat(present)
            mode, owner = stat.S_IMODE(before.st_mode) & 0o777, (before.st_uid, before.st_gid)
    name = f".ferrule-{secrets.token_hex(8)}.tmp"
    # Narrow until it has the mode of the old file: that may be private.
    file = os.open(name, _NEW, 0o666 if mode is None else 0o600, dir_fd=spot.folder)
    made = Replacement(spot, name, file)
    try:
        if owner is not None and owner != _owner(file):
            with suppress(PermissionError):
                os.fchown(file, *owner)
        if mode is not None:
            os.fchmod(file, mode)
        yield made
    finally:
        os.close(file)
        if not made.is_done:
            with suppress(OSError):
                os.unlink(name, dir_fd=spot.folder)


def _owner(file: int) -> tuple[int, int]:
    info = os.fstat(file)
    return info.st_uid, info.st_gid
