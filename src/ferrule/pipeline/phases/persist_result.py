"""Phase 12: what is kept of a call: its inputs, masked, and its result, in the part of the row that can be destroyed."""

from __future__ import annotations

from ferrule.pipeline.call import Call
from ferrule.pipeline.inputs import inputs_of
from ferrule.pipeline.result_payload import packed
from ferrule.pipeline.services import Services


def persist_result(call: Call, services: Services) -> None:
    """Adds the payload of the last row."""
    payload = inputs_of(call)
    if call.result is not None:
        payload.result = packed(call.result)
    call.payload = payload
