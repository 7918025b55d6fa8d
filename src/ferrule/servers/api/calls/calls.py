"""Calls: made, looked at, cancelled, and given what they ask for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Annotated, Any, Literal, Protocol

import msgspec

from ferrule.app.batches import BatchRun
from ferrule.app.surface import CallUnderWay, SurfaceHandle
from ferrule.infra.tasks import resolve
from ferrule.model.result import Pending, Result
from ferrule.runtime.functions.runs import InlineRun
from ferrule.runtime.pipeline.call import NO_OPTIONS, CallOptions
from ferrule.runtime.pipeline.live import Cancel
from ferrule.servers.api.ask import KEY, LAST_EVENT, Ask
from ferrule.servers.api.calls.events import END, bounded, call_events, event, first_event
from ferrule.servers.api.calls.outcomes import as_seen, demand_recorded, demand_sight, refused, seen, state_of
from ferrule.servers.api.replies import NO_STORE, Problem, Replied, Reply, not_found
from ferrule.servers.api.requests import UNSAID, Preference
from ferrule.servers.api.shapes import Name, Reason, Record, says, whole
from ferrule.servers.asgi import EVENTS, Answer, Header, Stream
from ferrule.servers.edge import Leave

_UNDECIDED = frozenset({"planned", "selected", "arguments_ready", "pre_hooks_running"})
"""States in which a call may still turn out to be another one's duplicate."""
_DECIDED_SECONDS = 2.0
_REPLAYED: Header = (b"idempotency-replayed", b"true")
"""Of an answer that another request with the same key had before."""
Asked = Literal["elicitation", "elicitation.url", "sampling", "sampling.tools", "roots"]


class CallOptionsBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """One call."""

    tool: Name
    arguments: Annotated[
        msgspec.Raw | msgspec.UnsetType, says("The tool's arguments, as its input schema wants them.")
    ] = msgspec.UNSET
    timeout_seconds: Annotated[
        Annotated[float, msgspec.Meta(gt=0, le=86_400)] | None, says("How long the tool may take.")
    ] = None
    priority: Annotated[float, whole(-100, 100), says("Of those that wait for a turn, the higher goes first.")] = 0
    native_call_id: Annotated[
        Annotated[str, msgspec.Meta(max_length=200)] | None, says("What the caller calls it; it is on record.")
    ] = None
    retry_of: Annotated[Annotated[str, msgspec.Meta(max_length=40)] | None, says("The call that this one repeats.")] = (
        None
    )
    client: Annotated[
        tuple[Asked, ...], says("What the caller can be asked for while the tool works.", max_length=5)
    ] = ()

    digest: Annotated[
        Annotated[str, msgspec.Meta(max_length=200)] | None,
        says(
            "The tool's digest, as it was read with its schema: a deferred tool is loaded by it. Another tool is a 409."
        ),
    ] = None

    @property
    def written_arguments(self) -> bytes:
        """The arguments as they were sent; none at all are no members."""
        return b"{}" if isinstance(self.arguments, msgspec.UnsetType) else bytes(self.arguments)


class CallBody(CallOptionsBody, kw_only=True, forbid_unknown_fields=True):
    """A call to make."""


class CancelBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A request to stop."""

    reason: Reason = ""


class CancelState(msgspec.Struct, kw_only=True):
    """What is known of a request to stop."""

    invocation_id: str
    outcome: Annotated[str, says("`canceled`, `cancel_failed`, or `requested` while its tool has not stopped.")]
    is_acknowledged: bool
    is_supported: bool | None
    state: str
    message: str


class AnswersBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What the caller gives a tool that asked it."""

    answers: Annotated[
        dict[str, Record], says("For each key of `client_requests` what the caller gave, in MCP's words.")
    ]


class Named(Protocol):
    """What names a tool, and perhaps the very version that was read."""

    @property
    def tool(self) -> str:
        """Its name."""

    @property
    def digest(self) -> str | None:
        """Of the version that was read."""


def load(surface: SurfaceHandle, call: Named) -> None:
    """Load a deferred tool for whoever has its schema already, maybe from another process. Raises Problem for a tool that has
    changed since."""
    entry = surface.surface.find(call.tool) if call.digest is not None else None
    if entry is None or not entry.is_visible:
        return
    if entry.digest != call.digest:
        raise Problem(409, "tool_changed", f"{call.tool!r} is not what it was; read its schema again")
    if entry.standing == "deferred":
        surface.select([call.tool])


def key_for(surface: SurfaceHandle, name: str, key: str | None) -> str | None:
    """The idempotency key of a call. One for a tool that the caller may not know of counts for nothing: that a second call is
    the first one would tell that there is such a tool."""
    entry = surface.surface.find(name) if key is not None else None
    return key if entry is not None and entry.is_visible else None


def make_call(ask: Ask) -> Replied | Awaitable[Replied]:
    """Use a tool."""
    surface = ask.surface()
    return _call_on(ask, surface) if isinstance(surface, SurfaceHandle) else _call_later(ask, surface)


async def _call_later(ask: Ask, surface: Awaitable[SurfaceHandle]) -> Replied:
    return await resolve(_call_on(ask, await surface))


