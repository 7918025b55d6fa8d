"""Drives a call through its phases: the one path of every call, whoever makes it and whatever its tool is.

A phase is a plain function that returns nothing (go on), a step, or something to await. `drive` runs the phases as plain
calls and becomes a coroutine (`_drive_on`) at the first one that has to wait; the closing phases then record every ending.
Whatever goes wrong, a mistake of ours included, ends as exactly one terminal result (AT-105). Above stand the app's
surfaces, batches and resumed calls; phases never call one another, nor the driver.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from contextlib import suppress
from typing import NamedTuple, TypeAlias, TypeVar

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


class Plan(NamedTuple):
    """The phases that calls go through, in order."""

    opening: tuple[tuple[int, Opening], ...] = OPENING
    closing: tuple[tuple[int, Closing], ...] = CLOSING


WHOLE = Plan()
"""Every phase: right for every call."""
APPROVED = Plan(tuple(OPENING[number] for number in (0, 1, 6, 7, 8)))
"""For an answered call: everything that could have changed meanwhile, and nothing that ran already."""
RECEIVED = Plan((OPENING[0], OPENING[7], OPENING[8]))
"""For a call whose tool waited for somebody."""
_JUDGED_AGAIN = Plan(OPENING[6:])
"""For a call whose approval lapsed while it waited for its turn."""
_NEVER_RAN = CLOSING[2:]
_FAILED = CLOSING[1:]

_STEPS = (Stop, Park, Replay, Detached, Again)
_BUSY = frozenset({0, 1, 8})
"""Phases that always have something to do. Another one that had nothing to wait for shares its time with the one before."""
_LAST = 12
_EXECUTE = 8
T = TypeVar("T", bound=Result | Pending | Replay)
StepTaken: TypeAlias = Stop | Park | Replay | Detached | Again
_log = logging.getLogger("ferrule.pipeline")
_plans: dict[int, Plan] = {}

Outcome: TypeAlias = Result | Pending | Replay
"""What becomes of a call: it has ended, waits in the ledger, or is another one's duplicate."""


def drive(call: Call, services: Services, plan: Plan | None = None) -> Outcome | Awaitable[Outcome]:
    """Carries one call to its terminal result, or parks it until somebody answers.

    Returns the outcome where no phase has to wait, else what to await for it, in a task. Without a plan the call takes the
    phases that its tool needs; whoever reads the record finds all thirteen in it.
    """
    going: Outcome | Awaitable[Outcome] | None = None
    try:
        stop = None if call.live is None else _take_up(call)
        going = _advance(call, services, plan or _plan_for(call)) if stop is None else _take_step(call, services, stop)
        return going
    finally:
        if going is None or going.__class__ in _OUTCOMES:
            let_go(call, services)


_OUTCOMES = frozenset({Result, Pending, Replay})


def _plan_for(call: Call) -> Plan:
    """Finds the phases that a call's tool needs. A call that says more than its arguments goes through all of them."""
    prepared = call.session.prepared.get(call.tool_name)
    if prepared is None or call.options is not NO_OPTIONS:
        return WHOLE
    idle = prepared.route.idle
    plan = _plans.get(idle)
    if plan is None:
        opening = tuple(each for each in OPENING if not idle >> each[0] & 1)
        plan = _plans[idle] = Plan(opening, tuple(each for each in CLOSING if not idle >> each[0] & 1))
    return plan


def _advance(call: Call, services: Services, plan: Plan, place: int = 0, at: int = 0) -> Outcome | Awaitable[Outcome]:
    """Runs the opening phases from a place on, then ends the call. `at`: the offset of the phase before."""
    tick, origin = call.tick, call.origin
    opening = plan.opening if not place else plan.opening[place:]
    for number, phase in opening:
        try:
            step = phase(call, services)
        except (Exception, asyncio.CancelledError) as error:
            step = _crash(call, number, error)
        if step is None:
            if number in _BUSY:
                at = tick() - origin
            call.phases.append(at << 4 | number)
            continue
        if not isinstance(step, _STEPS):
            return _drive_on(call, services, plan, number, step)
        call.phases.append((tick() - origin) << 4 | number)
        return _take_step(call, services, step)
    if services.breakers:
        services.breakers.ended(call.prepared.upstream, None, call.ticket)
    return _close(call, services, plan.closing)


async def _drive_on(call: Call, services: Services, plan: Plan, number: int, waiting: Awaitable[Step]) -> Outcome:
    """Awaits what a phase waits for, then goes on with the plan as before."""
    try:
        step = await _wait_for_phase(call, services, number, waiting)
        at = call.tick() - call.origin
        call.phases.append(at << 4 | number)
        if step is None:
            place = next(place for place, each in enumerate(plan.opening, 1) if each[0] == number)
            going = _advance(call, services, plan, place, at)
        else:
            going = _take_step(call, services, step)
        return going if isinstance(going, Result | Pending | Replay) else await going
    finally:
        let_go(call, services)


