"""Small records that only this workspace can read: encrypted, bound to what they are for, written whole or not at all.

A record that was changed, or put in another one's place, does not open. Whoever holds the key file and the folder can read
everything; whoever holds only the folder, nothing.
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


class Damaged(Exception):
    """A record that does not open: changed, in another one's place, or made with another key."""


class Busy(Exception):
    """Another process holds a record for too long."""


def key_in(file: Path) -> Callable[[], bytes]:
    """Gives the key in a file, made when it is first needed. Raises AccessError."""

    def key() -> bytes:
        found = read_private(file)
        found = create_private(file, os.urandom(_KEY_BYTES)) if found is None else found
        if len(found) != _KEY_BYTES:
            raise AccessError(f"{file} holds no key; restore it from a backup, or remove it and connect again")
        return found

    return key


def name_of(*words: str) -> str:
    """A file name for words of any kind. Different words never meet: each is counted."""
    counted = b"".join(b"%d:%s" % (len(data := word.encode("utf-8", "surrogatepass")), data) for word in words)
    return hashlib.sha256(counted).hexdigest()


class SealedFolder:
    """The records of one kind, by name, each in a file."""

    def __init__(self, folder: Path, key: Callable[[], bytes]) -> None:
        self._folder = folder
        self._key = key
        self._cipher: AESGCM | None = None

    def read(self, name: str) -> bytes | None:
        """The record; None when there is none. Raises Damaged."""
        try:
            data = (self._folder / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Damaged(f"it cannot be read: {error.strerror}") from None
        if not data.startswith(_FORM):
            raise Damaged("it is no record of ours")
        sealed = data[len(_FORM) :]
        try:
            return self._opened().decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], self._bound(name))
        except (InvalidTag, ValueError):
            raise Damaged("it was changed, belongs to something else, or was made with another key") from None

    def write(self, name: str, plain: bytes) -> None:
        """Replace the record, all at once. Raises AccessError."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = nonce + self._opened().encrypt(nonce, plain, self._bound(name))
        replace_private(self._folder / name, _FORM + sealed)

    def remove(self, name: str) -> None:
        """Let there be no such record."""
        (self._folder / name).unlink(missing_ok=True)

    def names(self) -> list[str]:
        """The names of all records, and of nothing else that lies there."""
        try:
            found = os.listdir(self._folder)
        except OSError:
            return []
        return sorted(name for name in found if len(name) == 64 and name.isalnum())

    @asynccontextmanager
    async def locked(self, name: str, seconds: float) -> AsyncIterator[None]:
        """Alone with a record, among all processes. Raises Busy after so many seconds."""
        descriptor = self._lock_file(name)
        try:
            await _mine(descriptor, seconds)
            yield
        finally:
            os.close(descriptor)

    def _lock_file(self, name: str) -> int:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            return os.open(self._folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise AccessError(f"cannot write into {self._folder}: {error.strerror}") from None

    def _bound(self, name: str) -> bytes:
        return _FORM + f"{self._folder.name}/{name}".encode()

    def _opened(self) -> AESGCM:
        if self._cipher is None:
            self._cipher = AESGCM(self._key())
        return self._cipher


async def _mine(descriptor: int, seconds: float) -> None:
    """Wait for a lock without keeping anybody else waiting. Raises Busy."""
    try:
        async with asyncio.timeout(seconds):
            while not _is_mine(descriptor):
                await asyncio.sleep(_LOOK_AGAIN)
    except TimeoutError:
        raise Busy("another process does not let go of it") from None


def _is_mine(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
