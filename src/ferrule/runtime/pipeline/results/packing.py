"""Packs a result for the ledger and reads it back: status and error are in the row's body, the rest in its payload.

`read_answer` returns the answer of an invocation that has rows already: its result, or its pending state. It imports
only `model`, and knows neither calls in flight nor the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import msgspec

from ferrule.model.decision import CLIENT_CHANNEL
from ferrule.model.journal import LAST_KINDS, ResultPayload, Segment, StoredEntry
from ferrule.model.result import Pending, Result
from ferrule.model.value import JsonObject

_FIELDS = tuple(
    field
    for field in msgspec.structs.fields(Result)
    if field.name
    not in ("invocation_id", "status", "created_at", "error", "content", "structured_content", "model_facing_content")
)
_NAMES = tuple(field.name for field in _FIELDS)
_rest = attrgetter(*_NAMES)
_DEFAULTS = tuple(field.default for field in _FIELDS)
_NOTHING: JsonObject = {}
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(ResultPayload).decode


def pack_plain(content: tuple[JsonObject, ...], structured_content: object) -> bytes:
    """Packs a result that has nothing but its content."""
    try:
        return _encode((content, structured_content, None, _NOTHING))
    except (OverflowError, TypeError):  # JSON allows numbers past 64 bits, msgpack does not
        return _encode((content, None, None, _NOTHING))


def pack_result(result: Result) -> bytes:
    """Packs the part of a result that goes into the payload."""
    fields = _rest(result)
    rest = {} if fields == _DEFAULTS else _list_differing(fields)
    payload = ResultPayload(result.content, result.structured_content, result.model_facing_content, rest)
    try:
        return _encode(payload)
    except (OverflowError, TypeError):  # JSON allows numbers past 64 bits, msgpack does not
        return _encode(ResultPayload(result.content, None, result.model_facing_content, rest))


def _list_differing(fields: tuple[object, ...]) -> JsonObject:
    return {name: value for name, value, plain in zip(_NAMES, fields, _DEFAULTS, strict=True) if value != plain}


def unpack_result(invocation_id: str, segment: Segment, payload: bytes | None, at: int) -> Result:
    """Unpacks a result. Without its payload (erased) it says so, and keeps its status and error."""
    status: Any = segment.status
    if payload is None:
        return Result(
            invocation_id=invocation_id,
            status=status,
            created_at=at,
            error=segment.error,
            content=({"type": "text", "text": "The content of this result was erased."},),
            redaction_state="full",
            persistence_refs=tuple(segment.notes.get("persistence_refs", ())),
            policy_refs=segment.error.policy_refs if segment.error is not None else (),
            abort_reason=segment.notes.get("abort_reason"),
            native_call_id=segment.notes.get("native_call_id"),
        )
    kept = _decode(payload)
    rest = msgspec.convert(kept.rest, _Rest)
    return Result(
        invocation_id=invocation_id,
        status=status,
        created_at=at,
        error=segment.error,
        content=kept.content,
        structured_content=kept.structured_content,
        model_facing_content=kept.model_facing_content,
        **{name: value for name in kept.rest if (value := getattr(rest, name, None)) is not None},
    )


_Rest = msgspec.defstruct(
    "_Rest", [(field.name, field.type, field.default) for field in _FIELDS], kw_only=True, gc=False
)


def read_answer(rows: Sequence[StoredEntry], state: str | None = None) -> Result | Pending | None:
    """Reads the answer of a call from its rows; None without rows. `state`: the ledger's, while the call is open."""
    if not rows:
        return None
    last = rows[-1]
    if last.kind in LAST_KINDS:
        payload = last.inputs()
        return unpack_result(last.call, last.segment(), payload.result if payload is not None else None, last.at)
    request = next((found for row in reversed(rows) if (found := row.segment().request) is not None), None)
    state = state or last.outcome
    message = _WAITS_FOR.get(state, "the call has not ended yet")
    if request is not None and state == "needs_input" and request.requirement.is_reply_only:
        is_client = request.requirement.reply_channel == CLIENT_CHANNEL
        message = f"it waits for a reply from {'its caller' if is_client else 'the system behind its tool'}"
    if request is not None and state in ("awaiting_approval", "needs_input"):
        message = f"{message}: {request.message}"
    parked = next((row for row in reversed(rows) if row.kind == "parked"), None)
    is_open = state == "needs_input" and last.kind != "answered"
    return Pending(
        invocation_id=last.call,
        state=state,
        message=message,
        expires_at=request.expires_at if request else None,
        client_requests=parked.segment().notes.get("client_requests", {}) if parked is not None and is_open else {},
        channels=request.requirement.channels if request is not None and state == "awaiting_approval" else (),
        round=parked.seq if parked is not None else 0,
    )


_WAITS_FOR = {
    "awaiting_approval": "it waits for an approval ('ferrule pending' shows it)",
    "needs_input": "it waits for a person ('ferrule pending' shows it)",
    "approved": "it is approved and about to run",
    "queued": "it waits for its turn",
    "running": "it is running",
}
