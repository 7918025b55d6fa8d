"""The driver: runs a call through its phases, the one path of every call.

A phase is a plain function that returns nothing (go on), a step, or something to await. `drive` runs the phases as
plain calls and becomes a coroutine (`_drive_on`) at the first one that has to wait; the closing phases then record
every ending. Every failure, bugs of ours included, ends as exactly one terminal result (AT-105). The app's surfaces,
batches and resumed calls use it; phases never call one another, nor the driver.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Coroutine, Iterable
from contextlib import suppress
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from ferrule.contracts.store import CommitCondition
from ferrule.errors import LedgerError
from ferrule.infra.tasks import finish_uncancelled, is_from_outside, own_task, resolve
from ferrule.model.failure import Stop
from ferrule.model.lifecycle import PHASES
from ferrule.model.result import Pending, Result
from ferrule.runtime.pipeline.admission import KEY_CONFLICT, build_key_conflict, count_call
from ferrule.runtime.pipeline.call import (
    NO_OPTIONS,
    RUNNING,
    Call,
    Closing,
    Detached,
    DuplicateCall,
    Opening,
    Park,
    Rejudge,
    Step,
    place_of,
)
from ferrule.runtime.pipeline.live import Cancel, LiveCall
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
from ferrule.runtime.pipeline.prepared import UNRESOLVED
from ferrule.runtime.pipeline.pulse import surface_call
from ferrule.runtime.pipeline.redaction import redact_secrets
from ferrule.runtime.pipeline.results.outcome import build_stopped_result
from ferrule.runtime.pipeline.rows import build_parked_row
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.pipeline.supervise import BY_ITSELF, build_cancel_stop
from ferrule.runtime.pipeline.waiting import number_waiting_progress, record_waiting

OPENING: tuple[Opening, ...] = (
    resolve_tool,
    parse_schema,
    check_schema_loaded,
    validate_values,
    prepare_observable_input,
    pre_hooks,
    permission,
    schedule,
    execute,
)
CLOSING: tuple[Closing, ...] = (map_result, post_hooks, persist_result, emit_terminal)
_EXECUTE, _MAP_RESULT, _LAST = (PHASES.index(name) for name in ("execute", "map_result", "emit_terminal"))
_BUSY = frozenset({PHASES.index("resolve_tool"), PHASES.index("parse_schema"), _EXECUTE})
"""Phases that always have something to do."""


class PhasePlan(NamedTuple):
    """The phases that a call goes through, in order, each with its number."""

    opening: tuple[tuple[int, Opening, bool], ...]
    """The flag says whether the end of the phase is noted. An idle phase leaves no time in a tool's plan; rows fill it in."""
    closing: tuple[tuple[int, Closing], ...]


def _build_plan(numbers: Iterable[int] = range(len(PHASES)), *, notes_all: bool = True) -> PhasePlan:
    """Builds the plan of some phases."""
    chosen = tuple(numbers)
    return PhasePlan(
        tuple((number, OPENING[number], notes_all or number in _BUSY) for number in chosen if number <= _EXECUTE),
        tuple((number, CLOSING[number - _MAP_RESULT]) for number in chosen if number >= _MAP_RESULT),
    )


ALL_PHASES = _build_plan()
"""Every phase: right for every call."""
AFTER_APPROVAL = _build_plan((0, 1, 6, 7, 8, 9, 10, 11, 12))
"""The plan of an answered call: repeats what may have changed meanwhile, and nothing that ran already."""
AFTER_REPLY = _build_plan((0, 7, 8, 9, 10, 11, 12))
"""The plan of a call whose tool waited for a reply."""
_FROM_PERMISSION = _build_plan(range(6, 13))
"""The plan of a call whose approval lapsed while it waited for its turn."""
# Without output there is nothing to map; only a tool that ran has post hooks, which hear of failures too.
_CLOSING_NEVER_RAN = ALL_PHASES.closing[2:]
_CLOSING_FAILED = ALL_PHASES.closing[1:]
_tool_plans: dict[int, PhasePlan] = {}
"""The plans of tools, by their idle phases."""