def _call_on(ask: Ask, surface: SurfaceHandle) -> Replied | Awaitable[Replied]:
    body, preference = ask.body(CallBody), ask.preference
    if ask.wants_events:
        ask.background.demand_room(ask.caller)
    load(surface, body)
    said: dict[str, Any] = {
        "idempotency_key": key_for(surface, body.tool, ask.header(KEY)),
        "timeout_seconds": body.timeout_seconds,
        "native_call_id": body.native_call_id,
        "retry_of": body.retry_of,
        "priority": int(body.priority),
        "client": frozenset(body.client),
    }
    key = said["idempotency_key"]
    if preference != UNSAID or ask.wants_events or key is not None or not _is_quick(surface, body.tool):
        return _call_in_background(ask, surface, said)
    options = CallOptions(**said) if any(said.values()) else NO_OPTIONS
    leave = ask.edge.turnstile.enter(ask.caller)
    if isinstance(leave, Awaitable):
        return _call_after(surface, body, options, leave)
    return _call_at_once(surface, body, options, leave)


async def _call_after(surface: SurfaceHandle, body: CallBody, options: CallOptions, turn: Awaitable[Leave]) -> Replied:
    return await resolve(_call_at_once(surface, body, options, await turn))


def _call_at_once(
    surface: SurfaceHandle, body: CallBody, options: CallOptions, leave: Leave
) -> Reply | Awaitable[Reply]:
    """Calls a tool that is quick; whoever asks waits for its end, however long that takes."""
    try:
        outcome = surface.start(body.tool, body.written_arguments, options)
    except BaseException:
        leave()
        raise
    if not isinstance(outcome, Result):
        return _wait_for(surface, body, outcome, leave)
    leave()
    return _reply(surface, body, outcome, UNSAID)


async def _wait_for(surface: SurfaceHandle, body: CallBody, call: CallUnderWay, leave: Leave) -> Reply:
    try:
        return _reply(surface, body, await call, UNSAID)
    finally:
        leave()


async def _call_in_background(ask: Ask, surface: SurfaceHandle, said: dict[str, Any]) -> Replied:
    """Calls a tool in a task of its own, so that its end can be waited for as long as the client likes."""
    body, preference, key = ask.body(CallBody), ask.preference, said["idempotency_key"]
    leave = await resolve(ask.edge.turnstile.enter(ask.caller))
    try:
        run = await surface.begin(body.tool, body.written_arguments, **said)
    except BaseException:
        leave()
        raise
    ending = ask.background.keep(_ended(run))
    ending.add_done_callback(lambda _: leave())
    if ask.wants_events:
        return _stream(ask, surface, body.tool, run, ending)
    outcome = await _outcome(ask, surface, run, ending, preference)
    if key is not None and isinstance(outcome, Pending) and not ending.done():
        outcome = await _decided(run, ending) or outcome
    is_replayed = outcome.invocation_id != run.invocation_ids[0]
    return _reply(surface, body, outcome, preference, (_REPLAYED,) if is_replayed else ())


def _is_quick(surface: SurfaceHandle, name: str) -> bool:
    """True for a tool that never waits for anything, so that nobody has to look at the clock meanwhile."""
    session = surface.session
    prepared = session.prepared.get(name) or session.find(name)
    return isinstance(prepared.run, InlineRun)


def _reply(
    surface: SurfaceHandle,
    body: CallBody,
    outcome: Result | Pending,
    preference: Preference,
    more: tuple[Header, ...] = (),
) -> Reply:
    """What a client is told of its call; `more`: headers. Raises Problem for one that was refused."""
    outcome = seen(surface.surface, body.tool, outcome)
    if isinstance(outcome, Pending):
        waiting = waiting_reply(outcome, preference)
        return msgspec.structs.replace(waiting, headers=(*waiting.headers, *more))
    problem = refused(outcome, surface, body.tool, body.written_arguments)
    if problem is not None:
        problem.headers += more
        raise problem
    return Reply(state_of(outcome), headers=(_location(outcome.invocation_id, b"content-location"), *more))


async def _ended(run: BatchRun) -> Result | Pending:
    outcome: Result | Pending = (await run.ended())[0]
    return outcome


async def _outcome(
    ask: Ask, surface: SurfaceHandle, run: BatchRun, ending: asyncio.Task[Result | Pending], preference: Preference
) -> Result | Pending:
    """How a call ended, or where it stands when the time is up that its client wants to wait."""
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
        return await waited(ask, surface, outcome, left)
    return outcome


async def waited(ask: Ask, surface: SurfaceHandle, pending: Pending, seconds: float) -> Result | Pending:
    """The outcome of a call that waits, after some time; whoever waits may run it, so that goes on when the time is up."""
    later = ask.background.keep(surface.result(pending.invocation_id, seconds))
    await asyncio.wait({later}, timeout=seconds)
    return (later.result() or pending) if later.done() else pending


