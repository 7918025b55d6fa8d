"""Input and answers of hooks: builds what a hook receives, checks its answer, and lists what goes on record.

Parts of an answer are copied, so a hook cannot change later what is used. `runs` calls this module; it runs no hook
and changes no result. A hook that could never run is refused when the app opens.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

import msgspec

from ferrule.contracts.hook import HOOK_EVENTS, Hook, HookEvent, HookFailed, HookInput, HookOutput, Permission
from ferrule.errors import SettingsError
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.redaction import redact_secrets
from ferrule.runtime.pipeline.services import Services

_decode = msgspec.json.decode


def build_hook_input(call: Call, services: Services, hook: Hook, about: JsonObject | None = None) -> HookInput:
    """Builds the input of a hook: its own copy of the call (AT-77), and the facts `about` its event."""
    request = call.session.surface.request
    seen = call.inputs.observable_input if call.inputs.observable_input is not None else call.inputs.current
    takes_json = getattr(hook, "takes_json", False)
    given = HookInput(
        hook.event,
        call.invocation_id,
        call.prepared.tool_id,
        find_tool_name(call),
        request.principal,
        request.agent,
        # What goes to another process as JSON need not be decoded first.
        msgspec.Raw(seen) if takes_json else _decode(seen),
        None,
        request.run_id,
        call.session.surface.surface_id,
    )
    result = None
    if call.ending.result is not None:
        result = redact_secrets(call, services, call.ending.result.to_record())
        if not takes_json:  # encoding it as JSON copies it anyway
            result = _copy_record(result)
    return given if result is None and about is None else msgspec.structs.replace(given, result=result, **(about or {}))


def find_tool_name(call: Call) -> str:
    """Returns the tool's own name, so that an alias used by the caller bypasses no hook."""
    entry = call.prepared.entry
    return call.tool_name if entry is None else entry.tool.name


def list_hook_outputs(call: Call, services: Services, output: HookOutput) -> tuple[JsonObject, ...]:
    """Lists what is recorded of a hook's answer; a changed input is a mutation record, not a second copy here."""
    kept: list[JsonObject] = [{"message": message} for message in output.messages]
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
    return tuple(redact_secrets(call, services, kept)) if kept else ()


def _copy_record(record: JsonObject) -> JsonObject:
    copy: JsonObject = _decode(msgspec.json.encode(record))
    return copy


def refuse_unusable_hooks(hooks: Iterable[Hook]) -> None:
    """Raises SettingsError for a hook that would never run or could not be recorded: at startup, not in a call."""
    for hook in hooks:
        if not isinstance(hook.hook_id, str) or not hook.hook_id:
            raise SettingsError("a hook has no `hook_id`; give it a name, it stands in every record")
        if hook.event not in HOOK_EVENTS:
            known = ", ".join(HOOK_EVENTS)
            raise SettingsError(
                f"the hook {hook.hook_id!r} waits for {hook.event!r}, which never comes here; known: {known}"
            )


NOTHING = HookOutput()
MAX_ITEMS = 100
"""The most messages, context blocks or progress records in one answer; each is checked and stored by itself."""
_PERMISSIONS: tuple[Permission, ...] = get_args(Permission)
_PERMISSION_ONLY: dict[Permission, HookOutput] = {word: HookOutput(permission=word) for word in _PERMISSIONS}
_BEFORE_RUN: frozenset[HookEvent] = frozenset({"pre_tool_use", "permission_request", "permission_decision"})
"""Events at which nothing has run yet."""


def check_answer(said: object, event: HookEvent) -> HookOutput:
    """Returns a copy of a valid answer. Raises HookFailed for one that is invalid or not allowed at this event."""
    if said is None:
        return NOTHING
    if type(said) is not HookOutput:
        raise HookFailed(f"it answered a {type(said).__name__}, not a HookOutput")
    if said == NOTHING:
        return NOTHING
    defect = _find_defect(said) or _find_misplaced(said, event)
    if defect is not None:
        raise HookFailed(defect)
    return said if said.permission is not None and said == _PERMISSION_ONLY[said.permission] else _copy_answer(said)


def _find_defect(said: Any) -> str | None:
    """Describes the first invalid field, None without one; msgspec does not validate structs built in Python."""
    if said.permission is not None and said.permission not in _PERMISSIONS:
        return "its `permission` is none of allow, ask, deny"
    if said.updated_input is not None and not isinstance(said.updated_input, dict):
        return f"its `updated_input` is a {type(said.updated_input).__name__}, not an object"
    for name, text in (
        ("stop", said.stop),
        ("stop_code", said.stop_code),
        ("permission_reason", said.permission_reason),
    ):
        if text is not None and not isinstance(text, str):
            return f"its `{name}` is no text"
    if said.permission_reason is None:
        return "its `permission_reason` is no text"
    if said.messages != () and not _is_list_of(said.messages, str):
        return "its `messages` are not all texts"
    if said.additional_context != () and not _is_list_of(said.additional_context, dict):
        return "its `additional_context` is not made of objects"
    if said.progress != () and not _is_list_of(said.progress, dict):
        return "its `progress` is not made of objects"
    for name, items in (
        ("messages", said.messages),
        ("additional_context", said.additional_context),
        ("progress", said.progress),
    ):
        if len(items) > MAX_ITEMS:
            return f"its `{name}` are more than {MAX_ITEMS}"
    if said.outcome is not None and not isinstance(said.outcome, dict):
        return "its `outcome` is no object"
    return None


def _find_misplaced(said: HookOutput, event: HookEvent) -> str | None:
    """Describes a field that has no effect at this event; None without one."""
    # Ignored in silence, such an answer would leave its author believing that it held (decision 0012).
    if said.updated_input is not None and event != "pre_tool_use":
        return f"it changed the input at `{event}`, which only `pre_tool_use` may"
    if said.updated_output is not msgspec.UNSET and event != "post_tool_use":
        return f"it changed the output at `{event}`, which only `post_tool_use` may"
    if said.permission in ("ask", "deny") and event not in _BEFORE_RUN:
        return f"it said {said.permission} at `{event}`, after the tool ran"
    return None


def _is_list_of(items: object, kind: type) -> bool:
    return isinstance(items, tuple | list) and all(isinstance(item, kind) for item in items)


def _copy_answer(said: HookOutput) -> HookOutput:
    """Copies an answer as the ledger can store it."""
    try:
        return msgspec.structs.replace(
            said,
            updated_input=_copy_json(said.updated_input),
            stop=_copy_storable(said.stop),
            stop_code=_copy_storable(said.stop_code),
            permission_reason=_copy_storable(said.permission_reason),
            messages=_copy_items(said.messages),
            additional_context=_copy_items(said.additional_context),
            progress=_copy_items(said.progress),
            outcome=_copy_storable(said.outcome),
            updated_output=_copy_json(said.updated_output),
        )
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise HookFailed(f"its answer cannot be kept as JSON ({type(error).__name__})") from None


def _copy_items(items: Iterable[object]) -> tuple[object, ...]:
    return tuple(_copy_storable(list(items))) if items else ()


def _copy_storable(value: object) -> Any:
    """Copies a value through JSON and msgpack, so that what the ledger cannot store fails here, not in its writer."""
    copy = _copy_json(value)
    msgspec.msgpack.encode(copy)
    return copy


def _copy_json(value: object) -> Any:
    return value if value is None or value is msgspec.UNSET else msgspec.json.decode(msgspec.json.encode(value))
