"""Phase 11: hooks that run after a call: one kind on success, another on failure (AT-117).

What the tool gave stays on record whatever they say. They may replace what the model sees of it, or withhold it.
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
    """Adds hook notes and perhaps another view of the result. A hook that fails marks it as a partial failure (AT-158)."""
    if not services.hooks:
        return None
    event: HookEvent = "post_tool_use" if call.ending.stop is None else "post_tool_use_failure"
    hooks = find_hooks(call, services, event)
    if not hooks:
        attach_context(call)
        return None
    call.enter("post_hooks_running")
    taken = _taken if event == "post_tool_use" else _taken_late
    moment = HookMoment(call, services, partial(taken, call, services), partial(record_partial_failure, call))
    step = run_hooks(moment, hooks)
    if isawaitable(step):
        return _whole(call, step)
    attach_context(call)
    return None


async def _whole(call: Call, running: Awaitable[Stop | None]) -> None:
    """Wait for hooks to the end: a caller who goes away does not get a result past them. The cancellation comes after."""
    task, patience = asyncio.ensure_future(running), Patience()
    await patience.wait(task)
    task.result()
    attach_context(call)
    patience.check()


def _taken(call: Call, services: Services, hook: Hook, output: HookOutput) -> Stop | None:
    stop = build_hook_stop(call, services, hook, output)
    if stop is not None:
        return withhold_output(call, stop)
    return update_output(call, services, hook, output.updated_output)


def _taken_late(call: Call, services: Services, hook: Hook, output: HookOutput) -> None:
    """The call has failed already; that a hook wants the turn to end is kept beside it."""
    if build_hook_stop(call, services, hook, output) is not None:
        attach_context(call)
