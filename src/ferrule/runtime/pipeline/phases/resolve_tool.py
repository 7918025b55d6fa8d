"""Phase 1: finds the tool on the caller's surface, by name, alias or id (AT-106). Other tools cannot be called."""

from __future__ import annotations

from ferrule.model.failure import Stop
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.services import Services


def resolve_tool(call: Call, services: Services) -> Stop | None:
    """Adds the tool. Stops with `unknown_tool`, or the error class of the reason why the surface blocks it."""
    prepared = call.session.prepared.get(call.tool_name) or call.session.find(call.tool_name)
    call.prepared = prepared
    if prepared.refusal is not None:
        return prepared.refusal
    if call.recorded is None:
        call.enter("selected")
    return None