async def _wait_for_phase(call: Call, services: Services, number: int, waiting: Awaitable[Step]) -> Step:
    """Awaits a phase. From here on the call can be canceled, from its own task and from elsewhere."""
    live, is_executing = call.live, number == _EXECUTE
    if live is None and not is_executing:
        live = services.live.add(call, services)
    if live is not None and live.task is None:
        live.task = asyncio.current_task()
        live.stage = live.stage if is_executing else "opening"
        if live.cancel is not None:  # it was told to stop before its task began
            _drop(waiting)
            return stopped_by(call, live.cancel)
    try:
        step = await waiting
        if call.live is not None and call.live.cancel is not None and not is_executing:
            step = await _stop_meanwhile(call, step)
        return step
    except asyncio.CancelledError as error:
        if call.live is not None and call.live.absorbed():
            return stopped_by(call, call.live.cancel)
        if _is_cancelled():
            await _leave_behind(call, services)
            raise
        return _crash(call, number, error)
    except Exception as error:
        return _crash(call, number, error)


def _drop(waiting: Awaitable[Step]) -> None:
    """Closes what nobody will await."""
    if isinstance(waiting, Coroutine):
        waiting.close()


def _take_up(call: Call) -> Stop | None:
    """Takes up a call that was in flight before it began: it may have been canceled meanwhile."""
    live = call.live
    live.task = asyncio.current_task()
    live.stage = "opening"
    if live.cancel is None:
        return None
    call.prepared = call.session.prepared.get(call.tool_name) or call.session.find(call.tool_name)
    return stopped_by(call, live.cancel)


async def _stop_meanwhile(call: Call, step: Step) -> Step:
    """Stops a call that somebody asked to stop while a phase was busy with what cannot be interrupted."""
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
    """Gives others their turn, whatever became of the call; one that goes on by itself keeps its own. Twice is once."""
    if call.is_detached:
        return
    if call.slipped is not None:
        call.slipped.slip_out()
        call.slipped = None
    if call.place is not None:
        _leave(call)
    if call.live is not None:
        services.live.remove(call.live)


async def _leave_behind(call: Call, services: Services) -> None:
    """Lets a call go on by itself whose caller went away, if its tool still runs; else closes it as canceled."""
    live = call.live
    if live is not None and live.detached is not None:
        place_of(call)
        call.is_detached = True
        services.live.spawn(_carry_on(call, services, live.detached))
    else:
        await uncancelled(_cancel(call, services))


async def _carry_on(call: Call, services: Services, running: Awaitable[Step]) -> None:
    """Does what is left of a call whose caller did not wait for its tool."""
    try:
        try:
            step = await running
        except Exception as error:
            step = _crash(call, _EXECUTE, error)
        call.phases.append((call.tick() - call.origin) << 4 | _EXECUTE)
        if step is None:
            services.breakers.ended(call.prepared.upstream, None, call.ticket)
            await finish(_close(call, services, CLOSING))
        else:
            await finish(_take_step(call, services, step))
    finally:
        call.is_detached = False
        let_go(call, services)


async def _in_background(call: Call, services: Services, detached: Detached) -> Pending:
    """Tell the caller that its call goes on without it; whoever asks for the result later finds it in the ledger."""
    live = call.live
    call.phases.pop()  # it has not ended
    call.enter("yielded")
    call.enter("running")
    place_of(call)
    call.is_detached = True
    services.live.spawn(_carry_on(call, services, detached.going_on))
    if call.recorded is None:
        with suppress(LedgerError):  # it still runs, and its end is recorded; until then it is not seen from elsewhere
            await surface_call(live)
    message = without_secrets(call, services, detached.message)
    return Pending(invocation_id=call.invocation_id, state="running", message=message)


def _take_step(call: Call, services: Services, step: StepTaken) -> Outcome | Awaitable[Outcome]:
    """Goes where a phase sends the call instead of on."""
    if isinstance(step, Stop):
        if call.has_run:
            kind = "canceled" if step.error_class == "timeout" and call.is_hurried else step.error_class
            services.breakers.ended(call.prepared.upstream, kind, call.ticket, retry_after=step.retry_after)
        return stop_call(call, services, step)
    if isinstance(step, Replay):
        return step
    if isinstance(step, Again):
        _leave(call)
        return _advance(call, services, _JUDGED_AGAIN)
    return _park(call, services, step) if isinstance(step, Park) else _in_background(call, services, step)


