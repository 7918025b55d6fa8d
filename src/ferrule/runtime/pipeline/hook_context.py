"""What hooks add to a result beside the tool's own output: context for the model, and the word that the turn ends here."""

from __future__ import annotations

from msgspec.structs import replace

from ferrule.model.result import Result
from ferrule.runtime.pipeline.call import Call


def attach_context(call: Call) -> None:
    """Put what hooks said so far into the result: context after the tool's own content, and a stop beside it."""
    result = call.result
    if result is None or (not call.hook_context and call.hook_stop is None):
        return
    call.is_plain_result = False
    call.result = with_hooks(result, call)


def with_hooks(result: Result, call: Call) -> Result:
    """The result with the context and the stop of its call's hooks. Done again, it stays the same."""
    context = call.hook_context
    if not context:
        return result if call.hook_stop is None else replace(result, hook_stop=call.hook_stop)
    seen = result.content if result.model_facing_content is None else result.model_facing_content
    known = len(result.additional_context)
    own = seen[:-known] if known and seen[-known:] == result.additional_context else seen
    return replace(result, model_facing_content=own + context, additional_context=context, hook_stop=call.hook_stop)
