"""Phase 5: prepares the input that hooks, people and transcripts may see, with sensitive members masked (AT-77)."""

from __future__ import annotations

from ferrule.model.failure import Stop
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.services import Services


def prepare_observable_input(call: Call, services: Services) -> Stop | None:
    """Adds the observable input where it differs from the input itself. `model_input` stays as it is."""
    inputs = call.inputs
    mask = call.prepared.mask
    if mask is not None:
        inputs.observable_input = mask.mask_json(inputs.current)
    elif inputs.call_input is not None:
        inputs.observable_input = inputs.call_input
    return None
