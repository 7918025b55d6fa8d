"""Ids of tasks. A task is a call in the ledger; its id names the call and proves that this workspace gave it to this caller.

So there is no table of tasks: any process of the workspace knows every task, also after a crash, and nobody can make one up.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Unreadable
from typing import NamedTuple

from ferrule.servers.auth.callers import Caller

_LABEL = b"ferrule mcp task 1"
_PREFIX = "inv_"
_CALL_BYTES, _TTL_BYTES, _SEAL_BYTES = 12, 5, 16
_LENGTH = _CALL_BYTES + _TTL_BYTES + _SEAL_BYTES
_MOST_MS = (1 << 8 * _TTL_BYTES) - 1


class TaskRef(NamedTuple):
    """What an id says."""

    task_id: str
    invocation_id: str
    ttl_ms: int
    """How long after its call was made it can be asked about."""

    @property
    def created_at(self) -> int:
        """When its call was made: microseconds since 1970. Every invocation id begins with it."""
        return int(self.invocation_id[len(_PREFIX) : len(_PREFIX) + 14], 16)

    def has_expired(self, now: int) -> bool:
        """True once it is forgotten (MCP-256). `now`: microseconds since 1970."""
        return now - self.created_at > self.ttl_ms * 1000


def task_for(secret: bytes, caller: Caller, invocation_id: str, ttl_ms: int) -> TaskRef:
    """The task that a call is to its caller."""
    said = bytes.fromhex(invocation_id[len(_PREFIX) :]) + min(ttl_ms, _MOST_MS).to_bytes(_TTL_BYTES, "big")
    text = urlsafe_b64encode(said + _seal(secret, caller, said)).decode()
    return TaskRef(text, invocation_id, min(ttl_ms, _MOST_MS))


def task_named(secret: bytes, caller: Caller, text: str, now: int) -> TaskRef | None:
    """The task of an id; None for one that was not given to this caller here, was changed, or is too old (MCP-259)."""
    try:
        whole = urlsafe_b64decode(text.encode("ascii"))
    except (Unreadable, ValueError):
        return None
    said, seal = whole[:-_SEAL_BYTES], whole[-_SEAL_BYTES:]
    if len(whole) != _LENGTH or not hmac.compare_digest(seal, _seal(secret, caller, said)):
        return None
    if urlsafe_b64encode(whole).decode() != text:
        return None  # one task has one id
    ref = TaskRef(text, _PREFIX + said[:_CALL_BYTES].hex(), int.from_bytes(said[_CALL_BYTES:], "big"))
    return None if ref.has_expired(now) else ref


def _seal(secret: bytes, caller: Caller, said: bytes) -> bytes:
    state = hmac.new(secret, _LABEL, hashlib.sha256)
    for part in (caller.tenant.encode(), caller.identity.principal.encode(), said):
        state.update(len(part).to_bytes(8, "big"))
        state.update(part)
    return state.digest()[:_SEAL_BYTES]
