"""Finds definition files. It never walks a folder twice, and never reads a file that is too large to be a
definition."""

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


class FolderWalk:
    """One walk over a folder: iterate for the paths that may hold definitions, then look at `problems`."""

    def __init__(self, root: str, exclude: tuple[str, ...] = ()) -> None:
        self.root = root
        self.exclude = exclude
        self.problems: dict[str, str] = {}
        """Links and folders that could not be followed, and why."""

    def __iter__(self) -> Iterator[str]:
        """Yields paths in a stable order. Skips hidden folders and build output; yields a file once, however many
        links lead to it."""
        seen: set[tuple[int, int]] = set()
        files: list[str] = []
        links: list[str] = []
        pending = [self.root]
        while pending:
            folder = pending.pop()
            reason = self._why_skipped(folder)
            if reason:
                self.problems[folder] = reason
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
            for entry in self._pick_files(entries, folders):
                if entry.is_symlink():
                    links.append(entry.path)
                else:
                    files.append(entry.path)
                    yield entry.path
            pending.extend(reversed(folders))
        # Links come last: a file that is also reached directly keeps its own name.
        if links:
            yield from _skip_known_links(links, files)

    def _why_skipped(self, folder: str) -> str:
        """Returns why a folder behind a link is skipped; empty when it is not."""
        if folder == self.root or not os.path.islink(folder):
            return ""
        target = os.path.join(os.path.realpath(folder), "")
        if os.path.join(os.path.realpath(self.root), "").startswith(target):
            return "the link leads back to a folder around it, so it was not followed"
        # A link to the root of a disk or to /proc would make one check read everything.
        if target.startswith(_SYSTEM_FOLDERS):
            return "the link leads to the system's own folders, so it was not followed"
        return ""

    def _pick_files(self, entries: list[os.DirEntry[str]], folders: list[str]) -> Iterator[os.DirEntry[str]]:
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


def _skip_known_links(links: list[str], files: list[str]) -> Iterator[str]:
    """Yields the links that lead to none of these files, nor to the target of an earlier link."""
    known = {_identify_file(file) for file in files}
    for link in links:
        target = _identify_file(link)
        if target is None or target not in known:  # a broken link is reported when it is read
            known.add(target)
            yield link


def _identify_file(path: str) -> tuple[int, int] | None:
    """Returns the device and inode of the file behind a path; None when there is no such file."""
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


class LoadedFile(NamedTuple):
    """A file's bytes, and its state just before they were read."""

    source: Source
    facts: os.stat_result | None


def load(path: str, shown: str) -> Source:
    """Reads one file; a source without bytes says why it could not be read."""
    return load_with_facts(path, shown).source


def load_with_facts(path: str, shown: str) -> LoadedFile:
    """Reads one file with its state, for caches. Plain system calls: this is done for every file of a workspace."""
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return LoadedFile(Source(shown, b"", f"the file cannot be read: {_explain_error(path, error)}"), None)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            return LoadedFile(Source(shown, b"", "not a regular file"), facts)
        if facts.st_size > MAX_BYTES:
            problem = f"the file is too large to be a definition ({facts.st_size >> 20} MB)"
            return LoadedFile(Source(shown, b"", problem, f"the limit is {MAX_BYTES >> 20} MB"), facts)
        return LoadedFile(Source(shown, _read_all(descriptor, facts.st_size)), facts)
    except OSError as error:
        return LoadedFile(Source(shown, b"", f"the file cannot be read: {_explain_error(path, error)}"), None)
    finally:
        os.close(descriptor)


def _read_all(descriptor: int, size: int) -> bytes:
    data = os.read(descriptor, size + 1)
    while len(data) < size:  # a signal or a network file system may return less than requested
        more = os.read(descriptor, size + 1 - len(data))
        if not more:
            break
        data += more
    return data


def _explain_error(path: str, error: OSError) -> str:
    if os.path.islink(path):
        return "it is a link that leads nowhere or in a circle"
    return error.strerror or str(error)
