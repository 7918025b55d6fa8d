"""`requestState`: where a client that was asked something goes on (MCP-219). The server keeps nothing for it.

It comes back from outside, so it is sealed with a key that follows from the workspace's approval key, and names for
whom and for what it was made. The ledger makes it count once: it names the round of a waiting call, and a round is
answered once (MCP-223 to MCP-225).
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


class State(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """What a `requestState` says."""

    purpose: Literal["input", "approval"]
    audience: str
    """The workspace that made it."""
    tenant: str
    principal: str
    channel: str
    method: str
    salient: bytes
    """A digest of what the request was about: the tool's name and the arguments."""
    invocation_id: str
    round: int
    expires_at: int
    """Microseconds since 1970."""
    seen: bytes = b""
    """Of an approval: what was shown."""


_decode = msgspec.msgpack.Decoder(State).decode


class Seal:
    """Makes states, and knows its own again."""

    def __init__(self, secret: bytes) -> None:
        key = hmac.new(secret, _USE, hashlib.sha256).digest()
        self._cipher = AESGCM(key)
        self._id = hashlib.sha256(b"id" + key).digest()[:_ID_BYTES]
        """Names the key, so that one of another key is told apart at once."""

    def sealed(self, state: State) -> str:
        """A state as a client gets it: no two are the same (MCP-226)."""
        nonce = os.urandom(_NONCE_BYTES)
        whole = self._id + nonce + self._cipher.encrypt(nonce, msgspec.msgpack.encode(state), self._id)
        return urlsafe_b64encode(whole).decode()

    def opened(self, text: str) -> State | None:
        """The state of a text; None for one that was not made with this key, or was changed."""
        if len(text) > _LONGEST:
            return None
        try:
            whole = urlsafe_b64decode(text.encode("ascii"))
            if urlsafe_b64encode(whole).decode() != text or whole[:_ID_BYTES] != self._id:
                return None
            nonce, sealed = whole[_ID_BYTES : _ID_BYTES + _NONCE_BYTES], whole[_ID_BYTES + _NONCE_BYTES :]
            return _decode(self._cipher.decrypt(nonce, sealed, self._id))
        except (Unreadable, ValueError, InvalidTag, msgspec.MsgspecError):
            return None


def salient(name: str, arguments: bytes) -> bytes:
    """The digest of what a request is about, however its JSON is written."""
    try:
        written = msgspec.json.encode(_plain(msgspec.json.decode(arguments)), order="sorted")
    except (msgspec.MsgspecError, UnicodeDecodeError, OverflowError, RecursionError):
        written = arguments  # whatever it is, it has to be the same
    digest = hashlib.sha256(len(name.encode()).to_bytes(8, "big") + name.encode())
    digest.update(written)
    return digest.digest()


def _plain(value: object) -> object:
    """JSON whose numbers are written in one way: `1.0` is `1` to many clients."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    return [_plain(member) for member in value] if isinstance(value, list) else value
