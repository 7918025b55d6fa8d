"""Runs hooks: in the order they were registered, each with a deadline, each leaving a record.

A hook that answers at once costs no task and no timer. One that has to be awaited runs in a task of its own, so that a
hook which does not let itself be cancelled cannot hold up the call for longer than its deadline. The phases call it; the
kinds of hooks are in `runtime/hooks`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from inspect import isawaitable
from typing import Any, NamedTuple, TypeAlias, TypeVar

from msgspec.structs import replace

from ferrule.contracts.hook import DEFAULT_TIMEOUT_SECONDS, Hook, HookEvent, HookFailed, HookInput, HookOutput
from ferrule.infra.tasks import is_from_outside, own_task, resolve
from ferrule.model.failure import Stop
from ferrule.model.journal import HookRun
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.hooks.answers import NOTHING, checked, name_of, noted, told
from ferrule.runtime.pipeline.hooks.effects import spoiled, withheld
from ferrule.runtime.pipeline.redaction import without_secrets
from ferrule.runtime.pipeline.results.outcome import attach_context
from ferrule.runtime.pipeline.services import Services

T = TypeVar("T")
"""What a hook may raise without ending more than its call. A cancellation of the caller is not raised by the hook."""
_LET_GO_SECONDS = 1.0
"""How long a hook that was told to stop is waited for."""
_LATE: set[asyncio.Future[Any]] = set()
"""Hooks that were told to stop and have not stopped yet; kept so that nothing forgets them."""

Taken: TypeAlias = Callable[[Hook, HookOutput], Stop | None]
"""What is done with an answer."""
Broken: TypeAlias = Callable[[Hook, str], Stop | None]
"""What is done about a hook that failed; the text says how."""


class Moment(NamedTuple):
    """One place in a call where hooks run."""

    call: Call
    services: Services
    taken: Taken
    broken: Broken
    about: dict[str, Any] | None = None


def wants(services: Services, event: HookEvent) -> bool:
    """True when some hook waits for an event, of whatever tool."""
    return event in services.hook_events


def chosen(call: Call, services: Services, event: HookEvent) -> Sequence[Hook]:
    """The hooks that want to see a call at an event, in order. By which name it was called makes no difference."""
    if event not in services.hook_events:
        return ()
    if call.prepared.hooks is not None:
        return call.prepared.hooks.get(event, ())
    tool_id, name = call.prepared.tool_id, name_of(call)
    found: list[Hook] = []
    for hook in services.hooks:
        if hook.event == event:
            try:
                if hook.matches(tool_id, name):
                    found.append(hook)
            except Exception as error:
                found.append(_Unsure(hook, error))
    return found


class _Unsure:
    """Stands for a hook that could not say whether it wants to see a call: it fails."""

    def __init__(self, hook: Hook, error: Exception) -> None:
        self.hook_id, self.event, self._error = hook.hook_id, hook.event, error

    def matches(self, tool_id: str, tool_name: str) -> bool:
        return True

    def run(self, told: HookInput) -> HookOutput:
        raise self._error


def run_hooks(moment: Moment, hooks: Sequence[Hook]) -> Stop | Awaitable[Stop | None] | None:
    """Run hooks one after the other until one stops the call. Nothing is awaited as long as all of them answer at once."""
    call = moment.call
    for place, hook in enumerate(hooks):
        started = call.offset()
        try:
            said = hook.run(told(call, moment.services, hook, moment.about))
        except BaseException as error:
            if is_from_outside(error) and not isinstance(error, asyncio.CancelledError):
                raise
            step = _failed(moment, hook, started, _told_of(error))
        else:
            if said is not None and said.__class__ is not HookOutput and isawaitable(said):
                return _awaited(moment, hooks[place:], started, said)
            step = _settled(moment, hook, started, said)
        if step is not None:
            return step
    return None


async def _awaited(moment: Moment, hooks: Sequence[Hook], started: int, said: Awaitable[Any]) -> Stop | None:
    hook = hooks[0]
    answer = await _within(said, hook)
    if isinstance(answer, _Broken):
        step = _failed(moment, hook, started, answer.how)
    else:
        step = _settled(moment, hook, started, answer)
    if step is not None:
        return step
    return await resolve(run_hooks(moment, hooks[1:]))


class _Broken(NamedTuple):
    how: str


async def _within(said: Awaitable[Any], hook: Hook) -> Any:
    """The answer of a hook, or how it failed. Late ones are told to stop. A cancellation of the caller goes on its way."""
    seconds = getattr(hook, "timeout_seconds", None) or DEFAULT_TIMEOUT_SECONDS
    task = asyncio.ensure_future(_caught(said))
    try:
        await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        await _let_go(task)
        raise
    if task.done():
        return _Broken("CancelledError") if task.cancelled() else task.result()
    await _let_go(task)
    return _Broken(f"it gave no answer within {seconds:g} s")


async def _caught(said: Awaitable[Any]) -> Any:
    try:
        return await said
    except BaseException as error:
        if is_from_outside(error) and not isinstance(error, asyncio.CancelledError):
            raise
        return _Broken(_told_of(error))


async def _let_go(task: asyncio.Future[Any]) -> None:
    _LATE.add(task)
    task.add_done_callback(_LATE.discard)
    task.cancel()
    await asyncio.wait({task}, timeout=_LET_GO_SECONDS)


def _told_of(error: BaseException) -> str:
    """What may be said about a failure: its kind. Only what was written to be told is told."""
    return str(error) if isinstance(error, HookFailed) else type(error).__name__


def _settled(moment: Moment, hook: Hook, started: int, said: Any) -> Stop | None:
    call, services = moment.call, moment.services
    if said is None:
        _note(call, hook, started, ())
        return None
    try:
        output = checked(said, hook.event)
        for facts in output.progress:
            hook_progress(call, services, hook.hook_id, facts)
        outputs = () if output is NOTHING else noted(call, services, output)
    except Exception as error:  # what is in an answer may misbehave when it is looked at
        return _failed(moment, hook, started, _told_of(error))
    _note(call, hook, started, outputs)
    if output.additional_context:
        origin = {"hook_id": hook.hook_id}
        blocks = without_secrets(call, services, output.additional_context)
        context = call.judgement.hook_context + tuple({**block, "origin": origin} for block in blocks)
        call.judgement = replace(call.judgement, hook_context=context)
    return moment.taken(hook, output)


def _failed(moment: Moment, hook: Hook, started: int, how: str) -> Stop | None:
    how = without_secrets(moment.call, moment.services, how)
    _note(moment.call, hook, started, ({"failed": how},))
    return moment.broken(hook, how)


def _note(call: Call, hook: Hook, started: int, outputs: tuple[dict[str, Any], ...]) -> None:
    matcher = getattr(hook, "matcher", None) or {}
    run = HookRun(hook.hook_id, hook.event, started, call.offset(), outputs, matcher)
    call.judgement = replace(call.judgement, hooks=(*call.judgement.hooks, run))


def hook_progress(call: Call, services: Services, hook_id: str, facts: dict[str, Any]) -> None:
    """Tell progress that a hook reported, like any other of the call. Raises BadProgress."""
    live = call.flight.live
    if live is None:
        live = services.live.add(call, services)  # the runner lets go of it when the call has ended or waits
        live.task = own_task()
        live.stage = "closing" if call.ending.has_run else "opening"
    live.progress({**facts, "hook_id": hook_id})


def stopped_by(call: Call, services: Services, hook: Hook, output: HookOutput) -> Stop | None:
    """The stop of a hook that says stop, kept as it said it (AT-155)."""
    if output.stop is None:
        return None
    reason, code = without_secrets(call, services, (output.stop, output.stop_code))
    hook_stop = {"reason": reason, "hook_id": hook.hook_id, "continue": False}
    call.judgement = replace(call.judgement, hook_stop=hook_stop)
    did = "stopped the call"
    if call.ending.has_run:  # whoever reads that it was stopped would make it once more
        did = "withheld what the tool gave; the tool did its work"
    return Stop("hook_blocked", f"the hook {hook.hook_id!r} {did}: {reason}", code)


def blocked(hook: Hook, how: str) -> Stop:
    """A hook that failed before anything ran: the call may not run (AT-158)."""
    message = f"the hook {hook.hook_id!r} failed ({how}), so the call may not run; its owner has to mend or remove it"
    return Stop("hook_blocked", message, "hook_failed", status="failed", recoverability="complete_setup")


async def persistence_hooks(call: Call, services: Services, persistence: dict[str, Any]) -> Stop | None:
    """Run the hooks of `result_persistence`; `persistence` is the record of the decision about the result's bytes.

    Gives a stop when a hook withholds the result: `call.ending.result` is then what may be told, and its bytes should not be
    stored where the model can fetch them.
    """
    hooks = chosen(call, services, "result_persistence")
    if not hooks:
        return None
    taken = partial(_kept_back, call, services)
    moment = Moment(call, services, taken, partial(spoiled, call), {"persistence": persistence})
    stop = await resolve(run_hooks(moment, hooks))
    attach_context(call)
    return stop


def _kept_back(call: Call, services: Services, hook: Hook, output: HookOutput) -> Stop | None:
    stop = stopped_by(call, services, hook, output)
    return None if stop is None else withheld(call, stop)
