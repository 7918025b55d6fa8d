"""Payloads as files in a folder: one file each, made under another name and linked into place when it is whole and on disk.

`kept/` has the durable ones; `live/` has a folder per process, with what it is writing and what shall not outlast it. Files
are their owner's alone (0600 in 0700), no link is ever followed, and a process that is killed leaves nothing that can be read.
A file's time of change is set to when it expires, so that a sweep need not open those that have not.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import stat
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ferrule.contracts.payloads import (
    Access,
    PayloadAddress,
    PayloadOwner,
    PayloadWriter,
    Scope,
    StoredPayload,
    address_of,
    uri_of,
)
from ferrule.ledger.payloads.file_writer import FileWriter, read_trailer
from ferrule.ledger.payloads.folders import LiveFolder, open_folder
from ferrule.ledger.payloads.labels import (
    UNKNOWN_TYPE,
    clean_file_name,
    find_span,
    make_damaged_error,
    make_expired_error,
    make_unknown_error,
)
from ferrule.ledger.payloads.labels import clean_media_type as tidy_media_type

KEPT, LIVE = "kept", "live"
_CHUNK = 256 * 1024
# O_NONBLOCK: opening a pipe that was put in a payload's place must not hang.
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class FilePayloads:
    """A folder of payloads. Nothing is made on disk before the first is written. `clock`: microseconds since 1970."""

    def __init__(self, folder: str | Path, clock: Callable[[], int]) -> None:
        self._root = Path(folder)
        self._now = clock
        self._live = LiveFolder(self._root, LIVE)
        self._lock = threading.Lock()
        self._is_cleared = False
        self._is_closed = False

    def begin(
        self, owner: PayloadOwner, *, media_type: str = UNKNOWN_TYPE, name: str = "",
        scope: Scope = "durable", expires_at: int | None = None, access: Access = "owner",
    ) -> PayloadWriter:  # fmt: skip
        """Begins a payload. Raises OSError, and ValueError for an id that is no invocation's."""
        with self._lock:
            if self._is_closed:
                raise OSError(errno.EBADF, "the payload store is closed")
            if not self._is_cleared:
                self._live.clear_remains()
                self._is_cleared = True
            live = self._live.ensure()
        described = StoredPayload(
            uri=uri_of(owner.invocation_id, 0),
            media_type=tidy_media_type(media_type),
            digest="",
            size=0,
            created_at=self._now(),
            owner=owner,
            expires_at=expires_at,
            scope=scope,
            name=clean_file_name(name),
            access=access,
        )
        return FileWriter(self._root, (LIVE, live), (KEPT,) if scope == "durable" else (LIVE, live), described)

    async def describe(self, uri: str) -> StoredPayload:
        """Returns the description of a payload. Raises PayloadGone."""
        return await asyncio.to_thread(self._describe, uri)

    async def read(self, uri: str, offset: int = 0, limit: int | None = None) -> bytes:
        """Reads the bytes, or a range of them; the whole is checked against the digest. Raises PayloadGone."""
        return await asyncio.to_thread(self._read, uri, offset, limit)

    async def stream(self, uri: str) -> AsyncIterator[bytes]:
        """Yields the bytes, a chunk at a time, checked against the digest at the end. Raises PayloadGone."""
        # Entered by hand, because the open itself may block and runs in a thread.
        opened = self._open_payload(uri)
        fd, kept = await asyncio.to_thread(opened.__enter__)
        try:
            digest = hashlib.sha256()
            for at in range(0, kept.size, _CHUNK):
                chunk = await asyncio.to_thread(_read_exactly, fd, min(_CHUNK, kept.size - at), at, uri)
                digest.update(chunk)
                yield chunk
            if f"sha256:{digest.hexdigest()}" != kept.digest:
                raise make_damaged_error(uri)
        finally:
            opened.__exit__(None, None, None)

    async def remove(self, uri: str) -> bool:
        """Destroys the bytes; returns False when there were none."""
        address = address_of(uri)
        return address is not None and await asyncio.to_thread(self._remove, address)

    async def forget(self, invocation_ids: Collection[str]) -> int:
        """Destroys all payloads of these invocations; returns how many there were. Raises OSError."""
        return await asyncio.to_thread(self._forget, frozenset(invocation_ids))

    async def sweep(self, now: int) -> int:
        """Removes expired payloads, and the remains of dead processes; returns how many had expired."""
        return await asyncio.to_thread(self._sweep, now)

    async def aclose(self) -> None:
        """Closes the store; payloads of scope `session` end here, and unfinished ones are discarded."""
        with self._lock:
            self._is_closed = True
        await asyncio.to_thread(self._live.remove)

    def _describe(self, uri: str) -> StoredPayload:
        with self._open_payload(uri) as (_, kept):
            return kept

    def _read(self, uri: str, offset: int, limit: int | None) -> bytes:
        with self._open_payload(uri) as (fd, kept):
            place = find_span(kept.size, offset, limit)
            data = _read_exactly(fd, len(place), place.start, uri)
            if len(place) == kept.size and f"sha256:{hashlib.sha256(data).hexdigest()}" != kept.digest:
                raise make_damaged_error(uri)
            return data

    @contextmanager
    def _open_payload(self, uri: str) -> Iterator[tuple[int, StoredPayload]]:
        """Opens the payload's file and reads its trailer. Raises PayloadGone."""
        address = address_of(uri)
        fd = -1 if address is None else self._open_file(address, uri)
        if fd < 0:
            raise make_unknown_error(uri)
        try:
            try:
                if not stat.S_ISREG(os.fstat(fd).st_mode):
                    raise ValueError("not a file")
                kept = read_trailer(fd)
            except (ValueError, OSError):
                raise make_damaged_error(uri) from None
            if kept.uri != uri:
                # Under another's name, a payload would be shown to readers of that one.
                raise make_damaged_error(uri)
            if kept.expires_at is not None and kept.expires_at <= self._now():
                raise make_expired_error(uri, kept.expires_at)
            yield fd, kept
        finally:
            os.close(fd)

    def _open_file(self, address: PayloadAddress, uri: str) -> int:
        """Opens the file; returns -1 when there is none. Raises PayloadGone for anything that is not a file of ours."""
        try:
            for place in self._list_folders():
                with suppress(FileNotFoundError), open_folder(self._root, *place) as folder:
                    return os.open(make_stored_name(address), _READ, dir_fd=folder)
        except OSError:  # a link, a folder in its place, a disk that fails
            raise make_damaged_error(uri) from None
        return -1

    def _list_folders(self) -> Iterator[tuple[str, ...]]:
        yield (KEPT,)
        try:
            with open_folder(self._root, LIVE) as fd:
                names = os.listdir(fd)
        except OSError:
            return
        yield from ((LIVE, name) for name in names)

    def _remove(self, address: PayloadAddress) -> bool:
        for place in self._list_folders():
            with suppress(FileNotFoundError, NotADirectoryError), open_folder(self._root, *place) as folder:
                os.unlink(make_stored_name(address), dir_fd=folder)
                os.fsync(folder)
                return True
        return False

    def _forget(self, invocation_ids: frozenset[str]) -> int:
        count = 0
        for place in [*self._list_folders()]:
            with suppress(FileNotFoundError), open_folder(self._root, *place) as folder:
                for name in os.listdir(folder):
                    if name.rpartition(".")[0] in invocation_ids:
                        os.unlink(name, dir_fd=folder)
                        count += 1
                os.fsync(folder)
        return count

    def _sweep(self, now: int) -> int:
        # Not while `begin` makes this process's folder: until it is locked it looks like a dead one's.
        with self._lock:
            self._live.clear_remains()
        return sum(self._sweep_folder(place, now) for place in [*self._list_folders()])

    def _sweep_folder(self, place: tuple[str, ...], now: int) -> int:
        count = 0
        try:
            with open_folder(self._root, *place) as folder, os.scandir(folder) as entries:
                for entry in entries:
                    # A payload that is still being written has no trailer: reading that raises, and the file stays.
                    with suppress(OSError, ValueError):
                        is_hinted = entry.stat(follow_symlinks=False).st_mtime_ns // 1000 <= now
                        if is_hinted and _has_expired(entry.name, folder, now):
                            os.unlink(entry.name, dir_fd=folder)
                            count += 1
        except OSError:  # there is none yet, or it went away meanwhile
            return count
        return count


def make_stored_name(address: PayloadAddress) -> str:
    """Makes the name of a payload's file."""
    return f"{address.invocation_id}.{address.number}"


def _has_expired(name: str, folder: int, now: int) -> bool:
    fd = os.open(name, _READ, dir_fd=folder)
    try:
        kept = read_trailer(fd)
    finally:
        os.close(fd)
    return kept.expires_at is not None and kept.expires_at <= now


def _read_exactly(fd: int, length: int, at: int, uri: str) -> bytes:
    """Reads exactly so many bytes. Raises PayloadGone."""
    pieces: list[bytes] = []
    try:
        while length > 0 and (piece := os.pread(fd, length, at)):
            pieces.append(piece)
            length, at = length - len(piece), at + len(piece)
    except OSError:
        length = -1
    if length:
        raise make_damaged_error(uri)
    return b"".join(pieces)
