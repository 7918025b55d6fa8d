"""The short way: a call in whose way nothing stands goes through its phases in one go.

It is taken where preparing the tool has shown that the phases left out have nothing to do (`Prepared.is_express`). Whatever
is not as usual (arguments to mend, a tool that takes its time, a failure, a large result) is handed to the runner at the
phase where it came up; nobody can tell from the record which way a call took.
"""

from __future__ import annotations

from collections.abc import Awaitable

from ferrule.errors import LedgerError
from ferrule.model.lifecycle import PHASES, STATES
from ferrule.model.result import Pending, Result
from ferrule.pipeline.arguments import Parsed
from ferrule.pipeline.call import NO_OPTIONS, Call, Opening, Replay, Step
from ferrule.pipeline.phases.emit_terminal import untold
from ferrule.pipeline.phases.execute import execute
from ferrule.pipeline.phases.map_result import map_result
from ferrule.pipeline.phases.persist_result import persist_result
from ferrule.pipeline.rows import plain_row
from ferrule.pipeline.run import CLOSING, OPENING, let_go, run_call
from ferrule.pipeline.services import Services
from ferrule.pipeline.session import Prepared

_PARSED, _LOADED, _EXECUTED = (PHASES.index(name) for name in ("parse_schema", "check_schema_loaded", "execute"))
_MAPPED, _PERSISTED, _TOLD = (PHASES.index(name) for name in ("map_result", "persist_result", "emit_terminal"))
_SELECTED, _READY, _RUNNING, _SUCCEEDED = map(STATES.index, ("selected", "arguments_ready", "running", "succeeded"))
_OPENING = tuple(
    step for step in OPENING if PHASES[step[0]] not in ("validate_values", "pre_hooks", "permission", "schedule")
)
_CLOSING = (CLOSING[0], *CLOSING[2:])


def at_once(call: Call, services: Services) -> Result | Awaitable[Result | Pending | Replay] | None:
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
    try:
        return _carried(call, services, prepared)
    except BaseException:
        let_go(call, services)
        raise


def _carried(call: Call, services: Services, prepared: Prepared) -> Result | Awaitable[Result | Pending | Replay]:
    tick, origin, arguments = call.tick, call.origin, prepared.arguments
    assert arguments is not None
    found = tick() - origin
    try:
        parsed = arguments.parse(call.model_input)
    except Exception:  # a mistake of ours: the runner meets it again and knows what to say
        return run_call(call, services, _OPENING, _CLOSING)
    if parsed.__class__ is not Parsed or parsed.changes:
        return run_call(call, services, _OPENING, _CLOSING)
    call.arguments = parsed.arguments
    at = tick() - origin
    call.state = "running"
    call.states = [0, found << 5 | _SELECTED, at << 5 | _READY, at << 5 | _RUNNING]
    phases = call.phases = [found << 4, at << 4 | _PARSED, at << 4 | _LOADED]
    try:
        said = execute(call, services)
    except BaseException as error:
        return run_call(call, services, ((_EXECUTED, _raising(error)),), _CLOSING)
    if said is not None or call.live is not None or call.place is not None:
        return run_call(call, services, ((_EXECUTED, lambda call, services: said),), _CLOSING)
    phases.append((tick() - origin) << 4 | _EXECUTED)
    left = _CLOSING
    try:
        map_result(call, services)
        phases.append((tick() - origin) << 4 | _MAPPED)
        left = _CLOSING[1:]
        waiting = persist_result(call, services)
    except Exception:
        return run_call(call, services, (), left)
    result = call.result
    if waiting is not None or result is None or not call.is_plain_result or call.output.context_modifiers or call.notes:
        return run_call(call, services, (), ((_PERSISTED, lambda call, services: waiting), _CLOSING[-1]))
    ended = tick() - origin
    phases += (ended << 4 | _PERSISTED, ended << 4 | _TOLD)
    call.states.append(ended << 5 | _SUCCEEDED)
    call.state = "succeeded"
    try:
        services.store.record(plain_row(call, result))
    except LedgerError as error:
        untold(call, services, error)
        assert call.result is not None
        result = call.result
    call.slipped.slip_out()
    call.slipped = None
    if services.breakers:
        services.breakers.ended(prepared.tool_id, None, call.ticket)
    return result


def _raising(error: BaseException) -> Opening:
    """A phase that fails as it did before."""

    def phase(call: Call, services: Services) -> Step:
        raise error

    return phase
