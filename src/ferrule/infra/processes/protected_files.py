"""Hides the files of a workspace that a confined program must neither see nor create: keys, ledger, settings, policy.

The folder a program works in is held open from the check to the start, so that nobody can swap it. A protected folder
is covered by an empty one, a file by one that cannot be opened. Mounts hold both, which the program can neither remove
nor rename; folders on the way are mounted on themselves for the same reason. A protected file that does not exist yet
is created first, empty: else the program could create it, and be believed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
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
        """A path to this very folder, even after its name was reused. For a program that inherits the descriptor."""
        return f"/proc/self/fd/{self.fd}" if os.path.exists("/proc/self/fd") else self.path


@contextmanager
def open_folder(root: Path, below: str = "") -> Iterator[Folder]:
    """Opens a folder of a workspace, by its path under it. Raises FolderRefused when it is missing or leads out by `..`
    or a link."""
    fd, path = _root(root)
    try:
        for part in _parts(root, below):
            fd, path = _open_inside(fd, part, below), os.path.join(path, part)
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


def _open_inside(fd: int, part: str, below: str) -> int:
    """Opens a folder inside another. The outer one is closed only afterwards, so that the caller always holds one."""
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


_SYMBOLIC = "is a symbolic link, which cannot be protected; put the file itself there"


_MOST_FIXED = 256
_FILE_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


class Covers(msgspec.Struct, frozen=True):
    """The mounts that hide something, in order."""

    options: tuple[str, ...] = ()
    """For bubblewrap."""
    fds: tuple[int, ...] = ()
    """The descriptors they refer to; the program's parent has to inherit them."""


@contextmanager
def open_covers(folder: Folder, root: Path, protected: Iterable[Path], fixed: Iterable[Path] = ()) -> Iterator[Covers]:
    """Opens the covers for a folder of a workspace. Raises FolderRefused.

    `fixed` files can be read but not changed; only the first few hundred are covered.
    """
    real = os.path.realpath(root)
    options: list[str] = []
    with ExitStack() as stack:
        held: dict[str, int] = {}
        hidden = _list_hidden(folder.path, real, root, protected)
        for below in hidden:
            options += _cover(folder, below, held, stack)
        for below in _list_fixed(folder.path, fixed, hidden)[:_MOST_FIXED]:
            options += _fix(folder, below, held, stack)
        yield Covers(tuple(options), tuple(held.values()))


def _list_hidden(folder: str, real: str, root: Path, protected: Iterable[Path]) -> list[tuple[str, ...]]:
    """Lists the protected paths inside the folder, relative to it, without those below another one."""
    found: set[tuple[str, ...]] = set()
    for path in protected:
        whole = os.path.normpath(path)
        for base in (str(root.absolute()), real):
            if Path(whole).is_relative_to(base):
                whole = os.path.normpath(os.path.join(real, os.path.relpath(whole, base)))
                break
        if Path(folder).is_relative_to(whole):
            raise FolderRefused(f"{os.path.relpath(folder, real)!r} holds keys or settings; no program works there")
        if Path(whole).is_relative_to(folder):
            found.add(Path(whole).relative_to(folder).parts)
    return sorted(
        parts for parts in found if not any(parts[: len(other)] == other for other in found if other != parts)
    )


def _list_fixed(folder: str, fixed: Iterable[Path], hidden: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Lists the fixed files inside the folder, relative to it, without hidden ones."""
    found = {
        Path(real).relative_to(folder).parts
        for path in fixed
        if Path(real := os.path.realpath(path)).is_relative_to(folder) and os.path.isfile(real)
    }
    return sorted(parts for parts in found if not any(parts[: len(other)] == other for other in hidden))


def _fix(folder: Folder, below: tuple[str, ...], held: dict[str, int], stack: ExitStack) -> list[str]:
    """Mounts a file on itself, read-only, where no folder on the way can be renamed."""
    options, fd, path = _enter_folders(folder, below, held, stack)
    try:
        held[path] = os.open(below[-1], _FILE_FLAGS, dir_fd=fd)
    except OSError:
        raise FolderRefused(f"{'/'.join(below)!r} cannot be held while a program runs") from None
    stack.callback(os.close, held[path])
    return [*options, "--ro-bind-fd", str(held[path]), path]


def _cover(folder: Folder, below: tuple[str, ...], held: dict[str, int], stack: ExitStack) -> list[str]:
    options, fd, path = _enter_folders(folder, below, held, stack)
    mode = _find_or_make(fd, below[-1])
    if stat.S_ISLNK(mode):
        raise FolderRefused(f"{'/'.join(below)!r} {_SYMBOLIC}")
    if stat.S_ISDIR(mode):
        return [*options, "--tmpfs", path, "--remount-ro", path]
    return [*options, "--ro-bind", "/dev/null", path]  # a device where no device may be opened


def _enter_folders(
    folder: Folder, below: tuple[str, ...], held: dict[str, int], stack: ExitStack
) -> tuple[list[str], int, str]:
    """Returns the mounts of the folders on the way, the last of them, and the path of its entry."""
    options: list[str] = []
    fd, path = folder.fd, folder.path
    for part in below[:-1]:
        path = f"{path}/{part}"
        if path not in held:
            held[path] = _enter(fd, part, path)
            stack.callback(os.close, held[path])
            # Mounted on itself, since a parent that can be renamed would uncover what is below it.
            options += ("--bind-fd", str(held[path]), path)
        fd = held[path]
    return options, fd, f"{path}/{below[-1]}"


def _enter(fd: int, part: str, path: str) -> int:
    try:
        try:
            return os.open(part, FOLDER_FLAGS, dir_fd=fd)
        except FileNotFoundError:
            os.mkdir(part, 0o755, dir_fd=fd)
            return os.open(part, FOLDER_FLAGS, dir_fd=fd)
    except OSError:
        raise FolderRefused(f"{path!r} is a link or no folder, so what it holds cannot be protected") from None


def _find_or_make(fd: int, name: str) -> int:
    """Returns the mode of a protected name. Creates a missing one: a file if it has an ending, else a folder."""
    try:
        return os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
    except FileNotFoundError:
        pass
    try:
        if Path(name).suffix:
            os.close(
                os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=fd)
            )
        else:
            os.mkdir(name, 0o755, dir_fd=fd)
    except FileExistsError:  # made by another call just now
        pass
    except OSError as error:
        raise FolderRefused(
            f"{name!r} has to be there, to be protected, and cannot be made: {error.strerror}"
        ) from None
    return os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
