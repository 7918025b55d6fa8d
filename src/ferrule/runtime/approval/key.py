"""The approval key: seals requests and answers, and keeps sensitive inputs of parked calls unreadable in the ledger.

It lives outside the ledger, so that whoever can write the database can neither approve a call nor read its secrets.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ferrule.errors import AccessError
from ferrule.infra.private_files import create_private, read_private

KEY_FILE = ".ferrule/keys/approval.key"
_BYTES = 32
_NONCE_BYTES = 12


class ApprovalKey:
    """One secret, and the two keys that follow from it: one to seal with, one to encrypt with."""

    def __init__(self, root: bytes) -> None:
        if len(root) != _BYTES:
            raise AccessError(
                f"an approval key has {_BYTES} bytes, not {len(root)}; restore the key file from a backup"
            )
        self.secret = _derived(root, b"ferrule approval seal")
        """The key of bindings and seals (`model/approval.py`)."""
        self._cipher = AESGCM(_derived(root, b"ferrule approval input"))

    @classmethod
    def in_memory(cls) -> ApprovalKey:
        """A fresh key that is kept nowhere."""
        return cls(os.urandom(_BYTES))

    @classmethod
    def load(cls, path: str | Path) -> ApprovalKey:
        """The key in a file, made now if there is none. Raises AccessError."""
        file = Path(path)
        found = read_private(file)
        return cls(create_private(file, os.urandom(_BYTES)) if found is None else found)

    def seal(self, invocation_id: str, plain: bytes) -> bytes:
        """Encrypted, and bound to the invocation."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plain, invocation_id.encode())

    def open(self, invocation_id: str, sealed: bytes) -> bytes:
        """The plain bytes again. Raises ValueError for anything that was changed, or belongs to another invocation."""
        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], invocation_id.encode())
        except (InvalidTag, ValueError):
            raise ValueError(f"the sealed input of {invocation_id} cannot be opened with this approval key") from None


def _derived(root: bytes, use: bytes) -> bytes:
    return hmac.new(root, use, hashlib.sha256).digest()
