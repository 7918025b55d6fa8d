"""Phase 10: maps the native output to the result, exactly once (AT-115)."""

from __future__ import annotations

from jsonschema_rs import Validator
from msgspec.structs import replace

from ferrule.contracts.executor import EMPTY, Output
from ferrule.model.failure import Stop
from ferrule.model.result import Result
from ferrule.runtime.pipeline.call import NO_OPTIONS, OWN_NOTES, Call
from ferrule.runtime.pipeline.results.mapping import Unmappable
from ferrule.runtime.pipeline.results.outcome import (
    EMPTY_CONTENT,
    add_references,
    build_mutation_notes,
    build_stopped_result,
    map_output,
)
from ferrule.runtime.pipeline.services import Services
from ferrule.schema.validation.validators import first_error

_SIDE_NOTES = OWN_NOTES | {"native_refs"}
"""Notes that do not concern the result; text from outside in them is redacted with the row."""
_NOTHING = {"status": "empty"}
"""The structured form of intentionally empty output, for tools that ask for one (`empty_result_policy`)."""


def map_result(call: Call, services: Services) -> None:
    """Adds the result. Output that does not fit its schema fails, and is not passed on silently (AT-87)."""
    ending = call.ending
    if ending.stop is not None:
        _map_stopped(call, services)
        return
    output = ending.output or ending.require_output()
    try:
        content, structured = map_output(output)
        validator = call.prepared.validates_output
        # Of a stored stream only the reference is here, which is no value of the schema.
        if validator is not None and "stored" not in call.notes and not output.is_acknowledgement:
            value = output.value if structured is None else structured
            if not validator.is_valid(None if value is EMPTY else value):
                _handle_misfit(call, services, validator, value)
        result = Result(
            invocation_id=call.invocation_id,
            status="succeeded",
            created_at=services.now(),
            content=content,
            structured_content=structured,
        )
        if (
            call.prepared.traits.output_policy is None
            and call.options is NO_OPTIONS
            and not call.inputs.mutations
            and (not call.notes or call.notes.keys() <= _SIDE_NOTES)
            and (ending.is_bare or _is_plain(output))
        ):
            ending.is_plain_result = True
            ending.result = result
            return
        ending.result = _add_details(call, services, result)
    except Unmappable as problem:
        _fail(call, services, f"tool {call.prepared.tool_id!r} {problem}; its owner must fix it")


def _is_plain(output: Output) -> bool:
    return (
        output.content is None
        and not output.artifact_refs
        and not output.resource_refs
        and not output.native_refs
        and output.ui_summary is None
        and output.search_text is None
        and not output.is_private
    )


def _add_details(call: Call, services: Services, result: Result) -> Result:
    """Returns the result with all its rare parts. Raises Unmappable."""
    keeping = call.prepared.traits.output_policy
    if keeping is not None and result.content is EMPTY_CONTENT and keeping.empty != "marker":
        if keeping.empty == "error":
            raise Unmappable("gave no output, and its definition calls that a failure")
        result = replace(result, structured_content=_NOTHING)
    result = replace(
        result,
        input_mutations=build_mutation_notes(call),
        native_call_id=call.options.native_call_id,
        summary=_MISFIT_SUMMARY if "output_mismatch" in call.notes else None,
    )
    return add_references(result, call, call.ending.require_output())


def _map_stopped(call: Call, services: Services) -> None:
    """Maps the partial output of a failed call, and its references (AT-274)."""
    ending = call.ending
    output = ending.output
    ending.result = build_stopped_result(call, services, output)
    if output is not None:
        try:
            ending.result = add_references(ending.result, call, output)
        except Unmappable:
            return


_MISFIT_SUMMARY = "The output does not fit the tool's output schema."


def _handle_misfit(call: Call, services: Services, validator: Validator, value: object) -> None:
    """Handles output that its schema does not allow: fails the call, or notes it, by the workspace's setting.

    Raises Unmappable.
    """
    if services.results.mismatch == "fail":
        raise Unmappable("gave something else than its output schema promises")
    first = first_error(validator, None if value is EMPTY else value)
    where = "" if first is None else "".join(f"/{step}" for step in first.instance_path)
    call.notes = {**call.notes, "output_mismatch": where or "/"}


def _fail(call: Call, services: Services, message: str) -> None:
    ending = call.ending
    ending.stop = Stop("execution_failed", message, "result_mapping_failed")
    ending.output = None  # it cannot be mapped, so it cannot be shown
    ending.result = build_stopped_result(call, services)