StepTaken: TypeAlias = Stop | Park | DuplicateCall | Detached | Rejudge
_STEPS = (Stop, Park, DuplicateCall, Detached, Rejudge)
Outcome: TypeAlias = Result | Pending | DuplicateCall
"""The outcome of a call: it has ended, is pending in the ledger, or duplicates another call."""
_log = logging.getLogger("ferrule.pipeline")


def drive(call: Call, services: Services, plan: PhasePlan | None = None) -> Outcome | Awaitable[Outcome]:
    """Runs one call to its terminal result, or parks it until somebody answers.

    Returns the outcome where no phase has to wait, else an awaitable of it, to be awaited in a task. Without a plan the
    call takes the phases that its tool needs, and all of them when it has options; its record has all thirteen.
    """
    if call.flight.live is not None and (stop := _begin_in_flight(call, call.flight.live)) is not None:
        return _take_step(call, services, stop)
    if plan is None:
        prepared = call.session.prepared.get(call.tool_name)
        if prepared is None or call.options is not NO_OPTIONS:
            plan = ALL_PHASES
        else:
            idle = prepared.route.idle
            plan = _tool_plans.get(idle) or _build_tool_plan(idle)
    return _advance(call, services, plan, plan.opening)


def _build_tool_plan(idle: int) -> PhasePlan:
    """Builds the plan of tools for which some phases are idle."""
    numbers = (number for number in range(len(PHASES)) if not idle >> number & 1)
    plan = _tool_plans[idle] = _build_plan(numbers, notes_all=False)
    return plan


def _advance(
    call: Call, services: Services, plan: PhasePlan, opening: tuple[tuple[int, Opening, bool], ...]
) -> Outcome | Awaitable[Outcome]:
    """Runs the given opening phases of a plan, then ends the call."""
    phases, tick, origin = call.phases, call.tick, call.origin
    for number, phase, is_noted in opening:
        try:
            step = phase(call, services)
        except BaseException as error:
            # A tool's first step runs in here: even its SystemExit may only end its call; Ctrl-C is raised again.
            step = _stop_for_crash(call, services, number, error)
        if step is not None:
            if not isinstance(step, _STEPS):
                return _drive_on(call, services, plan, number, step)
            # Time and phase in one number: thirteen phases fit in four bits, and a call makes no object for each.
            phases.append((tick() - origin) << 4 | number)
            return _take_step(call, services, step)
        if is_noted:
            phases.append((tick() - origin) << 4 | number)
    if services.breakers.failing:
        services.breakers.record_outcome(call.prepared.upstream, None, call.flight.ticket)
    return _close(call, services, plan.closing)


async def _drive_on(call: Call, services: Services, plan: PhasePlan, number: int, waiting: Awaitable[Step]) -> Outcome:
    """Awaits a phase, then goes on with the plan."""
    try:
        step = await _wait_for_phase(call, services, number, waiting)
        call.phases.append((call.tick() - call.origin) << 4 | number)
        if step is None:
            rest = () if number == _EXECUTE else tuple(each for each in plan.opening if each[0] > number)
            going = _advance(call, services, plan, rest)
        else:
            going = _take_step(call, services, step)
        return going if isinstance(going, Result | Pending | DuplicateCall) else await going
    finally:
        release_call(call, services)


async def _wait_for_phase(call: Call, services: Services, number: int, waiting: Awaitable[Step]) -> Step:
    """Awaits a phase. From here on the call can be canceled, from its own task and from elsewhere."""
    flight = call.flight
    live, is_executing = flight.live, number == _EXECUTE
    if live is None and not is_executing:
        # `execute` puts its call in flight by itself, and only when the tool does not answer in its first step.
        live = services.live.add(call, services)
    if live is not None and live.task is None:
        live.task = asyncio.current_task()
        live.is_stopped_early = live.cancel is not None
        if not is_executing:  # `execute` checks this itself: it has a tool to discard
            live.stage = "opening"
            if live.cancel is not None:
                _close_unawaited(waiting)
                return build_cancel_stop(call, live.cancel)
    try:
        step = await waiting
        if flight.live is not None and flight.live.cancel is not None and not is_executing:
            step = await _stop_meanwhile(call, flight.live, flight.live.cancel, step)
        return step
    except asyncio.CancelledError as error:
        if flight.live is not None and flight.live.absorb_cancel():
            return build_cancel_stop(call, flight.live.cancel or BY_ITSELF)
        if _is_cancelled():
            await _detach(call, services, number)
            raise
        # Only something the phase awaited was cancelled, not the call's own task: its caller gets a result.
        return _stop_for_crash(call, services, number, error)
    except BaseException as error:
        return _stop_for_crash(call, services, number, error)


