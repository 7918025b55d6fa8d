"""Phase 6: hooks that run before a call: they may add to it, change its input, stop it, or say what they would permit.

Each sees a copy of the observable input and what the hooks before it changed. A hook that fails blocks the call (AT-158).
"""

from __future__ import annotations

from collections.abc import Awaitable
from inspect import isawaitable
from typing import Any

from ferrule.contracts.hook import Hook, HookOutput
from ferrule.model.failure import Stop
from ferrule.model.journal import HookRun
from ferrule.pipeline.call import Call
from ferrule.pipeline.hooks import noted, told
from ferrule.pipeline.mutation import change_input
from ferrule.pipeline.services import Services


def pre_hooks(call: Call, services: Services) -> Awaitable[Stop | None] | None:
    """Adds hook notes and perhaps a changed input. Stops with `hook_blocked`."""
    if not services.hooks:
        return None
    hooks = tuple(
        hook
        for hook in services.hooks
        if hook.event == "pre_tool_use" and hook.matches(call.prepared.tool_id, call.tool_name)
    )
    return _run_all(call, services, hooks) if hooks else None


async def _run_all(call: Call, services: Services, hooks: tuple[Hook, ...]) -> Stop | None:
    call.enter("pre_hooks_running")
    for hook in hooks:
        started = call.offset()
        try:
            said: Any = hook.run(told(call, "pre_tool_use"))
            output: HookOutput = (await said if isawaitable(said) else said) or HookOutput()
        except Exception as error:
            _note(call, hook, started, {"failed": type(error).__name__})
            message = f"the hook {hook.hook_id!r} failed ({type(error).__name__}), so the call may not run"
            return Stop("hook_blocked", message, "hook_failed", status="failed")
        _note(call, hook, started, noted(output))
        stop = _taken(call, services, hook, output)
        if stop is not None:
            return stop
    return None


def _taken(call: Call, services: Services, hook: Hook, output: HookOutput) -> Stop | None:
    if output.stop is not None:
        return Stop("hook_blocked", f"the hook {hook.hook_id!r} stopped the call: {output.stop}")
    if output.permission in ("deny", "ask") and not call.hook_permission.startswith("deny"):
        why = f": {output.permission_reason}" if output.permission_reason else ""
        call.hook_permission = f"{output.permission}:the hook {hook.hook_id!r} says {output.permission}{why}"
    if output.updated_input is None:
        return None
    return change_input(call, output.updated_input, "hook", hook.hook_id)


def _note(call: Call, hook: Hook, started: int, outputs: tuple[dict[str, Any], ...] | dict[str, Any]) -> None:
    given = (outputs,) if isinstance(outputs, dict) else outputs
    call.hooks += (HookRun(hook.hook_id, hook.event, started, call.offset(), given),)
