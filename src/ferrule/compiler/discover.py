"""Finds definition files. Never follows a link to a folder it has been in, never reads what is too large to be a definition."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatch

from ferrule.model.document import Source

MAX_BYTES = 16 * 1024 * 1024
"""Larger files are refused unread; a definition is a few kilobytes, a catalog of thousands of tools a few megabytes."""
_ENDINGS = (".md", ".json", ".yaml", ".yml")
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "dist", "build", "target"})


def discover(root: str, exclude: tuple[str, ...] = ()) -> Iterator[str]:
    """Paths under a folder that may hold definitions, in a stable order. Hidden folders and build output are skipped."""
    seen: set[tuple[int, int]] = set()
    pending = [root]
    while pending:
        folder = pending.pop()
        try:
            identity = os.stat(folder)
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        if (identity.st_dev, identity.st_ino) in seen:  # a link back to a folder already walked
            continue
        seen.add((identity.st_dev, identity.st_ino))
        folders = []
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if exclude and _is_excluded(entry.path, root, exclude):
                continue
            if _is_folder(entry):
                if entry.name not in _SKIPPED_FOLDERS:
                    folders.append(entry.path)
            elif entry.name.lower().endswith(_ENDINGS):
                yield entry.path
        pending.extend(reversed(folders))


def _is_excluded(path: str, root: str, exclude: tuple[str, ...]) -> bool:
    relative = os.path.relpath(path, root).replace(os.sep, "/")
    return any(fnmatch(relative, pattern) for pattern in exclude)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def load(path: str, shown: str) -> Source:
    """One file's bytes, or why they could not be had."""
    try:
        facts = os.stat(path)
        if not stat.S_ISREG(facts.st_mode):
            return Source(shown, b"", "not a regular file")
        if facts.st_size > MAX_BYTES:
            size = f"{facts.st_size / 1024 / 1024:.0f} MB"
            return Source(
                shown, b"", f"the file is too large to be a definition ({size})", f"the limit is {MAX_BYTES >> 20} MB"
            )
        with open(path, "rb") as file:
            return Source(shown, file.read(MAX_BYTES + 1))
    except OSError as error:
        reason = (
            "it is a link that leads nowhere or in a circle" if os.path.islink(path) else error.strerror or str(error)
        )
        return Source(shown, b"", f"the file cannot be read: {reason}")
