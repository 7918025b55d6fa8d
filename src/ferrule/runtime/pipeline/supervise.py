"""Supervises a tool that runs in a task of its own: applies the deadline, cancels it, and releases its caller.

A tool that was asked to stop and goes on is awaited: its call ends with what really happened. Only a deadline, or a
discarded turn, ends a call while its tool may still run; later output is recorded and not delivered.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from ferrule.contracts.executor import ExecutionFailed, Output, Waiting
from ferrule.infra.drivers import describe_failure
from ferrule.infra.tasks import finish_uncancelled
from ferrule.model.client_requests import MISSING, find_flaw, list_undeclared
from ferrule.model.failure import Stop
from ferrule.model.journal import Payload
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.call import RUNNING, Call, Detached, Park
from ferrule.runtime.pipeline.live import Cancel, LiveCall
from ferrule.runtime.pipeline.results.outcome import map_output
from ferrule.runtime.pipeline.results.packing import pack_plain
from ferrule.runtime.pipeline.results.streaming import store_stream
from ferrule.runtime.pipeline.results.views import drop_block, has_raw
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.pipeline.waiting import build_waiting_request

_GRACE_SECONDS = 0.5
"""How long a cancelable tool gets to stop."""
BY_ITSELF = Cancel(reason="the tool stopped by itself")
_STEP_BYTES = 16 * 1024**2
_log = logging.getLogger("ferrule.pipeline")


async def supervise_tool(
    call: Call, services: Services, live: LiveCall, running: Awaitable[object], inner: Awaitable[object] | None = None
) -> Stop | Park | Detached | None:
    """Runs a tool in a task of its own and waits for it. `inner`: the awaitable that `running` awaits in turn."""
    if live.is_stopped_early:
        return discard_unstarted(call, live, running, inner)
    context = contextvars.copy_context()
    # Set in a copy of the context, so that only the tool's own task sees the call as running.
    context.run(RUNNING.set, call)
    live.runner = live.loop.create_task(collect_output(call, services, running), context=context)
    live.runner.add_done_callback(lambda _: _close_unstarted(running, inner))
    return await _wait_for_tool(call, services, live)


def discard_unstarted(call: Call, live: LiveCall, *running: Awaitable[object] | None) -> Stop:
    """Discards the tool of a call that was canceled before it began; returns the stop."""
    _close_unstarted(*running)
    return build_cancel_stop(call, live.cancel or BY_ITSELF)


def _close_unstarted(*awaitables: Awaitable[object] | None) -> None:
    """Closes coroutines that never started, which would warn otherwise."""
    for each in awaitables:
        if isinstance(each, Coroutine):
            each.close()


async def collect_output(call: Call, services: Services, running: Awaitable[object]) -> object:
    """Awaits the tool's output; drains a stream while the call still runs."""
    output = await running
    if type(output) is Output and output.stream is not None:
        return await store_stream(call, services, output, _count_stored(call))
    return output


def _count_stored(call: Call) -> Callable[[int], None] | None:
    """Builds a callback that reports now and then how much of a stream is stored."""
    live, told = call.flight.live, 0
    if live is None:
        return None

    def count(stored: int) -> None:
        nonlocal told
        if stored - told >= _STEP_BYTES:
            told = stored
            live.progress({"message": "storing the output", "bytes_written": stored})

    return count


async def _wait_for_tool(
    call: Call, services: Services, live: LiveCall, *, is_detached: bool = False
) -> Stop | Park | Detached | None:
    runner = live.require_runner()
    runner.add_done_callback(lambda _: live.wake())
    while not runner.done():
        # Not the runner itself: to cancel this wait must not cancel a tool that has to run on.
        waiter = live.waiter = live.loop.create_future()
        timer = None if call.flight.deadline is None else live.loop.call_at(call.flight.deadline, live.wake)
        try:
            await waiter
        except asyncio.CancelledError:
            if not is_detached:
                await _leave_tool(call, services, live)
            raise
        finally:
            live.waiter = None
            if timer is not None:
                timer.cancel()
        # Before the deadline: a tool that has answered by now is not said to be late.
        if live.given_up is not None or runner.done():
            break
        if call.flight.deadline is not None and live.loop.time() >= call.flight.deadline:
            return await _time_out(call, services, live)
        if live.backgrounded is not None and not is_detached:
            return Detached(_wait_for_tool(call, services, live, is_detached=True), live.backgrounded[1])
    return _take_outcome(call, services, live, runner)


async def _leave_tool(call: Call, services: Services, live: LiveCall) -> None:
    """Handles a caller that went away: cancels a cancelable tool; any other runs on, and its outcome is recorded."""
    runner = live.require_runner()
    await _stop_tool(live, "user_interruption")
    if not runner.cancelled():
        live.detached = _wait_for_tool(call, services, live, is_detached=True)


async def _stop_tool(live: LiveCall, reason: str) -> None:
    runner = live.require_runner()
    if live.context is not None:
        live.context.abort(reason)
    if live.support.cancel:
        runner.cancel()
    grace = (
        _GRACE_SECONDS if live.support.cancel else 0
    )  # one loop turn is enough: a tool that has not begun never will
    await finish_uncancelled(asyncio.wait({runner}, timeout=grace))


