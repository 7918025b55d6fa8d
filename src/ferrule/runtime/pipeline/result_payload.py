"""A result as the ledger keeps it, and back: status and error stand in the row's body, the rest in its payload."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import msgspec

from ferrule.model.journal import ResultPayload, Segment
from ferrule.model.result import Result

_FIELDS = tuple(
    field
    for field in msgspec.structs.fields(Result)
    if field.name
    not in ("invocation_id", "status", "created_at", "error", "content", "structured_content", "model_facing_content")
)
_NAMES = tuple(field.name for field in _FIELDS)
_rest = attrgetter(*_NAMES)
_PLAIN = tuple(field.default for field in _FIELDS)
_NOTHING: dict[str, Any] = {}
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(ResultPayload).decode


def packed_plain(content: tuple[dict[str, Any], ...], structured_content: Any) -> bytes:
    """The payload of a result that has nothing but its content."""
    try:
        return _encode((content, structured_content, None, _NOTHING))
    except (OverflowError, TypeError):  # numbers past 64 bits; JSON has them, msgpack has not
        return _encode((content, None, None, _NOTHING))


def packed(result: Result) -> bytes:
    """The part of a result that goes into the payload."""
    fields = _rest(result)
    rest = {} if fields == _PLAIN else _differing(fields)
    payload = ResultPayload(result.content, result.structured_content, result.model_facing_content, rest)
    try:
        return _encode(payload)
    except (OverflowError, TypeError):  # numbers past 64 bits; JSON has them, msgpack has not
        return _encode(ResultPayload(result.content, None, result.model_facing_content, rest))


def _differing(fields: tuple[Any, ...]) -> dict[str, Any]:
    return {name: value for name, value, plain in zip(_NAMES, fields, _PLAIN, strict=True) if value != plain}


def unpacked(invocation_id: str, segment: Segment, payload: bytes | None, at: int) -> Result:
    """The result again. Without its payload (erased) it says so, and keeps its status and error."""
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
