"""Witnesses: a file elsewhere, or a web address. And the thread that tells one about new heads without holding up anybody."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from ferrule.contracts.registry import late
from ferrule.contracts.store import Witness
from ferrule.errors import SettingsError

_request = late("urllib.request:Request")
_urlopen = late("urllib.request:urlopen")


class Head(NamedTuple):
    """One signed head."""

    ledger: str
    seq: int
    row: bytes
    at: int
    signature: bytes


def line(head: Head) -> bytes:
    """The head as one line of JSON, hash and signature in hex."""
    fields = {"ledger": head.ledger, "seq": head.seq, "hash": head.row.hex(), "at": head.at}
    return msgspec.json.encode({**fields, "signature": head.signature.hex()}) + b"\n"


class FileWitness:
    """Appends heads to a file that is kept elsewhere: another disk, a mounted share, a folder of another user."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, ledger: str, seq: int, row: bytes, at: int, signature: bytes) -> None:
        """Append one line and bring it to the disk. Raises OSError."""
        fd = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            text = line(Head(ledger, seq, row, at, signature))
            _write_whole(fd, text if _ends_well(fd) else b"\n" + text)
            os.fsync(fd)
        finally:
            os.close(fd)


class WebhookWitness:
    """Posts heads to an address whose owner keeps them."""

    def __init__(self, url: str, *, timeout_seconds: float = 5.0) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise SettingsError(f"the witness {url!r} is not an http or https address")
        self._url, self._timeout = url, timeout_seconds

    def write(self, ledger: str, seq: int, row: bytes, at: int, signature: bytes) -> None:
        """Post one head as JSON; any answer of 200 to 299 means it is kept. Raises OSError."""
        request = _request(
            self._url,
            data=line(Head(ledger, seq, row, at, signature)),
            headers={"Content-Type": "application/json"},
            method="POST",
        )
        with _urlopen(request, timeout=self._timeout) as answer:
            answer.read(1024)


class WitnessThread:
    """Tells a witness the newest head after so many rows or seconds, and when it ends."""

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
        """A newer head. Only remembers it."""
        self._newest = head
        if not self._changed.is_set():
            self._changed.set()
        if head.seq - self._told >= self._every_rows and not self._due.is_set():
            self._due.set()

    def close(self) -> None:
        """Tell the last head, then end."""
        self._closing.set()
        self._due.set()
        self._changed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._changed.wait()
            self._due.wait(self._every_seconds)
            self._due.clear()
            self._changed.clear()
            self._tell()
        self._tell()

    def _tell(self) -> None:
        head = self._newest
        if head is None or head.seq == self._told:
            return
        try:
            self._witness.write(*head)
            self._told = head.seq
        except Exception as error:  # whatever a witness raises must not stop the ledger
            self._report(f"the witness could not be told of row {head.seq}: {error}")
            self._closing.wait(self._every_seconds)
            self._changed.set()


def _ends_well(fd: int) -> bool:
    """False when a crash left half a line at the end."""
    size = os.fstat(fd).st_size
    return size == 0 or os.pread(fd, 1, size - 1) == b"\n"


def _write_whole(fd: int, text: bytes) -> None:
    if os.write(fd, text) != len(text):
        raise OSError("only a part of the line was written")
