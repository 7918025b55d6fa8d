"""Phase 8: a slot, a deadline, and (for everything that is not read-only) a durable record that it is about to run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from ferrule.contracts.store import Committed, Condition
from ferrule.errors import LedgerUnavailable, OutcomeUnrecorded
from ferrule.model.failure import Stop
from ferrule.pipeline.call import NO_OPTIONS, Call, Replay
from ferrule.pipeline.idempotency import key_conflict
from ferrule.pipeline.limits import limit_reached, shared_limits, take
from ferrule.pipeline.rows import started_row
from ferrule.pipeline.services import Services


def schedule(call: Call, services: Services) -> Stop | Awaitable[Stop | Replay | None] | None:
    """Adds the deadline. Stops with `policy_blocked` when the run has used up its calls; a duplicate is told apart here."""
    prepared = call.prepared
    if prepared.is_plain and call.options is NO_OPTIONS and call.recorded is None and services.records_behind:
        return None
    timeout = _smallest(prepared.traits.timeout_seconds, call.options.timeout_seconds)
    if timeout is not None:
        call.deadline = asyncio.get_running_loop().time() + timeout
    stop = take(call)
    if stop is not None:
        return stop
    limits = shared_limits(call)
    is_behind = prepared.traits.is_read_only and services.records_behind and call.key is None
    if is_behind and call.recorded is None and not limits:
        return None
    return _recorded(call, services, limits)


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
        is_on=True,
    )
    try:
        committed: Committed = await services.store.commit(entry, condition)
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
            return limit_reached(call, committed.limit)
        case "switched_off":  # while the call was on its way here
            return Stop("policy_blocked", f"the tool {call.prepared.tool_id!r} was disabled", "tool_disabled")
        case _:
            return Replay(call.invocation_id)


def _smallest(*limits: float | None) -> float | None:
    return min((limit for limit in limits if limit is not None), default=None)
