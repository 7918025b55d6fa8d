"""Batches: many calls in one request, ordered where order matters, parallel where it does not.

`calls` stands beside it for single calls, `past_batches` for the record. It does not know how calls are scheduled.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Annotated

import msgspec

from ferrule.app.batch_requests import CallRequest
from ferrule.app.batches import Batch, BatchRun, Update
from ferrule.app.surface import SurfaceHandle
from ferrule.infra.tasks import resolve
from ferrule.model.result import Pending, Result
from ferrule.model.scheduling import OrderingPolicy, SiblingPolicy
from ferrule.model.value import JsonObject
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.calls.calls import (
    CallOptionsBody,
    find_idempotency_key,
    load_deferred_tool,
    preference_headers,
)
from ferrule.servers.api.calls.events import END, encode_event, limit_duration
from ferrule.servers.api.calls.outcomes import CallState, mask_outcome, state_of
from ferrule.servers.api.replies import NO_STORE, AnyReply, JsonReply, Problem
from ferrule.servers.api.shapes import describe, whole_number
from ferrule.servers.asgi import EVENTS, HttpStream

_AT_ONCE = 16
"""Parallel calls of one batch. The batch takes one place of its principal's limit, however many calls it holds."""
Id = Annotated[str, msgspec.Meta(max_length=100)]


class BatchCall(CallOptionsBody, kw_only=True, forbid_unknown_fields=True):
    """One call of a batch."""

    id: Annotated[
        Id, describe("What other calls of the batch name it by; without one, its number, counted from 0.")
    ] = ""
    depends_on: Annotated[
        tuple[Id | Annotated[float, whole_number(0, 1000)], ...],
        describe("Calls that have to end before this one begins.", max_length=100),
    ] = ()
    idempotency_key: Annotated[
        Annotated[str, msgspec.Meta(min_length=1, max_length=255)] | None, describe("As of a call.")
    ] = None


class BatchBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Calls to make together."""

    calls: Annotated[list[BatchCall], describe("In call order.", min_length=1, max_length=200)]
    sibling_failure_policy: Annotated[SiblingPolicy | None, describe("What the failure of one does to the others.")] = (
        None
    )
    ordering_policy: Annotated[OrderingPolicy | None, describe("`serial`: one after the other.")] = None
    max_parallel: Annotated[Annotated[float, whole_number(1, _AT_ONCE)] | None, describe("How many at once.")] = None


class BatchState(msgspec.Struct, kw_only=True):
    """The state of a batch's calls, in call order. Each has its own address."""

    batch_id: str
    is_pending: Annotated[bool, describe("True while one of them has not ended.")]
    calls: list[CallState]


async def make_batch(ask: Ask) -> AnyReply:
    """Calls many tools."""
    body, surface, preference = ask.body(BatchBody), await resolve(ask.surface()), ask.preference
    if ask.wants_events:
        ask.background.require_stream_slot(ask.caller)
    for call in body.calls:
        load_deferred_tool(surface, call)
    leave = await _enter_turnstile(ask, len(body.calls))
    try:
        run = await surface.begin_many([_build_request(surface, call) for call in body.calls], **_build_policy(body))
    except BaseException:
        leave()
        raise
    if ask.wants_events:
        events = _stream_events(surface, run, _collect_updates(ask, run, leave), preference.wait)
        source = ask.background.stream(ask.caller, ask.request, events)
        return HttpStream(200, source, (EVENTS, NO_STORE, *preference_headers(preference)))
    ending = ask.background.start(run.wait())
    ending.add_done_callback(lambda _: leave())
    most = ask.edge.settings.limits.request_seconds
    patience = min(most, preference.wait) if preference.wait is not None else 0.0 if preference.is_async else most
    await asyncio.wait({ending}, timeout=patience)
    state = _build_state(surface, run, ending.result() if ending.done() else None)
    return JsonReply(state, 202 if state.is_pending else 200, preference_headers(preference))


