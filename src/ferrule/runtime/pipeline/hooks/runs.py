"""Runs hooks in the order they were registered, each with a deadline, each leaving a record.

A hook that answers at once costs no task and no timer. One that has to be awaited runs in a task of its own, so that
a hook which ignores its cancellation cannot hold up the call for longer than its deadline. The phases call this
module; the kinds of hooks are in `runtime/hooks`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from inspect import isawaitable
from typing import NamedTuple, TypeAlias, TypeVar

from msgspec.structs import replace

from ferrule.contracts.hook import DEFAULT_TIMEOUT_SECONDS, Hook, HookEvent, HookFailed, HookInput, HookOutput
from ferrule.infra.tasks import is_from_outside, own_task, resolve
from ferrule.model.failure import Stop
from ferrule.model.journal import HookRun
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.hooks.answers import (
    NOTHING,
    build_hook_input,
    check_answer,
    find_tool_name,
    list_hook_outputs,
)
from ferrule.runtime.pipeline.hooks.effects import record_partial_failure, withhold_output
from ferrule.runtime.pipeline.redaction import redact_secrets
from ferrule.runtime.pipeline.results.outcome import attach_context
from ferrule.runtime.pipeline.services import Services

T = TypeVar("T")
_CANCEL_GRACE_SECONDS = 1.0
"""How long a canceled hook is waited for."""
_LATE_HOOKS: set[asyncio.Future[object]] = set()
"""Canceled hooks that still run; a reference here keeps their tasks from being collected."""

OnAnswer: TypeAlias = Callable[[Hook, HookOutput], Stop | None]
"""Applies the answer of one hook."""
OnFailure: TypeAlias = Callable[[Hook, str], Stop | None]
"""Handles the failure of one hook; the text says how it failed."""


class HookMoment(NamedTuple):
    """One point in a call where hooks run, and how their answers and failures are handled."""

    call: Call
    services: Services
    on_answer: OnAnswer
    on_failure: OnFailure
    about: JsonObject | None = None


def has_hooks_for(services: Services, event: HookEvent) -> bool:
    """Returns True when any hook is registered for an event, for any tool."""
    return event in services.hook_events


def find_hooks(call: Call, services: Services, event: HookEvent) -> Sequence[Hook]:
    """Returns the hooks to run for a call at an event, in order. Aliases of the tool make no difference."""
    if event not in services.hook_events:
        return ()
    if call.prepared.hooks is not None:
        return call.prepared.hooks.get(event, ())
    tool_id, name = call.prepared.tool_id, find_tool_name(call)
    found: list[Hook] = []
    for hook in services.hooks:
        if hook.event == event:
            try:
                if hook.matches(tool_id, name):
                    found.append(hook)
            except Exception as error:
                # Fail closed: a hook that cannot decide must not be skipped.
                found.append(_UndecidedHook(hook, error))
    return found


class _UndecidedHook:
    """Stand-in for a hook whose `matches` raised: running it fails."""

    def __init__(self, hook: Hook, error: Exception) -> None:
        self.hook_id, self.event, self._error = hook.hook_id, hook.event, error

    def matches(self, tool_id: str, tool_name: str) -> bool:
        return True

    def run(self, told: HookInput) -> HookOutput:
        raise self._error


def run_hooks(moment: HookMoment, hooks: Sequence[Hook]) -> Stop | Awaitable[Stop | None] | None:
    """Runs hooks one after the other until one stops the call. Awaits nothing as long as all of them answer at once."""
    call = moment.call
    for place, hook in enumerate(hooks):
        started = call.offset()
        try:
            said = hook.run(build_hook_input(call, moment.services, hook, moment.about))
        except BaseException as error:
            if is_from_outside(error) and not isinstance(error, asyncio.CancelledError):
                raise
            step = _apply_failure(moment, hook, started, _describe_error(error))
        else:
            if said is not None and said.__class__ is not HookOutput and isawaitable(said):
                return _run_rest(moment, hooks[place:], started, said)
            step = _apply_answer(moment, hook, started, said)
        if step is not None:
            return step
    return None


async def _run_rest(moment: HookMoment, hooks: Sequence[Hook], started: int, said: Awaitable[object]) -> Stop | None:
    """Awaits the answer of the first hook, then runs the remaining ones."""
    hook = hooks[0]
    answer = await _await_answer(said, hook)
    if isinstance(answer, _FailedAnswer):
        step = _apply_failure(moment, hook, started, answer.how)
    else:
        step = _apply_answer(moment, hook, started, answer)
    if step is not None:
        return step
    return await resolve(run_hooks(moment, hooks[1:]))


class _FailedAnswer(NamedTuple):
    """The failure of a hook, in place of its answer."""

    how: str


async def _await_answer(said: Awaitable[object], hook: Hook) -> object:
    """Returns a hook's answer, or how it failed; cancels a late hook. A cancellation of the caller is passed on."""
    seconds = getattr(hook, "timeout_seconds", None) or DEFAULT_TIMEOUT_SECONDS
    task = asyncio.ensure_future(_catch_failure(said))
    try:
        # Not `wait_for`, which would wait for a canceled hook to end, however long that takes.
        await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        await _cancel_late(task)
        raise
    if task.done():
        return _FailedAnswer("CancelledError") if task.cancelled() else task.result()
    await _cancel_late(task)
    return _FailedAnswer(f"it gave no answer within {seconds:g} s")


