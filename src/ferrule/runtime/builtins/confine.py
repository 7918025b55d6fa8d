"""Confines file tools to their folders: walks a path part by part, each relative to the open folder before it.

No part is opened through a link, so a change in the meantime cannot lead outside. Links are read and walked like any other
path: one that stays inside is followed, one that leaves is refused. Protected files are recognised by device and inode, not
by spelling. The file tools are above.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ferrule.contracts.executor import ExecutionFailed
from ferrule.runtime.builtins.failures import bad_arguments, quote_text, translate_os_errors, violation

_LONGEST_PATH = 4096
_LONGEST_NAME = 255
_MOST_TURNS = 40
"""The limit of links followed and walks repeated; Linux follows as many links."""
_PROCESSES = Path("/proc")
"""The memory of processes, with their environment. No root reaches into it."""
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


class Protected:
    """The paths that no tool may touch: existing ones by device and inode, missing ones by folder and name."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._things: set[tuple[int, int]] = set()
        self._names: set[tuple[int, int, str]] = set()
        for path in paths:
            with suppress(OSError):
                self._things.add(_identity(os.stat(path)))
            for step in (path, *path.parents):  # a missing path is protected by its first missing part
                with suppress(OSError):
                    self._names.add((*_identity(os.stat(step.parent)), _fold(step.name)))
                    break

    def refuse_name(self, folder: int, name: str, path: str) -> None:
        """Raises ExecutionFailed when a name in a folder is protected, whether it exists or not."""
        if (*_identity(os.fstat(folder)), _fold(name)) in self._names:
            raise _untouchable(path)

    def refuse_thing(self, info: os.stat_result, path: str) -> None:
        """Raises ExecutionFailed when an existing file or folder is protected, whatever its name."""
        if _identity(info) in self._things:
            raise _untouchable(path)


class Spot(NamedTuple):
    """The location of a file, existing or not: an open folder, and a name in it that is not a link."""

    folder: int
    name: str
    path: str
    """The complete requested path, for messages."""
    info: os.stat_result | None
    """The facts of the existing file; None when there is none."""
    protected: Protected


class Roots:
    """The folders one tool may use."""

    def __init__(
        self,
        stated: Sequence[str],
        workspace: Path,
        protected: Sequence[Path] = (),
        fixed: Collection[str] = (),
    ) -> None:
        """`stated`: folders relative to the workspace; the workspace itself when empty. `fixed`: real paths of files that
        must not be changed."""
        self._workspace = os.path.normpath(workspace)
        named = [os.path.normpath(os.path.join(self._workspace, text)) for text in stated] or [self._workspace]
        self._real = {root: os.path.realpath(root) for root in named}
        self.protected = (*protected, _PROCESSES)
        self._fixed = frozenset(map(_fold, fixed))

    def refuse_fixed(self, real: str, path: str) -> None:
        """Raises ExecutionFailed for a file that must not be changed."""
        if self._fixed and _fold(real) in self._fixed:
            raise violation(
                f"{quote_text(path)} is a definition, or code that runs in this process; no tool changes it",
                "path_protected",
            )

    @property
    def listed_folders(self) -> str:
        """The folders, for people."""
        return ", ".join(self._real)

    def check(self, path: str) -> str:
        """Returns the path made absolute, without `.` and `..`; relative ones start at the workspace, as in policy rules.

        Checks only the text. Raises ExecutionFailed: `invalid_arguments` for an invalid path, `sandbox_violation` for one that
        leads outside.
        """
        refuse_nonsense(path)
        clean = os.path.normpath(os.path.join(self._workspace, path))
        # POSIX lets a path begin with two slashes, which `normpath` keeps.
        clean = "/" + clean.lstrip("/")
        if self.enter(clean) is None:
            raise self.outside(path)
        return clean

    @contextmanager
    def find(self, path: str, *, makes_folders: bool = False) -> Iterator[Spot]:
        """Yields the spot of a file. Raises ExecutionFailed when it is outside, protected, or a folder."""
        clean = self.check(path)
        if path.endswith(("/", "/.")):
            raise bad_arguments(f"{quote_text(path)} is a folder; name a file", "is_a_folder")
        walk = _PathWalk(self, path, makes_folders=makes_folders)
        try:
            with translate_os_errors(path):
                yield walk.find_spot(clean)
        finally:
            walk.close()

    def enter(self, path: str) -> tuple[str, list[str]] | None:
        """Returns the real path of the root that holds an absolute path, and the rest of the path; None outside of all."""
        parts = _parts(path)
        for spelled, real in self._real.items():
            for root in (_parts(spelled), _parts(real)):
                if parts[: len(root)] == root:
                    return real, parts[len(root) :]
        return None

    def outside(self, path: str) -> ExecutionFailed:
        """Builds the refusal of a path, which lists the allowed folders."""
        return violation(
            f"{quote_text(path)} is outside of what this tool may use: {self.listed_folders}", "path_outside_roots"
        )


