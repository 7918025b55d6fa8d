"""Changing a call's input on the way: allowed by its contract, validated again, and noted with its source (AT-79 to AT-82)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ferrule.model.failure import Stop
from ferrule.model.journal import Mutation
from ferrule.pipeline.arguments import Problem
from ferrule.pipeline.call import Call


def change_input(
    call: Call, updated: Any, source: Literal["hook", "permission_prompt"], source_ref: str
) -> Stop | None:
    """Use another input from now on. Stops when the tool's contract forbids that, or the new input does not fit."""
    if call.prepared.traits.is_input_fixed:
        message = f"the contract of {call.prepared.tool_id!r} forbids that {source_ref!r} replaces its input"
        return Stop("invalid_arguments", message, "input_mutation_failed")
    assert call.prepared.arguments is not None
    changed = msgspec.json.encode(updated)
    parsed = call.prepared.arguments.parse_runtime(changed)
    if isinstance(parsed, Problem):
        message = f"the input as {source_ref!r} changed it does not fit: {parsed.message}"
        return Stop("schema_validation_failed", message, "updated_input_invalid", state="validation_failed")
    before = msgspec.json.decode(call.input)
    call.mutate(Mutation(source, source_ref, changed_fields(before, updated), call.offset()), parsed.arguments, changed)
    mask = call.prepared.mask
    call.observable_input = changed if mask is None else mask.masked(changed)
    return None


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
