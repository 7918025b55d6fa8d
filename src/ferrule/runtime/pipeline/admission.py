"""Admission of calls: idempotency keys, and call limits of a run (AML-102).

One key, one effect, one answer; a key is scoped to tenant, principal and tool. A run of a single surface is counted
by its session, when a call is about to run or to wait for a person, so that nobody is asked about a call that could
not run. A run that several surfaces share is counted in the ledger, as calls start. Turns and locks are the
scheduler's.
"""

from __future__ import annotations

import hashlib

import msgspec

from ferrule.contracts.store import KeyHolder
from ferrule.model.failure import Stop
from ferrule.runtime.pipeline.call import Call, DuplicateCall

KEY_CONFLICT = "idempotency_conflict"
"""The error code of a call whose key was used for something else."""


def scope_key(call: Call) -> tuple[bytes, bytes]:
    """Returns the scoped key and the digest of its input, as the ledger stores them."""
    request = call.session.surface.request
    state = hashlib.sha256(b"ferrule idempotency 1")
    for part in (request.tenant, request.principal, call.prepared.tool_id, call.options.idempotency_key or ""):
        text = part.encode("utf-8", "surrogatepass")
        # The length prefix keeps ("a", "bc") and ("ab", "c") apart.
        state.update(len(text).to_bytes(8, "big") + text)
    return state.digest(), hashlib.sha256(_canonicalize(call.inputs.model_input)).digest()


def _canonicalize(written: bytes) -> bytes:
    """Returns the same bytes for the same input, in whatever order and spacing its members were sent."""
    try:
        return msgspec.json.encode(msgspec.json.decode(written), order="deterministic")
    except (
        msgspec.MsgspecError,
        RecursionError,
        UnicodeEncodeError,
    ):  # invalid for every tool; `parse_schema` refuses it
        return written


def check_key_holder(holder: KeyHolder | None, key: tuple[bytes, bytes]) -> Stop | DuplicateCall | None:
    """Resolves a used key: a replay for the same input, a stop for another one; None when the key is free."""
    if holder is None:
        return None
    return DuplicateCall(holder.call) if holder.input_digest == key[1] else build_key_conflict(holder.call)


def build_key_conflict(holder: str) -> Stop:
    """Builds the stop for an idempotency key that was used for something else."""
    return Stop(
        "invalid_arguments",
        f"this idempotency key was used with other arguments, by {holder}; use a new key for a new request",
        KEY_CONFLICT,
    )


def count_call(call: Call) -> Stop | None:
    """Counts a call in its session's run, once; returns a stop when the limit is reached."""
    entry, surface = call.prepared.require_entry(), call.session.surface
    # A `queued` row is written before the call has its turn, and calls are counted when they have it.
    is_counted = call.recorded is not None and call.recorded.mark_state != "queued"
    if is_counted or surface.request.is_shared_run:
        return None
    limit, total = entry.max_calls_per_run, surface.max_tool_calls
    if limit is None and total is None:
        return None
    used_up = call.session.count_call(call.prepared.tool_id, limit, total)
    return build_limit_stop(call, used_up) if used_up is not None else None


def list_shared_limits(call: Call) -> tuple[tuple[str, int], ...]:
    """Lists the limits of a run that several surfaces share: (tool id or `*`, calls allowed)."""
    entry, surface = call.prepared.require_entry(), call.session.surface
    if not surface.request.is_shared_run:
        return ()
    limits = ((call.prepared.tool_id, entry.max_calls_per_run), ("*", surface.max_tool_calls))
    return tuple((name, most) for name, most in limits if most is not None)


def build_limit_stop(call: Call, what: str) -> Stop:
    """Builds the stop of a call whose run has used up a tool's calls, or (`*`) all of its calls."""
    entry = call.prepared.require_entry()
    if what == "*":
        most = call.session.surface.max_tool_calls
        message = f"this run may make at most {most} calls, and they are used up; end the run or raise max_tool_calls"
    else:
        most = entry.max_calls_per_run
        message = f"tool {what!r} may be called at most {most} times in one run, and that is used up"
    return Stop("policy_blocked", message, "call_limit_reached")
