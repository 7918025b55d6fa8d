"""Small records that only this workspace can read: encrypted, bound to their purpose, written atomically.

A record that was changed, or moved to another one's name, does not open. The key file and the folder together reveal
everything; the folder alone nothing.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ferrule.errors import AccessError
from ferrule.infra.private_files import create_private, read_private, replace_private

KEY_FILE = ".ferrule/keys/oauth.key"
_KEY_BYTES = 32
_NONCE_BYTES = 12
_FORM = b"ferrule sealed 1\n"
_LOOK_AGAIN = 0.02


class DamagedRecord(Exception):
    """A record that does not open: it was changed, moved, or encrypted with another key."""


class RecordBusy(Exception):
    """Another process holds a record for too long."""


def make_key_loader(file: Path) -> Callable[[], bytes]:
    """Returns a function that loads the key of a file, and creates it on first use. It raises AccessError."""

    def key() -> bytes:
        found = read_private(file)
        found = create_private(file, os.urandom(_KEY_BYTES)) if found is None else found
        if len(found) != _KEY_BYTES:
            raise AccessError(f"{file} holds no key; restore it from a backup, or remove it and connect again")
        return found

    return key


def hash_words(*words: str) -> str:
    """Returns a file name for any words. Lengths are part of the hash, so that different words never collide."""
    counted = b"".join(b"%d:%s" % (len(data := word.encode("utf-8", "surrogatepass")), data) for word in words)
    return hashlib.sha256(counted).hexdigest()


class SealedFolder:
    """The records of one kind, by name, each in a file."""

    def __init__(self, folder: Path, key: Callable[[], bytes]) -> None:
        self._folder = folder
        self._key = key
        self._cipher: AESGCM | None = None

    def read(self, name: str) -> bytes | None:
        """Returns the record; None when there is none. Raises DamagedRecord."""
        try:
            data = (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DamagedRecord(f"it cannot be read: {error.strerror}") from None
        if not data.startswith(_FORM):
            raise DamagedRecord("it is no record of ours")
        sealed = data[len(_FORM) :]
        try:
            return self._open_cipher().decrypt(
                sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], self._associated_data(name)
            )
        except (InvalidTag, ValueError):
            raise DamagedRecord("it was changed, belongs to something else, or was made with another key") from None

    def write(self, name: str, plain: bytes) -> None:
        """Replaces the record atomically. Raises AccessError."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._open_cipher().encrypt(nonce, plain, self._associated_data(name))
        replace_private(self._folder / name, _FORM + sealed)

    def remove(self, name: str) -> None:
        """Removes the record."""
        (self._folder / name).unlink(missing_ok=True)

    def names(self) -> list[str]:
        """Lists the names of all records, and of no other files there."""
        try:
            found = os.listdir(self._folder)
        except OSError:
            return []
        return sorted(name for name in found if len(name) == 64 and name.isalnum())

    @asynccontextmanager
    async def lock(self, name: str, seconds: float) -> AsyncIterator[None]:
        """Locks a record among all processes. Raises RecordBusy after so many seconds."""
        descriptor = self._lock_file(name)
        try:
            await _wait_for_lock(descriptor, seconds)
            yield
        finally:
            # Closing releases the lock. The file stays: another process may be waiting for it.
            os.close(descriptor)

    def _lock_file(self, name: str) -> int:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Opened anew each time: the lock belongs to the open file, so calls of one process exclude each other too.
            return os.open(self._folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise AccessError(f"cannot write into {self._folder}: {error.strerror}") from None

    def _associated_data(self, name: str) -> bytes:
        # The place is authenticated as well: a record put in place of another one does not open (decision 0026).
        return _FORM + f"{self._folder.name}/{name}".encode()

    def _open_cipher(self) -> AESGCM:
        if self._cipher is None:
            self._cipher = AESGCM(self._key())
        return self._cipher


async def _wait_for_lock(descriptor: int, seconds: float) -> None:
    """Waits for a lock without blocking the event loop. Raises RecordBusy."""
    try:
        async with asyncio.timeout(seconds):
            while not _try_lock(descriptor):
                await asyncio.sleep(_LOOK_AGAIN)
    except TimeoutError:
        raise RecordBusy("another process does not let go of it") from None


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
