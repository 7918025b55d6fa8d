"""Phase 12: what is kept of a call: its inputs, masked, and its result, in the part of the row that can be destroyed."""

from __future__ import annotations

from msgspec.structs import replace

from ferrule.model.result import Result
from ferrule.pipeline.call import Call
from ferrule.pipeline.inputs import inputs_of, sensitive_values
from ferrule.pipeline.redaction import scrub
from ferrule.pipeline.result_payload import packed, packed_plain
from ferrule.pipeline.services import Services


def persist_result(call: Call, services: Services) -> None:
    """Adds the payload of the last row."""
    payload = inputs_of(call)
    result = call.result
    if call.prepared.mask is not None and result is not None:
        payload.result = packed(_scrubbed(result, sensitive_values(call)))
    elif call.is_plain_result and result is not None:
        payload.result = packed_plain(result.content, result.structured_content)
    elif result is not None:
        payload.result = packed(result)
    call.payload = payload


def _scrubbed(result: Result, secrets: frozenset[str]) -> Result:
    """The result as it is kept: a tool may give back what it was given, the ledger does not keep it."""
    if not secrets:
        return result
    return replace(
        result,
        content=scrub(result.content, secrets),
        structured_content=scrub(result.structured_content, secrets),
    )
