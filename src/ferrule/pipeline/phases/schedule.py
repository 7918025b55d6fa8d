"""Phase 8: a slot, a deadline, and (for everything that is not read-only) a durable record that it is about to run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from ferrule.contracts.store import Committed, Condition
from ferrule.errors import LedgerUnavailable, OutcomeUnrecorded
from ferrule.model.failure import Stop
from ferrule.pipeline.call import NO_OPTIONS, Call, Replay
from ferrule.pipeline.idempotency import key_conflict
from ferrule.pipeline.rows import started_row
from ferrule.pipeline.services import Services
from ferrule.pipeline.uncancelled import uncancelled


def schedule(call: Call, services: Services) -> Stop | Awaitable[Stop | Replay | None] | None:
    """Adds the deadline. Stops with `policy_blocked` when the run has used up its calls; a duplicate is told apart here."""
    prepared = call.prepared
    if prepared.is_plain and call.options is NO_OPTIONS and call.recorded is None and services.records_behind:
        return None
    timeout = _smallest(prepared.traits.timeout_seconds, call.options.timeout_seconds)
    if timeout is not None:
        call.deadline = asyncio.get_running_loop().time() + timeout
    surface = call.session.surface
    assert prepared.entry is not None
    limit, total = prepared.entry.max_calls_per_run, surface.max_tool_calls
    is_limited = limit is not None or total is not None
    is_shared = is_limited and surface.request.is_shared_run
    if is_limited and not is_shared:
        used_up = call.session.take(prepared.tool_id, limit, total)
        if used_up is not None:
            return _limit_reached(call, used_up)
    if (
        prepared.traits.is_read_only
        and services.records_behind
        and call.key is None
        and call.recorded is None
        and not is_shared
    ):
        return None
    limits = [(prepared.tool_id, limit), ("*", total)] if is_shared else []
    return _recorded(call, services, tuple((name, most) for name, most in limits if most is not None))


async def _recorded(call: Call, services: Services, limits: tuple[tuple[str, int], ...]) -> Stop | Replay | None:
    """Write, durably, that the call is about to run. Whoever loses a race for it learns who won."""
    before = (call.state, len(call.states))
    call.enter("running")
    entry = started_row(call, services, is_counted=bool(limits))
    recorded = call.recorded
    condition = Condition(
        states=frozenset({recorded.mark_state}) if recorded is not None else frozenset(),
        seq=recorded.seq if recorded is not None else None,
        key_is_free=call.key is not None and recorded is None,
        run_limits=limits,
    )
    try:
        committed: Committed = await uncancelled(services.store.commit(entry, condition))
    except (LedgerUnavailable, OutcomeUnrecorded) as error:
        call.state = before[0]
        del call.states[before[1] :]
        return Stop(
            "dependency_unavailable", f"the ledger cannot be written, so nothing runs: {error}", "ledger_unavailable"
        )
    if committed.outcome == "written":
        call.has_rows(committed.seq, "running")
        return None
    call.state = before[0]
    del call.states[before[1] :]
    return _lost(call, committed)


def _lost(call: Call, committed: Committed) -> Stop | Replay:
    match committed.outcome:
        case "key_taken":
            return Replay(committed.holder)
        case "key_conflict":
            return key_conflict(committed.holder)
        case "limit_reached":
            return _limit_reached(call, committed.limit)
        case _:
            return Replay(call.invocation_id)


def _limit_reached(call: Call, what: str) -> Stop:
    entry = call.prepared.entry
    assert entry is not None
    if what == "*":
        most = call.session.surface.max_tool_calls
        message = f"this run may make at most {most} calls, and they are used up; end the run or raise max_tool_calls"
    else:
        most = entry.max_calls_per_run
        message = f"tool {what!r} may be called at most {most} times in one run, and that is used up"
    return Stop("policy_blocked", message, "call_limit_reached")


def _smallest(*limits: float | None) -> float | None:
    return min((limit for limit in limits if limit is not None), default=None)
