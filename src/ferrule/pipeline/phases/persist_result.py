"""Phase 12: what is kept of a call: its inputs, masked, and its result, in the part of the row that can be destroyed."""

from __future__ import annotations

from ferrule.pipeline.call import Call
from ferrule.pipeline.inputs import inputs_of
from ferrule.pipeline.result_payload import packed, packed_plain
from ferrule.pipeline.services import Services


def persist_result(call: Call, services: Services) -> None:
    """Adds the payload of the last row."""
    payload = inputs_of(call)
    result = call.result
    if call.is_plain_result and result is not None:
        payload.result = packed_plain(result.content, result.structured_content)
    elif result is not None:
        payload.result = packed(result)
    call.payload = payload