async def _decided(run: BatchRun, ending: asyncio.Task[Result | Pending]) -> Result | Pending | None:
    """The first call's outcome, if this one turns out to be its duplicate: then no call of its own is left to look at."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _DECIDED_SECONDS
    while not ending.done() and run.states()[0] in _UNDECIDED and loop.time() < until:
        await asyncio.wait({ending}, timeout=0.005)
    return ending.result() if ending.done() else None


def _location(invocation_id: str, name: bytes = b"location") -> Header:
    return (name, f"/v1/calls/{invocation_id}".encode())


def waiting_reply(pending: Pending, preference: Preference) -> Reply:
    """202: it has not ended, and where to look."""
    headers = (
        _location(pending.invocation_id),
        (b"retry-after", b"1" if pending.state in ("queued", "running") else b"5"),
        *applied(preference),
    )
    return Reply(state_of(pending), 202, headers)


def applied(preference: Preference) -> tuple[Header, ...]:
    """What was done as the client would like it."""
    return ((b"preference-applied", preference.applied.encode()),) if preference.applied else ()


def _stream(
    ask: Ask, surface: SurfaceHandle, name: str, run: BatchRun, ending: asyncio.Task[Result | Pending]
) -> Stream:
    invocation_id, preference = run.invocation_ids[0], ask.preference

    async def final() -> Result | Pending | None:
        outcome = await asyncio.shield(ending)
        if isinstance(outcome, Pending):  # progress told that it waits, and it may have ended since
            outcome = await surface.result(outcome.invocation_id) or outcome
        return seen(surface.surface, name, outcome)

    async def still() -> bytes:
        outcome = await ask.edge.app.result(invocation_id)
        if isinstance(outcome, Result):
            return event("result", state_of(seen(surface.surface, name, outcome)), END)
        waiting = Pending(invocation_id=invocation_id, state=run.states()[0], message="it has not ended yet")
        return event("waiting", state_of(outcome or waiting))

    async def events() -> AsyncIterator[bytes]:
        yield first_event(invocation_id)
        news = call_events(ask.edge.app, invocation_id, 0, final)
        async for said in news if preference.wait is None else bounded(news, preference.wait, still):
            yield said

    source = ask.background.stream(ask.caller, ask.request, events())
    headers = (EVENTS, NO_STORE, _location(invocation_id, b"content-location"), *applied(preference))
    return Stream(200, source, headers)


async def get_call(ask: Ask) -> Replied:
    """Where a call stands, or how it ended."""
    owner = await demand_sight(ask)
    app, wait = ask.edge.app, ask.preference.wait
    outcome = await app.result(ask.invocation_id)
    if isinstance(outcome, Pending) and wait:
        later = ask.background.keep(
            app.result(ask.invocation_id, wait=min(wait, ask.edge.settings.limits.request_seconds))
        )
        await asyncio.wait({later}, timeout=min(wait, ask.edge.settings.limits.request_seconds))
        outcome = (later.result() or outcome) if later.done() else outcome
    if outcome is None:
        raise not_found(f"there is no call {ask.invocation_id[:40]!r} of yours")
    outcome = await as_seen(ask, owner, outcome)
    return Reply(state_of(outcome), is_final=isinstance(outcome, Result))


async def follow_call(ask: Ask) -> Replied:
    """The progress of a call, and its result, as they come."""
    owner = await demand_sight(ask)
    last = ask.header(LAST_EVENT)
    if last == "end":
        return Answer(204, b"", (NO_STORE,))
    app = ask.edge.app

    async def final() -> Result | Pending | None:
        outcome = await app.result(ask.invocation_id)
        return outcome if outcome is None else await as_seen(ask, owner, outcome)

    events = call_events(app, ask.invocation_id, int(last or 0), final)
    return Stream(200, ask.background.stream(ask.caller, ask.request, events), (EVENTS, NO_STORE))


async def cancel_call(ask: Ask) -> Replied:
    """Ask that a call stops."""
    await demand_sight(ask)
    cancel = Cancel(reason=ask.body(CancelBody).reason, by=ask.caller.identity.principal)
    found = await ask.edge.app.calls.cancel(ask.invocation_id, cancel)
    if found is None:
        raise not_found(f"there is no call {ask.invocation_id[:40]!r} of yours")
    return Reply(found, 202 if found.outcome == "requested" else 200)


async def answer_call(ask: Ask) -> Replied:
    """Give a tool what it asked its caller for."""
    owner = await demand_sight(ask)
    surface, preference = await resolve(ask.surface()), ask.preference
    leave = await resolve(ask.edge.turnstile.enter(ask.caller))
    recorded = asyncio.Event()
    later = ask.background.keep(
        surface.answer(ask.invocation_id, ask.body(AnswersBody).answers, on_recorded=recorded.set)
    )
    later.add_done_callback(lambda _: leave())
    loop, most = asyncio.get_running_loop(), ask.edge.settings.limits.request_seconds
    patience = min(most, preference.wait) if preference.wait is not None else 0.0 if preference.is_async else most
    until = loop.time() + patience
    await demand_recorded(later, recorded, most)
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
    outcome = await as_seen(ask, owner, outcome)
    return waiting_reply(outcome, preference) if isinstance(outcome, Pending) else Reply(state_of(outcome))
