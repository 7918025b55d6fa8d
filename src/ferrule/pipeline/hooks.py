"""What hooks are told."""

from __future__ import annotations

import msgspec

from ferrule.contracts.hook import HookEvent, HookInput
from ferrule.pipeline.call import Call


def told(call: Call, event: HookEvent) -> HookInput:
    """What a hook learns about the call."""
    request = call.session.surface.request
    seen = call.observable_input if call.observable_input is not None else call.input
    return HookInput(
        event,
        call.invocation_id,
        call.prepared.tool_id,
        call.tool_name,
        request.principal,
        request.agent,
        msgspec.json.decode(seen),
        call.result.to_record() if call.result is not None else None,
    )
