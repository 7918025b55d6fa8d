"""The line every call takes: thirteen phases in order, then a result; or a place in the inbox.

The order is data. A phase is a plain function that says nothing (go on), a step, or something to await; what need not be
awaited is not. Whatever goes wrong, a mistake of ours included, ends as exactly one terminal result (AT-105).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from contextlib import suppress
from typing import cast

from ferrule.contracts.store import Condition
from ferrule.errors import LedgerError
from ferrule.infra.tasks import uncancelled
from ferrule.model.failure import Stop
from ferrule.model.lifecycle import PHASES
from ferrule.model.result import Pending, Result
from ferrule.runtime.pipeline.admission import KEY_CONFLICT, key_conflict, take
from ferrule.runtime.pipeline.call import (
    NO_OPTIONS,
    RUNNING,
    Again,
    Call,
    Closing,
    Detached,
    Opening,
    Park,
    Replay,
    Step,
    place_of,
)
from ferrule.runtime.pipeline.live import Cancel
from ferrule.runtime.pipeline.phases.check_schema_loaded import check_schema_loaded
from ferrule.runtime.pipeline.phases.emit_terminal import emit_terminal
from ferrule.runtime.pipeline.phases.execute import execute
from ferrule.runtime.pipeline.phases.map_result import map_result
from ferrule.runtime.pipeline.phases.parse_schema import parse_schema
from ferrule.runtime.pipeline.phases.permission import permission
from ferrule.runtime.pipeline.phases.persist_result import persist_result
from ferrule.runtime.pipeline.phases.post_hooks import post_hooks
from ferrule.runtime.pipeline.phases.pre_hooks import pre_hooks
from ferrule.runtime.pipeline.phases.prepare_observable_input import prepare_observable_input
from ferrule.runtime.pipeline.phases.resolve_tool import resolve_tool
from ferrule.runtime.pipeline.phases.schedule import schedule
from ferrule.runtime.pipeline.phases.validate_values import validate_values
from ferrule.runtime.pipeline.pulse import surface_call
from ferrule.runtime.pipeline.redaction import without_secrets
from ferrule.runtime.pipeline.results.outcome import stopped_result
from ferrule.runtime.pipeline.rows import parked_row
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.pipeline.session import UNRESOLVED
from ferrule.runtime.pipeline.supervise import BY_ITSELF, stopped_by
from ferrule.runtime.pipeline.waiting import number_waiting, tell_waiting

OPENING: tuple[tuple[int, Opening], ...] = (
    (0, resolve_tool),
    (1, parse_schema),
    (2, check_schema_loaded),
    (3, validate_values),
    (4, prepare_observable_input),
    (5, pre_hooks),
    (6, permission),
    (7, schedule),
    (8, execute),
)
CLOSING: tuple[tuple[int, Closing], ...] = (
    (9, map_result),
    (10, post_hooks),
    (11, persist_result),
    (12, emit_terminal),
)
APPROVED = tuple(OPENING[number] for number in (0, 1, 6, 7, 8))
"""What an answered call goes through: everything that could have changed meanwhile, and nothing that ran already."""
RECEIVED = (OPENING[0], OPENING[7], OPENING[8])
"""What a call goes through whose tool waited for somebody."""
JUDGED_AGAIN = OPENING[6:]
"""What a call goes through whose approval lapsed while it waited for its turn."""
NEVER_RAN = CLOSING[2:]
FAILED = CLOSING[1:]

_STEPS = frozenset({Stop, Park, Replay, Detached, Again})
_BUSY = frozenset({0, 1, 8})
"""Phases that always have something to do. Another one that had nothing to wait for shares its time with the one before."""
_LAST = 12
_EXECUTE = 8
_NOTHING: tuple[tuple[int, Opening], ...] = ()
_log = logging.getLogger("ferrule.pipeline")


async def run_call(
    call: Call,
    services: Services,
    opening: tuple[tuple[int, Opening], ...] | None = None,
    closing: tuple[tuple[int, Closing], ...] | None = None,
) -> Result | Pending | Replay:
    """Carry one call to its terminal result, or park it until somebody answers.

    Phases that have nothing to do for this tool may be left out; whoever reads the record finds all thirteen in it.
    """
    opening = OPENING if opening is None else opening
    closing = CLOSING if closing is None else closing
    step: Step = None
    tick, origin, phases, at = call.tick, call.origin, call.phases, 0
    try:
        if call.live is not None and call.live.stage not in ("running", "closing"):
            step = _taken_up(call)
            opening = opening if step is None else _NOTHING
        for number, phase in opening:
            try:
                said = phase(call, services)
                if said is not None:
                    is_step = said.__class__ in _STEPS
                    if call.live is None and number != _EXECUTE and not is_step:
                        _in_sight(call, services)
                    step = cast(Step, said) if is_step else await cast(Awaitable[Step], said)
                    if call.live is not None and call.live.cancel is not None and number != _EXECUTE:
                        step = await _told_meanwhile(call, step)
                    phases = call.phases  # another list, if a row was written meanwhile
                    at = tick() - origin
                elif number in _BUSY:
                    at = tick() - origin
            except asyncio.CancelledError:
                is_ours = call.live is not None and call.live.absorbed()
                if not is_ours and _is_cancelled():
                    await _left(call, services)
                    raise
                step = stopped_by(call, call.live.cancel if is_ours else BY_ITSELF)
                phases, at = call.phases, tick() - origin
            except Exception as error:
                step = _crashed(call, number, error)
                phases, at = call.phases, tick() - origin
            phases.append(at << 4 | number)
            if step is not None:
                break
        if step is None:
            if services.breakers:
                services.breakers.ended(call.prepared.upstream, None, call.ticket)
            ended = close(call, services, closing)
            return ended if ended.__class__ is Result else await whole(ended)
        return await _otherwise(call, services, step)
    finally:
        if not call.is_detached:
            let_go(call, services)


def _in_sight(call: Call, services: Services) -> None:
    """A phase has to wait for something: from now on the call can be canceled."""
    live = services.live.add(call, services)
    live.task = asyncio.current_task()
    live.stage = "opening"


def _taken_up(call: Call) -> Step:
    """A call that was in flight before it began: it may have been canceled meanwhile."""
    live = call.live
    live.task = asyncio.current_task()
    live.stage = "opening"
    if live.cancel is None:
        return None
    call.prepared = call.session.prepared.get(call.tool_name) or call.session.find(call.tool_name)
    return stopped_by(call, live.cancel)


async def _told_meanwhile(call: Call, step: Step) -> Step:
    """Somebody asked that the call stops while a phase was busy with what cannot be interrupted: it goes no further."""
    try:
        await asyncio.sleep(0)  # where the cancellation that came with it arrives
    except asyncio.CancelledError:
        if not call.live.absorbed():
            raise
    return step if isinstance(step, Stop | Replay) else stopped_by(call, call.live.cancel)


def _is_cancelled() -> bool:
    """True when somebody cancelled the task of the call. Else something that a phase waited for was."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _leave(call: Call) -> None:
    if call.place is not None:
        call.place.lane.leave(call.place)
        call.place = None


