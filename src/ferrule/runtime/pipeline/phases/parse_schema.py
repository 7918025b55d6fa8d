"""Phase 2: the arguments, judged by the model-facing schema before anything else looks at them (AT-109)."""

from __future__ import annotations

from ferrule.model.failure import Stop
from ferrule.model.journal import Mutation
from ferrule.runtime.pipeline.arguments.validation import ArgumentProblem, Arguments
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.services import Services


def parse_schema(call: Call, services: Services) -> Stop | None:
    """Adds the arguments, decoded. Leaves a tool whose schema was not loaded to the next phase. May stop with
    `schema_validation_failed`."""
    prepared, inputs = call.prepared, call.inputs
    arguments = prepared.arguments
    if arguments is None or not prepared.is_loaded:
        return None
    if call.recorded is not None:
        return _again(call, arguments)
    given = inputs.model_input
    parsed = arguments.parse_exact(given) if call.options.is_exact else arguments.parse(given)
    if isinstance(parsed, ArgumentProblem):
        return Stop("schema_validation_failed", parsed.message, parsed.code)
    inputs.arguments = parsed.arguments
    if parsed.changes:
        for change in parsed.changes:  # what was mended is on record
            mutation = Mutation(
                change.source_type, change.source_ref, change.changed_fields, call.offset(), change.reason
            )
            inputs.mutate(mutation, parsed.arguments, parsed.encoded)
        if prepared.route.leaves_out("prepare_observable_input"):
            inputs.observable_input = inputs.call_input
    call.enter("arguments_ready")
    return None


def _again(call: Call, arguments: Arguments) -> Stop | None:
    """A call that waited: what would run must still fit, as the schema is now and as an approver may have edited it."""
    parsed = arguments.parse_runtime(call.inputs.current)
    if isinstance(parsed, ArgumentProblem):
        return Stop("schema_validation_failed", parsed.message, parsed.code, state="validation_failed")
    call.inputs.arguments = parsed.arguments
    return None
