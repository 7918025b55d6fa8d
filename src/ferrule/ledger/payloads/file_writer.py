"""One payload on its way into a folder."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import threading
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from ferrule.contracts.payloads import Kept, uri_of
from ferrule.ledger.payloads.folders import entered
from ferrule.ledger.payloads.trailer import trailer

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_MOST = 1_000
"""Payloads of one invocation."""
_FAR = 7_258_118_400_000_000
"""The year 2200: the time of change of what never expires."""


class FileWriter:
    """Writes under a name that nobody looks for; `close` links the file into place. Safe from any thread."""

    def __init__(self, root: Path, beginning: tuple[str, ...], end: tuple[str, ...], described: Kept) -> None:
        self.size = 0
        self._root = root
        self._beginning = beginning
        self._end = end
        self._described = described
        self._name = f"{secrets.token_hex(12)}.part"
        self._digest = hashlib.sha256()
        self._lock = threading.Lock()
        self._fd = -1
        with entered(root, *beginning) as folder:
            self._fd = os.open(self._name, _NEW, 0o600, dir_fd=folder)

    def write(self, chunk: bytes) -> None:
        """Add bytes. Raises OSError when there is no room; then nothing is left of it."""
        with self._lock:
            self._put(chunk)
            self._digest.update(chunk)
            self.size += len(chunk)

    def close(self) -> Kept:
        """Make it readable, durably. Raises OSError; then nothing is left of it."""
        with self._lock:
            try:
                return self._finished()
            finally:
                self._drop()

    def discard(self) -> None:
        """Give it up."""
        with self._lock:
            self._drop()

    def __del__(self) -> None:
        self._drop()

    def _finished(self) -> Kept:
        invocation_id = self._described.owner.invocation_id
        described = replace(self._described, size=self.size, digest=f"sha256:{self._digest.hexdigest()}")
        number = self._free(0)
        while True:
            kept = replace(described, uri=uri_of(invocation_id, number))
            end = trailer(kept)
            self._put(end)
            hint = _FAR if kept.expires_at is None else min(kept.expires_at, _FAR)
            os.utime(self._fd, ns=(hint * 1000, hint * 1000))
            os.fsync(self._fd)
            try:
                self._link(f"{invocation_id}.{number}")
                return kept
            except FileExistsError:  # another process, just now
                os.ftruncate(self._fd, self.size)
                os.lseek(self._fd, self.size, os.SEEK_SET)
                number = self._free(number + 1)

    def _free(self, number: int) -> int:
        """The next number under which the invocation has nothing yet."""
        invocation_id = self._described.owner.invocation_id
        with entered(self._root, "kept", makes=True) as kept, entered(self._root, *self._beginning) as live:
            for free in range(number, _MOST):
                name = f"{invocation_id}.{free}"
                if not (_has(kept, name) or _has(live, name)):
                    return free
        raise OSError(errno.EDQUOT, f"one call keeps at most {_MOST} payloads")

    def _link(self, name: str) -> None:
        with entered(self._root, *self._beginning) as before, entered(self._root, *self._end) as after:
            os.link(self._name, name, src_dir_fd=before, dst_dir_fd=after, follow_symlinks=False)
            try:
                os.fsync(after)
            except OSError:
                os.unlink(name, dir_fd=after)
                raise

    def _put(self, chunk: bytes) -> None:
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
        with suppress(OSError), entered(self._root, *self._beginning) as folder:
            os.unlink(self._name, dir_fd=folder)


def _has(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
