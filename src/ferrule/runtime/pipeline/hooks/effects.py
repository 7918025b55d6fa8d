"""Effects of hooks on a result: add context, replace or withhold what the model sees, or mark the result as partly failed.

The tool's own output stays in `content`, and in `native_output` where it was structured: for the record, not for the
model. `runs` and `phases/post_hooks` call this module; it calls `results/`.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ferrule.contracts.executor import Output
from ferrule.contracts.hook import Hook
from ferrule.model.failure import ResultStatus, Stop, tool_error
from ferrule.model.result import Result
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.results.mapping import Blocks, Unmappable
from ferrule.runtime.pipeline.results.outcome import attach_context, map_output
from ferrule.runtime.pipeline.services import Services

OUTPUT_UPDATES = "output_updates"
"""The note that lists the hooks which replaced the output, one id per remapping (AT-116)."""


def record_partial_failure(call: Call, hook: Hook, how: str) -> None:
    """Marks the result of a call whose hook failed after the tool ran: the output is kept. A failed call stays failed."""
    if call.ending.stop is not None:
        return
    message = f"the tool did its work, but the hook {hook.hook_id!r} after it failed ({how})"
    call.ending.result = _replace_with_error(
        call, Stop("partial_failure", message, "post_hook_failed"), "partial_succeeded"
    )


def withhold_output(call: Call, stop: Stop) -> Stop:
    """Replaces what the model sees by the reason a hook gave; the output stays on record (AT-155)."""
    result = _replace_with_error(call, stop, "failed")
    call.ending.result = replace(
        result,
        structured_content=None,
        native_output=_find_native(result),
        model_facing_content=({"type": "text", "text": stop.message},),
        additional_context=(),
    )
    attach_context(call)
    return stop


def update_output(call: Call, services: Services, hook: Hook, updated: object) -> Stop | None:
    """Shows the model another output, mapped again; the original is kept (AT-116, AT-157)."""
    ending = call.ending
    result = ending.result
    if updated is msgspec.UNSET or result is None:
        return None
    ending.is_plain_result = False
    call.notes = {**call.notes, OUTPUT_UPDATES: [*call.notes.get(OUTPUT_UPDATES, ()), hook.hook_id]}
    try:
        content, structured = _map_updated(call, services, updated)
    except Unmappable as error:
        message = f"the output of {call.prepared.tool_id!r} as the hook {hook.hook_id!r} changed it {error}"
        return withhold_output(call, Stop("execution_failed", message, "result_mapping_failed"))
    ending.result = replace(
        result,
        structured_content=structured,
        native_output=_find_native(result),
        model_facing_content=content,
        additional_context=(),
    )
    attach_context(call)
    return None


def _map_updated(call: Call, services: Services, updated: object) -> tuple[Blocks, object]:
    validator = call.prepared.validates_output
    if validator is not None and services.results.mismatch == "fail" and not validator.is_valid(updated):
        raise Unmappable("does not fit its output schema; the hook's owner must fix it")
    return map_output(_to_output(call, updated))


def _find_native(result: Result) -> object:
    return result.structured_content if result.native_output is None else result.native_output


def _to_output(call: Call, updated: object) -> Output:
    """Wraps an updated value in the form the tool used: content blocks for content blocks, a value for a value."""
    gave_blocks = call.ending.output is not None and call.ending.output.content is not None
    if gave_blocks and isinstance(updated, list) and all(isinstance(one, dict) and "type" in one for one in updated):
        return Output(content=tuple(updated))
    return Output(updated)


def _replace_with_error(call: Call, stop: Stop, status: ResultStatus) -> Result:
    """Returns the result with an error and another status, for a call whose tool ran."""
    result = call.ending.require_result()
    call.ending.stop = stop
    call.ending.is_plain_result = False
    error = tool_error(stop, has_run=call.ending.has_run, is_repeatable=call.prepared.is_repeatable)
    return replace(result, status=status, error=error, policy_refs=stop.policy_refs)
