"""Calls over HTTP: make one, follow it, cancel it, and answer its questions.

`app/surface` starts the call and decides everything about it; `outcomes` encodes how it ended. This module decides only
how long a client waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Annotated, Literal, Protocol

import msgspec

from ferrule.app.batches import BatchRun
from ferrule.app.surface import CallUnderWay, SurfaceHandle
from ferrule.infra.tasks import resolve
from ferrule.model.result import Pending, Result
from ferrule.model.value import JsonObject
from ferrule.runtime.functions.runs import InlineRun
from ferrule.runtime.pipeline.call import NO_OPTIONS, RunOptions
from ferrule.runtime.pipeline.live import Cancel
from ferrule.servers.api.ask import KEY, LAST_EVENT, Ask
from ferrule.servers.api.calls.events import END, encode_event, encode_first_event, limit_duration, stream_call_events
from ferrule.servers.api.calls.outcomes import (
    explain_refusal,
    mask_for_caller,
    mask_outcome,
    require_visible_call,
    state_of,
    wait_until_recorded,
)
from ferrule.servers.api.replies import NO_STORE, AnyReply, JsonReply, Problem, not_found
from ferrule.servers.api.requests import NO_PREFERENCE, Preference
from ferrule.servers.api.shapes import Name, Reason, Record, describe, whole_number
from ferrule.servers.asgi import EVENTS, Header, HttpAnswer, HttpStream
from ferrule.servers.edge import Leave

_MAYBE_DUPLICATE = frozenset({"planned", "selected", "arguments_ready", "pre_hooks_running"})
"""States in which a call may still turn out to be a duplicate of another one."""
_DUPLICATE_SECONDS = 2.0
_REPLAYED: Header = (b"idempotency-replayed", b"true")
"""Marks an answer that an earlier request with the same key received."""
ClientCapability = Literal["elicitation", "elicitation.url", "sampling", "sampling.tools", "roots"]


class CallOptionsBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One call with its options."""

    tool: Name
    arguments: Annotated[
        msgspec.Raw | msgspec.UnsetType, describe("The tool's arguments, as its input schema wants them.")
    ] = msgspec.UNSET
    timeout_seconds: Annotated[
        Annotated[float, msgspec.Meta(gt=0, le=86_400)] | None, describe("How long the tool may take.")
    ] = None
    priority: Annotated[
        float, whole_number(-100, 100), describe("Of those that wait for a turn, the higher goes first.")
    ] = 0
    native_call_id: Annotated[
        Annotated[str, msgspec.Meta(max_length=200)] | None, describe("What the caller calls it; it is on record.")
    ] = None
    retry_of: Annotated[
        Annotated[str, msgspec.Meta(max_length=40)] | None, describe("The call that this one repeats.")
    ] = None
    client: Annotated[
        tuple[ClientCapability, ...], describe("What the caller can be asked for while the tool works.", max_length=5)
    ] = ()

    digest: Annotated[
        Annotated[str, msgspec.Meta(max_length=200)] | None,
        describe(
            "The tool's digest, as it was read with its schema: a deferred tool is loaded by it. Another tool is a 409."
        ),
    ] = None

    @property
    def written_arguments(self) -> bytes:
        """The arguments as they were sent; an empty object without any."""
        return b"{}" if isinstance(self.arguments, msgspec.UnsetType) else bytes(self.arguments)


class CallBody(CallOptionsBody, kw_only=True, forbid_unknown_fields=True):
    """A call to make."""


class CancelBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A request to cancel."""

    reason: Reason = ""


class CancelState(msgspec.Struct, kw_only=True):
    """The state of a request to cancel."""

    invocation_id: str
    outcome: Annotated[str, describe("`canceled`, `cancel_failed`, or `requested` while its tool has not stopped.")]
    is_acknowledged: bool
    is_supported: bool | None
    state: str
    message: str


class AnswersBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The caller's answers to a tool's questions."""

    answers: Annotated[
        dict[str, Record], describe("For each key of `client_requests` what the caller gave, in MCP's words.")
    ]


class _ToolReference(Protocol):
    """A reference to a tool, with the digest of the version that the client read."""

    @property
    def tool(self) -> str:
        """The tool's name."""

    @property
    def digest(self) -> str | None:
        """The digest of that version."""