def let_go(call: Call, services: Services) -> None:
    """Whatever became of the call, others get their turn."""
    if call.slipped is not None:
        call.slipped.slip_out()
        call.slipped = None
    if call.place is not None:
        _leave(call)
    if call.live is not None:
        services.live.remove(call.live)


async def _left(call: Call, services: Services) -> None:
    """Whoever waited for the call went away. If its tool still runs it goes on by itself; else it is closed as canceled."""
    live = call.live
    if live is not None and live.detached is not None:
        place_of(call)
        call.is_detached = True
        services.live.spawn(_carried_on(call, services, live.detached))
    else:
        await uncancelled(_canceled(call, services))


async def _carried_on(call: Call, services: Services, going_on: Awaitable[Step]) -> None:
    """What is left of a call whose caller did not wait for its tool."""
    try:
        try:
            step = await going_on
        except Exception as error:
            step = _crashed(call, _EXECUTE, error)
        call.phases.append((call.tick() - call.origin) << 4 | _EXECUTE)
        if step is None:
            services.breakers.ended(call.prepared.upstream, None, call.ticket)
            await whole(close(call, services, CLOSING))
        else:
            await _otherwise(call, services, step)
    finally:
        let_go(call, services)


async def _in_background(call: Call, services: Services, detached: Detached) -> Pending:
    """Tell the caller that its call goes on without it; whoever asks for the result later finds it in the ledger."""
    live = call.live
    call.phases.pop()  # it has not ended
    call.enter("yielded")
    call.enter("running")
    place_of(call)
    call.is_detached = True
    services.live.spawn(_carried_on(call, services, detached.going_on))
    if call.recorded is None:
        with suppress(LedgerError):  # it still runs, and its end is recorded; until then it is not seen from elsewhere
            await surface_call(live)
    message = without_secrets(call, services, detached.message)
    return Pending(invocation_id=call.invocation_id, state="running", message=message)


