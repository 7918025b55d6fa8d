"""The folder stubs are written into: what lies there, and how files get there whole.

Files are staged first, all of them, in a folder of their own beside the others, and then moved to their places one by one.
Whoever ends the process finds each file as it was or as it should be; a disk that is full changes nothing. Nothing is ever
written outside the folder, whatever links lie in it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from ferrule.errors import WorkspaceError

_STAGE = ".ferrule-gen-"
"""How the folder of staged files begins."""


class OutputFolder:
    """A folder that may not be there yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._real = os.path.realpath(path)
        self._folders: dict[str, str] = {"": self._real}

    def read(self, name: str) -> bytes | None:
        """Reads a file; None where there is none. Raises WorkspaceError where nothing can be written."""
        place = self._find_file(name)
        try:
            with open(place, "rb") as stream:
                return stream.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except IsADirectoryError:
            raise WorkspaceError(f"{self.path / name} is a folder, and a file has to be there; move it away") from None
        except OSError as error:
            raise WorkspaceError(f"cannot read {self.path / name}: {error.strerror}") from None

    def _find_file(self, name: str) -> str:
        """Returns where a file really is. Raises WorkspaceError where that is not inside the folder."""
        parent, _, last = name.rpartition("/")
        place = f"{self._find_parent(parent, name)}/{last}"
        try:
            mode = os.lstat(place).st_mode
        except OSError:
            return place
        if stat.S_ISLNK(mode):
            place = os.path.realpath(place)
            self._refuse_outside(place, name)
        elif not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise WorkspaceError(f"{self.path / name} is no file; move it away")
        return place

    def _find_parent(self, folder: str, name: str) -> str:
        if folder not in self._folders:
            if not is_plain_path(name):
                raise WorkspaceError(f"a file cannot be named {name!r}; nothing is written outside {self.path}")
            real = os.path.realpath(os.path.join(self._real, folder))
            self._refuse_outside(real, name)
            self._folders[folder] = real
        return self._folders[folder]

    def _refuse_outside(self, real: str, name: str) -> None:
        inside = os.path.join(self._real, "")
        if real != self._real and not real.startswith(inside):
            raise WorkspaceError(f"{self.path / name} leads to {real}, outside the folder; replace the link by a file")

    def write(self, files: Sequence[tuple[str, bytes]]) -> None:
        """Puts files into the folder, in this order; a name may come twice. Where it raises WorkspaceError before the first move,
        nothing has changed."""
        if not files:
            return
        try:
            self._sweep()
            with _stage_folder(self._real) as stage:
                # Everything is staged before the first move, so that a full disk changes nothing.
                moves = self._stage(stage, files)
                self._move(moves)
        except OSError as error:
            raise WorkspaceError(
                f"cannot write {error.filename2 or error.filename or self.path}: {error.strerror}; no file is half written:"
                " make room for it and run this again"
            ) from None

    def _stage(self, stage: str, files: Sequence[tuple[str, bytes]]) -> list[tuple[str, str]]:
        """Returns the files in the staging folder, each with the place it belongs to. Folders on the way are made."""
        moves: list[tuple[str, str]] = []
        made: set[str] = set()
        for number, (name, data) in enumerate(files):
            place = self._find_file(name)
            if (parent := os.path.dirname(place)) not in made:
                os.makedirs(parent, exist_ok=True)
                made.add(parent)
            staged = f"{stage}/{number}"
            with open(staged, "wb") as stream:
                stream.write(data)
            with suppress(OSError):
                # A move brings the staged file's own mode along, so it first takes over that of the file it replaces.
                os.chmod(staged, stat.S_IMODE(os.stat(place).st_mode))
            moves.append((staged, place))
        return moves

    def _move(self, moves: Sequence[tuple[str, str]]) -> None:
        for staged, place in moves:
            try:
                os.replace(staged, place)
            except OSError as error:
                if error.errno != errno.EXDEV:  # a folder below may be another disk
                    raise
                # Copied beside it first: within one disk the file is replaced in one step, so nobody sees half of it.
                beside = f"{place}.ferrule-gen"
                shutil.copyfile(staged, beside)
                os.replace(beside, place)

    def _sweep(self) -> None:
        """Removes the staged files of a run that was cut off."""
        os.makedirs(self._real, exist_ok=True)
        for entry in os.scandir(self._real):
            if entry.name.startswith(_STAGE) and entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keeps other runs out of the folder, and makes it where it is missing."""
        try:
            os.makedirs(self._real, exist_ok=True)
            descriptor = os.open(self._real, os.O_RDONLY)
        except OSError as error:
            raise WorkspaceError(f"cannot use the folder {self.path}: {error.strerror}") from None
        try:
            # A lock on the folder itself: it leaves no lock file behind in somebody's repository.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


@contextmanager
def _stage_folder(folder: str) -> Iterator[str]:
    # Inside the folder, so that the moves stay on one disk.
    stage = tempfile.mkdtemp(prefix=_STAGE, dir=folder)
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def is_plain_path(name: str) -> bool:
    """True for a path that stays in its folder: relative, with `/`, without `..` and without characters of control."""
    parts = PurePosixPath(name).parts
    return (
        bool(parts)
        and "/".join(parts) == name
        and not name.startswith("/")
        and not any(part in ("..", ".") for part in parts)
        and name.isprintable()
        and not set(name) & set('\\:*?"<>|')
    )
