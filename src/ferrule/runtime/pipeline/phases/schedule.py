"""Phase 8: waits for a turn, sets the deadline, and durably records every action before it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import msgspec

from ferrule.contracts.store import CommitCondition, Committed
from ferrule.errors import AccessError, LedgerUnavailable, OutcomeUnrecorded
from ferrule.infra.tasks import finish_uncancelled
from ferrule.model.failure import Stop
from ferrule.model.scheduling import Claim
from ferrule.model.surface import principal_key
from ferrule.runtime.pipeline.admission import build_key_conflict, build_limit_stop, count_call, list_shared_limits
from ferrule.runtime.pipeline.call import NO_OPTIONS, Call, DuplicateCall, Rejudge, place_of
from ferrule.runtime.pipeline.inputs import redact_input
from ferrule.runtime.pipeline.live import Cancel
from ferrule.runtime.pipeline.locks import build_claim
from ferrule.runtime.pipeline.rows import build_started_row
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.pipeline.supervise import build_cancel_stop
from ferrule.runtime.scheduler.scheduler import Deadlock, LanePlace, QueueFull, QueueLeft


def schedule(call: Call, services: Services) -> Stop | Awaitable[Stop | DuplicateCall | Rejudge | None] | None:
    """Adds a place in the lane and the deadline.

    Stops with `policy_blocked` when the run has used up its calls, with `rate_limited` when too many wait, `canceled`
    or
    `timeout` when its turn does not come; a duplicate is detected here.
    """
    lane, turn, options, flight = call.session.lane, call.prepared.route.turn, call.options, call.flight
    if (
        turn != "in_line"
        and options is NO_OPTIONS
        and flight.place is None
        and flight.parent is None
        and call.recorded is None
        and services.records_behind
        and (lane.slip_in() if turn == "beside" else lane.slip_in_alone())
    ):  # the quick path: it runs right now, without a place
        flight.slipped = lane
        if call.prepared.traits.timeout_seconds is not None:
            start_deadline(call)
        return None
    given = options.timeout_seconds
    if given is not None:
        spent = call.offset() / 1e9 if call.recorded is None else 0.0  # the time people took to answer does not count
        flight.deadline = asyncio.get_running_loop().time() + given - spent
    try:
        place = _enter_lane(call, services)
    except QueueFull as full:
        return Stop("rate_limited", str(full), "queue_full", retry_after=1.0)
    except Deadlock as locked:
        return Stop("execution_failed", str(locked), "deadlock")
    flight.place = place
    if place.state == "waiting":
        return _wait_turn(call, services, place)
    return _start(call, services)


def start_deadline(call: Call) -> None:
    """Starts the tool's own time limit: it counts from the call's turn, since waiting is not the tool's fault."""
    own, flight = call.prepared.traits.timeout_seconds, call.flight
    if own is not None:
        end = asyncio.get_running_loop().time() + own
        flight.deadline = end if flight.deadline is None else min(end, flight.deadline)


def _enter_lane(call: Call, services: Services) -> LanePlace:
    """Enters the lane of the caller's surface; a call made by a running tool enters that tool's own lane."""
    claim = call.prepared.claim
    if claim is None:
        claim = _work_out_claim(call, services)
    if call.options.priority:
        claim = msgspec.structs.replace(claim, priority=call.options.priority)
    parent = call.flight.parent
    return call.session.lane.enter(claim, call.flight.place, parent=None if parent is None else place_of(parent))


def _work_out_claim(call: Call, services: Services) -> Claim:
    """Works out the claim of this input and records it with the call (AT-159)."""
    prepared, policy = call.prepared, call.session.lane.policy
    arguments = msgspec.json.decode(call.inputs.current)
    facts, failures = services.call_facts(prepared.require_entry().tool, arguments, services.classifiers)
    claim = build_claim(
        prepared.tool_id,
        facts,
        prepared.locks,
        arguments,
        principal=principal_key(call.session.surface.request),
        requires_exclusive_context=prepared.is_exclusive,
    )
    noted = {"facts_unknown": failures} if failures else {}
    shown = None
    if claim.locks:  # their keys hold members of the input
        seen = msgspec.json.decode(redact_input(call.inputs.current, prepared.mask, services.redactor))
        shown = prepared.locks.list_keys(seen)
    call.notes = {**call.notes, **noted, "scheduler": claim.to_record(policy, shown_locks=shown)}
    return claim


