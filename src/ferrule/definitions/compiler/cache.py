"""Remembers the reports of unchanged files. A cache only ever saves time: anything doubtful about it is ignored.

The file is sealed with a key of the user's own, so an entry that came from elsewhere (checked in, copied, forged) or
was damaged on disk does not open. An entry counts when the content's hash is the same; the hash is taken again
unless size, times and inode are those of a moment safely before the cache was written.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from ferrule.model.diagnostic import FileReport

_MAGIC = b"ferrule check cache 1\n"
_MAC_SIZE = 32
_SETTLED_NS = 2_000_000_000
"""A file changed less than this before the cache was written may have changed again within one clock tick."""


class Stat(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The facts about a file that change whenever its content does."""

    size: int
    modified_ns: int
    changed_ns: int
    inode: int


class CacheEntry(msgspec.Struct, frozen=True, array_like=True):
    """The report of one file, with the facts that show whether the file is still the same."""

    stat: Stat
    digest: bytes
    named: bool
    """True when the file was requested by name, which may lead to other findings."""
    report: FileReport


class _Content(msgspec.Struct, array_like=True):
    fingerprint: str
    written_ns: int
    entries: dict[str, CacheEntry]


_decoder = msgspec.msgpack.Decoder(_Content)


def read_stat(path: str) -> Stat | None:
    """Reads the file's present state; None when it cannot be read."""
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return stat_from(facts)


def stat_from(facts: os.stat_result) -> Stat:
    """Picks a file's state from the result of a system call."""
    return Stat(facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino)


def digest_of(data: bytes) -> bytes:
    """Returns the hash of a content."""
    return hashlib.blake2b(data, digest_size=20).digest()


class CheckCache:
    """The cached reports of one workspace. Look up, add, and `save` at the end."""

    def __init__(self, file: Path | None, key: bytes, fingerprint: str) -> None:
        self._file = file
        self._key = key
        self._fingerprint = fingerprint
        self._fresh: dict[str, CacheEntry] = {}
        self._old: dict[str, CacheEntry] = {}
        self._written_ns = 0
        content = self._read()
        if content is not None and content.fingerprint == fingerprint:
            self._old, self._written_ns = content.entries, content.written_ns

    def find_report(self, name: str, path: str, *, named: bool) -> FileReport | None:
        """Returns the cached report when the file has certainly not changed."""
        entry = self._old.get(name)
        if entry is None or entry.named != named:
            return None
        try:
            facts = os.stat(path)
        except OSError:
            return None
        known = entry.stat
        if facts.st_size != known.size:
            return None
        is_untouched = (
            facts.st_mtime_ns == known.modified_ns
            and facts.st_ctime_ns == known.changed_ns
            and facts.st_ino == known.inode
            and max(known.modified_ns, known.changed_ns) <= self._written_ns - _SETTLED_NS
        )
        # A checkout or a copy gives new times to the same content, so the hash has the last word.
        if not is_untouched:
            if not _has_digest(path, entry.digest):
                return None
            entry = msgspec.structs.replace(entry, stat=stat_from(facts))
        self._fresh[name] = entry
        return entry.report

    def add(self, name: str, stat: Stat | None, digest: bytes, report: FileReport, *, named: bool) -> None:
        """Remembers the report of a file."""
        if stat is not None:
            self._fresh[name] = CacheEntry(stat, digest, named, report)

    def save(self) -> None:
        """Writes the entries of this run if they differ from those on disk. A full or read-only disk is no error."""
        if self._file is None or (self._fresh.keys() == self._old.keys() and self._is_unchanged()):
            return
        content = _Content(self._fingerprint, time.time_ns(), self._fresh)
        try:
            data = msgspec.msgpack.encode(content)
        except (OverflowError, ValueError):  # an outline holds a number or text that cannot be stored
            return
        # Renamed into place, so that two checks at once never leave half a file.
        draft = self._file.with_name(f"{self._file.name}.{os.getpid()}")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            draft.write_bytes(_MAGIC + self._mac(data) + data)
            draft.replace(self._file)
        except OSError:
            with suppress(OSError):
                draft.unlink()

    def _is_unchanged(self) -> bool:
        # `find_report` puts the very same object into both tables, so identity is enough.
        return all(self._old[name] is entry for name, entry in self._fresh.items())

    def _read(self) -> _Content | None:
        if self._file is None:
            return None
        try:
            raw = self._file.read_bytes()
            mac, data = raw[len(_MAGIC) :][:_MAC_SIZE], raw[len(_MAGIC) + _MAC_SIZE :]
            if not raw.startswith(_MAGIC) or not hmac.compare_digest(mac, self._mac(data)):
                return None
            return _decoder.decode(data)
        except (OSError, msgspec.MsgspecError):
            return None

    def _mac(self, data: bytes) -> bytes:
        return hashlib.blake2b(data, key=self._key, digest_size=_MAC_SIZE).digest()


def _has_digest(path: str, digest: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return digest_of(file.read()) == digest
    except OSError:
        return False


def find_cache_folder(environment: dict[str, str]) -> Path:
    """Returns the folder for caches: FERRULE_CACHE_DIR, else the user's cache folder."""
    if chosen := environment.get("FERRULE_CACHE_DIR"):
        return Path(chosen)
    base = environment.get("XDG_CACHE_HOME") or os.path.join(environment.get("HOME", "/nonexistent"), ".cache")
    return Path(base) / "ferrule"


def load_cache_key(folder: Path) -> bytes | None:
    """Reads this user's cache key, making it on first use. Returns None when it can be neither read nor made."""
    file = folder / "key"
    try:
        key = file.read_bytes()
    except FileNotFoundError:
        key = os.urandom(32)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Of two first checks at once, one makes the key; the other goes without a cache.
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError:
            return None
        with os.fdopen(descriptor, "wb") as out:
            out.write(key)
    except OSError:
        return None
    # Another process may be half through writing it.
    return key if len(key) == 32 else None