async def _time_out(call: Call, services: Services, live: LiveCall) -> Stop:
    await _stop_tool(live, "timeout")
    runner = live.require_runner()
    what = "it was told to stop"
    if not runner.done():
        what = "it was told to stop and may still run; what it gives then is recorded"
    if not runner.cancelled():
        _record_later(call, services, live)
    call.notes = {**call.notes, "abort_reason": "timeout"}
    return Stop("timeout", f"tool {call.prepared.tool_id!r} did not finish in time; {what}")


def build_cancel_stop(call: Call, cancel: Cancel) -> Stop:
    """Builds the stop of a canceled call, with the reason on record."""
    call.notes = {**call.notes, "abort_reason": cancel.abort_reason}
    return cancel.to_stop()


def _take_outcome(call: Call, services: Services, live: LiveCall, runner: asyncio.Future[object]) -> Stop | Park | None:
    if live.given_up is not None:
        if not runner.cancelled():
            _record_later(call, services, live)
        return build_cancel_stop(call, live.given_up)
    if runner.cancelled():
        return build_cancel_stop(call, live.cancel or BY_ITSELF)
    error = runner.exception()
    if isinstance(error, ExecutionFailed):
        if live.cancel is not None and error.error_class in ("canceled", "timeout"):
            return build_cancel_stop(call, live.cancel)
        return build_failure_stop(call, error)
    if error is not None:
        raise error
    return take_output(call, services, runner.result())


def take_output(call: Call, services: Services, output: Any) -> Stop | Park | None:
    """Keeps the tool's output; returns a park for a tool that waits for a person, if anyone could answer."""
    if type(output) is Waiting:
        missing = list_undeclared(output.client_requests, call.options.client) if output.client_requests else None
        if missing:
            words = ", ".join(missing)
            message = f"tool {call.prepared.tool_id!r} asks its caller for {words}, which that has not declared"
            return Stop("capability_gap", message, MISSING, native_error_ref=words)
        flaw = find_flaw(output.client_requests)
        if flaw is not None:
            message = (
                f"tool {call.prepared.tool_id!r} asks its caller what cannot be asked: {flaw}; its owner must fix it"
            )
            return Stop("execution_failed", message, "result_mapping_failed")
        return Park(build_waiting_request(call, services, output), output)
    ending = call.ending
    ending.is_bare = type(output) is not Output
    ending.output = Output(output) if ending.is_bare else output
    if not ending.is_bare and output.cache is not None:
        call.notes = {**call.notes, "cache": output.cache}
    return None


def build_failure_stop(call: Call, failed: ExecutionFailed) -> Stop:
    """Builds the stop of a call whose tool failed."""
    call.ending.output = failed.output
    return Stop(
        failed.error_class,
        describe_failure(failed, f"tool {call.prepared.tool_id!r}"),
        failed.code,
        retry_after=failed.retry_after,
        native_error_ref=failed.native_error_ref,
        is_untouched=failed.is_untouched,
    )


def _record_later(call: Call, services: Services, live: LiveCall) -> None:
    """Records in the background the output that nobody waits for any more."""
    services.live.spawn(_record_when_done(live, live.require_runner()))


async def _record_when_done(live: LiveCall, runner: asyncio.Future[object]) -> None:
    try:
        await asyncio.wait({runner})
    except asyncio.CancelledError:
        return  # the process ends; the outcome stays unknown
    if runner.cancelled():
        return
    error = runner.exception()
    if isinstance(error, ExecutionFailed):
        live.record_news(
            "late_result", {"status": "failed", "error_class": error.error_class, "message": error.message}
        )
    elif error is not None:
        live.record_news("late_result", {"status": "failed", "error_class": "execution_failed"})
    else:
        record_late_output(live, runner.result())


def record_late_output(live: LiveCall, given: object) -> None:
    """Records late output without delivering it; private or large output is not stored in the ledger."""
    output = given if type(given) is Output else Output(None if type(given) is Waiting else given)
    facts: JsonObject = {"status": "succeeded"}
    keeping = live.call.prepared.traits.output_policy
    if output.is_private or (keeping is not None and keeping.is_private):
        live.record_news("late_result", {**facts, "withheld": "private"})
        return
    try:
        content, structured = map_output(output)
        content = tuple(drop_block(block, "late") if has_raw(block) else block for block in content)
        content, structured = live.redact_value((content, structured))
        packed = pack_plain(content, structured)
    except Exception as error:  # a late output must not fail anything
        _log.warning("could not store the late result of %s: %s", live.call.invocation_id, type(error).__name__)
        live.record_news("late_result", facts)
        return
    # The limit is in characters, and a character has at most four bytes.
    if len(packed) > 4 * live.services.results.max_inline_chars:
        live.record_news("late_result", {**facts, "withheld": "too_large", "size_bytes": len(packed)})
    else:
        live.record_news("late_result", facts, Payload(result=packed))
