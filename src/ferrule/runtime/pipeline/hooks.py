"""What hooks are told, and what is kept of their answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ferrule.contracts.hook import HOOK_EVENTS, Hook, HookInput, HookOutput
from ferrule.errors import SettingsError
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.pipeline.untold import without_secrets

_decode = msgspec.json.decode


def told(call: Call, services: Services, hook: Hook, about: dict[str, Any] | None = None) -> HookInput:
    """What a hook learns about the call; `about` is what its event is about. The input is a copy of its own (AT-77)."""
    request = call.session.surface.request
    seen = call.observable_input if call.observable_input is not None else call.input
    takes_json = getattr(hook, "takes_json", False)
    given = HookInput(
        hook.event,
        call.invocation_id,
        call.prepared.tool_id,
        name_of(call),
        request.principal,
        request.agent,
        msgspec.Raw(seen) if takes_json else _decode(seen),
        None,
        request.run_id,
        call.session.surface.surface_id,
    )
    result = None
    if call.result is not None:
        result = without_secrets(call, services, call.result.to_record())
        if not takes_json:  # what is passed on as JSON is copied by that
            result = _copied(result)
    return given if result is None and about is None else msgspec.structs.replace(given, result=result, **(about or {}))


def name_of(call: Call) -> str:
    """The tool's own name: an alias that a caller uses leads past no hook."""
    entry = call.prepared.entry
    return call.tool_name if entry is None else entry.tool.name


def noted(call: Call, services: Services, output: HookOutput) -> tuple[dict[str, Any], ...]:
    """What is kept of a hook's answer: that it changed the input is a mutation record, not a second copy of the input."""
    kept: list[dict[str, Any]] = [{"message": message} for message in output.messages]
    kept += [{"progress": facts} for facts in output.progress]
    kept += [{"additional_context": block} for block in output.additional_context]
    if output.permission is not None:
        kept.append({"permission_result": {"behavior": output.permission, "reason": output.permission_reason}})
    if output.updated_input is not None:
        kept.append({"updated_input": True})
    if output.updated_output is not msgspec.UNSET:
        kept.append({"updated_output": True})
    if output.outcome is not None:
        kept.append({"outcome": output.outcome})
    if output.stop is not None:
        kept.append({"stop": {"reason": output.stop, "continue": False}})
    return tuple(without_secrets(call, services, kept)) if kept else ()


def _copied(record: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = _decode(msgspec.json.encode(record))
    return copy


def refuse_idle(hooks: Iterable[Hook]) -> None:
    """Raises SettingsError for a hook that would never run or could not be recorded: better now than in a call."""
    for hook in hooks:
        if not isinstance(hook.hook_id, str) or not hook.hook_id:
            raise SettingsError("a hook has no `hook_id`; give it a name, it stands in every record")
        if hook.event not in HOOK_EVENTS:
            known = ", ".join(HOOK_EVENTS)
            raise SettingsError(
                f"the hook {hook.hook_id!r} waits for {hook.event!r}, which never comes here; known: {known}"
            )
