"""`requestState`: where a client resumes after it was asked something (MCP-219). The server keeps nothing for it.

It comes back from outside, so it is sealed with a key derived from the workspace's approval key, and names its caller
and request. The ledger makes it count once: it names the round of a parked call, and a round is answered once (MCP-223
to MCP-225).
"""

from __future__ import annotations

import hashlib
import hmac
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Unreadable
from typing import Literal

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_USE = b"ferrule mcp request state 1"
_ID_BYTES, _NONCE_BYTES, _LONGEST = 4, 12, 4096


class RequestState(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """The contents of a `requestState`."""

    purpose: Literal["input", "approval"]
    audience: str
    """The workspace that made it."""
    tenant: str
    principal: str
    channel: str
    method: str
    salient: bytes
    """A digest of the request: the tool's name and the arguments."""
    invocation_id: str
    round: int
    expires_at: int
    """Microseconds since 1970."""
    seen: bytes = b""
    """Of an approval: the digest of the question shown."""


_decode = msgspec.msgpack.Decoder(RequestState).decode


class StateSeal:
    """Seals states, and opens its own."""

    def __init__(self, secret: bytes) -> None:
        key = hmac.new(secret, _USE, hashlib.sha256).digest()
        self._cipher = AESGCM(key)
        self._id = hashlib.sha256(b"id" + key).digest()[:_ID_BYTES]
        """Names the key, so that one of another key is told apart at once."""

    def seal(self, state: RequestState) -> str:
        """Returns a state as a client gets it: no two are the same (MCP-226)."""
        nonce = os.urandom(_NONCE_BYTES)
        whole = self._id + nonce + self._cipher.encrypt(nonce, msgspec.msgpack.encode(state), self._id)
        return urlsafe_b64encode(whole).decode()

    def open(self, text: str) -> RequestState | None:
        """Returns the state of a text; None for one of another key, or one that was changed."""
        if len(text) > _LONGEST:
            return None
        try:
            whole = urlsafe_b64decode(text.encode("ascii"))
            # Base64 decoders accept several spellings of the same bytes; one state has one text.
            if urlsafe_b64encode(whole).decode() != text or whole[:_ID_BYTES] != self._id:
                return None
            nonce, sealed = whole[_ID_BYTES : _ID_BYTES + _NONCE_BYTES], whole[_ID_BYTES + _NONCE_BYTES :]
            return _decode(self._cipher.decrypt(nonce, sealed, self._id))
        except (Unreadable, ValueError, InvalidTag, msgspec.MsgspecError):
            return None


def digest_request(name: str, arguments: bytes) -> bytes:
    """Returns the digest of a request, however its JSON is written."""
    try:
        written = msgspec.json.encode(_normalise(msgspec.json.decode(arguments)), order="sorted")
    except (msgspec.MsgspecError, UnicodeDecodeError, OverflowError, RecursionError):
        written = arguments  # whatever it is, it has to be the same
    digest = hashlib.sha256(len(name.encode()).to_bytes(8, "big") + name.encode())
    digest.update(written)
    return digest.digest()


def _normalise(value: object) -> object:
    """Returns JSON with one way to write numbers: `1.0` is `1` to many clients."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _normalise(member) for name, member in value.items()}
    return [_normalise(member) for member in value] if isinstance(value, list) else value
