"""Changing a call's input on the way: allowed by its contract, validated again, and noted with its source (AT-79 to AT-82)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ferrule.model.failure import Stop
from ferrule.model.journal import Mutation
from ferrule.runtime.pipeline.arguments import Problem
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.redaction.sensitive_input import REDACTED


def change_input(
    call: Call, updated: Any, source: Literal["hook", "permission_prompt"], source_ref: str
) -> Stop | None:
    """Use another input from now on. Stops when the tool's contract forbids that, or the new input does not fit."""
    if call.prepared.traits.is_input_fixed:
        message = f"the contract of {call.prepared.tool_id!r} forbids that {source_ref!r} replaces its input"
        return Stop("invalid_arguments", message, "input_mutation_failed")
    assert call.prepared.arguments is not None
    before, mask = msgspec.json.decode(call.input), call.prepared.mask
    try:
        after = msgspec.json.decode(msgspec.json.encode(updated))
        if mask is not None:
            after = _unmasked(after, mask.masked_value(before), before)
        changed = msgspec.json.encode(after)
    except _Moved:
        message = (
            f"{source_ref!r} moved a masked value in the input; it may leave one in its place, or write another value"
        )
        return Stop("invalid_arguments", message, "input_mutation_failed")
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        message = f"the input as {source_ref!r} changed it cannot be written as JSON ({type(error).__name__})"
        return Stop("invalid_arguments", message, "input_mutation_failed")
    parsed = call.prepared.arguments.parse_runtime(changed)
    if isinstance(parsed, Problem):
        message = f"the input as {source_ref!r} changed it does not fit: {parsed.message}"
        return Stop("schema_validation_failed", message, "updated_input_invalid", state="validation_failed")
    came_from = "model_input" if call.call_input is None else "call_input"
    mutation = Mutation(source, source_ref, changed_fields(before, after), call.offset(), "", came_from)
    call.mutate(mutation, parsed.arguments, changed)
    call.observable_input = changed if mask is None else mask.masked(changed)
    return None


class _Moved(Exception):
    """A mask stands where no masked value was."""


def _unmasked(updated: Any, shown: Any, real: Any) -> Any:
    """The updated value with the real one behind every mask that was left in its place. Raises _Moved."""
    if isinstance(updated, dict):
        shown, real = _both(dict, shown, real) or ({}, {})
        return {name: _unmasked(value, shown.get(name), real.get(name)) for name, value in updated.items()}
    if isinstance(updated, list):
        shown, real = _both(list, shown, real) or ([], [])
        rest = [None] * len(updated)
        return [_unmasked(*three) for three in zip(updated, [*shown, *rest], [*real, *rest], strict=False)]
    if not isinstance(updated, str):
        return updated
    if updated == shown:
        return real
    if REDACTED in updated:
        raise _Moved
    return updated


def _both(kind: type, shown: Any, real: Any) -> tuple[Any, Any] | None:
    return (shown, real) if isinstance(shown, kind) and isinstance(real, kind) else None


def changed_fields(before: Any, after: Any) -> tuple[str, ...]:
    """The members that differ, by dotted path; `$` when the values are no objects."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return () if before == after and type(before) is type(after) else ("$",)
    return tuple(_differences(before, after, ""))


def _differences(before: dict[str, Any], after: dict[str, Any], prefix: str) -> list[str]:
    found: list[str] = []
    for key in [*before, *(key for key in after if key not in before)]:
        old, new = before.get(key, _ABSENT), after.get(key, _ABSENT)
        if isinstance(old, dict) and isinstance(new, dict):
            found += _differences(old, new, f"{prefix}{key}.")
        elif old != new or type(old) is not type(new):
            found.append(f"{prefix}{key}")
    return found


_ABSENT = object()