async def _catch_failure(said: Awaitable[object]) -> object:
    try:
        return await said
    except BaseException as error:
        # A task hands SystemExit to the event loop, which it would end; here it only fails the hook.
        if is_from_outside(error) and not isinstance(error, asyncio.CancelledError):
            raise
        return _FailedAnswer(_describe_error(error))


async def _cancel_late(task: asyncio.Future[object]) -> None:
    """Cancels a hook and waits briefly for it to end."""
    _LATE_HOOKS.add(task)
    task.add_done_callback(_LATE_HOOKS.discard)
    task.cancel()
    await asyncio.wait({task}, timeout=_CANCEL_GRACE_SECONDS)


def _describe_error(error: BaseException) -> str:
    """Describes a failure by its type; only the text of HookFailed is safe to repeat."""
    return str(error) if isinstance(error, HookFailed) else type(error).__name__


def _apply_answer(moment: HookMoment, hook: Hook, started: int, said: object) -> Stop | None:
    """Checks, records and applies a hook's answer."""
    call, services = moment.call, moment.services
    if said is None:
        _record_run(call, hook, started, ())
        return None
    try:
        output = check_answer(said, hook.event)
        for facts in output.progress:
            report_progress(call, services, hook.hook_id, facts)
        outputs = () if output is NOTHING else list_hook_outputs(call, services, output)
    except Exception as error:  # objects in an answer may raise when they are read
        return _apply_failure(moment, hook, started, _describe_error(error))
    _record_run(call, hook, started, outputs)
    if output.additional_context:
        origin = {"hook_id": hook.hook_id}
        blocks = redact_secrets(call, services, output.additional_context)
        context = call.judgement.hook_context + tuple({**block, "origin": origin} for block in blocks)
        call.judgement = replace(call.judgement, hook_context=context)
    return moment.on_answer(hook, output)


def _apply_failure(moment: HookMoment, hook: Hook, started: int, how: str) -> Stop | None:
    """Records the failure of a hook and lets the moment handle it."""
    how = redact_secrets(moment.call, moment.services, how)
    _record_run(moment.call, hook, started, ({"failed": how},))
    return moment.on_failure(hook, how)


def _record_run(call: Call, hook: Hook, started: int, outputs: tuple[JsonObject, ...]) -> None:
    matcher = getattr(hook, "matcher", None) or {}
    run = HookRun(hook.hook_id, hook.event, started, call.offset(), outputs, matcher)
    call.judgement = replace(call.judgement, hooks=(*call.judgement.hooks, run))


def report_progress(call: Call, services: Services, hook_id: str, facts: JsonObject) -> None:
    """Publishes progress that a hook reported, like any other of the call. Raises BadProgress."""
    live = call.flight.live
    if live is None:
        live = services.live.add(call, services)  # the driver removes it when the call ends or parks
        live.task = own_task()
        live.stage = "closing" if call.ending.has_run else "opening"
    live.progress({**facts, "hook_id": hook_id})


def build_hook_stop(call: Call, services: Services, hook: Hook, output: HookOutput) -> Stop | None:
    """Builds the stop of a hook that stops the call, and keeps its wording (AT-155); None when it does not."""
    if output.stop is None:
        return None
    reason, code = redact_secrets(call, services, (output.stop, output.stop_code))
    hook_stop = {"reason": reason, "hook_id": hook.hook_id, "continue": False}
    call.judgement = replace(call.judgement, hook_stop=hook_stop)
    did = "stopped the call"
    if call.ending.has_run:  # "stopped the call" would invite the reader to repeat an action that happened
        did = "withheld what the tool gave; the tool did its work"
    return Stop("hook_blocked", f"the hook {hook.hook_id!r} {did}: {reason}", code)


def block_call(hook: Hook, how: str) -> Stop:
    """Builds the stop for a hook that failed before anything ran: the call must not run (AT-158)."""
    message = f"the hook {hook.hook_id!r} failed ({how}), so the call may not run; its owner has to fix or remove it"
    return Stop("hook_blocked", message, "hook_failed", status="failed", recoverability="complete_setup")


async def run_persistence_hooks(call: Call, services: Services, persistence: JsonObject) -> Stop | None:
    """Runs the hooks of `result_persistence`; `persistence` is the record of the decision about the result's bytes.

    Returns a stop when a hook withholds the result: `call.ending.result` is then what may be shown, and its bytes must
    not be stored where the model can fetch them.
    """
    hooks = find_hooks(call, services, "result_persistence")
    if not hooks:
        return None
    taken = partial(_withhold_result, call, services)
    moment = HookMoment(call, services, taken, partial(record_partial_failure, call), {"persistence": persistence})
    stop = await resolve(run_hooks(moment, hooks))
    attach_context(call)
    return stop


def _withhold_result(call: Call, services: Services, hook: Hook, output: HookOutput) -> Stop | None:
    """Withholds the result when the hook stops the call."""
    stop = build_hook_stop(call, services, hook, output)
    return None if stop is None else withhold_output(call, stop)
