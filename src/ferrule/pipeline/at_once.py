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
from ferrule.pipeline.phases.post_hooks import post_hooks
from ferrule.pipeline.phases.pre_hooks import pre_hooks
from ferrule.pipeline.rows import plain_row
from ferrule.pipeline.run import CLOSING, OPENING, let_go, run_call
from ferrule.pipeline.services import Services
from ferrule.pipeline.session import Prepared

_PARSED, _LOADED, _EXECUTED = (PHASES.index(name) for name in ("parse_schema", "check_schema_loaded", "execute"))
_MAPPED, _PERSISTED, _TOLD = (PHASES.index(name) for name in ("map_result", "persist_result", "emit_terminal"))
_HOOKED, _HOOKED_AFTER = PHASES.index("pre_hooks"), PHASES.index("post_hooks")
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
    closing = CLOSING if prepared.is_hooked else _CLOSING
    found = tick() - origin
    try:
        parsed = arguments.parse(call.model_input)
    except Exception:  # a mistake of ours: the runner meets it again and knows what to say
        parsed = None
    if parsed.__class__ is not Parsed or parsed.changes:
        return (
            run_call(call, services, _OPENING, closing) if not prepared.is_hooked else _placed(call, services, OPENING)
        )
    call.arguments = parsed.arguments
    at = tick() - origin
    call.states = [0, found << 5 | _SELECTED, at << 5 | _READY]
    phases = call.phases = [found << 4, at << 4 | _PARSED, at << 4 | _LOADED]
    if prepared.is_hooked:
        call.state = "arguments_ready"
        phases += [at << 4 | number for number in range(_LOADED + 1, _HOOKED)]
        asked = pre_hooks(call, services)
        if asked is not None or call.live is not None or call.call_input is not None or call.hook_permission:
            return _placed(call, services, ((_HOOKED, lambda call, services: asked), *OPENING[_HOOKED + 1 :]))
        at = tick() - origin
        phases.append(at << 4 | _HOOKED)
    call.states.append(at << 5 | _RUNNING)
    call.state = "running"
    try:
        said = execute(call, services)
    except BaseException as error:
        return run_call(call, services, ((_EXECUTED, _raising(error)),), closing)
    if said is not None or call.live is not None or call.place is not None:
        phases += [at << 4 | number for number in range((phases[-1] & 15) + 1, _EXECUTED)]
        return run_call(call, services, ((_EXECUTED, lambda call, services: said),), closing)
    phases.append((tick() - origin) << 4 | _EXECUTED)
    waiting = None
    try:
        map_result(call, services)
        phases.append((tick() - origin) << 4 | _MAPPED)
        closing = closing[1:]
        if prepared.is_hooked:
            waiting = post_hooks(call, services)
            if waiting is None:
                phases.append((tick() - origin) << 4 | _HOOKED_AFTER)
        if waiting is None:
            closing = _CLOSING[1:]
            waiting = persist_result(call, services)
    except Exception:
        return run_call(call, services, (), closing)
    result = call.result
    if waiting is not None or result is None or not call.is_plain_result or call.output.context_modifiers or call.notes:
        return run_call(call, services, (), ((closing[0][0], lambda call, services: waiting), *closing[1:]))
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


def _placed(
    call: Call, services: Services, opening: tuple[tuple[int, Opening], ...]
) -> Awaitable[Result | Pending | Replay]:
    """Go on like any other call: a place is looked for when it is time to."""
    call.slipped.slip_out()
    call.slipped = None
    return run_call(call, services, opening)


def _raising(error: BaseException) -> Opening:
    """A phase that fails as it did before."""

    def phase(call: Call, services: Services) -> Step:
        raise error

    return phase
