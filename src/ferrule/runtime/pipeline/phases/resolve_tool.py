"""Phase 1: find the tool on the caller's surface, by primary name, alias or id (AT-106). What is not on it is not callable."""

from __future__ import annotations

from ferrule.model.failure import Stop
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.services import Services


def resolve_tool(call: Call, services: Services) -> Stop | None:
    """Adds the tool. Stops with `unknown_tool`, or with the class of the reason for which the surface holds it back."""
    prepared = call.session.prepared.get(call.tool_name) or call.session.find(call.tool_name)
    call.prepared = prepared
    if prepared.refusal is not None:
        return prepared.refusal
    if call.recorded is None:
        call.enter("selected")
    return None
