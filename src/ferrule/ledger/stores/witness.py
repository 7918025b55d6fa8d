"""A witness in a file elsewhere, and the thread that sends new heads to a witness without delaying commits."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from ferrule.contracts.store import Witness


class Head(NamedTuple):
    """One signed head."""

    ledger: str
    seq: int
    row: bytes
    at: int
    signature: bytes


def encode_head(head: Head) -> bytes:
    """Encodes the head as one line of JSON, hash and signature in hex."""
    fields = {"ledger": head.ledger, "seq": head.seq, "hash": head.row.hex(), "at": head.at}
    return msgspec.json.encode({**fields, "signature": head.signature.hex()}) + b"\n"


class FileWitness:
    """Appends heads to a file that is kept elsewhere: another disk, a mounted share, a folder of another user."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, ledger: str, seq: int, row: bytes, at: int, signature: bytes) -> None:
        """Appends one line and syncs it to disk. Raises OSError."""
        fd = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            text = encode_head(Head(ledger, seq, row, at, signature))
            # A new line first when a crash cut the last one short, so that only that line is unreadable.
            _write_whole(fd, text if _ends_with_newline(fd) else b"\n" + text)
            os.fsync(fd)
        finally:
            os.close(fd)


class WitnessThread:
    """Sends a witness the newest head after some rows or seconds, and at the end."""

    def __init__(
        self, witness: Witness, report: Callable[[str], None], *, every_rows: int = 1000, every_seconds: float = 1.0
    ) -> None:
        self._witness, self._report = witness, report
        self._every_rows, self._every_seconds = every_rows, every_seconds
        self._newest: Head | None = None
        self._told = 0
        self._closing = threading.Event()
        self._changed = threading.Event()
        self._due = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ferrule-witness", daemon=True)
        self._thread.start()

    def offer(self, head: Head) -> None:
        """Stores a newer head for the thread."""
        self._newest = head
        if not self._changed.is_set():
            self._changed.set()
        if head.seq - self._told >= self._every_rows and not self._due.is_set():
            self._due.set()

    def close(self) -> None:
        """Sends the last head, then ends."""
        self._closing.set()
        self._due.set()
        self._changed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._changed.wait()
            self._due.wait(self._every_seconds)
            # Cleared before the head is read: one that is offered meanwhile sets them again.
            self._due.clear()
            self._changed.clear()
            self._write_newest()
        self._write_newest()

    def _write_newest(self) -> None:
        head = self._newest
        if head is None or head.seq == self._told:
            return
        try:
            self._witness.write(*head)
            self._told = head.seq
        except Exception as error:  # whatever a witness raises must not stop the ledger
            self._report(f"the witness did not get row {head.seq}: {error}")
            # Pauses after a failure; closing ends the pause at once.
            self._closing.wait(self._every_seconds)
            self._changed.set()


def _ends_with_newline(fd: int) -> bool:
    """Returns False when a crash left half a line at the end."""
    size = os.fstat(fd).st_size
    return size == 0 or os.pread(fd, 1, size - 1) == b"\n"


def _write_whole(fd: int, text: bytes) -> None:
    if os.write(fd, text) != len(text):
        raise OSError("only a part of the line was written")