async def _enter_turnstile(ask: Ask, count: int) -> Callable[[], None]:
    """Takes a place for a batch; each of its calls counts towards the rate limit.

    Places are not collected one by one, since two batches that do so could wait for each other. Raises Problem for a
    batch that could never start.
    """
    most = ask.edge.settings.limits.calls_per_minute
    if most and count > most:
        detail = f"a batch of {count} calls never gets through: {most} calls in a minute are taken; send smaller ones"
        raise Problem(409, "batch_too_large", detail)
    for _ in range(count - 1):
        (await resolve(ask.edge.turnstile.enter(ask.caller)))()
    return await resolve(ask.edge.turnstile.enter(ask.caller))


def _build_request(surface: SurfaceHandle, call: BatchCall) -> CallRequest:
    return CallRequest(
        name=call.tool,
        arguments=call.written_arguments,
        id=call.id,
        depends_on=tuple(one if isinstance(one, str) else int(one) for one in call.depends_on),
        idempotency_key=find_idempotency_key(surface, call.tool, call.idempotency_key),
        timeout_seconds=call.timeout_seconds,
        native_call_id=call.native_call_id,
        retry_of=call.retry_of,
        priority=int(call.priority),
        client=frozenset(call.client),
    )


def _build_policy(body: BatchBody) -> JsonObject:
    settings = {
        "sibling_failure_policy": body.sibling_failure_policy,
        "ordering_policy": body.ordering_policy,
        "max_parallel": _AT_ONCE if body.max_parallel is None else int(body.max_parallel),
    }
    return {name: value for name, value in settings.items() if value is not None}


def _build_state(surface: SurfaceHandle, run: BatchRun, batch: Batch | None) -> BatchState:
    if batch is not None:
        found = [_mask_call(surface, run, number, outcome) for number, outcome in enumerate(batch)]
    else:
        states = zip(run.invocation_ids, run.states(), strict=True)
        found = [Pending(invocation_id=call_id, state=state, message="") for call_id, state in states]
    calls = [state_of(outcome) for outcome in found]
    return BatchState(batch_id=run.batch_id, is_pending=any(call.is_pending for call in calls), calls=calls)


def _mask_call(surface: SurfaceHandle, run: BatchRun, number: int, outcome: Result | Pending) -> Result | Pending:
    return mask_outcome(surface.surface, run.requests[number].name, outcome)


def _collect_updates(ask: Ask, run: BatchRun, leave: Callable[[], None]) -> asyncio.Queue[Update | None]:
    """Returns a queue of the batch's updates, with None at its end; it fills up even when its reader leaves."""
    news: asyncio.Queue[Update | None] = asyncio.Queue()

    async def gather() -> None:
        try:
            async for update in run.updates():
                news.put_nowait(update)
        finally:
            news.put_nowait(None)
            leave()

    ask.background.start(gather())
    return news


async def _stream_events(
    surface: SurfaceHandle, run: BatchRun, news: asyncio.Queue[Update | None], wait: float | None
) -> AsyncIterator[bytes]:
    """Yields a batch as events. Its calls go on when the client leaves: each can be followed by itself."""

    async def still() -> bytes:
        return encode_event("waiting", {"batch_id": run.batch_id, "states": run.states()})

    yield encode_event("batch", {"batch_id": run.batch_id, "calls": list(run.invocation_ids)})
    updates = _encode_updates(surface, run, news)
    async for data in updates if wait is None else limit_duration(updates, wait, still):
        yield data


async def _encode_updates(
    surface: SurfaceHandle, run: BatchRun, news: asyncio.Queue[Update | None]
) -> AsyncIterator[bytes]:
    while (update := await news.get()) is not None:
        if update.progress is not None:
            yield encode_event("progress", {"index": update.index, **update.progress.to_record()})
        elif update.result is not None:
            outcome = _mask_call(surface, run, update.index, update.result)
            name = "waiting" if isinstance(outcome, Pending) else "result"
            yield encode_event(name, {"index": update.index, **msgspec.to_builtins(state_of(outcome))})
    yield encode_event("end", {"batch_id": run.batch_id}, END)
