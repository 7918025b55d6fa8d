"""Phase 12: redacts the result, stores an oversized one in the payload store, and packs the rest for the row's payload."""

from __future__ import annotations

from collections.abc import Awaitable

import msgspec
from msgspec.structs import replace

from ferrule.model.journal import Payload
from ferrule.model.result import Result
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.inputs import build_input_payload
from ferrule.runtime.pipeline.results.mapping import repair_blocks
from ferrule.runtime.pipeline.results.packing import pack_plain, pack_result
from ferrule.runtime.pipeline.results.persistence import keep_result
from ferrule.runtime.pipeline.results.redaction import redact_result
from ferrule.runtime.pipeline.services import Services

_encode = msgspec.msgpack.Encoder().encode
_SEPARATOR = b"\xff\xfe\xff\xfe"
"""Separates texts that are scanned together: no UTF-8 text contains it, and no match crosses it."""


def persist_result(call: Call, services: Services) -> Awaitable[None] | None:
    """Adds the payload of the last row. A small, clean result costs one scan of its bytes."""
    ending = call.ending
    result = ending.result
    if (
        ending.is_plain_result
        and result is not None
        and call.prepared.mask is None
        and len(result.content[0]["text"]) <= services.inline_chars
        and not call.secrets
    ):
        plain = ending.payload = _pack_plain_result(call, services, result)
        if plain is not None:
            return None
    payload = ending.payload = build_input_payload(call, services)
    if result is None:
        return None
    redact_result(call, services)
    waiting = keep_result(call, services)
    if waiting is not None:
        return _pack_after(call, payload, waiting)
    _pack(call, payload)
    return None


def _pack_plain_result(call: Call, services: Services, result: Result) -> Payload | None:
    """Packs a result that has nothing but its content; None when it needs a closer look: a secret, lone surrogates."""
    inputs = call.inputs
    notes, redactor, given = call.notes, services.redactor, inputs.model_input
    try:
        packed = pack_plain(result.content, result.structured_content)
        refs = _encode(notes["native_refs"]) if notes and "native_refs" in notes else b""
    except (TypeError, ValueError, OverflowError):
        return None
    is_idle = redactor is None or redactor.is_idle
    is_same = call.recorded is None and inputs.call_input is None and (is_idle or b"\\" not in given)
    if redactor is not None and not is_idle:
        # An unchanged input without escapes holds its texts as they are, so one scan covers input and result.
        told = given + _SEPARATOR + packed if is_same else packed
        if redactor.may_hold(told + _SEPARATOR + refs if refs else told):
            return None
    if is_same:
        payload = Payload(given, None, None, None, packed)
    else:
        payload = build_input_payload(call, services)
        payload.result = packed
    call.ending.clean_notes = notes
    return payload


async def _pack_after(call: Call, payload: Payload, waiting: Awaitable[None]) -> None:
    try:
        await waiting
    finally:
        # Also after a failure or a cancellation: the last row carries this payload.
        _pack(call, payload)


def _pack(call: Call, payload: Payload) -> None:
    result = call.ending.require_result()
    try:
        payload.result = pack_result(result)
    except UnicodeEncodeError:
        # Lone surrogates. What is delivered is what is recorded (decision 0013), so the result itself is repaired.
        shown = result.model_facing_content
        call.ending.result = result = replace(
            result,
            content=repair_blocks(result.content),
            model_facing_content=None if shown is None else repair_blocks(shown),
        )
        payload.result = pack_result(result)