async def _wait_turn(call: Call, services: Services, place: LanePlace) -> Stop | DuplicateCall | Rejudge | None:
    """Waits for the call's turn, no longer than its caller does."""
    flight = call.flight
    live = flight.live or services.live.add(call, services)
    if live.task is None:
        live.task = asyncio.current_task()
    if live.cancel is not None:
        return build_cancel_stop(call, live.cancel)
    live.stage = "queued"
    if call.state != "needs_input":
        call.enter("queued")
    since = call.offset()
    try:
        if flight.deadline is None:
            await place.wait_turn()
        else:
            async with asyncio.timeout_at(flight.deadline):
                await place.wait_turn()
    except QueueLeft:
        return build_cancel_stop(call, live.cancel or Cancel())
    except TimeoutError:
        return build_cancel_stop(call, Cancel("timeout", "its turn did not come in time"))
    live.stage = "opening"
    if flight.surfacing is not None:  # a row about its waiting is being written; the next one has to follow it
        await finish_uncancelled(asyncio.wait({flight.surfacing}))
    waited = round((call.offset() - since) / 1e6, 3)
    call.notes = {**call.notes, "scheduler": {**call.notes.get("scheduler", {}), "waited_ms": waited}}
    asked = call.recorded.request if call.recorded is not None else None
    if asked is not None and asked.purpose == "approval" and services.wall() >= asked.expires_at:
        return Rejudge()  # the approval has expired meanwhile (AT-141)
    # Asked again only after a wait, in which the key may have ended.
    step = _check_key(call, services) or _start(call, services)
    return await step if step is not None and not isinstance(step, Stop) else step


def _check_key(call: Call, services: Services) -> Stop | None:
    """Returns the stop of a call whose key has ended while it waited."""
    asked = call.recorded.request if call.recorded is not None else None
    channel = call.session.surface.request.channel if asked is None else asked.channel
    try:
        why = services.why_ended(channel, services.wall())
    except AccessError as error:
        why = f"it is not known whether the key that it came with still counts ({error})"
    return None if why is None else Stop("policy_blocked", f"{why}, so the call does not run", "key_ended")


def _start(call: Call, services: Services) -> Stop | Awaitable[Stop | DuplicateCall | None] | None:
    prepared = call.prepared
    start_deadline(call)
    if call.flight.deadline is not None and asyncio.get_running_loop().time() >= call.flight.deadline:
        return build_cancel_stop(call, Cancel("timeout", "its time was over before it could begin"))
    stop = count_call(call)
    if stop is not None:
        return stop
    is_going_on = call.recorded is not None and bool(call.recorded.waiting)
    # A tool that goes on after a reply was counted when it began.
    limits = () if is_going_on else list_shared_limits(call)
    # A read-only call needs no row before it runs, unless a key, a shared limit or the settings ask for one.
    is_behind = prepared.traits.is_read_only and services.records_behind and call.key is None
    if is_behind and call.recorded is None and not limits:
        return None
    return _record_start(call, services, limits)


async def _record_start(
    call: Call, services: Services, limits: tuple[tuple[str, int], ...]
) -> Stop | DuplicateCall | None:
    """Records durably that the call is about to run; a call that loses the race returns the winner."""
    # The row has to say `running` before the tool runs; without the row the state is taken back.
    before = (call.state, len(call.states))
    call.enter("running")
    entry = build_started_row(call, services, is_counted=bool(limits))
    recorded = call.recorded
    condition = CommitCondition(
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
    return _resolve_lost(call, committed)


def _resolve_lost(call: Call, committed: Committed) -> Stop | DuplicateCall:
    match committed.outcome:
        case "key_taken":
            return DuplicateCall(committed.holder)
        case "key_conflict":
            return build_key_conflict(committed.holder)
        case "limit_reached":
            return build_limit_stop(call, committed.limit)
        case "switched_off":  # after the call began
            return Stop("policy_blocked", f"the tool {call.prepared.tool_id!r} was disabled", "tool_disabled")
        case _:
            return DuplicateCall(call.invocation_id)
