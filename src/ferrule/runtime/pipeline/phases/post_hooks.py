"""Phase 11: runs the hooks after a call: one event on success, another on failure (AT-117).

The tool's output stays on record in any case. Hooks may replace what the model sees of it, or withhold it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import partial
from inspect import isawaitable

from ferrule.contracts.hook import Hook, HookEvent, HookOutput
from ferrule.infra.tasks import Patience
from ferrule.model.failure import Stop
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.hooks.effects import record_partial_failure, update_output, withhold_output
from ferrule.runtime.pipeline.hooks.runs import HookMoment, build_hook_stop, find_hooks, run_hooks
from ferrule.runtime.pipeline.results.outcome import attach_context
from ferrule.runtime.pipeline.services import Services


def post_hooks(call: Call, services: Services) -> Awaitable[None] | None:
    """Adds hook notes and perhaps another view of the result. A hook that fails makes it a partial failure (AT-158)."""
    if not services.hooks:
        return None
    event: HookEvent = "post_tool_use" if call.ending.stop is None else "post_tool_use_failure"
    hooks = find_hooks(call, services, event)
    if not hooks:
        attach_context(call)
        return None
    call.enter("post_hooks_running")
    taken = _apply_answer if event == "post_tool_use" else _apply_late_answer
    moment = HookMoment(call, services, partial(taken, call, services), partial(record_partial_failure, call))
    step = run_hooks(moment, hooks)
    if isawaitable(step):
        return _wait_to_end(call, step)
    attach_context(call)
    return None


async def _wait_to_end(call: Call, running: Awaitable[Stop | None]) -> None:
    """Awaits hooks to their end, then raises a cancellation: no caller gets a result that hooks have not seen."""
    task, patience = asyncio.ensure_future(running), Patience()
    await patience.wait(task)
    task.result()
    attach_context(call)
    patience.check()


def _apply_answer(call: Call, services: Services, hook: Hook, output: HookOutput) -> Stop | None:
    stop = build_hook_stop(call, services, hook, output)
    if stop is not None:
        return withhold_output(call, stop)
    return update_output(call, services, hook, output.updated_output)


def _apply_late_answer(call: Call, services: Services, hook: Hook, output: HookOutput) -> None:
    """Adds a hook's stop to a call that failed already."""
    if build_hook_stop(call, services, hook, output) is not None:
        attach_context(call)