def _close_unawaited(waiting: Awaitable[Step]) -> None:
    """Closes a coroutine that is not awaited any more."""
    if isinstance(waiting, Coroutine):
        waiting.close()


def _begin_in_flight(call: Call, live: LiveCall) -> Stop | None:
    """Begins a call that was in flight already; returns a stop when it was canceled meanwhile."""
    live.task = own_task()
    live.stage = "opening"
    if live.cancel is None:
        return None
    # `resolve_tool` does not run for this call, and the closing phases need a tool.
    call.prepared = call.session.prepared.get(call.tool_name) or call.session.find(call.tool_name)
    return build_cancel_stop(call, live.cancel)


async def _stop_meanwhile(call: Call, live: LiveCall, cancel: Cancel, step: Step) -> Step:
    """Stops a call that was canceled while a phase could not be interrupted."""
    try:
        await asyncio.sleep(0)  # lets the cancellation that came with it arrive
    except asyncio.CancelledError:
        if not live.absorb_cancel():
            raise
    return step if isinstance(step, Stop | DuplicateCall) else build_cancel_stop(call, cancel)


def _is_cancelled() -> bool:
    """Returns True when the call's own task was canceled, and not something that a phase awaited."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _leave_lane(call: Call) -> None:
    flight = call.flight
    if flight.place is not None:
        flight.place.lane.leave(flight.place)
        flight.place = None


def release_call(call: Call, services: Services) -> None:
    """Releases the call's turn and handle, whatever its outcome; a detached call keeps them. Idempotent."""
    flight = call.flight
    if flight.is_detached:
        return
    if flight.slipped is not None:
        flight.slipped.slip_out()
        flight.slipped = None
    if flight.place is not None:
        _leave_lane(call)
    if flight.live is not None:
        services.live.remove(flight.live)


async def _detach(call: Call, services: Services, number: int) -> None:
    """Detaches a call whose caller went away while its tool still runs; else closes it as canceled in this phase."""
    live = call.flight.live
    if live is not None and live.detached is not None:
        # A call that slipped in gets a place, so that it still counts in its lane while its tool runs on.
        place_of(call)
        call.flight.is_detached = True
        services.live.spawn(_finish_detached(call, services, live.detached))
    else:
        call.phases.append((call.tick() - call.origin) << 4 | number)
        await finish_uncancelled(_cancel(call, services))


async def _finish_detached(call: Call, services: Services, running: Awaitable[Step]) -> None:
    """Finishes a call whose caller did not wait for its tool."""
    try:
        try:
            step = await running
        except Exception as error:
            step = _stop_for_crash(call, services, _EXECUTE, error)
        call.phases.append((call.tick() - call.origin) << 4 | _EXECUTE)
        if step is None:
            services.breakers.record_outcome(call.prepared.upstream, None, call.flight.ticket)
            await resolve(_close(call, services, ALL_PHASES.closing))
        else:
            await resolve(_take_step(call, services, step))
    finally:
        call.flight.is_detached = False
        release_call(call, services)


async def _in_background(call: Call, services: Services, detached: Detached) -> Pending:
    """Returns a pending outcome to the caller, while the call goes on; its result will be in the ledger."""
    live = call.flight.live
    call.phases.pop()  # the phase has not ended
    call.enter("yielded")
    call.enter("running")
    place_of(call)
    call.flight.is_detached = True
    services.live.spawn(_finish_detached(call, services, detached.going_on))
    if call.recorded is None and live is not None:
        with suppress(LedgerError):  # it still runs and its end is recorded; only other processes cannot see it yet
            await surface_call(live)
    message = redact_secrets(call, services, detached.message)
    return Pending(invocation_id=call.invocation_id, state="running", message=message)


