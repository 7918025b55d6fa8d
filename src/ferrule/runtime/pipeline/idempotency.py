"""Idempotency keys: one key, one effect, one answer. A key is scoped to tenant, principal and tool."""

from __future__ import annotations

import hashlib

import msgspec

from ferrule.contracts.store import KeyHolder
from ferrule.model.failure import Stop
from ferrule.runtime.pipeline.call import Call, Replay

KEY_CONFLICT = "idempotency_conflict"
"""The error code of a call whose key was used for something else."""


def scoped_key(call: Call) -> tuple[bytes, bytes]:
    """The key as the ledger knows it, and the digest of the input it stands for."""
    request = call.session.surface.request
    state = hashlib.sha256(b"ferrule idempotency 1")
    for part in (request.tenant, request.principal, call.prepared.tool_id, call.options.idempotency_key or ""):
        text = part.encode("utf-8", "surrogatepass")
        state.update(len(text).to_bytes(8, "big") + text)
    return state.digest(), hashlib.sha256(_canonical(call.model_input)).digest()


def _canonical(written: bytes) -> bytes:
    """The same bytes for the same input, in whatever order and spacing its members were sent."""
    try:
        return msgspec.json.encode(msgspec.json.decode(written), order="deterministic")
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):  # no input of any tool; refused where it is read
        return written


def held_by(holder: KeyHolder | None, key: tuple[bytes, bytes]) -> Stop | Replay | None:
    """What a key that is taken means for a call: the first answer for the same input, a refusal for another."""
    if holder is None:
        return None
    return Replay(holder.call) if holder.input_digest == key[1] else key_conflict(holder.call)


def key_conflict(holder: str) -> Stop:
    """An idempotency key that was used for something else."""
    return Stop(
        "invalid_arguments",
        f"this idempotency key was used with other arguments, by {holder}; use a new key for a new request",
        KEY_CONFLICT,
    )