async def _wait_for_surfacing(call: Call) -> None:
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


def stop_call(call: Call, services: Services, stop: Stop) -> Result | Replay | Awaitable[Result | Replay]:
    """Ends a call that goes no further, with as full a record as one that succeeded (AT-104)."""
    call.stop = stop
    if stop.code == KEY_CONFLICT:
        call.key = None  # it belongs to another call, whose answer is none for this one
    closing = CLOSING
    if call.output is None:
        call.result = stopped_result(call, services)
        closing = _FAILED if call.has_run else _NEVER_RAN
    return _close(call, services, closing)


async def finish(outcome: T | Awaitable[T]) -> T:
    """Awaits an outcome where it has to be."""
    return outcome if isinstance(outcome, Result | Pending | Replay) else await outcome


def _close(
    call: Call, services: Services, closing: tuple[tuple[int, Closing], ...]
) -> Result | Replay | Awaitable[Result | Replay]:
    """Runs the closing phases; as long as none of them has to wait, nothing is awaited."""
    if call.live is not None:
        call.live.close()
    for place, (number, phase) in enumerate(closing):
        try:
            waiting = phase(call, services)
        except Exception as error:
            waiting = None
            _mend(call, services, number, error)
        if waiting is not None:
            return _close_on(call, services, closing[place:], waiting)
        if number != _LAST:
            call.phases.append((call.tick() - call.origin) << 4 | number)
    return _told(call)


async def _close_on(
    call: Call, services: Services, closing: tuple[tuple[int, Closing], ...], waiting: Awaitable[None]
) -> Result | Replay:
    """Awaits a closing phase, then runs the rest. A cancellation goes on its way when the call has ended."""
    cancelled: asyncio.CancelledError | None = None
    number = closing[0][0]
    try:
        try:
            await waiting
        except asyncio.CancelledError as error:
            cancelled = error
        except Exception as error:
            _mend(call, services, number, error)
        if number != _LAST:
            call.phases.append((call.tick() - call.origin) << 4 | number)
        ended = await finish(_close(call, services, closing[1:]))
    finally:
        let_go(call, services)
    if cancelled is not None:
        raise cancelled
    return ended


def _told(call: Call) -> Result | Replay:
    if call.notes and call.notes.get("committed", "written") != "written":
        return Replay(call.notes["holder"] or call.invocation_id)
    assert call.result is not None
    return call.result


async def _park(call: Call, services: Services, park: Park) -> Outcome:
    """Saves the call where it stands and lets go of it."""
    try:
        return await _save(call, services, park)
    finally:
        let_go(call, services)


async def _save(call: Call, services: Services, park: Park) -> Outcome:
    if call.surfacing is not None:
        await _wait_for_surfacing(call)
    live = call.live
    if live is not None and live.cancel is not None:  # whatever it would wait for, nobody wants it any more
        return await finish(_take_step(call, services, stopped_by(call, live.cancel)))
    if live is not None:
        live.hush()  # whoever goes on with it counts on
        live.note_refs()
    recorded = call.recorded
    is_input = park.waiting is not None
    used_up = None if is_input else take(call)
    if used_up is not None:
        return await finish(stop_call(call, services, used_up))
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
        return await finish(stop_call(call, services, Stop("dependency_unavailable", message, "ledger_unavailable")))
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
            return await finish(stop_call(call, services, key_conflict(committed.holder)))
        case _:
            return Replay(committed.holder or call.invocation_id)


async def _cancel(call: Call, services: Services) -> None:
    """Closes a call whose caller went away, like any other."""
    if call.prepared is UNRESOLVED:
        call.prepared = call.session.nowhere(call.tool_name)
    cancel = Cancel(reason="its caller stopped waiting")
    if call.live is not None and call.live.cancel is not None:
        cancel = call.live.cancel
    await finish(stop_call(call, services, stopped_by(call, cancel)))


def _crash(call: Call, number: int, error: BaseException) -> Stop:
    """Turns a mistake of ours into a stop. The caller learns where, the log learns what. A tool may also stop itself."""
    if isinstance(error, asyncio.CancelledError):
        return stopped_by(call, BY_ITSELF)
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
    stop = _crash(call, number, error)
    if PHASES[number] == "map_result":
        stop = Stop("execution_failed", stop.message, "result_mapping_failed")
    call.stop = call.stop or stop
    call.is_plain_result = False
    call.result = stopped_result(call, services)
    if PHASES[number] == "persist_result":  # nobody looked it through, so that nothing of it is told
        call.options, call.mutations, call.new_mutations = NO_OPTIONS, (), 0
        call.hook_context, call.hook_stop, call.stop = (), None, stop
        call.result = stopped_result(call, services)
