"""The four inputs of a call: how each is stored, sealed and changed.

Inputs are stored masked, without known secrets, and only where they differ; they are sealed where a call must wait,
so that it can still run with the original. A change on the way has to be allowed by the tool's contract, is
validated again, and is recorded with its source (AT-79 to AT-82). Phases and rows call this; it calls `arguments/`.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Literal, TypeVar

import msgspec

from ferrule.contracts.redactor import Redactor
from ferrule.model.failure import Stop
from ferrule.model.journal import Mutation, Payload
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.arguments.hostile_json import MAX_BYTES
from ferrule.runtime.pipeline.arguments.validation import ArgumentProblem
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.redaction.redactor import ONLY_GIVEN
from ferrule.runtime.redaction.sensitive_input import REDACTED, Mask, mask_all_json

T = TypeVar("T")

_MIN_CHARS = 8
"""Sensitive values of at least this length are removed from other members too; shorter ones may occur there by chance."""


def build_input_payload(call: Call, services: Services) -> Payload:
    """Builds the payload of the inputs since the last row, redacted. None stands for "as the one before"."""
    recorded, prepared, inputs = call.recorded, call.prepared, call.inputs
    if recorded is not None and (recorded.mark_state in ("queued", "running") or prepared.entry is None):
        return Payload()  # earlier rows have them; without its tool, nothing says what to mask
    if len(inputs.model_input) > MAX_BYTES:
        return Payload(describe_oversized(inputs.model_input))
    mask, redactor = prepared.mask, services.redactor
    if redactor is not None and redactor.is_idle:
        redactor = None
    if prepared.entry is None:  # no schema says what in it is sensitive
        return Payload(redact_input(mask_all_json(inputs.model_input), None, redactor))
    is_unchanged = inputs.call_input is None and recorded is None
    if mask is None and is_unchanged and not call.secrets:
        return Payload(inputs.model_input if redactor is None else redact_input(inputs.model_input, None, redactor))
    hidden = call.secrets
    model, final = (redact_input(text, mask, redactor, hidden) for text in (inputs.model_input, inputs.current))
    observable = (
        model if inputs.observable_input is None else redact_input(inputs.observable_input, mask, redactor, hidden)
    )
    judged = (
        observable if inputs.permission_input is None else redact_input(inputs.permission_input, mask, redactor, hidden)
    )
    payload = Payload(model)
    payload.observable_input = observable if observable != model else None
    payload.permission_input = judged if judged != observable else None
    payload.call_input = final if final != judged else None
    return payload


def describe_oversized(text: bytes) -> bytes:
    """Returns the length and digest that are stored in place of an oversized input.

    Nobody acted on it, and redacting all of it would hold up every other call.
    """
    return msgspec.json.encode({"left_out": {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}})


def redact_input(
    text: bytes, mask: Mask | None, redactor: Redactor | None, hidden: frozenset[str] = frozenset()
) -> bytes:
    """Redacts an input for storage and display: masks sensitive members, removes known secrets and those in `hidden`."""
    masked = text if mask is None else mask.mask_json(text)
    also = hidden if mask is None else hidden | _list_long_values(text, mask)
    redactor = (redactor or ONLY_GIVEN) if also else redactor
    if redactor is None or not (also or b"\\" in masked or redactor.may_hold(masked)):
        return masked  # without escapes the bytes can be searched without decoding
    try:
        value = msgspec.json.decode(masked)
        clean, found = redactor.value(value, also)
        written = msgspec.json.encode(clean)
        if (
            not found and written != masked
        ):  # the decoder drops the first of two members with one name; the stored text has both
            found = redactor.value(json.loads(masked, object_pairs_hook=list), also)[1]
        return written if found else masked
    except (ValueError, msgspec.MsgspecError, RecursionError, OverflowError):
        said, found = redactor.text(masked.decode("utf-8", "replace"), also)
        return said.encode("utf-8", "replace") if found else masked


def _list_long_values(text: bytes, mask: Mask) -> frozenset[str]:
    """Lists the sensitive values that are long enough to be recognised elsewhere in the input."""
    try:
        values = mask.list_values(msgspec.json.decode(text))
    except (msgspec.MsgspecError, RecursionError):  # unreadable input is masked as a whole
        return frozenset()
    return frozenset(value for value in values if len(value) >= _MIN_CHARS)


def seal_input(call: Call, services: Services, payload: Payload) -> Payload:
    """Adds the encrypted original inputs to the payload of a waiting call, so that it can still run."""
    if call.prepared.mask is None and not _has_hidden(call, services.redactor):
        return payload
    kept = msgspec.msgpack.encode((call.inputs.model_input, call.inputs.current))
    payload.sealed_input = services.sealing.seal(call.invocation_id, kept)
    return payload


def _has_hidden(call: Call, redactor: Redactor | None) -> bool:
    if redactor is None or redactor.is_idle:
        return False
    inputs = (call.inputs.model_input, call.inputs.current)
    return any(redact_input(text, None, redactor) != text for text in inputs)


def list_sensitive_values(call: Call) -> frozenset[str]:
    """Lists the sensitive values of a call's inputs as text: errors and the ledger must not hold them either."""
    mask = call.prepared.mask
    if mask is None:
        return frozenset()
    try:
        return mask.list_values(msgspec.json.decode(call.inputs.model_input)) | mask.list_values(
            msgspec.json.decode(call.inputs.current)
        )
    except msgspec.MsgspecError:  # invalid JSON has no members
        return frozenset()


