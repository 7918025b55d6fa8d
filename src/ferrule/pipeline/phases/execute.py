"""Phase 9: run the tool, under its deadline, with one context object and its own copy of the arguments.

The one place that catches what executors raise. A tool that must wait for somebody parks the call; when the answer is
there, the call enters here again, at the receiving half.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from inspect import isawaitable
from types import CoroutineType
from typing import Any, cast

from ferrule.contracts.executor import Context, ExecutionFailed, Output, Resumable, Waiting
from ferrule.model.failure import Stop
from ferrule.pipeline.call import NO_OPTIONS, Call, Park
from ferrule.pipeline.services import Services
from ferrule.pipeline.waiting import waiting_request


def execute(call: Call, services: Services) -> Stop | Park | Awaitable[Stop | Park | None] | None:
    """Adds the native output. Stops with whatever class the executor gives, `timeout` or `canceled`."""
    if call.state != "running":
        call.enter("running")
    call.has_run = True
    run = call.prepared.run
    if run is None:
        return call.prepared.unready
    recorded = call.recorded
    context = _context(call) if call.prepared.wants_context else NO_CONTEXT
    if recorded is not None and recorded.waiting:
        going_on = cast(Resumable, run).resume(recorded.waiting, recorded.received, context)
        return _awaited(call, services, going_on, context)
    try:
        output = run(call.arguments, context)
    except ExecutionFailed as failed:
        return _failed(call, failed)
    if type(output) is CoroutineType or isawaitable(output):
        return _awaited(call, services, output, context)
    return _given(call, services, output)


async def _awaited(call: Call, services: Services, running: Awaitable[Any], context: Context) -> Stop | Park | None:
    try:
        if call.deadline is None:
            return _given(call, services, await running)
        async with asyncio.timeout_at(call.deadline):
            return _given(call, services, await running)
    except ExecutionFailed as failed:
        return _failed(call, failed)
    except asyncio.CancelledError:
        _abort(context)
        raise
    except TimeoutError:
        _abort(context)
        return Stop("timeout", f"tool {call.prepared.tool_id!r} did not finish in time; it was told to stop")


def _abort(context: Context) -> None:
    """Tell a tool that nobody waits any more; a function in a thread has no other way to learn it."""
    if context is not NO_CONTEXT:
        context.aborted = True


def _given(call: Call, services: Services, output: Any) -> Park | None:
    if type(output) is Waiting:
        return Park(waiting_request(call, services, output), output)
    call.output = output if type(output) is Output else Output(output)
    return None


def _failed(call: Call, failed: ExecutionFailed) -> Stop:
    call.output = failed.output
    return Stop(
        failed.error_class,
        failed.message,
        failed.code,
        retry_after=failed.retry_after,
        native_error_ref=failed.native_error_ref,
    )


NO_CONTEXT = Context("", "", None, "")
"""For runners that say they look at none."""


def _context(call: Call) -> Context:
    request, options = call.session.surface.request, call.options
    context = Context(call.invocation_id, request.principal, request.agent, request.tenant, call.session.handle)
    if options is not NO_OPTIONS or call.deadline is not None:
        context.deadline = call.deadline
        context.idempotency_key = options.idempotency_key
        context.native_call_id = options.native_call_id
    return context
