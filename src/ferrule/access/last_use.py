"""The time of each key's last use, roughly: stored beside the keys, written every few minutes at most, never per request."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ferrule.access.tokens import format_moment
from ferrule.errors import AccessError
from ferrule.infra.private_files import read_private, replace_private

USE_FILE = "used.json"
USE_LOCK = "used.lock"
COARSE_SECONDS = 600
"""How far the stored times may lag behind."""


class KeyUse:
    """The last uses of one workspace's keys. Several processes may write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def times(self) -> dict[str, str]:
        """Returns the time of each key's last use, by its id, RFC 3339. Empty when that is not known."""
        try:
            return msgspec.json.decode(read_private(self._folder / USE_FILE) or b"{}", type=dict[str, str])
        except (msgspec.MsgspecError, AccessError):  # it only informs: no request may fail because of it
            return {}

    def note(self, used: Mapping[str, float]) -> None:
        """Stores uses: seconds since 1970, by id. Those that cannot be written are dropped."""
        try:
            with lock_file(self._folder / USE_LOCK):
                known = self.times()
                for token_id, at in used.items():
                    # All in one format and in UTC, so the later text is the greater one.
                    known[token_id] = max(format_moment(at), known.get(token_id, ""))
                replace_private(self._folder / USE_FILE, msgspec.json.encode(known))
        except AccessError:
            return


@contextmanager
def lock_file(file: Path) -> Iterator[None]:
    """Keeps other processes from entering. Raises AccessError."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise AccessError(f"cannot write {file}: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        # This ends the lock. The file stays: after a removal two processes could lock two files of this name.
        os.close(descriptor)
