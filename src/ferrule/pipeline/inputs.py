"""The four inputs of a call as they are stored: masked, each only where it differs, and sealed where a call must wait."""

from __future__ import annotations

import msgspec

from ferrule.model.journal import Payload
from ferrule.pipeline.call import Call
from ferrule.pipeline.services import Services


def inputs_of(call: Call) -> Payload:
    """The inputs since the last row, masked where the tool says so. None stands for "as the one before"."""
    recorded, prepared = call.recorded, call.prepared
    if recorded is not None and (recorded.mark_state == "running" or prepared.entry is None):
        return Payload()  # rows before this one have them; and a tool that is gone cannot say what to mask
    mask = prepared.mask
    if mask is None and call.call_input is None and recorded is None:  # nothing changed on the way
        return Payload(call.model_input)
    masked = (lambda text: text) if mask is None else mask.masked
    model, final = masked(call.model_input), masked(call.input)
    observable = model if call.observable_input is None else masked(call.observable_input)
    judged = observable if call.permission_input is None else masked(call.permission_input)
    payload = Payload(model)
    payload.observable_input = observable if observable != model else None
    payload.permission_input = judged if judged != observable else None
    payload.call_input = final if final != judged else None
    return payload


def with_sealed_input(call: Call, services: Services, payload: Payload) -> Payload:
    """The inputs of a call that waits: what is masked in them is kept beside, encrypted, so that it can still run."""
    if call.prepared.mask is None:
        return payload
    kept = msgspec.msgpack.encode((call.model_input, call.input))
    payload.sealed_input = services.sealing.seal(call.invocation_id, kept)
    return payload


def sensitive_values(call: Call) -> frozenset[str]:
    """The sensitive values of a call's inputs, as text: what must not stand in an error or in the ledger either."""
    mask = call.prepared.mask
    if mask is None:
        return frozenset()
    try:
        return mask.values(msgspec.json.decode(call.model_input)) | mask.values(msgspec.json.decode(call.input))
    except msgspec.MsgspecError:  # what is no JSON has no members
        return frozenset()