def _take_step(call: Call, services: Services, step: StepTaken) -> Outcome | Awaitable[Outcome]:
    """Follows the step with which a phase leaves the plan."""
    if isinstance(step, Stop):
        if call.ending.has_run:
            # A timeout shorter than the tool's own says nothing about the upstream: the breaker ignores it.
            kind = "canceled" if step.error_class == "timeout" and call.is_hurried else step.error_class
            services.breakers.record_outcome(
                call.prepared.upstream, kind, call.flight.ticket, retry_after=step.retry_after
            )
        return stop_call(call, services, step)
    if isinstance(step, DuplicateCall):
        release_call(call, services)
        return step
    if isinstance(step, Rejudge):
        # The lane comes first: the call may park now, or enter it again, and a place is entered only once.
        _leave_lane(call)
        return _advance(call, services, _FROM_PERMISSION, _FROM_PERMISSION.opening)
    return _park(call, services, step) if isinstance(step, Park) else _in_background(call, services, step)


async def _wait_for_surfacing(call: Call) -> None:
    """Waits for the row that says the call runs, which the parked row has to follow.

    A cancellation that arrives meanwhile is passed on, unless it was a request to stop the call.
    """
    flight = call.flight
    while flight.surfacing is not None:
        await finish_uncancelled(asyncio.wait({flight.surfacing}))
        try:
            await asyncio.sleep(0)  # lets the cancellation arrive
        except asyncio.CancelledError:
            task = asyncio.current_task()
            is_ours = flight.live is not None and flight.live.absorb_cancel()
            if not is_ours and task is not None:
                # The wait used the request up: `cancel` delivers it at the next one, `uncancel` keeps the count.
                task.uncancel()
                task.cancel()


def stop_call(call: Call, services: Services, stop: Stop) -> Result | DuplicateCall | Awaitable[Result | DuplicateCall]:
    """Ends a stopped call, with as full a record as one that succeeded (AT-104)."""
    ending = call.ending
    ending.stop = stop
    if stop.code == KEY_CONFLICT:
        call.key = None  # the key belongs to another call, whose answer is not for this one
    closing = ALL_PHASES.closing
    # Output that a failed tool gave takes every closing phase, like that of a success.
    if ending.output is None:
        ending.result = build_stopped_result(call, services)
        closing = _CLOSING_FAILED if ending.has_run else _CLOSING_NEVER_RAN
    return _close(call, services, closing)


def _close(
    call: Call, services: Services, closing: tuple[tuple[int, Closing], ...]
) -> Result | DuplicateCall | Awaitable[Result | DuplicateCall]:
    """Runs the closing phases and releases the call; awaits nothing as long as none of them has to wait."""
    if call.flight.live is not None:
        call.flight.live.close()
    for number, phase in closing:
        try:
            waiting = phase(call, services)
        except BaseException as error:
            waiting = None
            _recover_closing(call, services, number, error)
        if waiting is not None:
            rest = tuple(each for each in closing if each[0] > number)
            return _close_on(call, services, number, waiting, rest)
        # The last phase writes the row that holds these times, so its own would come too late.
        if number != _LAST:
            call.phases.append((call.tick() - call.origin) << 4 | number)
    release_call(call, services)
    if call.notes and call.notes.get("committed", "written") != "written":
        return DuplicateCall(call.notes["holder"] or call.invocation_id)
    return call.ending.result or call.ending.require_result()


async def _close_on(
    call: Call, services: Services, number: int, waiting: Awaitable[None], rest: tuple[tuple[int, Closing], ...]
) -> Result | DuplicateCall:
    """Awaits a closing phase, then runs the rest. A cancellation is passed on once the call has ended."""
    cancelled: asyncio.CancelledError | None = None
    try:
        try:
            await waiting
        except asyncio.CancelledError as error:
            cancelled = error
        except BaseException as error:
            _recover_closing(call, services, number, error)
        if number != _LAST:
            call.phases.append((call.tick() - call.origin) << 4 | number)
        ended: Result | DuplicateCall = await resolve(_close(call, services, rest))
    finally:
        release_call(call, services)
    if cancelled is not None:
        # Only now: a call whose caller went away has an ending on record like any other (AT-105).
        raise cancelled
    return ended


