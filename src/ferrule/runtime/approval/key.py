"""The approval key, which seals requests, answers and sensitive inputs, and the callback tokens made with it.

The key lives outside the ledger, so that whoever can write the database can neither approve a call nor read its secrets,
nor make a token. A token lets a posted task be answered from outside: its holder may give exactly one answer to exactly
one call, for a time; the ledger sees to the "one".
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path

import msgspec
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
        # Separate keys for separate uses, so that a seal never reveals anything about the cipher.
        self.secret = _derive_key(root, b"ferrule approval seal")
        """The key of bindings and seals (`model/approval.py`)."""
        self._cipher = AESGCM(_derive_key(root, b"ferrule approval input"))

    @classmethod
    def generate(cls) -> ApprovalKey:
        """Generates a key that is stored nowhere."""
        return cls(os.urandom(_BYTES))

    @classmethod
    def load(cls, path: str | Path) -> ApprovalKey:
        """Loads the key from a file, creating it if there is none. Raises AccessError."""
        file = Path(path)
        found = read_private(file)
        return cls(create_private(file, os.urandom(_BYTES)) if found is None else found)

    def seal(self, invocation_id: str, plain: bytes) -> bytes:
        """Encrypts bytes, bound to the invocation."""
        nonce = os.urandom(_NONCE_BYTES)
        # The invocation id is authenticated data: a sealed input moved to another call cannot be opened.
        return nonce + self._cipher.encrypt(nonce, plain, invocation_id.encode())

    def open(self, invocation_id: str, sealed: bytes) -> bytes:
        """Decrypts bytes. Raises ValueError for bytes that were changed, or belong to another invocation."""
        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], invocation_id.encode())
        except (InvalidTag, ValueError):
            raise ValueError(f"the sealed input of {invocation_id} cannot be opened with this approval key") from None


def _derive_key(root: bytes, use: bytes) -> bytes:
    return hmac.new(root, use, hashlib.sha256).digest()


CHANNEL = "callback"
"""The channel of such answers."""
_PREFIX = "frc_"
_WORD = b"ferrule callback 1"
_MAC_BYTES = 32
_LONGEST = 400


class _Grant(msgspec.Struct, frozen=True, array_like=True):
    invocation_id: str
    expires_at: int
    """Microseconds since 1970."""


_decode = msgspec.msgpack.Decoder(_Grant).decode


def make_callback_token(key: ApprovalKey, invocation_id: str, expires_at: int) -> str:
    """Makes a token for one call's answer."""
    grant = msgspec.msgpack.encode(_Grant(invocation_id, expires_at))
    return _PREFIX + urlsafe_b64encode(_compute_mac(key, grant) + grant).decode().rstrip("=")


def verify_callback_token(key: ApprovalKey, token: str, now: int) -> str | None:
    """Returns the call a token is for; None for one that was not made here, was changed, or has expired."""
    if not isinstance(token, str) or not token.startswith(_PREFIX) or len(token) > _LONGEST:
        return None
    try:
        text = token.removeprefix(_PREFIX).encode("ascii")
        whole = urlsafe_b64decode(text + b"=" * (-len(text) % 4))
    except (UnicodeEncodeError, binascii.Error, ValueError):
        return None
    mac, written = whole[:_MAC_BYTES], whole[_MAC_BYTES:]
    if not hmac.compare_digest(mac, _compute_mac(key, written)):
        return None
    # Decoded only after the MAC was verified, so the bytes are our own.
    grant = _decode(written)
    return grant.invocation_id if now < grant.expires_at else None


def _compute_mac(key: ApprovalKey, grant: bytes) -> bytes:
    return hmac.new(key.secret, len(_WORD).to_bytes(8, "big") + _WORD + grant, hashlib.sha256).digest()
