"""Phase 12: secrets leave the result, what is too large goes to the payload store, and the rest into the row's payload."""

from __future__ import annotations

from collections.abc import Awaitable

from msgspec.structs import replace

from ferrule.contracts.redactor import Redactor
from ferrule.model.journal import Payload
from ferrule.model.result import Result
from ferrule.pipeline.call import Call
from ferrule.pipeline.inputs import inputs_of
from ferrule.pipeline.mapping import repaired
from ferrule.pipeline.persistence import keep_result
from ferrule.pipeline.result_payload import packed, packed_plain
from ferrule.pipeline.result_redaction import redact
from ferrule.pipeline.services import Services


def persist_result(call: Call, services: Services) -> Awaitable[None] | None:
    """Adds the payload of the last row. A result that is small and has no secrets costs a look at its length."""
    payload = call.payload = inputs_of(call, services)
    result = call.result
    if result is None:
        return None
    settings = services.results
    if (
        call.is_plain_result
        and call.prepared.mask is None
        and len(result.content[0]["text"]) <= settings.max_inline_chars
        and settings.max_inline_bytes is None
        and "result_persistence" not in services.hook_events
        and not call.secrets
        and _pack_plain(result, payload, services.redactor)
    ):
        return None
    redact(call, services)
    waiting = keep_result(call, services)
    if waiting is not None:
        return _packed_after(call, payload, waiting)
    _pack(call, payload)
    return None


def _pack_plain(result: Result, payload: Payload, redactor: Redactor | None) -> bool:
    """Pack a result that has nothing but its content. False when it has to be looked at: a secret, or half characters."""
    try:
        packed = payload.result = packed_plain(result.content, result.structured_content)
    except UnicodeEncodeError:
        return False
    return redactor is None or redactor.is_idle or not redactor.may_hold(packed)


async def _packed_after(call: Call, payload: Payload, waiting: Awaitable[None]) -> None:
    try:
        await waiting
    finally:
        _pack(call, payload)


def _pack(call: Call, payload: Payload) -> None:
    result = call.result
    assert result is not None
    try:
        payload.result = packed(result)
    except UnicodeEncodeError:
        shown = result.model_facing_content
        call.result = result = replace(
            result, content=repaired(result.content), model_facing_content=None if shown is None else repaired(shown)
        )
        payload.result = packed(result)
