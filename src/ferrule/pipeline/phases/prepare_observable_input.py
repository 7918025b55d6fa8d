"""Phase 5: the copy that hooks, people and transcripts may see: normalised, with sensitive members masked (AT-77)."""

from __future__ import annotations

from ferrule.model.failure import Stop
from ferrule.pipeline.call import Call
from ferrule.pipeline.services import Services


def prepare_observable_input(call: Call, services: Services) -> Stop | None:
    """Adds the observable input. `model_input` stays as it is."""
    mask = call.prepared.mask
    call.observable_input = call.input if mask is None else mask.masked(call.input)
    return None
