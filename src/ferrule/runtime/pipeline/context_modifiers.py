"""Context modifiers: changes of the surface's context that a tool asks for, and whether they are allowed (AT-118, AT-175).

The context is a plain mapping that belongs to the run: tools read it in `context.values`, callers in
`surface.context`. Changes of overlapping calls are never applied in the order the calls happen to end.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ferrule.model.scheduling import ModifierPolicy, stricter
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.call import Call


def settle_modifiers(call: Call) -> None:
    """Applies the changes a call's tool asks for, keeps them for the end of the batch, or refuses them; notes which."""
    output, batch = call.ending.output, call.flight.batch
    if call.ending.stop is not None or output is None:
        return
    modifiers = output.context_modifiers
    problem = find_problem(modifiers)
    policy = find_policy(call)
    noted: JsonObject = {"policy": policy, "keys": sorted(_list_keys(modifiers))}
    if problem is not None:
        noted |= {"outcome": "refused", "why": problem}
    elif policy == "forbid":
        noted |= {"outcome": "refused", "why": "the scheduler policy forbids context modifiers"}
    elif policy == "defer_until_batch_complete" and batch is not None and not batch.is_over:
        batch.deferred[call.invocation_id] = modifiers
        noted["outcome"] = "deferred"
    elif not _has_run_alone(call):
        noted |= {"outcome": "refused", "why": "the call ran beside others, and its changes could race with theirs"}
    else:
        apply_modifiers(call.session.values, modifiers)
        noted["outcome"] = "applied"
    call.notes = {**call.notes, "context_modifiers": noted}


def find_policy(call: Call) -> ModifierPolicy:
    """Returns the stricter of the tool's own policy and the lane's (or the batch's)."""
    batch = call.flight.batch
    policy = call.session.lane.policy if batch is None else batch.policy
    return stricter(call.prepared.modifier_policy, policy.context_modifier_policy)


def _has_run_alone(call: Call) -> bool:
    """Returns True when no other call ran, or could run, beside this one or the calls it is part of, from start to end."""
    place = call.flight.place
    if place is None:
        # A call without a place slipped in, and only its lane's own count knows whether others ran beside it.
        return not call.session.lane.is_crowded
    places = (place, *place.iter_ancestors())
    return all(each.state == "running" and (each.is_exclusive or not each.lane.is_crowded) for each in places)


def find_problem(modifiers: Iterable[object]) -> str | None:
    """Describes the first invalid modifier; None when all are valid."""
    for modifier in modifiers:
        if not isinstance(modifier, dict) or not modifier or set(modifier) - {"set", "unset"}:
            return 'a context modifier is {"set": {name: value}} or {"unset": [name]}'
        if not isinstance(modifier.get("set", {}), dict) or not isinstance(modifier.get("unset", []), list | tuple):
            return 'a context modifier is {"set": {name: value}} or {"unset": [name]}'
        try:
            msgspec.json.encode(modifier)
        except (TypeError, ValueError, RecursionError, OverflowError):
            return "a context modifier has to be JSON"
    return None


def apply_modifiers(values: JsonObject, modifiers: Iterable[JsonObject]) -> None:
    """Applies modifiers to a context."""
    for modifier in modifiers:
        for name in modifier.get("unset", ()):
            values.pop(name, None)
        # A copy: the tool may go on changing the values that it gave.
        values.update(msgspec.json.decode(msgspec.json.encode(modifier.get("set", {}))))


def _list_keys(modifiers: Iterable[object]) -> set[str]:
    found: set[str] = set()
    for modifier in modifiers:
        if isinstance(modifier, dict):
            found |= {str(name) for name in (*(modifier.get("set") or ()), *(modifier.get("unset") or ()))}
    return found
