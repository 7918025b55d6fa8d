"""An agent's surface, to call tools through, search in and look at. It can ask; it can never approve."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ferrule.app.batch_requests import CallRequest, CallSpec, make_request, read_requests
from ferrule.app.batches import Batch, BatchRun, Update
from ferrule.app.preview.preview import Preview, preview_arguments
from ferrule.app.progress import Cancellation, follow_progress
from ferrule.errors import BatchError, FerruleError, LedgerError
from ferrule.model.decision import CLIENT_CHANNEL
from ferrule.model.failure import Stop
from ferrule.model.progress import Progress
from ferrule.model.result import Pending, Result
from ferrule.model.scheduling import SchedulerPolicy
from ferrule.model.surface import SearchResult, Surface, SurfaceRequest
from ferrule.model.value import JsonObject
from ferrule.runtime.approval.inbox import OnRecorded
from ferrule.runtime.pipeline.call import NO_OPTIONS, RUNNING, Call, DuplicateCall, RunOptions
from ferrule.runtime.pipeline.call_parts import CallInputs
from ferrule.runtime.pipeline.drive import Outcome, drive, release_call, stop_call
from ferrule.runtime.pipeline.live import Cancel, LiveCall
from ferrule.runtime.pipeline.session import Session
from ferrule.runtime.pipeline.supervise import build_cancel_stop
from ferrule.runtime.surface.render import Rendering, render
from ferrule.runtime.surface.search import parse_selection, search, select

if TYPE_CHECKING:
    from ferrule.app.app import App

_encode = msgspec.json.encode
_OF_LANES = frozenset({"scope", "max_parallel_per_tool", "max_parallel_per_principal", "max_queued", "parallel_classes",
                       "resource_locks"})  # fmt: skip
"""What a batch cannot say for itself: other calls are meant, too."""


class CallUnderWay:
    """A call that has not ended: its id, and its outcome, to be awaited once."""

    __slots__ = ("_outcome", "invocation_id")

    def __init__(self, invocation_id: str, outcome: Coroutine[Any, Any, Result | Pending]) -> None:
        self.invocation_id = invocation_id
        self._outcome = outcome

    def __await__(self) -> Generator[Any, Any, Result | Pending]:
        return self._outcome.__await__()

    def close(self) -> None:
        """Throws the call away before anybody has awaited it."""
        self._outcome.close()


class SurfaceHandle:
    """A caller's view of the tools, always judged by the catalog, the policy and the switches of this moment."""

    def __init__(self, app: App, request: SurfaceRequest, session: Session) -> None:
        self._app = app
        self._request = request
        self.session = session
        """The surface in use."""
        session.set_handle(self, app.make_handle)

    @property
    def surface(self) -> Surface:
        """The surface as it was at the last call or refresh."""
        return self.session.surface

    @property
    def is_current(self) -> bool:
        """True when nothing that it depends on has changed since it was made."""
        return self.session.generation == self._app.generation()

    @property
    def request(self) -> SurfaceRequest:
        """The caller and its context."""
        return self._request

    async def call(
        self,
        name: str,
        arguments: JsonObject | bytes | None = None,
        *,
        idempotency_key: str | None = None,
        timeout_seconds: float | None = None,
        native_call_id: str | None = None,
        retry_of: str | None = None,
        priority: int = 0,
        wait: float | None = None,
        client: frozenset[str] = frozenset(),
        options: RunOptions = NO_OPTIONS,
    ) -> Result | Pending:
        """Calls a tool. Returns its result, or a `Pending` when the call waits for a person; never raises for what a call
        can go wrong with.

        `arguments`: an object, or its JSON as bytes. `wait`: how many seconds to wait for a pending call's result.
        `client`: what the calling client can be asked for, where it can be asked at all; see `answer`.
        `options`: all that can be said of one call, instead of the words before.
        """
        if idempotency_key or timeout_seconds is not None or native_call_id or retry_of or priority or client:
            options = RunOptions(
                idempotency_key=idempotency_key,
                timeout_seconds=timeout_seconds,
                native_call_id=native_call_id,
                retry_of=retry_of,
                priority=priority,
                client=client,
            )
        outcome = self.start(name, arguments, options, wait=wait)
        return outcome if isinstance(outcome, Result) else await outcome

    def start(
        self,
        name: str,
        arguments: JsonObject | bytes | None = None,
        options: RunOptions = NO_OPTIONS,
        *,
        wait: float | None = None,
        listener: Callable[[Progress], None] | None = None,
        is_current: bool = False,
    ) -> Result | CallUnderWay:
        """Starts a call. Returns its result where nothing has to be waited for, else the call under way, to await once, in this
        task (or, within `begin_elsewhere`, in another one).

        `listener`: called with each progress record of the call, in order, in the event loop. `is_current`: the caller has made
        sure of that in this step of the event loop, so nobody looks again. Never raises for what a call can go wrong with.
        """
        app, session = self._app, self.session
        try:
            written = arguments if type(arguments) is bytes else _encode({} if arguments is None else arguments)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            stop = Stop("schema_validation_failed", f"the arguments cannot be written as JSON: {error}", "invalid_json")
            call = self._plan_call(session, name, b"null", options)
            return CallUnderWay(call.invocation_id, self._stop_unstarted(call, stop))
        # Planned before anything can refuse it, so that each refusal has an id and a record.
        call = self._plan_call(session, name, written, options)
        if listener is not None:
            app.services.live.add(call, app.services).listener = listener
        if not is_current and session.generation != app.generation():
            return CallUnderWay(call.invocation_id, self._start_on_new_surface(call, wait))
        if app.services.live.is_closing:
            return CallUnderWay(
                call.invocation_id, self._stop_unstarted(call, build_cancel_stop(call, Cancel("runtime_shutdown")))
            )
        going = drive(call, app.services)
        return going if isinstance(going, Result) else CallUnderWay(call.invocation_id, self._settle(going, wait))

    async def _start_on_new_surface(self, call: Call, wait: float | None) -> Result | Pending:
        """Starts a call after making its surface again: something that it depends on has changed."""
        try:
            call.session = await self.refresh()
        except FerruleError as error:
            return await self._stop_unstarted(call, _unmade(error))
        services = self._app.services
        if services.live.is_closing:
            return await self._stop_unstarted(call, build_cancel_stop(call, Cancel("runtime_shutdown")))
        return await self._settle(drive(call, services), wait)

    async def _settle(self, going: Outcome | Awaitable[Outcome], wait: float | None = None) -> Result | Pending:
        """Awaits what becomes of a call. A duplicate gets the first call's answer; whoever wants to wait does."""
        outcome = going if isinstance(going, Pending | DuplicateCall | Result) else await going
        return outcome if isinstance(outcome, Result) else await self._app.calls.resolve_outcome(outcome, wait)

    def _plan_call(self, session: Session, name: str, written: bytes, options: RunOptions) -> Call:
        services = self._app.services
        now, tick = services.now(), services.tick
        # A third of the time of an f-string with two fields.
        call_id = "inv_%024x" % (now << 40 | self._app.bits(40))
        # In order, without keywords: matching names would take as long as making the record.
        call = Call(call_id, name, session, CallInputs(written), now, tick(), tick, options, "planned", [0], [])
        parent = RUNNING.get()
        if parent is not None:
            call.flight.parent = parent
            call.notes = {"parent": parent.invocation_id}
        if options is not NO_OPTIONS and options.handed:
            call.secrets = options.handed.secrets
        return call

    async def _stop_unstarted(self, call: Call, stop: Stop) -> Result | Pending:
        """Ends a call that cannot begin; it is recorded all the same."""
        call.prepared = call.session.find(call.tool_name)
        try:
            return await self._settle(stop_call(call, self._app.services, stop))
        finally:
            release_call(call, self._app.services)

    async def call_many(self, calls: Iterable[CallSpec], *, wait: float | None = None, **policy: Any) -> Batch:
        """Use many tools. Gives their results in call order; reads run side by side, everything else in turn.

        `calls`: `(name, arguments)`, or mappings with `name`, `arguments`, `id`, `depends_on`, `idempotency_key`,
        `timeout_seconds`, `native_call_id`, `priority`. `policy`: fields of the scheduler policy for this batch, such as
        `sibling_failure_policy="cancel_siblings"`. Raises BatchError for a batch that makes no sense.
        """
        return await (await self.begin_many(calls, wait=wait, **policy)).wait()

    async def stream_many(
        self, calls: Iterable[CallSpec], *, wait: float | None = None, **policy: Any
    ) -> AsyncIterator[Update]:
        """The same, told as it goes: progress at once, results in call order unless the policy permits any."""
        async for update in (await self.begin_many(calls, wait=wait, **policy)).updates():
            yield update

    async def begin_many(self, calls: Iterable[CallSpec], *, wait: float | None = None, **policy: Any) -> BatchRun:
        """Let a batch go, and give it while it runs: the ids of its calls, their states, `updates()` and `ended()`."""
        return await self._begin_batch(read_requests(calls), wait, policy, self._app.new_id("bat"))

    async def begin(
        self, name: str, arguments: JsonObject | bytes | None = None, *, wait: float | None = None, **options: Any
    ) -> BatchRun:
        """Let one call go, and give it while it runs: `invocation_ids[0]` is known at once, to follow or cancel it by.
        `options`: as of `call`. The record is that of `call`, too: no batch is mentioned in it."""
        return await self._begin_batch([make_request(name, arguments, options)], wait, {}, "")

    async def _begin_batch(
        self, requests: Sequence[CallRequest], wait: float | None, policy: JsonObject, batch_id: str
    ) -> BatchRun:
        app = self._app
        session = await self.refresh()
        run = BatchRun(requests, _with(session.lane.policy, policy), app.services, app.calls, batch_id)
        run.begin(session, self._plan_call, wait)
        return run

    async def follow(self, invocation_id: str, after: int = 0) -> AsyncIterator[Progress]:
        """The progress of a call, in order, from any sequence number on, until the call has ended. Ends at once for a call
        that is not this principal's."""
        if await self._app.calls.is_of(invocation_id, self._request):
            async for said in follow_progress(self._app.store, self._app.services.live, invocation_id, after):
                yield said

    async def answer(
        self,
        invocation_id: str,
        given: JsonObject,
        wait: float | None = None,
        *,
        resume: bool = True,
        on_recorded: OnRecorded = lambda: None,
    ) -> Result | Pending | None:
        """Give a tool of this principal's call what it asked the calling client for: one member for each key of
        `client_requests`. It goes on at once, unless `resume` is False: then it does when somebody looks after it. None for a
        call of somebody else's, or one that asks its client nothing."""
        app, request = self._app, self._request
        if not await app.calls.is_of(invocation_id, request):
            return None
        fate = await app.deliver(
            invocation_id, given, CLIENT_CHANNEL, by=request.principal, resume=resume, on_recorded=on_recorded
        )
        return None if fate in ("refused", "unknown") else await self.result(invocation_id, wait)

    async def cancel(self, invocation_id: str, reason: str = "", *, within: float = 1.0) -> Cancellation | None:
        """Ask that a call stops; gives what is known after `within` seconds. None for one that is not this principal's."""
        cancel = Cancel(reason=reason, by=self._request.principal)
        return await self._app.calls.cancel(invocation_id, cancel, caller=self._request, within=within)

    def interrupt(self, reason: str = "") -> list[str]:
        """The user interrupts: calls whose tool says `cancel` are stopped, the others go on, and calls made from now on wait
        for those (AT-168, AT-169). Gives the ids of what was told to stop."""
        lane, told = self.session.lane, []
        for live in self._app.services.live.list_in_lane(lane):
            if not self._is_own(live):
                continue
            batch = live.call.flight.batch
            policy = lane.policy if batch is None else batch.policy
            if (policy.interrupt_behavior or live.call.interrupt_behavior) == "cancel":
                live.ask_to_stop(Cancel(reason=reason, by=self._request.principal))
                told.append(live.call.invocation_id)
        lane.add_barrier()
        return told

    def discard(self, invocation_ids: Iterable[str], reason: str = "") -> None:
        """Throw away calls of a turn that was replaced (a streaming fallback): each ends now as `discarded`; what a tool
        gives after that is recorded and not delivered (AT-177)."""
        for invocation_id in invocation_ids:
            live = self._app.services.live.calls.get(invocation_id)
            if live is not None and live.call.session.lane is self.session.lane and self._is_own(live):
                live.give_up(Cancel("fallback", reason, self._request.principal))

    def _is_own(self, live: LiveCall) -> bool:
        """True for a call of this principal's: a lane may be everybody's."""
        of, own = live.call.session.surface.request, self._request
        return (of.principal, of.tenant) == (own.principal, own.tenant)

    def guardrail_fired(self, guardrail_id: str, reason: str = "") -> None:
        """Tell that a guardrail of the agent's own runtime fired on its input, in this run (AML-104)."""
        self._app.guardrail_fired(self._request.run_id, guardrail_id, reason)

    def announce(self, what: str) -> None:
        """Tell the clients of this tenant that something changed: `tools`, `prompts`, `resources`, or a resource by its
        address. Safe from any thread."""
        for tell in tuple(self._app.announcing):
            tell(what, self._request.tenant)

    @property
    def context(self) -> JsonObject:
        """A copy of the values that tools of this run left for later ones (context modifiers)."""
        return dict(self.session.values)

    async def check(self, name: str, arguments: bytes) -> Preview:
        """Previews a call with these arguments, as JSON. It is not made, and not recorded."""
        return await preview_arguments(await self.refresh(), self._app.services, name, arguments)

    async def payload(self, uri: str, offset: int = 0, limit: int | None = None) -> bytes:
        """The bytes of a stored result, or a range of them. Raises PayloadGone."""
        request = self._request
        return await self._app.payload(
            uri, principal=request.principal, tenant=request.tenant, offset=offset, limit=limit
        )

    async def search(self, query: str, limit: int | None = None) -> SearchResult:
        """Find tools: by what they do, or exactly with `select:name,name`, which also loads their schemas."""
        await self.refresh()
        settings = self._app.surface_settings
        found = search(self.surface, query, search_id=self._app.new_id("sea"), limit=limit or settings.max_matches)
        self.tell_found(found.matches, found.search_id)
        if found.next_action == "load_schema_then_call" and found.query_type == "select":
            self.select(parse_selection(query), found.search_id)
        return found

    def select(self, names: Sequence[str], search_id: str | None = None) -> Surface:
        """Load the schemas of deferred tools, so that they can be called."""
        app, before = self._app, self.session
        ref = search_id or app.new_id("sel")
        selected = select(before.surface, names, ref, new_id=lambda: app.new_id("srf"), now=app.services.now())
        if selected is not before.surface:
            self._request = selected.request
            self.session = app.sessions.derive(selected, before)
            self.session.set_handle(self, app.make_handle)
            loaded = [key for key, entry in selected.entries.items() if entry is not before.surface.entries.get(key)]
            app.changes.record_surface(selected, "loaded", tools=loaded, search_id=ref)
        return selected

    def tell_found(self, tool_ids: Sequence[str], search_id: str) -> None:
        """Record which deferred tools a search found (AT-188)."""
        found = [tool_id for tool_id in tool_ids if self.surface.entries[tool_id].standing == "deferred"]
        if found:
            self._app.changes.record_surface(self.surface, "discovered", tools=found, search_id=search_id)

    def tools(self) -> Rendering:
        """The tools as a model is shown them: name, description, input schema; names of deferred ones."""
        return render(self.surface, self._app.surface_settings)

    async def result(self, invocation_id: str, wait: float | None = None) -> Result | Pending | None:
        """How a call ended, or what it waits for; None for one that is not this principal's."""
        return await self._app.calls.result(invocation_id, wait, self._request)

    async def update(self, **changes: Any) -> Surface:
        """Change the context (model, role, features, pins, …): the surface is made again."""
        self._request = msgspec.structs.replace(self._request, **changes)
        return (await self.refresh(is_forced=True)).surface

    async def refresh(self, *, is_forced: bool = False) -> Session:
        """Make the surface again if anything it depends on changed."""
        before = self.session
        session = await self._app.sessions.refresh(self._request, before, is_forced=is_forced)
        if session is not before:
            session.set_handle(self, self._app.make_handle)
            self.session = session
        return session


def _with(policy: SchedulerPolicy, changes: JsonObject) -> SchedulerPolicy:
    foreign = sorted(changes.keys() & _OF_LANES)
    if foreign:
        raise BatchError(f"{foreign[0]!r} holds for a whole lane, not for one batch; set it in [scheduler]")
    try:
        return msgspec.convert({**msgspec.to_builtins(policy), **changes}, SchedulerPolicy)
    except msgspec.ValidationError as error:
        raise BatchError(f"the policy of a batch cannot be used: {error}") from None


def _unmade(error: FerruleError) -> Stop:
    """Why a call cannot begin: what the caller may use now cannot be found out, so the answer is no."""
    if isinstance(error, LedgerError):
        message = f"the ledger cannot be read, so it is not known which tools are switched off: {error}"
        return Stop("dependency_unavailable", message, "ledger_unavailable")
    return Stop("policy_blocked", f"the caller's surface cannot be made again: {error}", "surface_gone")
