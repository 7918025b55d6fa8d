"""Writes one payload into a folder, and reads the trailer that stands behind its bytes.

The trailer is a line of JSON that says what the bytes are, its own digest and its length. It stands behind, because size
and digest are known only when the last byte is written; and in the same file, so that one rename makes both visible.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import threading
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ferrule.contracts.payloads import StoredPayload, uri_of
from ferrule.ledger.payloads.folders import open_folder

_MAGIC = b"FERRPAY1"
_FIXED = 32 + 4 + len(_MAGIC)
_LONGEST = 64 * 1024
_decode = msgspec.json.Decoder(StoredPayload).decode


def encode_trailer(kept: StoredPayload) -> bytes:
    """Encodes the trailer to write behind the bytes."""
    said = b"\n" + msgspec.json.encode(kept)
    return said + hashlib.sha256(said).digest() + len(said).to_bytes(4, "big") + _MAGIC


def read_trailer(fd: int) -> StoredPayload:
    """Reads the trailer of a payload's file. Raises ValueError when the file is incomplete, or no payload."""
    size = os.fstat(fd).st_size
    fixed = os.pread(fd, _FIXED, max(0, size - _FIXED))
    if len(fixed) != _FIXED or not fixed.endswith(_MAGIC):
        raise ValueError("the file does not end as payloads do")
    length = int.from_bytes(fixed[32:36], "big")
    begin = size - _FIXED - length
    if length > _LONGEST or begin < 0:
        raise ValueError("the file is not as long as it says")
    said = os.pread(fd, length, begin)
    if hashlib.sha256(said).digest() != fixed[:32]:
        raise ValueError("what the file says of itself was changed")
    kept = _decode(said)  # a ValidationError is a ValueError
    if kept.size != begin:
        raise ValueError("the file does not have the size it says")
    return kept


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_MOST = 1_000
"""Payloads of one invocation."""
_FAR = 7_258_118_400_000_000
"""The year 2200: the time of change of what never expires."""


class FileWriter:
    """Writes under a temporary name; `close` links the file into place. Safe from any thread."""

    def __init__(self, root: Path, beginning: tuple[str, ...], end: tuple[str, ...], described: StoredPayload) -> None:
        self.size = 0
        self._root = root
        self._beginning = beginning
        self._end = end
        self._described = described
        self._name = f"{secrets.token_hex(12)}.part"
        self._digest = hashlib.sha256()
        self._lock = threading.Lock()
        self._fd = -1
        with open_folder(root, *beginning) as folder:
            self._fd = os.open(self._name, _NEW, 0o600, dir_fd=folder)

    def write(self, chunk: bytes) -> None:
        """Writes bytes. Raises OSError when there is no room; then nothing is left of the payload."""
        with self._lock:
            self._write_all(chunk)
            self._digest.update(chunk)
            self.size += len(chunk)

    def close(self) -> StoredPayload:
        """Makes the payload readable, durably. Raises OSError; then nothing is left of it."""
        with self._lock:
            try:
                return self._finish()
            finally:
                self._drop()

    def discard(self) -> None:
        """Discards the payload."""
        with self._lock:
            self._drop()

    def __del__(self) -> None:
        self._drop()

    def _finish(self) -> StoredPayload:
        invocation_id = self._described.owner.invocation_id
        described = replace(self._described, size=self.size, digest=f"sha256:{self._digest.hexdigest()}")
        number = self._find_free_number(0)
        while True:
            kept = replace(described, uri=uri_of(invocation_id, number))
            end = encode_trailer(kept)
            self._write_all(end)
            hint = _FAR if kept.expires_at is None else min(kept.expires_at, _FAR)
            # The time of change tells sweeps when it expires, without opening the file.
            os.utime(self._fd, ns=(hint * 1000, hint * 1000))
            # Synced before it is linked: a name in place always leads to a complete payload.
            os.fsync(self._fd)
            try:
                self._link(f"{invocation_id}.{number}")
                return kept
            except FileExistsError:  # another process, just now
                # The trailer names the number, so it is written anew.
                os.ftruncate(self._fd, self.size)
                os.lseek(self._fd, self.size, os.SEEK_SET)
                number = self._find_free_number(number + 1)

    def _find_free_number(self, number: int) -> int:
        """Finds the next number that the invocation has not used."""
        invocation_id = self._described.owner.invocation_id
        with open_folder(self._root, "kept", makes=True) as kept, open_folder(self._root, *self._beginning) as live:
            for free in range(number, _MOST):
                name = f"{invocation_id}.{free}"
                if not (_has(kept, name) or _has(live, name)):
                    return free
        raise OSError(errno.EDQUOT, f"one call keeps at most {_MOST} payloads")

    def _link(self, name: str) -> None:
        with open_folder(self._root, *self._beginning) as before, open_folder(self._root, *self._end) as after:
            # A link and no rename: that would replace a payload which another process just gave this name.
            os.link(self._name, name, src_dir_fd=before, dst_dir_fd=after, follow_symlinks=False)
            try:
                os.fsync(after)
            except OSError:
                # Its name may not outlast a power cut, so the payload is not there.
                os.unlink(name, dir_fd=after)
                raise

    def _write_all(self, chunk: bytes) -> None:
        if self._fd < 0:
            raise OSError(errno.EBADF, "the payload was closed or given up")
        rest = memoryview(chunk)
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError:
            self._drop()
            raise

    def _drop(self) -> None:
        if self._fd < 0:
            return
        os.close(self._fd)
        self._fd = -1
        with suppress(OSError), open_folder(self._root, *self._beginning) as folder:
            os.unlink(self._name, dir_fd=folder)


def _has(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