def change_input(
    call: Call, updated: object, source: Literal["hook", "permission_prompt"], source_ref: str
) -> Stop | None:
    """Replaces the input from now on. Returns a stop when the contract forbids it, or the new input is invalid."""
    if call.prepared.traits.is_input_fixed:
        message = f"the contract of {call.prepared.tool_id!r} forbids that {source_ref!r} replaces its input"
        return Stop("invalid_arguments", message, "input_mutation_failed")
    schema = call.prepared.require_arguments()
    before, mask = msgspec.json.decode(call.inputs.current), call.prepared.mask
    try:
        after = msgspec.json.decode(msgspec.json.encode(updated))
        if mask is not None:
            after = _restore_masked(after, mask.mask_value(before), before)
        changed = msgspec.json.encode(after)
    except _MaskMovedError:
        message = (
            f"{source_ref!r} moved a masked value in the input; it may leave one in its place, or write another value"
        )
        return Stop("invalid_arguments", message, "input_mutation_failed")
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        message = f"the input as {source_ref!r} changed it cannot be written as JSON ({type(error).__name__})"
        return Stop("invalid_arguments", message, "input_mutation_failed")
    parsed = schema.parse_runtime(changed)
    if isinstance(parsed, ArgumentProblem):
        message = f"the input as {source_ref!r} changed it does not fit: {parsed.message}"
        return Stop("schema_validation_failed", message, "updated_input_invalid", state="validation_failed")
    came_from = "model_input" if call.inputs.call_input is None else "call_input"
    mutation = Mutation(source, source_ref, list_changed_fields(before, after), call.offset(), "", came_from)
    call.inputs.mutate(mutation, parsed.arguments, changed)
    call.inputs.observable_input = changed if mask is None else mask.mask_json(changed)
    return None


class _MaskMovedError(Exception):
    """A mask appears where no masked value was."""


def _restore_masked(updated: object, shown: Any, real: Any) -> Any:
    """Returns the updated value with every mask left in its place replaced by the real value. Raises _MaskMovedError."""
    if isinstance(updated, dict):
        shown, real = _pair_if(dict, shown, real) or ({}, {})
        return {name: _restore_masked(value, shown.get(name), real.get(name)) for name, value in updated.items()}
    if isinstance(updated, list):
        shown, real = _pair_if(list, shown, real) or ([], [])
        rest = [None] * len(updated)
        return [_restore_masked(*three) for three in zip(updated, [*shown, *rest], [*real, *rest], strict=False)]
    if not isinstance(updated, str):
        return updated
    if updated == shown:
        return real
    if REDACTED in updated:
        raise _MaskMovedError
    return updated


def _pair_if(kind: type[T], shown: object, real: object) -> tuple[T, T] | None:
    """Returns both values when both are of this type."""
    return (shown, real) if isinstance(shown, kind) and isinstance(real, kind) else None


def list_changed_fields(before: object, after: object) -> tuple[str, ...]:
    """Lists the members that differ, by dotted path; `$` when the values are no objects."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return () if before == after and type(before) is type(after) else ("$",)
    return tuple(_list_differences(before, after, ""))


def _list_differences(before: JsonObject, after: JsonObject, prefix: str) -> list[str]:
    found: list[str] = []
    for key in [*before, *(key for key in after if key not in before)]:
        old, new = before.get(key, _ABSENT), after.get(key, _ABSENT)
        if isinstance(old, dict) and isinstance(new, dict):
            found += _list_differences(old, new, f"{prefix}{key}.")
        elif old != new or type(old) is not type(new):
            found.append(f"{prefix}{key}")
    return found


_ABSENT = object()
