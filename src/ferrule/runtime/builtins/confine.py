"""Keeps file tools inside the folders they were given: paths are walked part by part, from folder to held folder.

Every part is opened relative to the folder before it and never through a link, so nothing that changes meanwhile can lead
outside. Links are read and walked like any other path: one that stays inside is followed, one that leaves is refused.
Protected files are known by what they are, not by how they are spelled.
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
from ferrule.runtime.builtins.failures import misguided, mishaps, shown, violation

_LONGEST_PATH = 4096
_LONGEST_NAME = 255
_MOST_TURNS = 40
"""Links followed and ways walked again; as many links as Linux follows."""
_PROCESSES = Path("/proc")
"""What processes hold in memory: environment and all. No root reaches into it."""
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


class Protected:
    """What no tool may touch, as it is now: existing things by identity, things that could be made by folder and name."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._things: set[tuple[int, int]] = set()
        self._names: set[tuple[int, int, str]] = set()
        for path in paths:
            with suppress(OSError):
                self._things.add(_identity(os.stat(path)))
            for step in (path, *path.parents):  # what is not there yet is protected by the first part that is missing
                with suppress(OSError):
                    self._names.add((*_identity(os.stat(step.parent)), _folded(step.name)))
                    break

    def refuse_name(self, folder: int, name: str, path: str) -> None:
        """Raises ExecutionFailed when a name in a folder is a protected one, be there something or not."""
        if (*_identity(os.fstat(folder)), _folded(name)) in self._names:
            raise _untouchable(path)

    def refuse_thing(self, info: os.stat_result, path: str) -> None:
        """Raises ExecutionFailed when something that is there is protected, whatever its name."""
        if _identity(info) in self._things:
            raise _untouchable(path)


class Spot(NamedTuple):
    """Where a file is, or would be: a folder that is held open, and a name in it that is no link."""

    folder: int
    name: str
    path: str
    """The path that was asked for, whole; for messages."""
    info: os.stat_result | None
    """What is there; None when nothing is."""
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
        """`stated` are relative to the workspace; none at all means the workspace itself. `fixed`: the real paths of files
        that are refused by themselves."""
        self._workspace = os.path.normpath(workspace)
        named = [os.path.normpath(os.path.join(self._workspace, text)) for text in stated] or [self._workspace]
        self._real = {root: os.path.realpath(root) for root in named}
        self.protected = (*protected, _PROCESSES)
        self._fixed = frozenset(map(_folded, fixed))

    def refuse_fixed(self, real: str, path: str) -> None:
        """Raises ExecutionFailed for a file that must stay as it is."""
        if self._fixed and _folded(real) in self._fixed:
            raise violation(
                f"{shown(path)} is a definition, or code that runs in this process; no tool changes it",
                "path_protected",
            )

    @property
    def told(self) -> str:
        """The folders, for people."""
        return ", ".join(self._real)

    def check(self, path: str) -> str:
        """The path made absolute and cleaned of `.` and `..`; relative ones start at the workspace, as in policy rules.

        Looks at the text alone. Raises ExecutionFailed: `invalid_arguments` for what is no path, `sandbox_violation` for
        one that leads outside.
        """
        refuse_nonsense(path)
        clean = os.path.normpath(os.path.join(self._workspace, path))
        clean = "/" + clean.lstrip("/")
        if self.enter(clean) is None:
            raise self.outside(path)
        return clean

    @contextmanager
    def find(self, path: str, *, makes_folders: bool = False) -> Iterator[Spot]:
        """The spot of a file. Raises ExecutionFailed when it is outside, protected, or no place for a file."""
        clean = self.check(path)
        if path.endswith(("/", "/.")):
            raise misguided(f"{shown(path)} is a folder; name a file", "is_a_folder")
        walk = _Walk(self, path, makes_folders=makes_folders)
        try:
            with mishaps(path):
                yield walk.to(clean)
        finally:
            walk.close()

    def enter(self, path: str) -> tuple[str, list[str]] | None:
        """The root an absolute path is in, without its links, and the rest of the path."""
        parts = _parts(path)
        for spelled, real in self._real.items():
            for root in (_parts(spelled), _parts(real)):
                if parts[: len(root)] == root:
                    return real, parts[len(root) :]
        return None

    def outside(self, path: str) -> ExecutionFailed:
        """The refusal of a path, with what would be allowed."""
        return violation(f"{shown(path)} is outside of what this tool may use: {self.told}", "path_outside_roots")