async def _park(call: Call, services: Services, park: Park) -> Outcome:
    """Parks the call in the ledger and releases it."""
    try:
        return await _save(call, services, park)
    finally:
        release_call(call, services)


async def _save(call: Call, services: Services, park: Park) -> Outcome:
    if call.flight.surfacing is not None:
        await _wait_for_surfacing(call)
    live = call.flight.live
    if live is not None and live.cancel is not None:  # canceled before it could wait
        return await resolve(_take_step(call, services, build_cancel_stop(call, live.cancel)))
    if live is not None:
        live.stop_listening()  # the process that resumes it continues the numbering
        live.note_refs()
    recorded = call.recorded
    is_input = park.waiting is not None
    # A tool that waits for input was counted when it began; nobody is asked about a call that could not run.
    used_up = None if is_input else count_call(call)
    if used_up is not None:
        return await resolve(stop_call(call, services, used_up))
    if call.state != "awaiting_approval" or is_input:
        call.enter("needs_input" if is_input else "awaiting_approval")
    condition = CommitCondition(
        states=frozenset({recorded.mark_state}) if recorded is not None else frozenset(),
        seq=recorded.seq if recorded is not None else None,
        key_is_free=call.key is not None and recorded is None,
    )
    number_waiting_progress(call)
    try:
        committed = await services.store.commit(build_parked_row(call, services, park), condition)
    except LedgerError as error:
        message = f"the ledger cannot be written, so the call cannot wait for an approval: {error}"
        return await resolve(stop_call(call, services, Stop("dependency_unavailable", message, "ledger_unavailable")))
    match committed.outcome:
        case "written":
            services.on_parked(park.request)
            await record_waiting(call, services, park.request, committed.seq)
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
            return await resolve(stop_call(call, services, build_key_conflict(committed.holder)))
        case _:
            return DuplicateCall(committed.holder or call.invocation_id)


async def _cancel(call: Call, services: Services) -> None:
    """Closes a call whose caller went away, with the same record as any other."""
    if call.prepared is UNRESOLVED:
        call.prepared = call.session.refuse_name(call.tool_name)
    cancel = Cancel(reason="its caller stopped waiting")
    if call.flight.live is not None and call.flight.live.cancel is not None:
        cancel = call.flight.live.cancel
    await resolve(stop_call(call, services, build_cancel_stop(call, cancel)))


def _stop_for_crash(call: Call, services: Services, number: int, error: BaseException) -> Stop:
    """Turns an exception of ours into a stop: the caller learns the phase, the log learns the exception.

    KeyboardInterrupt and the end of the process are raised again.
    """
    if isinstance(error, asyncio.CancelledError):
        return build_cancel_stop(call, BY_ITSELF)
    if is_from_outside(error):
        release_call(call, services)
        raise error
    if call.prepared is UNRESOLVED:
        call.prepared = call.session.refuse_name(call.tool_name)
    name = PHASES[number]
    before = RUNNING.set(call)  # lets the log filter redact this call's secrets
    _log.error("call %s failed in phase %s", call.invocation_id, name, exc_info=error)
    RUNNING.reset(before)
    kind = type(error).__name__
    message = (
        f"Ferrule itself failed in phase {name} ({kind}); this is a mistake in Ferrule, and the log has the details"
    )
    return Stop("execution_failed", message, "internal_error")


def _recover_closing(call: Call, services: Services, number: int, error: BaseException) -> None:
    """Ends a call whose closing phase failed, once, with a result that says what was lost."""
    ending = call.ending
    stop = _stop_for_crash(call, services, number, error)
    if PHASES[number] == "map_result":
        stop = Stop("execution_failed", stop.message, "result_mapping_failed")
    ending.stop = ending.stop or stop
    ending.is_plain_result = False
    ending.result = build_stopped_result(call, services)
    if PHASES[number] == "persist_result":  # the result was not redacted, so nothing of it may be shown
        call.options, call.inputs.mutations, call.inputs.new_mutations = NO_OPTIONS, (), 0
        call.judgement = replace(call.judgement, hook_context=(), hook_stop=None)
        ending.stop = stop
        ending.result = build_stopped_result(call, services)
