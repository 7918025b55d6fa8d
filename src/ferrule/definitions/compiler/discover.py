"""Finds definition files. Never walks a folder twice, never reads what is too large to be a definition."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import NamedTuple

from ferrule.model.document import Source

MAX_BYTES = 16 * 1024 * 1024
"""Larger files are refused unread; a definition is a few kilobytes, a catalog of thousands of tools a few megabytes."""
_ENDINGS = (".md", ".json", ".yaml", ".yml")
_SYSTEM_FOLDERS = ("/proc/", "/sys/", "/dev/")
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "dist", "build", "target"})


class Walk:
    """One walk over a folder: iterate for the paths that may hold definitions, then look at `problems`."""

    def __init__(self, root: str, exclude: tuple[str, ...] = ()) -> None:
        self.root = root
        self.exclude = exclude
        self.problems: dict[str, str] = {}
        """Links and folders that could not be followed, and why."""

    def __iter__(self) -> Iterator[str]:
        """Paths in a stable order. Hidden folders and build output are skipped; a file is given once, however many links
        lead to it."""
        seen: set[tuple[int, int]] = set()
        files: list[str] = []
        links: list[str] = []
        pending = [self.root]
        while pending:
            folder = pending.pop()
            why_not = self._why_not(folder)
            if why_not:
                self.problems[folder] = why_not
                continue
            try:
                identity = os.stat(folder)
                with os.scandir(folder) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError as error:
                self.problems[folder] = f"the folder cannot be read: {error.strerror or error}"
                continue
            if (identity.st_dev, identity.st_ino) in seen:
                if _leads_back(folder):
                    self.problems[folder] = "the link leads back to a folder around it, so it was not followed"
                continue
            seen.add((identity.st_dev, identity.st_ino))
            folders: list[str] = []
            for entry in self._files(entries, folders):
                if entry.is_symlink():
                    links.append(entry.path)
                else:
                    files.append(entry.path)
                    yield entry.path
            pending.extend(reversed(folders))
        if links:
            yield from _others(links, files)

    def _why_not(self, folder: str) -> str:
        """Why a folder behind a link is not looked into; empty for any other. Nobody keeps definitions in all of a disk."""
        if folder == self.root or not os.path.islink(folder):
            return ""
        target = os.path.join(os.path.realpath(folder), "")
        if os.path.join(os.path.realpath(self.root), "").startswith(target):
            return "the link leads back to a folder around it, so it was not followed"
        if target.startswith(_SYSTEM_FOLDERS):
            return "the link leads to the system's own folders, so it was not followed"
        return ""

    def _files(self, entries: list[os.DirEntry[str]], folders: list[str]) -> Iterator[os.DirEntry[str]]:
        for entry in entries:
            if entry.name.startswith(".") or (self.exclude and self._is_excluded(entry.path)):
                continue
            if self._is_folder(entry):
                if entry.name not in _SKIPPED_FOLDERS:
                    folders.append(entry.path)
            elif entry.name.lower().endswith(_ENDINGS):
                yield entry

    def _is_folder(self, entry: os.DirEntry[str]) -> bool:
        if not entry.is_symlink():
            return entry.is_dir()
        try:
            return stat.S_ISDIR(os.stat(entry.path).st_mode)
        except FileNotFoundError:
            return False
        except OSError:  # a link to itself, or links in a circle
            if not entry.name.lower().endswith(_ENDINGS):  # those are reported when they are read
                self.problems[entry.path] = "the link leads in a circle, so it was not followed"
            return False

    def _is_excluded(self, path: str) -> bool:
        relative = os.path.relpath(path, self.root).replace(os.sep, "/")
        return any(fnmatch(relative, pattern) for pattern in self.exclude)


def _others(links: list[str], files: list[str]) -> Iterator[str]:
    """The links that lead to none of these files, nor where an earlier link leads."""
    known = {_identity(file) for file in files}
    for link in links:
        target = _identity(link)
        if target is None or target not in known:  # one that leads nowhere is reported when it is read
            known.add(target)
            yield link


def _identity(path: str) -> tuple[int, int] | None:
    """What tells the file behind a path from all others; None when there is none."""
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _leads_back(link: str) -> bool:
    """True when a folder reached through a link is one of those around the link."""
    target = os.path.realpath(link)
    around = os.path.realpath(os.path.dirname(link))
    return around == target or around.startswith(target.rstrip(os.sep) + os.sep)


class Loaded(NamedTuple):
    """A file's bytes, and its state just before they were read."""

    source: Source
    facts: os.stat_result | None


def load(path: str, shown: str) -> Source:
    """One file's bytes, or why they could not be had."""
    return load_with_facts(path, shown).source


def load_with_facts(path: str, shown: str) -> Loaded:
    """The same with the file's state, for caches. Plain system calls: this is done for every file of a workspace."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return Loaded(Source(shown, b"", f"the file cannot be read: {_reason(path, error)}"), None)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            return Loaded(Source(shown, b"", "not a regular file"), facts)
        if facts.st_size > MAX_BYTES:
            problem = f"the file is too large to be a definition ({facts.st_size >> 20} MB)"
            return Loaded(Source(shown, b"", problem, f"the limit is {MAX_BYTES >> 20} MB"), facts)
        return Loaded(Source(shown, _read_all(descriptor, facts.st_size)), facts)
    except OSError as error:
        return Loaded(Source(shown, b"", f"the file cannot be read: {_reason(path, error)}"), None)
    finally:
        os.close(descriptor)


def _read_all(descriptor: int, size: int) -> bytes:
    data = os.read(descriptor, size + 1)
    while len(data) < size:  # a signal or a network file system may give less than was asked for
        more = os.read(descriptor, size + 1 - len(data))
        if not more:
            break
        data += more
    return data


def _reason(path: str, error: OSError) -> str:
    if os.path.islink(path):
        return "it is a link that leads nowhere or in a circle"
    return error.strerror or str(error)
