"""Builds the result of a call: from its native output, from a stop, and with what hooks add to it.

Hooks add context for the model, and may stop the turn. `phases/map_result` and the driver call it; it calls
`mapping`. It knows neither the payload store nor the ledger's row of the result.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ferrule.contracts.executor import EMPTY, Output
from ferrule.model.failure import MEANINGS, ResultStatus, Stop, tool_error
from ferrule.model.result import MutationNote, Result
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.arguments.hostile_json import MAX_DEPTH
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.redaction import redact_secrets
from ferrule.runtime.pipeline.results.mapping import (
    Blocks,
    Unmappable,
    check_value,
    encode_value,
    list_artifacts,
    list_resources,
    normalize_blocks,
    to_json_object,
)
from ferrule.runtime.pipeline.results.output_contract import NO_OUTPUT_POLICY
from ferrule.runtime.pipeline.services import Services


def attach_context(call: Call) -> None:
    """Adds the hooks' answers to the result: context after the tool's own content, and a stop beside it."""
    judgement = call.judgement
    result = call.ending.result
    if result is None or (not judgement.hook_context and judgement.hook_stop is None):
        return
    call.ending.is_plain_result = False
    call.ending.result = add_hook_context(result, call)


def add_hook_context(result: Result, call: Call) -> Result:
    """Returns the result with the context and the stop of its call's hooks. Idempotent."""
    judgement = call.judgement
    context = judgement.hook_context
    if not context:
        return result if judgement.hook_stop is None else replace(result, hook_stop=judgement.hook_stop)
    seen = result.content if result.model_facing_content is None else result.model_facing_content
    known = len(result.additional_context)
    own = seen[:-known] if known and seen[-known:] == result.additional_context else seen
    return replace(
        result, model_facing_content=own + context, additional_context=context, hook_stop=judgement.hook_stop
    )


_encode = msgspec.json.encode
_SMALL = 2 * MAX_DEPTH
"""Shorter texts cannot be nested too deep."""
_LONGEST_MESSAGE = 8_000
_EMPTY_TEXT = "The tool finished and gave no output."
EMPTY_CONTENT: Blocks = ({"type": "text", "text": _EMPTY_TEXT, "empty": True},)
"""The content of a result whose tool returned nothing on purpose."""


def build_stopped_result(call: Call, services: Services, output: Output | None = None) -> Result:
    """Builds the result of a stopped call, with its partial output if there is any."""
    stop = call.ending.require_stop()
    if call.prepared.mask is not None or len(stop.message) > _LONGEST_MESSAGE:
        # A tool's message may repeat its input. Redact before truncating: half a secret at the cut would not be recognised.
        stop = call.ending.stop = replace(stop, message=redact_secrets(call, services, stop.message))
    if len(stop.message) > _LONGEST_MESSAGE:
        stop = call.ending.stop = replace(stop, message=f"{stop.message[:_LONGEST_MESSAGE]}… (cut off)")
    error = tool_error(stop, has_run=call.ending.has_run, is_repeatable=call.prepared.is_repeatable)
    content, structured = _map_partial(output) if output is not None else ((), None)
    result = Result(
        invocation_id=call.invocation_id,
        status=stop.status or _choose_status(stop, call),
        created_at=services.now(),
        content=content or ({"type": "text", "text": stop.message},),
        structured_content=structured,
        error=error,
        input_mutations=build_mutation_notes(call) if call.inputs.mutations else (),
        native_call_id=call.options.native_call_id,
        policy_refs=stop.policy_refs,
        abort_reason=call.notes.get("abort_reason"),
        synthetic="abort_reason" in call.notes,  # not the tool's own words (AT-174)
    )
    return add_hook_context(result, call)


def _map_partial(output: Output) -> tuple[Blocks, object]:
    """Maps the output of a failed call; returns nothing where that is impossible."""
    try:
        return map_output(output)
    except Unmappable:
        return (), None


def add_references(result: Result, call: Call, output: Output) -> Result:
    """Adds the references of the output, and the summary and search text of output or definition. Raises Unmappable."""
    keeping = call.prepared.traits.output_policy or NO_OUTPUT_POLICY
    content = result.content if output.content is not None else ()
    refs = (*call.notes.get("native_refs", ()), *map(to_json_object, output.native_refs))
    if refs:
        call.notes = {**call.notes, "native_refs": list(refs)}
    return replace(
        result,
        artifact_refs=list_artifacts(output.artifact_refs, content, call.invocation_id),
        resource_refs=list_resources(output.resource_refs, content),
        ui_facing_summary=output.ui_summary or keeping.ui_summary,
        transcript_search_text=output.search_text or keeping.search_text,
        native_meta=_find_native_meta(output),
    )


def _find_native_meta(output: Output) -> JsonObject | None:
    said = (ref.get("_meta") for ref in output.native_refs if ref.get("source") == "mcp")
    return next((to_json_object(meta) for meta in said if isinstance(meta, dict)), None)


def build_mutation_notes(call: Call) -> tuple[MutationNote, ...]:
    """Lists the changes of the input for the result (AT-78)."""
    stem = call.invocation_id.replace("inv_", "mut_", 1)
    return tuple(
        MutationNote(f"{stem}.{number}", mutation.source_type, mutation.source_ref, mutation.changed_fields)
        for number, mutation in enumerate(call.inputs.mutations)
    )


def _choose_status(stop: Stop, call: Call) -> ResultStatus:
    from_table = MEANINGS[stop.error_class].status
    return "failed" if from_table == "denied" and call.ending.has_run else from_table


def map_output(output: Output) -> tuple[Blocks, object]:
    """Maps a native output to content blocks and structured content; empty output says so (AT-230). Raises Unmappable."""
    value = output.value
    if output.content is not None:
        return normalize_blocks(output.content), None if value is EMPTY or value is None else encode_value(value)[1]
    if type(value) is str:
        return ({"type": "text", "text": value},), None
    if value is EMPTY or value is None:
        if output.stream is not None:
            raise Unmappable("gave a stream that was not read to its end, so its output is lost")
        return EMPTY_CONTENT, None
    try:
        text = _encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        text, value = encode_value(value)
        return ({"type": "text", "text": text},), value
    if len(text) > _SMALL or "null" in text:
        value = check_value(text, value)
    return ({"type": "text", "text": text},), value
