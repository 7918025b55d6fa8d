"""Folders of the payload store, opened one step at a time and never through a link."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
PRIVATE = 0o700


@contextmanager
def open_folder(root: Path, *names: str, makes: bool = False) -> Iterator[int]:
    """Opens a folder below the root. Raises OSError: also for a link in the place of a folder."""
    if makes:
        root.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)  # where the root leads is the operator's business
    try:
        for name in names:
            if makes:
                with suppress(FileExistsError):
                    os.mkdir(name, PRIVATE, dir_fd=fd)
            below = os.open(name, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


class LiveFolder:
    """The folder of one process, for payloads it is writing or that end with it. Locked while the process lives, so
    that others recognize the remains of a dead one."""

    def __init__(self, root: Path, above: str) -> None:
        self._root = root
        self._above = above
        self.name = ""
        self._lock = -1

    def ensure(self) -> str:
        """Returns its name; creates it if there is none, or if it was removed. Raises OSError."""
        while not self._is_there():
            self._make()
        return self.name

    def _is_there(self) -> bool:
        if self._lock < 0:
            return False
        try:
            with open_folder(self._root, self._above, self.name) as fd:
                return os.path.samestat(os.fstat(fd), os.fstat(self._lock))
        except FileNotFoundError:
            return False

    def _make(self) -> None:
        self._release()
        name = secrets.token_hex(8)
        with open_folder(self._root, self._above, makes=True) as above:
            os.mkdir(name, PRIVATE, dir_fd=above)
            lock = os.open(name, _FOLDER, dir_fd=above)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # another process just took it for a dead one's
            os.close(lock)
            return
        self.name, self._lock = name, lock

    def remove(self) -> None:
        """Removes it with everything in it, and unlocks."""
        if self._lock >= 0:
            remove_tree(self._root, self._above, self.name)
            self._release()

    def _release(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def clear_remains(self) -> None:
        """Removes the folders of processes that are gone."""
        try:
            with open_folder(self._root, self._above) as above:
                names = [name for name in os.listdir(above) if name != self.name or self._lock < 0]
        except FileNotFoundError:
            return
        for name in names:
            with suppress(OSError):
                self._clear(name)

    def _clear(self, name: str) -> None:
        with open_folder(self._root, self._above, name) as fd:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return  # its process lives
            remove_tree(self._root, self._above, name)


def remove_tree(root: Path, above: str, name: str) -> None:
    """Removes a folder with everything in it; links are removed, not followed."""
    with suppress(OSError), open_folder(root, above) as fd:
        shutil.rmtree(name, dir_fd=fd)