async def _otherwise(
    call: Call, services: Services, step: Stop | Park | Replay | Detached | Again
) -> Result | Pending | Replay:
    if isinstance(step, Replay):
        return step
    if isinstance(step, Again):
        _leave(call)
        return await run_call(call, services, JUDGED_AGAIN)
    if isinstance(step, Park) and call.surfacing is not None:
        await _surfaced(call)
    if isinstance(step, Park) and call.live is not None and call.live.cancel is not None:
        step = stopped_by(call, call.live.cancel)  # whatever it would wait for, nobody wants it any more
    if isinstance(step, Park):
        return await _park(call, services, step)
    if isinstance(step, Detached):
        return await _in_background(call, services, step)
    if call.has_run:
        kind = "canceled" if step.error_class == "timeout" and call.is_hurried else step.error_class
        services.breakers.ended(call.prepared.upstream, kind, call.ticket, retry_after=step.retry_after)
    return await stop_call(call, services, step)


async def _surfaced(call: Call) -> None:
    """A row that says the call runs is on its way to the disk; the one that parks it comes after it, and knows of it. A
    cancellation that came meanwhile goes on its way, unless it was a request to stop the call."""
    while call.surfacing is not None:
        await uncancelled(asyncio.wait({call.surfacing}))
        try:
            await asyncio.sleep(0)  # where it arrives
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not call.live.absorbed() and task is not None:
                task.uncancel()
                task.cancel()


async def stop_call(call: Call, services: Services, stop: Stop) -> Result | Replay:
    """End a call that goes no further, with as full a record as one that succeeded (AT-104)."""
    call.stop = stop
    if stop.code == KEY_CONFLICT:
        call.key = None  # it belongs to another call, whose answer is none for this one
    closing = CLOSING
    if call.output is None:
        call.result = stopped_result(call, services)
        closing = FAILED if call.has_run else NEVER_RAN
    return await whole(close(call, services, closing))


async def whole(ended: Result | Replay | Awaitable[Result | Replay]) -> Result | Replay:
    """The end of a call, awaited where it has to be."""
    return ended if isinstance(ended, (Result, Replay)) else await ended


def close(
    call: Call, services: Services, closing: tuple[tuple[int, Closing], ...]
) -> Result | Replay | Awaitable[Result | Replay]:
    """Run the closing phases; as long as none of them has to wait, nothing is awaited."""
    if call.live is not None:
        call.live.close()
    for place, (number, phase) in enumerate(closing):
        try:
            waiting = phase(call, services)
        except Exception as error:
            waiting = None
            _mend(call, services, number, error)
        if waiting is not None:
            return close_waiting(call, services, closing[place:], waiting)
        if number != _LAST:
            call.phases.append((call.tick() - call.origin) << 4 | number)
    return _ended(call)


async def close_waiting(
    call: Call, services: Services, closing: tuple[tuple[int, Closing], ...], waiting: Awaitable[None]
) -> Result | Replay:
    """Wait for a closing phase, then run the rest. A cancellation goes on its way when the call has ended."""
    cancelled: asyncio.CancelledError | None = None
    number = closing[0][0]
    try:
        await waiting
    except asyncio.CancelledError as error:
        cancelled = error
    except Exception as error:
        _mend(call, services, number, error)
    if number != _LAST:
        call.phases.append((call.tick() - call.origin) << 4 | number)
    ended = await whole(close(call, services, closing[1:]))
    if cancelled is not None:
        raise cancelled
    return ended


