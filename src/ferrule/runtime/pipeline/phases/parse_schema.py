"""Phase 2: validates the arguments by the model-facing schema, before anything else reads them (AT-109)."""

from __future__ import annotations

from ferrule.model.failure import Stop
from ferrule.model.journal import Mutation
from ferrule.runtime.pipeline.arguments.validation import ArgumentProblem, Arguments
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.services import Services


def parse_schema(call: Call, services: Services) -> Stop | None:
    """Adds the decoded arguments. May stop with `schema_validation_failed`.

    Leaves a tool whose schema was not loaded to the next phase.
    """
    prepared, inputs = call.prepared, call.inputs
    arguments = prepared.arguments
    if arguments is None or not prepared.is_loaded:
        return None
    if call.recorded is not None:
        return _parse_again(call, arguments)
    given = inputs.model_input
    parsed = arguments.parse_exact(given) if call.options.is_exact else arguments.parse(given)
    if isinstance(parsed, ArgumentProblem):
        return Stop("schema_validation_failed", parsed.message, parsed.code)
    inputs.arguments = parsed.arguments
    if parsed.changes:
        for change in parsed.changes:  # every repair is recorded
            mutation = Mutation(
                change.source_type, change.source_ref, change.changed_fields, call.offset(), change.reason
            )
            inputs.mutate(mutation, parsed.arguments, parsed.encoded)
        # That phase is idle because calls of this tool change nothing on the way; a repair is the exception.
        if prepared.route.leaves_out("prepare_observable_input"):
            inputs.observable_input = inputs.call_input
    call.enter("arguments_ready")
    return None


def _parse_again(call: Call, arguments: Arguments) -> Stop | None:
    """Validates the input of a resumed call again: the schema may have changed, or an approver edited the input."""
    parsed = arguments.parse_runtime(call.inputs.current)
    if isinstance(parsed, ArgumentProblem):
        return Stop("schema_validation_failed", parsed.message, parsed.code, state="validation_failed")
    call.inputs.arguments = parsed.arguments
    return None