def load_deferred_tool(surface: SurfaceHandle, call: _ToolReference) -> None:
    """Loads a deferred tool for a client that has its schema already, maybe from another process.

    Raises Problem for a tool that has changed since.
    """
    entry = surface.surface.find(call.tool) if call.digest is not None else None
    if entry is None or not entry.is_visible:
        return
    if entry.digest != call.digest:
        raise Problem(409, "tool_changed", f"{call.tool!r} is not what it was; read its schema again")
    if entry.standing == "deferred":
        surface.select([call.tool])


def find_idempotency_key(surface: SurfaceHandle, name: str, key: str | None) -> str | None:
    """Returns the idempotency key of a call; None for a hidden tool.

    A replay would reveal that the hidden tool exists.
    """
    entry = surface.surface.find(name) if key is not None else None
    return key if entry is not None and entry.is_visible else None


def make_call(ask: Ask) -> AnyReply | Awaitable[AnyReply]:
    """Calls a tool."""
    surface = ask.surface()
    return _call_on_surface(ask, surface) if isinstance(surface, SurfaceHandle) else _call_later(ask, surface)


async def _call_later(ask: Ask, surface: Awaitable[SurfaceHandle]) -> AnyReply:
    return await resolve(_call_on_surface(ask, await surface))


def _call_on_surface(ask: Ask, surface: SurfaceHandle) -> AnyReply | Awaitable[AnyReply]:
    body, preference = ask.body(CallBody), ask.preference
    if ask.wants_events:
        # Before anything is called: a client that is refused its stream must not have made the call.
        ask.background.require_stream_slot(ask.caller)
    load_deferred_tool(surface, body)
    chosen: JsonObject = {
        "idempotency_key": find_idempotency_key(surface, body.tool, ask.header(KEY)),
        "timeout_seconds": body.timeout_seconds,
        "native_call_id": body.native_call_id,
        "retry_of": body.retry_of,
        "priority": int(body.priority),
        "client": frozenset(body.client),
    }
    key = chosen["idempotency_key"]
    # Whatever a client may want to leave before its end runs in a task of its own; only quick calls run in the request.
    if preference != NO_PREFERENCE or ask.wants_events or key is not None or not _is_quick(surface, body.tool):
        return _call_in_background(ask, surface, chosen)
    options = RunOptions(**chosen) if any(chosen.values()) else NO_OPTIONS
    leave = ask.edge.turnstile.enter(ask.caller)
    if isinstance(leave, Awaitable):
        return _call_after(surface, body, options, leave)
    return _call_at_once(surface, body, options, leave)


async def _call_after(surface: SurfaceHandle, body: CallBody, options: RunOptions, turn: Awaitable[Leave]) -> AnyReply:
    return await resolve(_call_at_once(surface, body, options, await turn))


def _call_at_once(
    surface: SurfaceHandle, body: CallBody, options: RunOptions, leave: Leave
) -> JsonReply | Awaitable[JsonReply]:
    """Calls a quick tool; the request waits for its end, however long that takes."""
    try:
        outcome = surface.start(body.tool, body.written_arguments, options)
    except BaseException:
        leave()
        raise
    if not isinstance(outcome, Result):
        return _wait_for(surface, body, outcome, leave)
    leave()
    return _reply(surface, body, outcome, NO_PREFERENCE)


async def _wait_for(surface: SurfaceHandle, body: CallBody, call: CallUnderWay, leave: Leave) -> JsonReply:
    try:
        return _reply(surface, body, await call, NO_PREFERENCE)
    finally:
        leave()


async def _call_in_background(ask: Ask, surface: SurfaceHandle, chosen: JsonObject) -> AnyReply:
    """Calls a tool in a task of its own, so that the client chooses how long to wait for its end."""
    body, preference, key = ask.body(CallBody), ask.preference, chosen["idempotency_key"]
    leave = await resolve(ask.edge.turnstile.enter(ask.caller))
    try:
        run = await surface.begin(body.tool, body.written_arguments, **chosen)
    except BaseException:
        leave()
        raise
    ending = ask.background.start(_wait_for_end(run))
    ending.add_done_callback(lambda _: leave())
    if ask.wants_events:
        return _stream(ask, surface, body.tool, run, ending)
    outcome = await _wait_for_outcome(ask, surface, run, ending, preference)
    if key is not None and isinstance(outcome, Pending) and not ending.done():
        outcome = await _wait_for_duplicate(run, ending) or outcome
    # A duplicate gets the outcome of the first call, with that one's id.
    is_replayed = outcome.invocation_id != run.invocation_ids[0]
    return _reply(surface, body, outcome, preference, (_REPLAYED,) if is_replayed else ())


