"""A sink that appends events to a file, one JSON object a line.

The file itself says how far it got: the last event of each ledger row is marked `ends_row`. After a crash or a failed
write, whatever follows the last marked line is cut off and written anew, so each fact stands there exactly once.
One process writes at a time (a lock beside the file); another one that has the workspace open waits for its turn.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Annotated

import msgspec

from ferrule.contracts.sink import SinkBusy
from ferrule.errors import FerruleError, SettingsError
from ferrule.model.event import Event

_MARK = b'"ends_row":true}\n'
_BEGINNING = b'{"schema_version":'
_BLOCK = 64 * 1024
_encode = msgspec.json.Encoder().encode


class JsonlOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `kind = "jsonl"`."""

    path: str
    """The file, relative to the workspace."""
    fsync: bool = False
    """True to wait for the disk after each batch."""
    max_bytes: int = 0
    """Begin another file once this one has this size: `PATH.1` is the one before. 0: never."""
    keep: Annotated[int, msgspec.Meta(ge=1)] = 5
    """How many earlier files stay."""


class JsonlSink:
    """Events as lines of a file. Without a file, or with an empty one, it begins with the ledger's first row."""

    def __init__(self, path: Path, *, fsync: bool = False, max_bytes: int = 0, keep: int = 5) -> None:
        self.name = f"jsonl:{path}"
        self._path = path
        self._fsync = fsync
        self._max_bytes = max_bytes
        self._keep = keep
        self._file: int | None = None
        self._lock: int | None = None
        self._size = 0
        """Bytes that are whole rows."""
        self._seq = 0
        self._guard = Lock()
        self._is_closed = False

    async def cursor(self) -> int:
        """Returns the last row the file has whole. Raises SinkBusy while another process writes."""
        await asyncio.to_thread(self._append_exclusively, ())
        return self._seq

    async def write(self, events: Sequence[Event]) -> None:
        """Appends a batch, or leave the file as it was."""
        await asyncio.to_thread(self._append_exclusively, events)

    async def aclose(self) -> None:
        """Closes the file and the lock; a write that hangs closes them when it returns."""
        self._is_closed = True
        if self._guard.acquire(blocking=False):
            self._release()
            self._guard.release()

    def _append_exclusively(self, events: Sequence[Event]) -> None:
        """Appends under a lock: an abandoned write may still be running in another thread."""
        with self._guard:
            try:
                self._append(events)
            finally:
                if self._is_closed:
                    self._release()

    def _release(self) -> None:
        for number in (self._file, self._lock):
            if number is not None:
                os.close(number)
        self._file = self._lock = None

    def _open(self) -> None:
        if self._file is not None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._take_lock()
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._size, self._seq = _find_whole_rows(file, self._path)
            # Cuts off what a crash left behind the last marked row.
            os.ftruncate(file, self._size)
        except BaseException:
            os.close(file)
            raise
        if self._seq == 0:
            # Right after a rotation the file is still empty; the position is in the one before.
            self._seq = _read_last_row(_make_rotated_path(self._path, 1))
        self._file = file

    def _take_lock(self) -> None:
        if self._lock is not None:
            return
        lock = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise SinkBusy(f"another process writes {self._path}") from None
        self._lock = lock

    def _append(self, events: Sequence[Event]) -> None:
        self._open()
        lines = _encode_lines([event for event in events if event.seq > self._seq])
        if not lines:
            return
        if self._max_bytes and self._size >= self._max_bytes:
            self._rotate()
        assert self._file is not None
        try:
            _write_all(self._file, lines, self._size)
            if self._fsync:
                os.fsync(self._file)
        except OSError:
            self._close_damaged()
            raise
        self._size += len(lines)
        self._seq = events[-1].seq

    def _close_damaged(self) -> None:
        """Closes the file after a failed write: its end is unknown, so the next attempt reads it and cuts off
        incomplete rows."""
        assert self._file is not None
        with suppress(OSError):
            os.ftruncate(self._file, self._size)
        os.close(self._file)
        self._file = None

    def _rotate(self) -> None:
        """Rotates the files. Every step leaves the newest file first in line, so a crash in between loses no
        position."""
        for number in range(self._keep - 1, 0, -1):
            with suppress(FileNotFoundError):
                os.replace(_make_rotated_path(self._path, number), _make_rotated_path(self._path, number + 1))
        os.replace(self._path, _make_rotated_path(self._path, 1))
        # The descriptor still leads to the renamed file; `_open` then creates the new one.
        self._close_damaged()
        self._open()


def _make_rotated_path(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def _encode_lines(events: Sequence[Event]) -> bytes:
    """Encodes the events as lines; the last one of each row is marked."""
    lines = []
    for number, event in enumerate(events):
        record = event.to_record()
        if number + 1 == len(events) or events[number + 1].seq != event.seq:
            record["ends_row"] = True
        lines.append(_encode(record))
    return b"".join(line + b"\n" for line in lines)


def _write_all(file: int, data: bytes, place: int) -> None:
    view = memoryview(data)
    while view:
        # At an explicit offset, so that a retry overwrites a partial write.
        written = os.pwrite(file, view, place)
        view, place = view[written:], place + written


def _read_last_row(path: Path) -> int:
    """Reads the last whole row of an earlier file; 0 when there is none."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0
    try:
        return _find_whole_rows(file, path)[1]
    finally:
        os.close(file)


def _find_whole_rows(file: int, path: Path) -> tuple[int, int]:
    """Finds how many bytes of a file are whole rows, and the number of the last one. Reads from the end."""
    # This way round, an empty file, or one cut off within its first bytes, counts as ours too.
    if not _BEGINNING.startswith(os.pread(file, len(_BEGINNING), 0)):
        raise FerruleError(f"{path} is not a file of events, so none are written there; name another file")
    start = os.fstat(file).st_size
    tail = b""
    while start > 0:
        # The step doubles, so that a line longer than many blocks is not searched again for each of them.
        step = min(max(_BLOCK, len(tail)), start)
        start -= step
        tail = os.pread(file, step, start) + tail
        found = tail.rfind(_MARK)
        begins = tail.rfind(b"\n", 0, found) if found >= 0 else -1
        # The line counts only once its beginning is there too: its number is read from it.
        if found >= 0 and (begins >= 0 or start == 0):
            return start + found + len(_MARK), _read_seq(tail[begins + 1 : found + len(_MARK)], path)
    return 0, 0


def _read_seq(line: bytes, path: Path) -> int:
    try:
        return int(msgspec.json.decode(line)["seq"])
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        message = f"{path} has a line that is no event, so no more are written there; name another file"
        raise FerruleError(message) from None


def make(options: Mapping[str, object], folder: Path) -> JsonlSink:
    """Makes the sink of `kind = "jsonl"`."""
    try:
        said = msgspec.convert(options, JsonlOptions)
    except msgspec.ValidationError as error:
        raise SettingsError(f"a sink of kind 'jsonl' cannot be used as written: {error}") from None
    return JsonlSink(folder / said.path, fsync=said.fsync, max_bytes=said.max_bytes, keep=said.keep)
