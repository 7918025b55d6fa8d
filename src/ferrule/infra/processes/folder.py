"""The folder a program works in, held open from the look at it to the start, so that nobody can put another in its place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

_LOOK = getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC | os.O_NOFOLLOW
FOLDER_FLAGS = _LOOK | os.O_DIRECTORY


class FolderRefused(Exception):
    """A folder no program may work in; the message says why and what to do."""


class Folder(msgspec.Struct, frozen=True):
    """An open folder."""

    path: str
    """Its real path."""
    fd: int

    @property
    def handle(self) -> str:
        """A path to this very folder, whatever its name leads to by now. For a program that inherits the descriptor."""
        return f"/proc/self/fd/{self.fd}" if os.path.exists("/proc/self/fd") else self.path


@contextmanager
def open_folder(root: Path, below: str = "") -> Iterator[Folder]:
    """A folder of a workspace, by its path under it. Raises FolderRefused when it is missing or leads out by `..` or a link."""
    fd, path = _root(root)
    try:
        for part in _parts(root, below):
            fd, path = _into(fd, part, below), os.path.join(path, part)
        yield Folder(path, fd)
    finally:
        os.close(fd)


def _root(root: Path) -> tuple[int, str]:
    try:
        path = os.path.realpath(root, strict=True)
        return os.open(path, FOLDER_FLAGS), path
    except OSError as error:
        raise FolderRefused(f"the workspace folder cannot be opened: {error.strerror}") from None


def _parts(root: Path, below: str) -> list[str]:
    if "\0" in below:
        raise FolderRefused("working_dir has a NUL character in it")
    if os.path.isabs(below):
        inside = [base for base in (root.absolute(), Path(os.path.realpath(root))) if Path(below).is_relative_to(base)]
        if not inside:
            raise FolderRefused(f"working_dir {below!r} is outside the workspace; name a folder in it")
        below = str(Path(below).relative_to(inside[0]))
    parts = [part for part in below.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise FolderRefused(f"working_dir {below!r} has .. in it; name a folder below the workspace")
    return parts


def _into(fd: int, part: str, below: str) -> int:
    """The folder inside, opened; the outer one is let go only then, so that the caller always holds one."""
    try:
        inner = os.open(part, FOLDER_FLAGS, dir_fd=fd)
    except FileNotFoundError:
        raise FolderRefused(
            f"working_dir {below!r} does not exist; make it, or name another in the agent file"
        ) from None
    except OSError:  # ELOOP or ENOTDIR, by platform
        raise FolderRefused(
            f"working_dir {below!r} goes over {part!r}, which is a link or no folder; name real folders only"
        ) from None
    os.close(fd)
    return inner
