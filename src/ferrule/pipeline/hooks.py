"""What hooks are told, what is kept of their answers, and which of their moments there are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ferrule.contracts.hook import Hook, HookEvent, HookInput, HookOutput
from ferrule.errors import SettingsError
from ferrule.pipeline.call import Call


def told(call: Call, event: HookEvent) -> HookInput:
    """What a hook learns about the call."""
    request = call.session.surface.request
    seen = call.observable_input if call.observable_input is not None else call.input
    return HookInput(
        event,
        call.invocation_id,
        call.prepared.tool_id,
        call.tool_name,
        request.principal,
        request.agent,
        msgspec.json.decode(seen),
        call.result.to_record() if call.result is not None else None,
    )


def noted(output: HookOutput) -> tuple[dict[str, Any], ...]:
    """What is kept of a hook's answer: that it changed the input is a mutation record, not a second copy of the input."""
    kept: list[dict[str, Any]] = [{"message": message} for message in output.messages]
    kept += [{"additional_context": block} for block in output.additional_context]
    if output.permission is not None:
        kept.append({"permission_result": {"behavior": output.permission, "reason": output.permission_reason}})
    if output.updated_input is not None:
        kept.append({"updated_input": True})
    if output.stop is not None:
        kept.append({"stop": {"reason": output.stop}})
    return tuple(kept)


FIRED: frozenset[HookEvent] = frozenset({"pre_tool_use", "post_tool_use", "post_tool_use_failure"})
"""The moments at which hooks run in this version."""


def refuse_idle(hooks: Iterable[Hook]) -> None:
    """Raises SettingsError for a hook that would never run: whoever relies on it has to learn that at once."""
    for hook in hooks:
        if hook.event not in FIRED:
            known = ", ".join(sorted(FIRED))
            raise SettingsError(
                f"the hook {hook.hook_id!r} waits for {hook.event!r}, which never comes here; known: {known}"
            )
