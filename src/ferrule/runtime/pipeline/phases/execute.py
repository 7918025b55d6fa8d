"""Phase 9: runs the tool, under its deadline, with one context object and its own copy of the arguments.

The one place that catches what executors raise. A tool that answers at once costs no await; one that only reads, has
no deadline and no context, and stops on request, is awaited in place; everything else runs in a task of its own
(`supervise.py`), so that it can be canceled while its outcome is awaited, and can release its caller. A tool that
must wait for somebody parks the call; once the answer is there, the call enters here again, at the receiving half.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from inspect import isawaitable
from types import CoroutineType, NoneType
from typing import Any, cast

from ferrule.contracts.executor import Context, ExecutionFailed, Output, Resumable, Run
from ferrule.infra.tasks import drop_own_cancels, own_task, resolve, rest_of
from ferrule.model.failure import Stop
from ferrule.model.retry import NO_RETRIES
from ferrule.runtime.pipeline.attempts import await_with_retries, retry_failed
from ferrule.runtime.pipeline.call import NO_OPTIONS, NO_STATE, RUNNING, Call, Detached, Park
from ferrule.runtime.pipeline.live import Cancel, LiveCall
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.pipeline.supervise import (
    build_cancel_stop,
    build_failure_stop,
    collect_output,
    discard_unstarted,
    record_late_output,
    supervise_tool,
    take_output,
)

_BARE = frozenset({bool, int, float, str, list, dict, tuple, NoneType})
"""The types most tools return: a value, nothing to await."""


def execute(call: Call, services: Services) -> Stop | Park | Awaitable[Stop | Park | Detached | None] | None:
    """Adds the native output. Stops with the executor's error class, `timeout` or `canceled`."""
    prepared, inputs, flight = call.prepared, call.inputs, call.flight
    route = prepared.route
    if services.breakers.failing:
        ticket = services.breakers.admit(prepared.upstream)
        if isinstance(ticket, Stop):
            return ticket
        flight.ticket = ticket
    if call.state != "running":
        call.enter("running")
    run = prepared.run
    # An approved call resumes here without `validate_values`; its executor may be gone since it was parked.
    if run is None:
        return prepared.unready
    # Before the tool is called: whatever happens from here on, it may have acted.
    call.ending.has_run = True
    context = _build_context(call, services) if route.wants_context else NO_CONTEXT
    recorded = call.recorded
    if recorded is not None and recorded.waiting:
        state = b"" if recorded.waiting == NO_STATE else recorded.waiting
        going_on = cast(Resumable, run).resume(state, recorded.received, context)
        return supervise_tool(call, services, _enter_flight(call, services, context), going_on)
    if prepared.retry is not NO_RETRIES:
        services.budgets.of(prepared.tool_id).earn()
    try:
        is_plain = prepared.mask is None and context is NO_CONTEXT
        output = (
            run(inputs.arguments or inputs.require_arguments(), context)
            if is_plain
            else _run_as_current(call, run, context)
        )
    except ExecutionFailed as failed:
        if prepared.retry is NO_RETRIES:
            return build_failure_stop(call, failed)
        return supervise_tool(
            call, services, _enter_flight(call, services, context), retry_failed(call, services, context, failed)
        )
    kind = type(output)
    if kind in _BARE:
        call.ending.is_bare, call.ending.output = True, Output(output)
        return None
    if kind is CoroutineType or (kind is not Output and isawaitable(output)):
        in_place = route.in_place
        if in_place == "from_first_step" and flight.deadline is None and kind is CoroutineType:
            task = own_task()
            if task is None:
                return _run_first_step_in_task(call, services, context, output)
            return _run_first_step(call, services, context, output, task)
        live = _enter_flight(call, services, context)
        if in_place == "always" or (in_place != "never" and flight.deadline is None):
            return _await_in_place(call, services, live, rest_of(output) if kind is CoroutineType else output)
        running = output if prepared.retry is NO_RETRIES else await_with_retries(call, services, context, output)
        return supervise_tool(call, services, live, running, output)
    if kind is Output and output.stream is not None:
        return supervise_tool(call, services, _enter_flight(call, services, context), _wrap_output(output))
    return take_output(call, services, output)


