"""Attempts of one call: runs a failed call again, after a wait, as often as its retry policy and budget allow."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable
from inspect import isawaitable

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed, Run
from ferrule.model.failure import Stop
from ferrule.model.retry import NO_RETRIES, Attempt
from ferrule.runtime.pipeline.call import Call
from ferrule.runtime.pipeline.redaction import redact_secrets
from ferrule.runtime.pipeline.retries import decide_retry
from ferrule.runtime.pipeline.services import Services

_STATUS = re.compile(r"http[: ](\d{3})\b")


async def await_with_retries(call: Call, services: Services, context: Context, running: Awaitable[object]) -> object:
    """Awaits the tool's output, and runs the tool again when it fails. Raises ExecutionFailed."""
    try:
        return await running
    except ExecutionFailed as failed:
        return await retry_failed(call, services, context, failed)


async def retry_failed(call: Call, services: Services, context: Context, failed: ExecutionFailed) -> object:
    """Runs a failed call again until it succeeds; records each failed attempt. Raises ExecutionFailed for the last failure."""
    policy, run = call.prepared.retry, call.prepared.run
    if policy is NO_RETRIES or run is None:
        raise failed
    tool_id = call.prepared.tool_id
    budget = services.budgets.of(tool_id)
    number, waited, started = 1, 0.0, call.offset()
    while True:
        following = decide_retry(
            policy,
            services.retries,
            error_class=failed.error_class,
            attempt=number,
            is_repeatable=call.prepared.is_repeatable or call.options.idempotency_key is not None,
            chance=services.chance,
            budget=budget,
            retry_after=failed.retry_after,
            is_retryable=failed.is_retryable,
            status=_find_status(failed),
            waited_seconds=waited,
            now=asyncio.get_running_loop().time(),
            deadline=call.flight.deadline,
        )
        if following.wait_seconds is None or _must_stop(call, context):
            raise failed
        # Executor text may repeat the input, and attempts go on record.
        code, native = redact_secrets(call, services, (failed.code or "", failed.native_error_ref))
        _note_attempt(call, Attempt(number, started, call.offset(), failed.error_class, code,
                            round(following.wait_seconds, 3), native))  # fmt: skip
        services.breakers.record_outcome(
            call.prepared.upstream, failed.error_class, call.flight.ticket, retry_after=failed.retry_after
        )
        await asyncio.sleep(following.wait_seconds)
        if _must_stop(call, context):
            raise failed
        waited += following.wait_seconds
        number, started = number + 1, call.offset()
        # After the wait, in which other calls may have opened the breaker.
        _admit(call, services)
        try:
            return await _run_once(call, run, context, number)
        except ExecutionFailed as error:
            failed = error


def _admit(call: Call, services: Services) -> None:
    """Asks the circuit breaker to let another attempt through. Raises ExecutionFailed while the circuit is open."""
    ticket = services.breakers.admit(call.prepared.upstream)
    if isinstance(ticket, Stop):
        raise ExecutionFailed(ticket.error_class, ticket.message, code=ticket.code, retry_after=ticket.retry_after)
    call.flight.ticket = ticket


async def _run_once(call: Call, run: Run, context: Context, number: int) -> object:
    """Runs the tool once more, with its own copy of the arguments."""
    # Runners that never look at their context share an empty one; it must stay untouched.
    if context.invocation_id:
        context.attempt = number
    output = run(msgspec.json.decode(call.inputs.current), context)
    return await output if isawaitable(output) else output


def _must_stop(call: Call, context: Context) -> bool:
    """Returns True when the call was canceled or has ended; the tool itself may never look at its context."""
    live = call.flight.live
    return context.aborted or live is None or live.cancel is not None or live.given_up is not None


def _note_attempt(call: Call, attempt: Attempt) -> None:
    call.notes = {**call.notes, "attempts": [*call.notes.get("attempts", ()), attempt]}


def _find_status(failed: ExecutionFailed) -> int | None:
    """Returns the HTTP status in a failure's native reference; None without one."""
    found = _STATUS.search(failed.native_error_ref or "")
    return int(found[1]) if found else None
