"""Phase 5: the copy that hooks, people and transcripts may see: normalised, with sensitive members masked (AT-77)."""

from __future__ import annotations

from ferrule.model.failure import Stop
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.services import Services


def prepare_observable_input(call: Call, services: Services) -> Stop | None:
    """Adds the observable input, where it is another one than the input itself. `model_input` stays as it is."""
    mask = call.prepared.mask
    if mask is not None:
        call.observable_input = mask.masked(call.input)
    elif call.call_input is not None:
        call.observable_input = call.call_input
    return None
