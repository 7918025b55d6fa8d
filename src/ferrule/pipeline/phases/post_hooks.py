"""Phase 11: hooks that run after a call: one kind on success, another on failure (AT-117). The output stays as it was."""

from __future__ import annotations

from collections.abc import Awaitable
from inspect import isawaitable
from typing import Any

from ferrule.contracts.hook import Hook
from ferrule.model.failure import Stop
from ferrule.model.journal import HookRun
from ferrule.pipeline.call import Call
from ferrule.pipeline.hooks import noted, told
from ferrule.pipeline.results import stopped_result
from ferrule.pipeline.services import Services


def post_hooks(call: Call, services: Services) -> Awaitable[None] | None:
    """Adds hook notes. A hook that fails keeps the tool's output and marks the result as a partial failure (AT-158)."""
    if not services.hooks:
        return None
    event = "post_tool_use" if call.stop is None else "post_tool_use_failure"
    hooks = tuple(
        hook for hook in services.hooks if hook.event == event and hook.matches(call.prepared.tool_id, call.tool_name)
    )
    return _run_all(call, services, hooks) if hooks else None


async def _run_all(call: Call, services: Services, hooks: tuple[Hook, ...]) -> None:
    call.enter("post_hooks_running")
    for hook in hooks:
        started = call.offset()
        outputs: tuple[dict[str, Any], ...] = ()
        try:
            said: Any = hook.run(told(call, hook.event))
            output = await said if isawaitable(said) else said
            if output is not None:
                outputs = noted(output)
        except Exception as error:
            outputs = ({"failed": type(error).__name__},)
            _mark_partial(call, services, hook, error)
        call.hooks += (HookRun(hook.hook_id, hook.event, started, call.offset(), outputs),)


def _mark_partial(call: Call, services: Services, hook: Hook, error: Exception) -> None:
    if call.stop is not None:
        return
    message = f"the tool did its work, but the hook {hook.hook_id!r} after it failed ({type(error).__name__})"
    call.is_plain_result = False
    call.stop = Stop("partial_failure", message, "post_hook_failed")
    call.result = stopped_result(call, services, call.output)
