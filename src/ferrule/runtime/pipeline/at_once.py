"""The short way: a call in whose way nothing stands goes through its phases in one go.

It is taken where preparing the tool has shown that the phases left out have nothing to do (`Prepared.is_express`). Whatever
is not as usual (arguments to mend, a tool that takes its time, a failure, a large result) is handed to the runner at the
phase where it came up; nobody can tell from the record which way a call took.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import Any

from ferrule.errors import LedgerError
from ferrule.model.failure import Stop
from ferrule.model.lifecycle import PHASES, STATES
from ferrule.model.result import Pending, Result
from ferrule.runtime.pipeline.arguments.validation import Parsed, Problem
from ferrule.runtime.pipeline.call import NO_OPTIONS, Call, Opening, Replay, Step
from ferrule.runtime.pipeline.phases.emit_terminal import untold
from ferrule.runtime.pipeline.phases.execute import execute
from ferrule.runtime.pipeline.phases.map_result import map_result
from ferrule.runtime.pipeline.phases.parse_schema import take_arguments
from ferrule.runtime.pipeline.phases.persist_result import persist_result
from ferrule.runtime.pipeline.phases.post_hooks import post_hooks
from ferrule.runtime.pipeline.phases.pre_hooks import pre_hooks
from ferrule.runtime.pipeline.phases.schedule import limit_time, schedule
from ferrule.runtime.pipeline.rows import plain_row
from ferrule.runtime.pipeline.run import CLOSING, OPENING, let_go, run_call
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.pipeline.session import Prepared

_PARSED, _LOADED, _HOOKED = (PHASES.index(name) for name in ("parse_schema", "check_schema_loaded", "pre_hooks"))
_TURN, _EXECUTED, _MAPPED = (PHASES.index(name) for name in ("schedule", "execute", "map_result"))
_HOOKED_AFTER, _PERSISTED, _TOLD = (PHASES.index(name) for name in ("post_hooks", "persist_result", "emit_terminal"))
_SELECTED, _READY, _RUNNING = (STATES.index(name) for name in ("selected", "arguments_ready", "running"))
_YIELDED, _SUCCEEDED = STATES.index("yielded"), STATES.index("succeeded")
_IDLE = ("validate_values", "pre_hooks", "permission", "schedule")
_OPENING = tuple(step for step in OPENING if PHASES[step[0]] not in _IDLE)
_CLOSING = (CLOSING[0], *CLOSING[2:])

Ended = Result | Awaitable[Result | Pending | Replay]


def at_once(call: Call, services: Services) -> Ended | None:
    """The result of a call; what to await for one that has more to it; None for one that has to take the whole way."""
    session = call.session
    prepared = session.prepared.get(call.tool_name)
    if (
        prepared is None
        or not prepared.is_express
        or call.options is not NO_OPTIONS
        or call.parent is not None
        or not services.records_behind
    ):
        return None
    lane = session.lane
    if not (lane.slip_in_alone() if prepared.is_alone else lane.slip_in()):
        return None
    call.slipped, call.prepared = lane, prepared
    ended: Ended | None = None
    try:
        at = _parsed(call, prepared)
        if not isinstance(at, int):
            if prepared.is_hooked:
                ended = _placed(call, services, _with(at, OPENING))
            else:
                limit_time(call)
                ended = run_call(call, services, _with(at, _OPENING), _CLOSING)
        elif prepared.is_hooked:
            ended = _hooked(call, services, prepared, at)
        else:
            ended = _ran(call, services, prepared, at)
        return ended
    finally:
        if ended is None or isinstance(ended, Result):
            let_go(call, services)


async def in_turn(call: Call, services: Services) -> Result | Pending | Replay:
    """Carry a call of a batch to its end, the short way if it can; it may have to wait for its turn."""
    prepared, live = call.session.prepared.get(call.tool_name), call.live
    if (
        prepared is None
        or not prepared.is_express
        or prepared.is_hooked
        or call.options is not NO_OPTIONS
        or call.parent is not None
        or not services.records_behind
        or live.cancel is not None
    ):
        return await run_call(call, services)
    live.task = asyncio.current_task()
    live.stage = "opening"
    call.prepared = prepared
    try:
        at = _parsed(call, prepared)
        if not isinstance(at, int):
            return await run_call(call, services, _with(at, OPENING))
        call.state = "arguments_ready"
        call.phases += [at << 4 | number for number in range(_LOADED + 1, _TURN)]
        try:
            said: Any = schedule(call, services)
            step = said if said is None or said.__class__ is Stop else await said
        except BaseException as error:
            return await run_call(call, services, ((_TURN, _raising(error)), OPENING[_EXECUTED]), _CLOSING)
        if step is not None or live.cancel is not None:
            return await run_call(call, services, ((_TURN, partial(_given, step)), OPENING[_EXECUTED]), _CLOSING)
        at = call.tick() - call.origin
        call.phases.append(at << 4 | _TURN)
        ended = _ran(call, services, prepared, at)
        return ended if isinstance(ended, Result) else await ended
    finally:
        if not call.is_detached:
            let_go(call, services)


def _parsed(call: Call, prepared: Prepared) -> int | Opening:
    """Take the arguments; gives when that was. Where there is something to mend or to complain about, what is left to do."""
    arguments = prepared.arguments
    assert arguments is not None
    found = call.tick() - call.origin
    try:
        parsed = arguments.parse(call.model_input)
    except Exception as error:
        return _raising(error)
    if parsed.__class__ is not Parsed or parsed.changes:
        return partial(_take, parsed)
    call.arguments = parsed.arguments
    at = call.tick() - call.origin
    call.states = [0, found << 5 | _SELECTED, at << 5 | _READY]
    call.phases = [found << 4, at << 4 | _PARSED, at << 4 | _LOADED]
    return at


def _hooked(call: Call, services: Services, prepared: Prepared, at: int) -> Ended:
    """Hear the hooks before the call. What they want to be different is for the runner."""
    call.state = "arguments_ready"
    call.phases += [at << 4 | number for number in range(_LOADED + 1, _HOOKED)]
    asked = pre_hooks(call, services)
    if asked is not None or call.live is not None or call.call_input is not None or call.hook_permission:
        return _placed(call, services, ((_HOOKED, _saying(asked)), *OPENING[_HOOKED + 1 :]))
    at = call.tick() - call.origin
    call.phases.append(at << 4 | _HOOKED)
    return _ran(call, services, prepared, at)


def _ran(call: Call, services: Services, prepared: Prepared, at: int) -> Ended:
    """Run the tool and close the call. Gives a result only when that is on record; else what has to be awaited for it."""
    tick, origin, phases = call.tick, call.origin, call.phases
    closing = CLOSING if prepared.is_hooked else _CLOSING
    call.states.append(at << 5 | _RUNNING)
    call.state = "running"
    limit_time(call)
    try:
        said = execute(call, services)
    except BaseException as error:
        return run_call(call, services, ((_EXECUTED, _raising(error)),), closing)
    if said is not None:
        phases += [at << 4 | number for number in range((phases[-1] & 15) + 1, _EXECUTED)]
        return run_call(call, services, ((_EXECUTED, _saying(said)),), closing)
    phases.append((tick() - origin) << 4 | _EXECUTED)
    if call.live is not None:
        call.live.close()
    waiting = None
    try:
        map_result(call, services)
        phases.append((tick() - origin) << 4 | _MAPPED)
        closing = closing[1:]
        if prepared.hooks and (call.hook_context or "post_tool_use" in prepared.hooks):
            waiting = post_hooks(call, services)
            if waiting is None:
                phases.append((tick() - origin) << 4 | _HOOKED_AFTER)
        if waiting is None:
            closing = _CLOSING[1:]
            waiting = persist_result(call, services)
    except Exception:
        return run_call(call, services, (), closing)
    result = call.result
    if (
        waiting is not None
        or result is None
        or not call.is_plain_result
        or call.recorded is not None
        or call.surfacing is not None
        or call.output.context_modifiers
    ):
        return run_call(call, services, (), ((closing[0][0], _saying(waiting)), *closing[1:]))
    if call.live is not None:
        call.live.hush()
    ended = tick() - origin
    phases += (ended << 4 | _PERSISTED, ended << 4 | _TOLD)
    if call.batch is not None:
        call.states.append(ended << 5 | _YIELDED)
    call.states.append(ended << 5 | _SUCCEEDED)
    call.state = "succeeded"
    try:
        services.store.record(plain_row(call, result))
    except LedgerError as error:
        untold(call, services, error)
        assert call.result is not None
        result = call.result
    if services.breakers:
        services.breakers.ended(prepared.upstream, None, call.ticket)
    return result


def _placed(
    call: Call, services: Services, opening: tuple[tuple[int, Opening], ...]
) -> Awaitable[Result | Pending | Replay]:
    """Go on like any other call: a place is looked for when it is time to."""
    call.slipped.slip_out()
    call.slipped = None
    return run_call(call, services, opening)


def _with(parsing: Opening, opening: tuple[tuple[int, Opening], ...]) -> tuple[tuple[int, Opening], ...]:
    """The phases, with something else to do about the arguments."""
    return tuple((number, parsing if number == _PARSED else phase) for number, phase in opening)


def _take(parsed: Parsed | Problem, call: Call, services: Services) -> Step:
    return take_arguments(call, parsed)


def _saying(said: Any) -> Any:
    """A phase that has done its work, and says what it said."""
    return lambda call, services: said


def _raising(error: BaseException) -> Opening:
    """A phase that fails as it did before."""

    def phase(call: Call, services: Services) -> Step:
        raise error

    return phase


async def _given(step: Step, call: Call, services: Services) -> Step:
    """Another phase that has done its work: the runner looks whether it was told to stop meanwhile."""
    return step