def _is_quick(surface: SurfaceHandle, name: str) -> bool:
    """Returns True for a tool that never awaits anything, so that no timeout is needed around it."""
    session = surface.session
    prepared = session.prepared.get(name) or session.find(name)
    return isinstance(prepared.run, InlineRun)


def _reply(
    surface: SurfaceHandle,
    body: CallBody,
    outcome: Result | Pending,
    preference: Preference,
    more: tuple[Header, ...] = (),
) -> JsonReply:
    """Returns the reply for an outcome; `more`: headers. Raises Problem for a refused call."""
    outcome = mask_outcome(surface.surface, body.tool, outcome)
    if isinstance(outcome, Pending):
        waiting = waiting_reply(outcome, preference)
        return msgspec.structs.replace(waiting, headers=(*waiting.headers, *more))
    problem = explain_refusal(outcome, surface, body.tool, body.written_arguments)
    if problem is not None:
        problem.headers += more
        raise problem
    return JsonReply(state_of(outcome), headers=(_location(outcome.invocation_id, b"content-location"), *more))


async def _wait_for_end(run: BatchRun) -> Result | Pending:
    outcome: Result | Pending = (await run.wait())[0]
    return outcome


async def _wait_for_outcome(
    ask: Ask, surface: SurfaceHandle, run: BatchRun, ending: asyncio.Task[Result | Pending], preference: Preference
) -> Result | Pending:
    """Returns the outcome of a call, or its state when the client's time is up."""
    loop, most = asyncio.get_running_loop(), ask.edge.settings.limits.request_seconds
    patience = 0.0 if preference.is_async and preference.wait is None else most
    if preference.wait is not None:
        patience = min(most, preference.wait)
    until = loop.time() + patience
    await asyncio.wait({ending}, timeout=patience)
    if not ending.done():
        return Pending(invocation_id=run.invocation_ids[0], state=run.states()[0], message="it has not ended yet")
    outcome = ending.result()
    if isinstance(outcome, Pending) and preference.wait is not None and (left := until - loop.time()) > 0:
        return await wait_longer(ask, surface, outcome, left)
    return outcome


async def wait_longer(ask: Ask, surface: SurfaceHandle, pending: Pending, seconds: float) -> Result | Pending:
    """Waits longer for a parked call. The wait may run the call, so that continues when the time is up."""
    later = ask.background.start(surface.result(pending.invocation_id, seconds))
    await asyncio.wait({later}, timeout=seconds)
    return (later.result() or pending) if later.done() else pending


