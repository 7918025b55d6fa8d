"""Results: from a native output, and from a stop."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from ferrule.contracts.executor import EMPTY, Output
from ferrule.model.failure import MEANINGS, ResultStatus, Stop, tool_error
from ferrule.model.result import MutationNote, Result
from ferrule.pipeline.call import Call
from ferrule.pipeline.inputs import sensitive_values
from ferrule.pipeline.redaction import scrub
from ferrule.pipeline.services import Services

_encode = msgspec.json.encode
_EMPTY_TEXT = "The tool finished and gave no output."


def stopped_result(call: Call, services: Services, output: Output | None = None) -> Result:
    """The result of a call that was stopped, with whatever it achieved before."""
    stop = call.stop
    assert stop is not None
    if call.prepared.mask is not None:  # a tool's own words may repeat what it was given
        stop = replace(stop, message=scrub(stop.message, sensitive_values(call)))
        call.stop = stop
    error = tool_error(stop, has_run=call.has_run, is_repeatable=call.prepared.traits.is_repeatable)
    content, structured = mapped(output) if output is not None else ((), None)
    return Result(
        invocation_id=call.invocation_id,
        status=stop.status or _status(stop, call),
        created_at=services.now(),
        content=content or ({"type": "text", "text": stop.message},),
        structured_content=structured,
        error=error,
        input_mutations=mutation_notes(call) if call.mutations else (),
        native_call_id=call.options.native_call_id,
        policy_refs=stop.policy_refs,
        abort_reason=call.notes.get("abort_reason"),
    )


def mutation_notes(call: Call) -> tuple[MutationNote, ...]:
    """What the result says about changes of its input (AT-78)."""
    stem = call.invocation_id.replace("inv_", "mut_", 1)
    return tuple(
        MutationNote(f"{stem}.{number}", mutation.source_type, mutation.source_ref, mutation.changed_fields)
        for number, mutation in enumerate(call.mutations)
    )


def _status(stop: Stop, call: Call) -> ResultStatus:
    from_table = MEANINGS[stop.error_class].status
    return "failed" if from_table == "denied" and call.has_run else from_table


def mapped(output: Output) -> tuple[tuple[dict[str, Any], ...], Any]:
    """Content blocks and structured content of a native output; empty output says so (AT-230)."""
    value = output.value
    if output.content is not None:
        return output.content, None if value is EMPTY else value
    if value is EMPTY or value is None:
        return ({"type": "text", "text": _EMPTY_TEXT, "empty": True},), None
    if type(value) is str:
        return ({"type": "text", "text": value},), None
    return ({"type": "text", "text": _encode(value).decode()},), value