def _ended(call: Call) -> Result | Replay:
    if call.notes and call.notes.get("committed", "written") != "written":
        return Replay(call.notes["holder"] or call.invocation_id)
    assert call.result is not None
    return call.result


async def _park(call: Call, services: Services, park: Park) -> Result | Pending | Replay:
    """Save the call where it stands and let go of it."""
    if call.live is not None:
        call.live.hush()  # whoever goes on with it counts on
        call.live.note_refs()
    recorded = call.recorded
    is_input = park.waiting is not None
    used_up = None if is_input else take(call)
    if used_up is not None:
        return await stop_call(call, services, used_up)
    if call.state != "awaiting_approval" or is_input:
        call.enter("needs_input" if is_input else "awaiting_approval")
    condition = Condition(
        states=frozenset({recorded.mark_state}) if recorded is not None else frozenset(),
        seq=recorded.seq if recorded is not None else None,
        key_is_free=call.key is not None and recorded is None,
    )
    number_waiting(call)
    try:
        committed = await services.store.commit(parked_row(call, services, park), condition)
    except LedgerError as error:
        message = f"the ledger cannot be written, so the call cannot wait for an approval: {error}"
        return await stop_call(call, services, Stop("dependency_unavailable", message, "ledger_unavailable"))
    match committed.outcome:
        case "written":
            services.parked(park.request)
            await tell_waiting(call, services, park.request, committed.seq)
            return Pending(
                invocation_id=call.invocation_id,
                state=call.state,
                message=f"{park.request.message}; answer it with 'ferrule approve {call.invocation_id}'"
                if not is_input
                else park.request.message,
                expires_at=park.request.expires_at,
                client_requests=park.waiting.client_requests if park.waiting is not None else {},
                channels=park.request.requirement.channels if not is_input else (),
                round=committed.seq,
            )
        case "key_conflict":
            return await stop_call(call, services, key_conflict(committed.holder))
        case _:
            return Replay(committed.holder or call.invocation_id)


async def _canceled(call: Call, services: Services) -> None:
    """Whoever waited for the call went away. It is closed like any other."""
    if call.prepared is UNRESOLVED:
        call.prepared = call.session.nowhere(call.tool_name)
    cancel = Cancel(reason="its caller stopped waiting")
    if call.live is not None and call.live.cancel is not None:
        cancel = call.live.cancel
    await stop_call(call, services, stopped_by(call, cancel))


def _crashed(call: Call, number: int, error: Exception) -> Stop:
    """A mistake of ours, as a stop. The caller learns where, the log learns what."""
    if call.prepared is UNRESOLVED:
        call.prepared = call.session.nowhere(call.tool_name)
    name = PHASES[number]
    before = RUNNING.set(call)  # so that the line has none of its secrets
    _log.error("call %s failed in phase %s", call.invocation_id, name, exc_info=error)
    RUNNING.reset(before)
    kind = type(error).__name__
    message = (
        f"Ferrule itself failed in phase {name} ({kind}); this is a mistake in Ferrule, and the log has the details"
    )
    return Stop("execution_failed", message, "internal_error")


def _mend(call: Call, services: Services, number: int, error: Exception) -> None:
    """A closing phase failed: the call still ends, once, and says what was lost."""
    stop = _crashed(call, number, error)
    if PHASES[number] == "map_result":
        stop = Stop("execution_failed", stop.message, "result_mapping_failed")
    call.stop = call.stop or stop
    call.is_plain_result = False
    call.result = stopped_result(call, services)
    if PHASES[number] == "persist_result":  # nobody looked it through, so that nothing of it is told
        call.options, call.mutations, call.new_mutations = NO_OPTIONS, (), 0
        call.hook_context, call.hook_stop, call.stop = (), None, stop
        call.result = stopped_result(call, services)
