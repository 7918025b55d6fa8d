"""Tokens by which a posted task is answered from outside: each for one call, for a time, and worth nothing once it is answered.

Whoever holds one may give exactly one answer to exactly one call; the ledger sees to the "one". They are made with the approval
key, so nobody who reads the ledger can make any.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec

from ferrule.runtime.approval.key import ApprovalKey

CHANNEL = "callback"
"""The channel that such answers come by."""
_PREFIX = "frc_"
_WORD = b"ferrule callback 1"
_MAC_BYTES = 32
_LONGEST = 400


class _Grant(msgspec.Struct, frozen=True, array_like=True):
    invocation_id: str
    expires_at: int
    """Microseconds since 1970."""


_decode = msgspec.msgpack.Decoder(_Grant).decode


def callback_token(key: ApprovalKey, invocation_id: str, expires_at: int) -> str:
    """A token for one call's answer."""
    grant = msgspec.msgpack.encode(_Grant(invocation_id, expires_at))
    return _PREFIX + urlsafe_b64encode(_mac(key, grant) + grant).decode().rstrip("=")


def call_of(key: ApprovalKey, token: str, now: int) -> str | None:
    """The call a token is for; None for one that was not made here, was changed, or is too old."""
    if not isinstance(token, str) or not token.startswith(_PREFIX) or len(token) > _LONGEST:
        return None
    try:
        text = token.removeprefix(_PREFIX).encode("ascii")
        whole = urlsafe_b64decode(text + b"=" * (-len(text) % 4))
    except (UnicodeEncodeError, binascii.Error, ValueError):
        return None
    mac, written = whole[:_MAC_BYTES], whole[_MAC_BYTES:]
    if not hmac.compare_digest(mac, _mac(key, written)):
        return None
    grant = _decode(written)
    return grant.invocation_id if now < grant.expires_at else None


def _mac(key: ApprovalKey, grant: bytes) -> bytes:
    return hmac.new(key.secret, len(_WORD).to_bytes(8, "big") + _WORD + grant, hashlib.sha256).digest()
