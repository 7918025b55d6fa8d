"""How often a run may call: each tool, and all of them together (AML-102).

A run that is a surface's life is counted by its session, when a call is about to run or to wait for a person, so that
nobody is asked about a call that could not run. A run that several surfaces share is counted in the ledger, as calls start.
"""

from __future__ import annotations

from ferrule.model.failure import Stop
from ferrule.runtime.pipeline.call import Call


def take(call: Call) -> Stop | None:
    """Count a call in its session's run that neither ran nor waited for a person; gives the stop when that is used up."""
    entry, surface = call.prepared.entry, call.session.surface
    assert entry is not None  # resolve_tool stopped the call otherwise
    is_counted = call.recorded is not None and call.recorded.mark_state != "queued"
    if is_counted or surface.request.is_shared_run:
        return None
    limit, total = entry.max_calls_per_run, surface.max_tool_calls
    if limit is None and total is None:
        return None
    used_up = call.session.take(call.prepared.tool_id, limit, total)
    return limit_reached(call, used_up) if used_up is not None else None


def shared_limits(call: Call) -> tuple[tuple[str, int], ...]:
    """The limits of a run that several surfaces share: (tool id or `*`, calls allowed)."""
    entry, surface = call.prepared.entry, call.session.surface
    assert entry is not None
    if not surface.request.is_shared_run:
        return ()
    limits = ((call.prepared.tool_id, entry.max_calls_per_run), ("*", surface.max_tool_calls))
    return tuple((name, most) for name, most in limits if most is not None)


def limit_reached(call: Call, what: str) -> Stop:
    """The stop of a call whose run has used up a tool's calls, or (`*`) all of its own."""
    entry = call.prepared.entry
    assert entry is not None
    if what == "*":
        most = call.session.surface.max_tool_calls
        message = f"this run may make at most {most} calls, and they are used up; end the run or raise max_tool_calls"
    else:
        most = entry.max_calls_per_run
        message = f"tool {what!r} may be called at most {most} times in one run, and that is used up"
    return Stop("policy_blocked", message, "call_limit_reached")
