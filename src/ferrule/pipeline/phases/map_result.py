"""Phase 10: the native output becomes the result, exactly once (AT-115)."""

from __future__ import annotations

from msgspec.structs import replace

from ferrule.contracts.executor import EMPTY
from ferrule.model.failure import Stop
from ferrule.model.result import Result
from ferrule.pipeline.call import NO_OPTIONS, Call
from ferrule.pipeline.results import mapped, mutation_notes, stopped_result
from ferrule.pipeline.services import Services


def map_result(call: Call, services: Services) -> None:
    """Adds the result. Output that does not fit its schema is a failure of mapping, not passed on in silence (AT-87)."""
    output = call.output
    if call.stop is not None:
        call.result = stopped_result(call, services, output)
        return
    value = output.value
    validator = call.prepared.validates_output
    if validator is not None and not validator.is_valid(None if value is EMPTY else value):
        call.stop = Stop(
            "execution_failed",
            f"tool {call.prepared.tool_id!r} gave something else than its output schema promises; its owner must mend it",
            "result_mapping_failed",
        )
        call.result = stopped_result(call, services, None)
        return
    content, structured = mapped(output)
    result = Result(
        invocation_id=call.invocation_id,
        status="succeeded",
        created_at=services.now(),
        content=content,
        structured_content=structured,
    )
    if call.mutations or call.options is not NO_OPTIONS or output.artifact_refs or output.resource_refs:
        result = replace(
            result,
            input_mutations=mutation_notes(call),
            native_call_id=call.options.native_call_id,
            artifact_refs=output.artifact_refs,
            resource_refs=output.resource_refs,
        )
    else:
        call.is_plain_result = True
    call.result = result