async def _wait_for_duplicate(run: BatchRun, ending: asyncio.Task[Result | Pending]) -> Result | Pending | None:
    """Returns the first call's outcome if this one turns out to be its duplicate.

    A duplicate leaves no call of its own to look at, so the client must not get its id.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + _DUPLICATE_SECONDS
    while not ending.done() and run.states()[0] in _MAYBE_DUPLICATE and loop.time() < until:
        await asyncio.wait({ending}, timeout=0.005)
    return ending.result() if ending.done() else None


def _location(invocation_id: str, name: bytes = b"location") -> Header:
    return (name, f"/v1/calls/{invocation_id}".encode())


def waiting_reply(pending: Pending, preference: Preference) -> JsonReply:
    """Returns 202 with the address of a call that has not ended."""
    headers = (
        _location(pending.invocation_id),
        (b"retry-after", b"1" if pending.state in ("queued", "running") else b"5"),
        *preference_headers(preference),
    )
    return JsonReply(state_of(pending), 202, headers)


def preference_headers(preference: Preference) -> tuple[Header, ...]:
    """Returns the header that names the preferences that were honored."""
    return ((b"preference-applied", preference.header_value.encode()),) if preference.header_value else ()


def _stream(
    ask: Ask, surface: SurfaceHandle, name: str, run: BatchRun, ending: asyncio.Task[Result | Pending]
) -> HttpStream:
    invocation_id, preference = run.invocation_ids[0], ask.preference

    async def final() -> Result | Pending | None:
        # Shielded: a client that closes its stream must not cancel the call by that.
        outcome = await asyncio.shield(ending)
        if isinstance(outcome, Pending):  # its progress reported the wait, and it may have ended since
            outcome = await surface.result(outcome.invocation_id) or outcome
        return mask_outcome(surface.surface, name, outcome)

    async def still() -> bytes:
        outcome = await ask.edge.app.result(invocation_id)
        if isinstance(outcome, Result):
            return encode_event("result", state_of(mask_outcome(surface.surface, name, outcome)), END)
        waiting = Pending(invocation_id=invocation_id, state=run.states()[0], message="it has not ended yet")
        return encode_event("waiting", state_of(outcome or waiting))

    async def events() -> AsyncIterator[bytes]:
        yield encode_first_event(invocation_id)
        news = stream_call_events(ask.edge.app, invocation_id, 0, final)
        async for data in news if preference.wait is None else limit_duration(news, preference.wait, still):
            yield data

    source = ask.background.stream(ask.caller, ask.request, events())
    headers = (EVENTS, NO_STORE, _location(invocation_id, b"content-location"), *preference_headers(preference))
    return HttpStream(200, source, headers)


async def get_call(ask: Ask) -> AnyReply:
    """Returns the state or the result of a call."""
    owner = await require_visible_call(ask)
    app, wait = ask.edge.app, ask.preference.wait
    outcome = await app.result(ask.invocation_id)
    if isinstance(outcome, Pending) and wait:
        # In the background, because the wait itself may run the call, which then has to come to its end.
        later = ask.background.start(
            app.result(ask.invocation_id, wait=min(wait, ask.edge.settings.limits.request_seconds))
        )
        await asyncio.wait({later}, timeout=min(wait, ask.edge.settings.limits.request_seconds))
        outcome = (later.result() or outcome) if later.done() else outcome
    if outcome is None:
        raise not_found(f"there is no call {ask.invocation_id[:40]!r} of yours")
    outcome = await mask_for_caller(ask, owner, outcome)
    return JsonReply(state_of(outcome), is_final=isinstance(outcome, Result))


async def follow_call(ask: Ask) -> AnyReply:
    """Streams the progress of a call and its result."""
    owner = await require_visible_call(ask)
    last = ask.header(LAST_EVENT)
    if last == "end":
        return HttpAnswer(204, b"", (NO_STORE,))
    app = ask.edge.app

    async def final() -> Result | Pending | None:
        outcome = await app.result(ask.invocation_id)
        return outcome if outcome is None else await mask_for_caller(ask, owner, outcome)

    events = stream_call_events(app, ask.invocation_id, int(last or 0), final)
    return HttpStream(200, ask.background.stream(ask.caller, ask.request, events), (EVENTS, NO_STORE))


async def cancel_call(ask: Ask) -> AnyReply:
    """Requests that a call stops."""
    await require_visible_call(ask)
    cancel = Cancel(reason=ask.body(CancelBody).reason, by=ask.caller.identity.principal)
    found = await ask.edge.app.calls.cancel(ask.invocation_id, cancel)
    if found is None:
        raise not_found(f"there is no call {ask.invocation_id[:40]!r} of yours")
    return JsonReply(found, 202 if found.outcome == "requested" else 200)


async def answer_call(ask: Ask) -> AnyReply:
    """Gives a tool what it asked its caller for."""
    owner = await require_visible_call(ask)
    surface, preference = await resolve(ask.surface()), ask.preference
    leave = await resolve(ask.edge.turnstile.enter(ask.caller))
    recorded = asyncio.Event()
    later = ask.background.start(
        surface.answer(ask.invocation_id, ask.body(AnswersBody).answers, on_recorded=recorded.set)
    )
    later.add_done_callback(lambda _: leave())
    loop, most = asyncio.get_running_loop(), ask.edge.settings.limits.request_seconds
    patience = min(most, preference.wait) if preference.wait is not None else 0.0 if preference.is_async else most
    until = loop.time() + patience
    await wait_until_recorded(later, recorded, most)
    await asyncio.wait({later}, timeout=max(0.0, until - loop.time()))
    if not later.done():
        return waiting_reply(
            Pending(invocation_id=ask.invocation_id, state="running", message="it goes on"), preference
        )
    outcome = later.result()
    if outcome is None:
        raise Problem(
            409, "not_asked", "this call asks its caller nothing now, or the answer does not fit what it asks"
        )
    outcome = await mask_for_caller(ask, owner, outcome)
    return waiting_reply(outcome, preference) if isinstance(outcome, Pending) else JsonReply(state_of(outcome))
