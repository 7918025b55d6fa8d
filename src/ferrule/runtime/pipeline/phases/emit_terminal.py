"""Phase 13: writes the last state and the last row. The row of an action is on disk before anybody learns its result."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import msgspec

from ferrule.contracts.store import CommitCondition, Committed
from ferrule.errors import LedgerError
from ferrule.infra.tasks import finish_uncancelled
from ferrule.model.failure import Stop, last_state
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.context_modifiers import settle_modifiers
from ferrule.runtime.pipeline.results.outcome import build_stopped_result
from ferrule.runtime.pipeline.rows import build_last_row
from ferrule.runtime.pipeline.services import Services


def emit_terminal(call: Call, services: Services) -> Awaitable[None] | None:
    """Adds the terminal state and writes the row. A result that cannot be recorded is not reported as a success."""
    flight, ending, prepared = call.flight, call.ending, call.prepared
    if flight.surfacing is not None:
        return _emit_after_surfacing(call, services, flight.surfacing)
    stop, output = ending.stop, ending.output
    if flight.live is not None:
        flight.live.stop_listening()
    if output is not None and output.context_modifiers:
        settle_modifiers(call)
    if flight.batch is not None and ending.has_run:
        call.enter("yielded")
    call.enter("succeeded" if stop is None else last_state(stop, now=call.state, has_run=ending.has_run))
    # The refusal of an action is durable too before the caller learns of it.
    is_action = not prepared.traits.is_read_only and prepared.entry is not None
    if is_action or call.recorded is not None or call.key is not None or not services.records_behind:
        return _record_durably(call, services)
    try:
        services.store.record(build_last_row(call, services))
    except LedgerError as error:
        fail_unrecorded(call, services, error)
    return None


async def _emit_after_surfacing(call: Call, services: Services, surfacing: asyncio.Future[None]) -> None:
    """Writes the last row after the row that says the call runs, which is still being written."""
    await finish_uncancelled(asyncio.wait({surfacing}))
    waiting = emit_terminal(call, services)
    if waiting is not None:
        await waiting


async def _record_durably(call: Call, services: Services) -> None:
    recorded = call.recorded
    condition = CommitCondition(
        states=frozenset({recorded.mark_state}) if recorded is not None else frozenset(),
        seq=recorded.seq if recorded is not None else None,
        key_is_free=call.key is not None and recorded is None,
    )
    try:
        committed = await services.store.commit(build_last_row(call, services), condition)
        if (
            committed.outcome == "key_conflict"
        ):  # another request took the key meanwhile; this call keeps its own answer
            call.key = None
            condition = msgspec.structs.replace(condition, key_is_free=False)
            committed = await services.store.commit(build_last_row(call, services), condition)
        # The row of the start may be there although its commit failed: then this row has to follow it.
        if committed.outcome == "state_changed" and recorded is None:
            committed = await _record_after_doubt(call, services) or committed
    except LedgerError as error:
        fail_unrecorded(call, services, error)
        return
    call.notes = {**call.notes, "committed": committed.outcome, "holder": committed.holder}


async def _record_after_doubt(call: Call, services: Services) -> Committed | None:
    """Writes the last row of a call whose start row was in doubt and is there now; None when another row is."""
    opened = await services.store.find_open(call.invocation_id)
    if opened is None or opened.state != "running":
        return None
    call.has_rows(opened.seq, opened.state)
    call.state = "running"
    stop = call.ending.require_stop()  # a call in doubt never ran, so it has a stop
    call.enter(last_state(stop, now=call.state, has_run=call.ending.has_run))
    condition = CommitCondition(states=frozenset({opened.state}), seq=opened.seq)
    return await services.store.commit(build_last_row(call, services), condition)


def fail_unrecorded(call: Call, services: Services, error: LedgerError) -> None:
    """Fails a call whose end could not be recorded, so that nobody takes it for a success (promise 2).

    Once the ledger can be written, a person is asked how the call ended.
    """
    ending = call.ending
    if call.recorded is not None:
        services.live.unrecorded.add(call.invocation_id)
    ending.stop = Stop(
        "dependency_unavailable" if not ending.has_run else "execution_failed",
        f"how the call ended could not be recorded, so it is not told; look at 'ferrule pending' later: {error}",
        "outcome_not_recorded",
        recoverability="not_recoverable" if ending.has_run else "retry_later",
    )
    ending.result = build_stopped_result(call, services)