class _Walk:
    """One way from a root to a file. Holds one folder at a time, however deep it goes."""

    def __init__(self, roots: Roots, path: str, *, makes_folders: bool) -> None:
        self._roots = roots
        self._path = path
        self._makes_folders = makes_folders
        self._protected = Protected(roots.protected)
        self._root = ""
        self._folder = -1
        """The folder it is in, held open."""
        self._names: list[str] = []
        """The way there from the root, without links."""
        self._todo: deque[str] = deque()
        self._turns = 0

    def to(self, path: str) -> Spot:
        """The spot of an absolute path. Its folder is held until `close`."""
        self._start(path)
        while self._todo:
            spot = self._step(self._todo.popleft())
            if spot is not None:
                return spot
        raise misguided(f"{shown(self._path)} is a folder; name a file", "is_a_folder")

    def close(self) -> None:
        """Let go of the folder."""
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1

    def _start(self, path: str) -> None:
        """Begin again at the root an absolute path is in."""
        entered = self._roots.enter(path)
        if entered is None:
            raise self._roots.outside(self._path)
        self._root, rest = entered
        self.close()
        self._folder = os.open("/", _FOLDER)
        for name in _parts(self._root):
            self._descend(name)
        self._names, self._todo = [], deque(rest)

    def _step(self, name: str) -> Spot | None:
        if name == "..":  # of a link; a path's own are gone
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
            self._turn()  # it became a link just now: look again
            self._todo.appendleft(name)
        return None

    def _ascend(self) -> None:
        """Up, by walking there again from the root; above the root only what leads back into one goes on."""
        steps = 1
        while self._todo and self._todo[0] == "..":
            self._todo.popleft()
            steps += 1
        above = os.path.normpath(os.path.join(self._root, *self._names, *[".."] * steps))
        self._turn()
        self._start(os.path.join(above, *self._todo))

    def _follow(self, target: str) -> None:
        self._turn()
        if target.startswith("/"):
            self._start(os.path.join(target, *self._todo))
        else:
            self._todo.extendleft(reversed(_parts(target)))

    def _turn(self) -> None:
        self._turns += 1
        if self._turns > _MOST_TURNS:
            raise violation(f"{shown(self._path)} leads through too many links", "path_outside_roots")

    def _descend(self, name: str) -> None:
        """Go into the folder of that name, which is made if it has to be."""
        folder = self._folder
        self._protected.refuse_name(folder, name, self._path)
        try:
            found = os.open(name, _FOLDER, dir_fd=folder)
        except FileNotFoundError:
            if not self._makes_folders:
                raise
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=folder)
            found = os.open(name, _FOLDER, dir_fd=folder)
        os.close(folder)
        self._folder = found
        self._names.append(name)
        self._protected.refuse_thing(os.fstat(found), self._path)


@contextmanager
def open_regular(spot: Spot, flags: int = os.O_RDONLY) -> Iterator[int]:
    """The file at a spot, open. Raises ExecutionFailed when there is none, or something that is no plain file."""
    if spot.info is None:
        raise misguided(f"there is no file {shown(spot.path)}", "file_not_found")
    refuse_special(spot, spot.info)  # before it is opened: opening a device can do something
    found = os.open(spot.name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, dir_fd=spot.folder)
    try:
        info = os.fstat(found)  # of what was opened in the end
        refuse_special(spot, info)
        spot.protected.refuse_thing(info, spot.path)
        yield found
    finally:
        os.close(found)


def refuse_special(spot: Spot, info: os.stat_result) -> None:
    """Raises ExecutionFailed for a folder, a pipe, a device or a socket."""
    if stat.S_ISDIR(info.st_mode):
        raise misguided(f"{shown(spot.path)} is a folder; name a file", "is_a_folder")
    if not stat.S_ISREG(info.st_mode):
        raise violation(f"{shown(spot.path)} is no plain file, and nothing else is opened", "special_file")


def refuse_nonsense(path: str) -> None:
    """Raises ExecutionFailed (`invalid_arguments`) for a text that no file system takes as a path."""
    if not path.strip():
        raise misguided("the path is empty; name a file", "bad_path")
    try:
        data = path.encode()
    except UnicodeEncodeError:
        raise misguided("the path has half a character in it; write it anew", "bad_path") from None
    if b"\0" in data:
        raise misguided(f"the path {shown(path)} has a NUL in it; leave it out", "bad_path")
    if len(data) > _LONGEST_PATH or any(len(part) > _LONGEST_NAME for part in data.split(b"/")):
        raise misguided(f"the path {shown(path)} is longer than any path can be", "bad_path")


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _is_changing(folder: int, name: str) -> bool:
    """True when what was a folder a moment ago is a link now, or a folder again, or nothing."""
    with suppress(OSError):
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        return stat.S_ISLNK(mode)
    return True


def _identity(info: os.stat_result) -> tuple[int, int]:
    return info.st_dev, info.st_ino


def _folded(name: str) -> str:
    """A name as the most forgiving file system would read it."""
    return unicodedata.normalize("NFKC", name).casefold()


def _untouchable(path: str) -> ExecutionFailed:
    return violation(
        f"{shown(path)} belongs to Ferrule itself (keys, ledger, settings, policy), or to the system's processes;"
        " no tool touches it",
        "path_protected",
    )
