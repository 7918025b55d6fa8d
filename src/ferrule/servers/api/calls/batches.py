"""Batches: many calls in one request, in order where order matters, side by side where it does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

import msgspec

from ferrule.app.batches import Batch, BatchRun, CallRequest, Update
from ferrule.app.surface import SurfaceHandle
from ferrule.infra.tasks import resolve
from ferrule.model.result import Pending, Result
from ferrule.model.scheduling import OrderingPolicy, SiblingPolicy
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.calls.calls import CallOptionsBody, applied, key_for, load
from ferrule.servers.api.calls.events import END, bounded, event
from ferrule.servers.api.calls.outcomes import CallState, seen, state_of
from ferrule.servers.api.replies import NO_STORE, Problem, Replied, Reply
from ferrule.servers.api.shapes import says, whole
from ferrule.servers.asgi import EVENTS, Stream

_AT_ONCE = 16
"""Calls of one batch that run at once: it takes one place of its principal's, however many calls it holds."""
Id = Annotated[str, msgspec.Meta(max_length=100)]


class BatchCall(CallOptionsBody, kw_only=True, forbid_unknown_fields=True):
    """One call of a batch."""

    id: Annotated[Id, says("What other calls of the batch name it by; without one, its number, counted from 0.")] = ""
    depends_on: Annotated[
        tuple[Id | Annotated[float, whole(0, 1000)], ...],
        says("Calls that have to end before this one begins.", max_length=100),
    ] = ()
    idempotency_key: Annotated[
        Annotated[str, msgspec.Meta(min_length=1, max_length=255)] | None, says("As of a call.")
    ] = None


class BatchBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Calls to make together."""

    calls: Annotated[list[BatchCall], says("In call order.", min_length=1, max_length=200)]
    sibling_failure_policy: Annotated[SiblingPolicy | None, says("What the failure of one does to the others.")] = None
    ordering_policy: Annotated[OrderingPolicy | None, says("`serial`: one after the other.")] = None
    max_parallel: Annotated[Annotated[float, whole(1, _AT_ONCE)] | None, says("How many at once.")] = None


class BatchState(msgspec.Struct, kw_only=True):
    """Where the calls of a batch stand, in call order. Each can be looked at by itself."""

    batch_id: str
    is_pending: Annotated[bool, says("True while one of them has not ended.")]
    calls: list[CallState]


async def make_batch(ask: Ask) -> Replied:
    """Use many tools."""
    body, surface, preference = ask.body(BatchBody), await resolve(ask.surface()), ask.preference
    if ask.wants_events:
        ask.background.demand_room(ask.caller)
    for call in body.calls:
        load(surface, call)
    leave = await _turn(ask, len(body.calls))
    try:
        run = await surface.begin_many([_request(surface, call) for call in body.calls], **_policy(body))
    except BaseException:
        leave()
        raise
    if ask.wants_events:
        events = _events(surface, run, _gathered(ask, run, leave), preference.wait)
        source = ask.background.stream(ask.caller, ask.request, events)
        return Stream(200, source, (EVENTS, NO_STORE, *applied(preference)))
    ending = ask.background.keep(run.ended())
    ending.add_done_callback(lambda _: leave())
    most = ask.edge.settings.limits.request_seconds
    patience = min(most, preference.wait) if preference.wait is not None else 0.0 if preference.is_async else most
    await asyncio.wait({ending}, timeout=patience)
    state = _state(surface, run, ending.result() if ending.done() else None)
    return Reply(state, 202 if state.is_pending else 200, applied(preference))


async def _turn(ask: Ask, count: int) -> Callable[[], None]:
    """A place for a batch. Each of its calls counts towards what its principal may do in a minute; places are not collected
    one by one, since two batches that do that could wait for each other. Raises Problem for one that never gets all of them."""
    most = ask.edge.settings.limits.calls_per_minute
    if most and count > most:
        detail = f"a batch of {count} calls never gets through: {most} calls in a minute are taken; send smaller ones"
        raise Problem(409, "batch_too_large", detail)
    for _ in range(count - 1):
        (await resolve(ask.edge.turnstile.enter(ask.caller)))()
    return await resolve(ask.edge.turnstile.enter(ask.caller))


def _request(surface: SurfaceHandle, call: BatchCall) -> CallRequest:
    return CallRequest(
        name=call.tool,
        arguments=call.written_arguments,
        id=call.id,
        depends_on=tuple(one if isinstance(one, str) else int(one) for one in call.depends_on),
        idempotency_key=key_for(surface, call.tool, call.idempotency_key),
        timeout_seconds=call.timeout_seconds,
        native_call_id=call.native_call_id,
        retry_of=call.retry_of,
        priority=int(call.priority),
        client=frozenset(call.client),
    )


def _policy(body: BatchBody) -> dict[str, Any]:
    said = {
        "sibling_failure_policy": body.sibling_failure_policy,
        "ordering_policy": body.ordering_policy,
        "max_parallel": _AT_ONCE if body.max_parallel is None else int(body.max_parallel),
    }
    return {name: value for name, value in said.items() if value is not None}


def _state(surface: SurfaceHandle, run: BatchRun, batch: Batch | None) -> BatchState:
    if batch is not None:
        found = [_seen(surface, run, number, outcome) for number, outcome in enumerate(batch)]
    else:
        states = zip(run.invocation_ids, run.states(), strict=True)
        found = [Pending(invocation_id=call_id, state=state, message="") for call_id, state in states]
    calls = [state_of(outcome) for outcome in found]
    return BatchState(batch_id=run.batch_id, is_pending=any(call.is_pending for call in calls), calls=calls)


def _seen(surface: SurfaceHandle, run: BatchRun, number: int, outcome: Result | Pending) -> Result | Pending:
    return seen(surface.surface, run.requests[number].name, outcome)


def _gathered(ask: Ask, run: BatchRun, leave: Callable[[], None]) -> asyncio.Queue[Update | None]:
    """The news of a batch as they come, and None at its end. They are gathered whoever reads them, or does not."""
    news: asyncio.Queue[Update | None] = asyncio.Queue()

    async def gather() -> None:
        try:
            async for update in run.updates():
                news.put_nowait(update)
        finally:
            news.put_nowait(None)
            leave()

    ask.background.keep(gather())
    return news


async def _events(
    surface: SurfaceHandle, run: BatchRun, news: asyncio.Queue[Update | None], wait: float | None
) -> AsyncIterator[bytes]:
    """A batch as events. Its calls go on when nobody listens any more: each can be followed by itself."""

    async def still() -> bytes:
        return event("waiting", {"batch_id": run.batch_id, "states": run.states()})

    yield event("batch", {"batch_id": run.batch_id, "calls": list(run.invocation_ids)})
    told = _told(surface, run, news)
    async for said in told if wait is None else bounded(told, wait, still):
        yield said


async def _told(surface: SurfaceHandle, run: BatchRun, news: asyncio.Queue[Update | None]) -> AsyncIterator[bytes]:
    while (update := await news.get()) is not None:
        if update.progress is not None:
            yield event("progress", {"index": update.index, **update.progress.to_record()})
        elif update.result is not None:
            outcome = _seen(surface, run, update.index, update.result)
            name = "waiting" if isinstance(outcome, Pending) else "result"
            yield event(name, {"index": update.index, **msgspec.to_builtins(state_of(outcome))})
    yield event("end", {"batch_id": run.batch_id}, END)