class _PathWalk:
    """One walk from a root to a file. Holds one folder open at a time, however deep it goes."""

    def __init__(self, roots: Roots, path: str, *, makes_folders: bool) -> None:
        self._roots = roots
        self._path = path
        self._makes_folders = makes_folders
        self._protected = Protected(roots.protected)
        self._root = ""
        self._folder = -1
        """The current folder, open."""
        self._names: list[str] = []
        """The path of the current folder from the root, without links."""
        self._todo: deque[str] = deque()
        self._turns = 0

    def find_spot(self, path: str) -> Spot:
        """Walks to the spot of an absolute path. Its folder stays open until `close`."""
        self._start(path)
        while self._todo:
            spot = self._step(self._todo.popleft())
            if spot is not None:
                return spot
        raise bad_arguments(f"{quote_text(self._path)} is a folder; name a file", "is_a_folder")

    def close(self) -> None:
        """Closes the current folder."""
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1

    def _start(self, path: str) -> None:
        """Starts again at the root that holds an absolute path."""
        entered = self._roots.enter(path)
        if entered is None:
            raise self._roots.outside(self._path)
        self._root, rest = entered
        self.close()
        # The root is walked like the rest: since `realpath`, one of its own folders may have become a link.
        self._folder = os.open("/", _FOLDER)
        for name in _parts(self._root):
            self._descend(name)
        self._names, self._todo = [], deque(rest)

    def _step(self, name: str) -> Spot | None:
        if name == "..":  # from a link's target; `check` has resolved those of the path itself
            self._ascend()
            return None
        self._protected.refuse_name(self._folder, name, self._path)
        try:
            info = os.stat(name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            if not self._todo:
                return Spot(self._folder, name, self._path, None, self._protected)
            self._descend(name)
            return None
        if stat.S_ISLNK(info.st_mode):
            self._follow(os.readlink(name, dir_fd=self._folder))
            return None
        if not self._todo:
            self._protected.refuse_thing(info, self._path)
            self._roots.refuse_fixed(os.path.join(self._root, *self._names, name), self._path)
            return Spot(self._folder, name, self._path, info, self._protected)
        try:
            self._descend(name)
        except OSError:
            if not _is_changing(self._folder, name):
                raise
            self._count_turn()  # it was replaced by a link since the `stat`: look again
            self._todo.appendleft(name)
        return None

    def _ascend(self) -> None:
        """Goes up by walking again from the root. A path above the root is only followed when it leads back into one."""
        # All steps up at once: on its way back into a root the path may pass above it.
        steps = 1
        while self._todo and self._todo[0] == "..":
            self._todo.popleft()
            steps += 1
        above = os.path.normpath(os.path.join(self._root, *self._names, *[".."] * steps))
        self._count_turn()
        self._start(os.path.join(above, *self._todo))

    def _follow(self, target: str) -> None:
        self._count_turn()
        if target.startswith("/"):
            self._start(os.path.join(target, *self._todo))
        else:
            self._todo.extendleft(reversed(_parts(target)))

    def _count_turn(self) -> None:
        self._turns += 1
        if self._turns > _MOST_TURNS:
            raise violation(f"{quote_text(self._path)} leads through too many links", "path_outside_roots")

    def _descend(self, name: str) -> None:
        """Enters the folder of that name; creates it if that is wanted."""
        folder = self._folder
        self._protected.refuse_name(folder, name, self._path)
        try:
            found = os.open(name, _FOLDER, dir_fd=folder)
        except FileNotFoundError:
            if not self._makes_folders:
                raise
            # Another call may create it at the same moment.
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
            found = os.open(name, _FOLDER, dir_fd=folder)
        os.close(folder)
        self._folder = found
        self._names.append(name)
        self._protected.refuse_thing(os.fstat(found), self._path)


@contextmanager
def open_regular(spot: Spot, flags: int = os.O_RDONLY) -> Iterator[int]:
    """Opens the file at a spot. Raises ExecutionFailed when there is none, or it is not a regular file."""
    if spot.info is None:
        raise bad_arguments(f"there is no file {quote_text(spot.path)}", "file_not_found")
    refuse_special(spot, spot.info)  # before opening: opening a device can have effects
    # O_NONBLOCK: a pipe put there since the walk would block the open; the second look refuses it.
    found = os.open(spot.name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, dir_fd=spot.folder)
    try:
        info = os.fstat(found)  # again: the file may have been replaced since the walk
        refuse_special(spot, info)
        spot.protected.refuse_thing(info, spot.path)
        yield found
    finally:
        os.close(found)


def refuse_special(spot: Spot, info: os.stat_result) -> None:
    """Raises ExecutionFailed for a folder, a pipe, a device or a socket."""
    if stat.S_ISDIR(info.st_mode):
        raise bad_arguments(f"{quote_text(spot.path)} is a folder; name a file", "is_a_folder")
    if not stat.S_ISREG(info.st_mode):
        raise violation(f"{quote_text(spot.path)} is no plain file, and nothing else is opened", "special_file")


def refuse_nonsense(path: str) -> None:
    """Raises ExecutionFailed (`invalid_arguments`) for text that no file system accepts as a path."""
    if not path.strip():
        raise bad_arguments("the path is empty; name a file", "bad_path")
    try:
        data = path.encode()
    except UnicodeEncodeError:
        raise bad_arguments("the path has half a character in it; write it anew", "bad_path") from None
    if b"\0" in data:
        raise bad_arguments(f"the path {quote_text(path)} has a NUL in it; leave it out", "bad_path")
    if len(data) > _LONGEST_PATH or any(len(part) > _LONGEST_NAME for part in data.split(b"/")):
        raise bad_arguments(f"the path {quote_text(path)} is longer than any path can be", "bad_path")


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _is_changing(folder: int, name: str) -> bool:
    """Returns True when a former folder is now a link or missing: somebody is changing it."""
    with suppress(OSError):
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        return stat.S_ISLNK(mode)
    return True


def _identity(info: os.stat_result) -> tuple[int, int]:
    return info.st_dev, info.st_ino


def _fold(name: str) -> str:
    """Folds a name as the most tolerant file system does: case and Unicode forms."""
    return unicodedata.normalize("NFKC", name).casefold()


def _untouchable(path: str) -> ExecutionFailed:
    return violation(
        f"{quote_text(path)} belongs to Ferrule itself (keys, ledger, settings, policy), or to the system's processes;"
        " no tool touches it",
        "path_protected",
    )