def _run_first_step(
    call: Call, services: Services, context: Context, running: CoroutineType[Any, Any, Any], task: asyncio.Task[Any]
) -> Stop | Park | Awaitable[Stop | Park | Detached | None] | None:
    """Runs the first step of a tool that only reads, in its call's task: one that answers then is never in flight."""
    live = None if call.flight.live is None else _enter_flight(call, services, context)
    cancels, before = task.cancelling(), RUNNING.set(call)
    step: Stop | Park | Awaitable[Stop | Park | Detached | None] | None
    try:
        waited = running.send(None)
    except StopIteration as ended:
        output = ended.value
        if type(output) in _BARE:
            call.ending.is_bare, call.ending.output = True, Output(output)
            step = None
        elif type(output) is Output and output.stream is not None:
            step = _await_in_place(call, services, live or _enter_flight(call, services, context), _wrap_output(output))
        else:
            step = take_output(call, services, output)
    except ExecutionFailed as failed:
        step = build_failure_stop(call, failed)
    else:
        rest = rest_of(running, waited, task.cancelling() - cancels)
        return _await_in_place(call, services, live or _enter_flight(call, services, context), rest)
    finally:
        RUNNING.reset(before)
    if task.cancelling() != cancels:
        # Only the tool's code ran in this step, so the request is its own, and not for whoever awaits the call.
        return _finish_after_cancel(call, task.cancelling() - cancels, step)
    return step


async def _finish_after_cancel(
    call: Call, count: int, step: Stop | Park | Awaitable[Stop | Park | Detached | None] | None
) -> Stop | Park | Detached | None:
    """Continues after a tool that canceled its own task, or its call, and answered all the same."""
    live = call.flight.live
    if live is not None and live.absorb_cancel():
        count -= 1
    await drop_own_cancels(count)
    return await resolve(step)


async def _run_first_step_in_task(
    call: Call, services: Services, context: Context, running: CoroutineType[Any, Any, Any]
) -> Stop | Park | Detached | None:
    """Runs the first step of a call that had no task yet: a tool may need one from its first step on."""
    if call.flight.live is not None and call.flight.live.is_stopped_early:
        return discard_unstarted(call, call.flight.live, running)
    task = asyncio.current_task()
    assert task is not None
    return await resolve(_run_first_step(call, services, context, running, task))


def _run_as_current(call: Call, run: Run, context: Context) -> Any:
    """Runs a tool that may have secrets as the current call, so that its log lines are redacted."""
    before = RUNNING.set(call)
    try:
        return run(call.inputs.require_arguments(), context)
    finally:
        RUNNING.reset(before)


async def _await_in_place(
    call: Call, services: Services, live: LiveCall, running: Awaitable[Any]
) -> Stop | Park | Detached | None:
    """Awaits a tool that only reads, and keeps its own deadline, in the task of its call."""
    if live.is_stopped_early:
        return discard_unstarted(call, live, running)
    before = RUNNING.set(call)
    try:
        try:
            output = await running
        except ExecutionFailed as failed:
            output = await retry_failed(call, services, live.context or NO_CONTEXT, failed)
        if type(output) is Output and output.stream is not None:
            async with asyncio.timeout_at(call.flight.deadline):
                output = await collect_output(call, services, _wrap_output(output))
    except TimeoutError:
        return build_cancel_stop(call, Cancel("timeout", "its output did not come in time"))
    except ExecutionFailed as failed:
        if live.cancel is not None and failed.error_class in ("canceled", "timeout"):
            return build_cancel_stop(call, live.cancel)
        if failed.error_class == "timeout":
            call.notes = {**call.notes, "abort_reason": "timeout"}
        return build_failure_stop(call, failed)
    finally:
        RUNNING.reset(before)
    # The turn that made the call was thrown away: its output is recorded and delivered to nobody (AT-177).
    if live.cancel is not None and live.cancel.abort_reason == "fallback":
        record_late_output(live, output)
        return build_cancel_stop(call, live.cancel)
    return take_output(call, services, output)  # also after a cancel request: it answered all the same


async def _wrap_output(output: Output) -> Output:
    return output


def _enter_flight(call: Call, services: Services, context: Context) -> LiveCall:
    """Puts the call in flight, as running."""
    live = call.flight.live
    if live is None:
        live = services.live.add(call, services)
        live.task = own_task()
    live.stage = "running"
    live.support = call.prepared.support
    live.context = context if context is not NO_CONTEXT else None
    taken_in: LiveCall = live
    return taken_in


NO_CONTEXT = Context("", "", None, "")
"""The shared context of runners that declare that they never read theirs."""


def _build_context(call: Call, services: Services) -> Context:
    flight = call.flight
    request, options = call.session.surface.request, call.options
    context = Context(call.invocation_id, request.principal, request.agent, request.tenant, call.session.handle)
    context.values = call.session.values
    context.run_id, context.is_confined = request.run_id, call.session.surface.is_confined
    context.wire = flight.live if flight.live is not None else services.live.add(call, services)
    if options is not NO_OPTIONS or flight.deadline is not None:
        context.deadline = flight.deadline
        context.idempotency_key = options.idempotency_key
        context.native_call_id = options.native_call_id
        context.client = options.client
        context.handed = context.credentials = options.handed
    return context
