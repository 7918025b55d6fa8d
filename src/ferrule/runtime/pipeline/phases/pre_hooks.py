"""Phase 6: runs the hooks before a call, which may add context, change its input, stop it, or state a permission.

Each sees a copy of the observable input, with the changes of the hooks before it. A hook that fails blocks the call
(AT-158).
"""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial

from msgspec.structs import replace

from ferrule.contracts.hook import Hook, HookOutput
from ferrule.model.failure import Stop
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.hooks.runs import HookMoment, block_call, build_hook_stop, find_hooks, run_hooks
from ferrule.runtime.pipeline.inputs import change_input
from ferrule.runtime.pipeline.redaction import redact_secrets
from ferrule.runtime.pipeline.services import Services


def pre_hooks(call: Call, services: Services) -> Stop | Awaitable[Stop | None] | None:
    """Adds hook notes and perhaps a changed input. Stops with `hook_blocked`."""
    if not services.hooks:
        return None
    hooks = find_hooks(call, services, "pre_tool_use")
    if not hooks:
        return None
    call.enter("pre_hooks_running")
    return run_hooks(HookMoment(call, services, partial(_apply_answer, call, services), block_call), hooks)


def _apply_answer(call: Call, services: Services, hook: Hook, output: HookOutput) -> Stop | None:
    stop = build_hook_stop(call, services, hook, output)
    if stop is not None:
        return stop
    if output.permission == "allow":
        call.judgement = replace(call.judgement, hook_allows=(*call.judgement.hook_allows, hook.hook_id))
    elif output.permission is not None and not call.judgement.hook_permission.startswith("deny"):
        reason = redact_secrets(call, services, output.permission_reason)
        why = f": {reason}" if reason else ""
        if output.permission == "deny" or not call.judgement.hook_permission:
            word = f"{output.permission}:the hook {hook.hook_id!r} says {output.permission}{why}"
            call.judgement = replace(call.judgement, hook_permission=word)
    if output.updated_input is None:
        return None
    return change_input(call, output.updated_input, "hook", hook.hook_id)
