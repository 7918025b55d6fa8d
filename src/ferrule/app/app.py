"""The running system: one catalog, one policy, one ledger, and the calls between them.

`ferrule.open(path)` gives an App. Surfaces are what agents get, the inbox is what people get; both meet in the ledger.
`assembly.py` picks the parts; here they work together.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from ferrule.app.call_records import CallRecords, make_call_records
from ferrule.app.housekeeping import Housekeeping
from ferrule.app.policy_source import PolicySource
from ferrule.app.progress import Cancellation, follow_progress
from ferrule.app.recorded_calls import Calls
from ferrule.app.replies import Receivers, ReplyDelivery
from ferrule.app.resources import ProcessResources
from ferrule.app.surface import SurfaceHandle
from ferrule.contracts.executor import Executor
from ferrule.contracts.policy import PolicyEngine
from ferrule.contracts.receiver import Fate
from ferrule.contracts.store import Store
from ferrule.contracts.surface import CatalogView, Readiness
from ferrule.errors import FerruleError, LedgerUnavailable, SurfaceError
from ferrule.infra.clock import Clock, MakeId
from ferrule.ledger.history.details import Level
from ferrule.model.approval import Identity
from ferrule.model.failure import Stop
from ferrule.model.journal import Entry, Kind, Mark, OpenCall, Payload
from ferrule.model.progress import Progress
from ferrule.model.result import Pending, Result
from ferrule.model.story import Story
from ferrule.model.surface import Standing, Surface, SurfaceRequest, SurfaceSettings, request_key
from ferrule.model.tool import Tool
from ferrule.runtime.approval.inbox import Accept, Inbox, OnRecorded
from ferrule.runtime.approval.key import CHANNEL, ApprovalKey, call_of
from ferrule.runtime.approval.notices import Notices, Reminders
from ferrule.runtime.executors.caching import ResultCache
from ferrule.runtime.executors.systems import profile_of
from ferrule.runtime.hooks.guardrail_records import FiredRuns
from ferrule.runtime.pipeline.arguments.validation import ArgumentProblem, Arguments
from ferrule.runtime.pipeline.hooks.answers import refuse_unusable_hooks
from ferrule.runtime.pipeline.inputs import redact_input
from ferrule.runtime.pipeline.live import Cancel
from ferrule.runtime.pipeline.pulse import Pulse
from ferrule.runtime.pipeline.results.payload_access import read_payload
from ferrule.runtime.pipeline.services import Services
from ferrule.runtime.pipeline.session import Session
from ferrule.runtime.pipeline.tool_facts import is_input_fixed
from ferrule.runtime.policy.load import RefusingPolicy
from ferrule.runtime.redaction.redactor import ONLY_GIVEN
from ferrule.runtime.redaction.sensitive_input import Mask
from ferrule.runtime.scheduler.scheduler import Lane
from ferrule.runtime.surface.build import build_surface
from ferrule.runtime.surface.changes import difference
from ferrule.runtime.surface.records import scheduler_policy_of

if TYPE_CHECKING:
    from ferrule.infra.credentials.oauth import Authorizations
    from ferrule.infra.credentials.oauth_tokens import OAuthUserTokens

STANDINGS: tuple[Standing, ...] = get_args(Standing)
_SESSIONS_KEPT = 64
_log = logging.getLogger("ferrule.app")
_LOOK_EVERY = 1_000_000_000
"""How often, in nanoseconds, the policy files are looked at for changes."""


class Parts(msgspec.Struct, kw_only=True):
    """What an App is made of."""

    store: Store
    clock: Clock
    new_id: MakeId
    catalog: CatalogView
    policy: PolicySource
    executors: tuple[Executor, ...] = ()
    installed: Callable[[], tuple[Executor, ...]] = tuple
    """Makes the executors that other packages brought, when a tool comes that none of ours can run: finding them takes long."""
    key: ApprovalKey
    services: Services
    remake_catalog: Callable[[], CatalogView]
    """Builds the catalog from the definitions as they are now; slow, and safe in a thread. Raises FerruleError."""
    readiness: Readiness | None = None
    readiness_state: Callable[[], Any] = lambda: None
    """Changes when tools may have become ready, or stopped being so: a file of secrets was changed."""
    name: str = "ferrule"
    """The workspace, as events and records name it."""
    root: Path = Path()
    """The workspace's folder."""
    surface_settings: SurfaceSettings = SurfaceSettings()
    fired: FiredRuns
    """The runs whose input guardrail fired."""
    cache: ResultCache
    """Results of retrievals that are kept for a while."""
    notices: Notices
    """Everybody who is told of what waits; reminders and tasks that are handed on go there too."""
    outside: ProcessResources
    """What reaches beyond this process, and what users authorized there."""
    tends: bool = True
    """True for a process that stays: it finds lost calls, ends what expired and goes on with what was answered."""
    closing: tuple[Callable[[], Any], ...] = ()
    """What else has to be let go of, in order."""


class App:
    """The running system. Use it as an async context manager; `ferrule.open` makes one."""

    def __init__(self, parts: Parts) -> None:
        refuse_unusable_hooks(parts.services.hooks)
        self._parts = parts
        self.services = parts.services
        self.store = parts.store
        self.catalog = parts.catalog
        self.new_id = parts.new_id
        self.bits = Random(os.urandom(16)).getrandbits
        """Random numbers for ids of calls."""
        self.name = parts.name
        self.root = parts.root
        self.surface_settings = parts.surface_settings
        self._engine: PolicyEngine = RefusingPolicy("the policy is not loaded yet")
        self._policy_state: Any = None
        self._readiness_state: Any = parts.readiness_state()
        self._told_policy = ""
        self._installed: tuple[Executor, ...] = ()
        self._is_looked_for = False
        self._epoch = 0
        self._next_look = 0
        self._off: frozenset[str] = frozenset()
        self._off_at = -1
        self._sessions: dict[str, Session] = {}
        self.announcing: list[Callable[[str, str], None]] = []
        """Whoever tells clients of changes: called with what a tool announced, and for which tenant."""
        self.patience_seconds = 2.0
        """How long tools that are told to stop are waited for when the app closes."""
        self.services.live.pulse = Pulse(self.services.live, self.services)
        self.calls = Calls(self.store, self.services, self._reuse_session)
        self._deliveries = deliveries = ReplyDelivery(self.store, self.inbox, self._find_tool, self.find_executor)
        receivers = Receivers(deliveries.find_reply_channel, deliveries.find_receiver, deliveries.deliver)
        self._reminders = Reminders(self.store, parts.key, self.services.wall, parts.notices.remind)
        self._tending = Housekeeping(self.store, self.calls, self.services, receivers, self._reminders)

    async def __aenter__(self) -> App:
        await self.store.open()
        await self.services.live.pulse.open()
        self._told_policy = await self._last_digest("policy")
        self._load_policy()
        if self.catalog.digest != await self._last_digest("catalog"):
            self._record_catalog(None, self.catalog)
        await self._refresh_switches(self.generation())
        if self._parts.tends:
            await self._tending.begin()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.services.live.aclose(self.patience_seconds)
        await self._tending.aclose()
        for let_go in self._parts.closing:
            waiting = let_go()
            if waiting is not None:
                await waiting
        for executor in (*self._parts.executors, *self._installed):
            await executor.aclose()
        await self._parts.outside.aclose()
        if self.services.payloads is not None:
            await self.services.payloads.aclose()
        await self.store.aclose()

    def listen(self) -> None:
        """Receive the replies that calls wait for. Processes that tend their ledger do so anyway."""
        self._tending.listen()

    # What agents get

    def surface(
        self,
        *,
        agent: str | None = None,
        principal: str = "local",
        channel: str | None = None,
        run_id: str | None = None,
        **context: Any,
    ) -> SurfaceHandle:
        """A surface for one caller. `context` takes the fields of `SurfaceRequest`: model, role, tenant, pins, …

        Raises SurfaceError for an agent, role or surface the catalog does not have.
        """
        request = SurfaceRequest(
            agent=agent,
            principal=principal,
            channel=channel or f"python:{self.store.instance}",
            run_id=run_id or self.new_id("run"),
            is_shared_run=run_id is not None,
            **context,
        )
        _refuse_unencodable(request)
        session = self._open_session(request, self._off_at)
        self.record_surface(session.surface, "created")
        return SurfaceHandle(self, request, session)

    def make_handle(self, session: Session) -> SurfaceHandle:
        """Another handle on a surface in use."""
        return SurfaceHandle(self, session.surface.request, session)

    async def preview(self, request: SurfaceRequest) -> Surface:
        """The surface that a caller would get now, for somebody who looks at it: nothing is recorded. Raises SurfaceError."""
        await self._refresh_switches(self.generation())
        return self._build_surface(request, self._off_at)

    def generation(self) -> int:
        """Changes when the catalog, the policy, a switch or what tools need may have changed: surfaces are looked at again."""
        tick = self.services.tick()
        if tick > self._next_look:
            self._next_look = tick + _LOOK_EVERY
            if self._parts.policy.state() != self._policy_state:
                self._load_policy()
            ready = self._parts.readiness_state()
            if ready != self._readiness_state:
                self._readiness_state = ready
                self._epoch += 1
        return self.store.generation() + (self._epoch << 48)

    async def refresh_session(
        self, request: SurfaceRequest, before: Session | None = None, *, is_forced: bool = False, is_told: bool = True
    ) -> Session:
        """A session for a request: `before` again when nothing it depends on changed."""
        generation = self.generation()
        await self._refresh_switches(generation)
        if before is not None and not is_forced and before.stamp == (self._epoch, self._off):
            before.generation = generation
            return before
        session = self._open_session(request, generation)
        if before is not None:
            session.adopt_counts(before)
        if before is not None and is_told:
            changed = difference(before.surface, session.surface).to_record()
            self.record_surface(session.surface, "updated", difference=changed)
        return session

    async def _reuse_session(self, request: SurfaceRequest) -> Session:
        """A session for a call that goes on; callers come back often, so the latest are kept."""
        key = request_key(request)
        session = await self.refresh_session(request, self._sessions.pop(key, None), is_told=False)
        self._sessions[key] = session
        if len(self._sessions) > _SESSIONS_KEPT:
            del self._sessions[next(iter(self._sessions))]
        return session

    def derive_session(self, surface: Surface, before: Session) -> Session:
        """A session on another surface of the same caller (tools were loaded)."""
        session = self._make_session(surface, before.generation)
        session.stamp = before.stamp
        session.adopt_counts(before)
        return session

    def _open_session(self, request: SurfaceRequest, generation: int) -> Session:
        surface = self._build_surface(request, generation)
        session = self._make_session(surface, generation)
        session.stamp = (self._epoch, self._off)
        return session

    def _make_session(self, surface: Surface, generation: int) -> Session:
        return Session(
            surface,
            self._engine,
            self._find_runner,
            generation,
            self._is_known,
            hooks=self.services.hooks,
            lane=self._choose_lane(surface.request),
            retries=self.services.retries,
            told=self._redact,
        )

    def _redact(self, value: Any, also: Iterable[str] = ()) -> Any:
        """A text or JSON value without known secrets, and without these."""
        redactor = self.services.redactor or ONLY_GIVEN
        return redactor.value(value, also)[0]

    def _choose_lane(self, request: SurfaceRequest) -> Lane:
        """The calls that this surface's are ordered among."""
        scheduler = self.services.scheduler
        policy = scheduler_policy_of(self.catalog, request, scheduler.policy)
        match policy.scope:
            case "surface":
                key = f"run {request.tenant} {request.run_id}"
            case "principal":
                key = f"principal {request.tenant} {request.principal}"
            case _:
                key = "workspace"
        return scheduler.get_lane(key, policy)

    # What people get

    def inbox(self, identity: Identity) -> Inbox:
        """The inbox, as one authenticated person may use it; the policy's groups count like those of their token."""
        groups = identity.groups | self._engine.groups_of(identity.principal)
        return Inbox(
            self.store,
            self._parts.key,
            msgspec.structs.replace(identity, groups=groups),
            self.services.now,
            self.calls.resume,
            self._why_edit_invalid,
            self.calls.end,
            self._accepting(identity),
            self._mask_input,
            self._description,
            told=self._redact,
            mask_answer=self._mask_answer,
            tell_delegated=self._parts.notices.tell_delegated,
            why_ended=self.services.why_ended,
        )

    def _accepting(self, identity: Identity) -> Accept:
        """Takes a suggested rule in somebody's name; it counts at once."""
        accept = self._parts.policy.acceptor(identity, self.store, self._parts.clock)

        async def accept_now(update: dict[str, object]) -> None:
            await accept(update)
            self._load_policy()

        return accept_now

    async def deliver(
        self,
        invocation_id: str,
        value: Any,
        channel: str,
        by: str = "",
        *,
        resume: bool = True,
        on_recorded: OnRecorded = lambda: None,
    ) -> Fate:
        """Give a waiting call what came for it from outside by a channel, and let it go on, unless `resume` is False: then it is
        for `calls.resume` to do that. `by`: who gave it, if known."""
        return await self._deliveries.deliver(invocation_id, value, channel, by, resume=resume, on_recorded=on_recorded)

    async def answer_callback(self, token: str, value: Any, *, on_recorded: OnRecorded = lambda: None) -> Fate:
        """Take the answer to a task that was posted with this token. `refused` for a token that was not made here, was changed
        or is too old, and for an answer that does not fit: then another may still come."""
        call = call_of(self._parts.key, token, self.services.wall())
        return "refused" if call is None else await self.deliver(call, value, CHANNEL, on_recorded=on_recorded)

    async def result(self, invocation_id: str, *, wait: float | None = None) -> Result | Pending | None:
        """How a call ended, or what it waits for; None when there is no such call."""
        return await self.calls.result(invocation_id, wait)

    async def records(self, invocation_id: str, *, level: Level = "standard") -> CallRecords | None:
        """Returns the standard's records of a call, whoever made it; None when there is no such call. `level`: what its events
        may say: `none`, `standard`, or `full` with arguments and results."""
        await self.store.flush()
        rows = await self.store.rows_of(invocation_id)
        if not rows:
            return None
        story = Story(rows, await self.store.news_of(invocation_id))
        return make_call_records(story, source=self.name, level=level)

    async def cancel(
        self, invocation_id: str, *, by: str, reason: str = "", within: float = 1.0
    ) -> Cancellation | None:
        """Ask that a call stops, in whatever process it runs; gives what is known after `within` seconds."""
        return await self.calls.cancel(invocation_id, Cancel(reason=reason, by=by), within=within)

    def follow(self, invocation_id: str, after: int = 0) -> AsyncIterator[Progress]:
        """The progress of any call, in order, from any sequence number on, until it has ended."""
        return follow_progress(self.store, self.services.live, invocation_id, after)

    def guardrail_fired(self, run_id: str, guardrail_id: str, reason: str = "") -> None:
        """Tell that a guardrail fired on what an agent was given: agents that want it call no more tools in that run
        (AML-104)."""
        self._parts.fired.mark(run_id, guardrail_id, reason)

    async def payload(
        self, uri: str, *, principal: str | None = None, tenant: str = "", offset: int = 0, limit: int | None = None
    ) -> bytes:
        """The bytes of a stored result, or a range of them. `principal`: who asks; None for an operator. Raises PayloadGone."""
        return await read_payload(self.services, uri, offset=offset, limit=limit, principal=principal, tenant=tenant)

    @property
    def readiness(self) -> Readiness | None:
        """What this process has for its tools."""
        return self._parts.readiness

    @property
    def authorizations(self) -> Authorizations:
        """What users authorized (OAuth), for servers and commands: begin, complete, status, connections, disconnect."""
        return self._parts.outside.authorizations

    @property
    def user_tokens(self) -> OAuthUserTokens:
        """Gives tools what users authorized."""
        return self._parts.outside.user_tokens

    # What operators do

    async def disable(self, tool_id: str, *, by: str, reason: str = "") -> int:
        """Turn a tool off, at once and in every process: new calls are refused, waiting ones ended. Gives how many."""
        await self._switch(tool_id, "off", by, reason)
        ended = 0
        for waiting in await self.store.open_calls("awaiting_approval", "approved", "needs_input"):
            if waiting.tool_id == tool_id and waiting.state != "needs_input":
                stop = Stop("policy_blocked", f"the tool {tool_id!r} was disabled by {by}", "tool_disabled")
                ended += await self.calls.end(waiting.call, stop) is not None
        return ended

    async def enable(self, tool_id: str, *, by: str, reason: str = "") -> None:
        """Turn a tool on again."""
        await self._switch(tool_id, "on", by, reason)

    async def _switch(self, tool_id: str, to: str, by: str, reason: str) -> None:
        facts = {"tool_id": tool_id, "to": to, "by": by, "reason": self._redact(reason)}
        mark = Mark(tool_id=tool_id, switch=to)
        await self.store.commit(Entry("switch", "", self.services.now(), tool_id, to, facts, None, mark))
        self.store.bump()

    def reload(self) -> None:
        """Read the policy again; one that cannot be used refuses every call until it can."""
        self._load_policy()

    @property
    def policy(self) -> PolicyEngine:
        """The policy in force."""
        return self._engine

    def find_executor(self, tool: Tool) -> Executor | None:
        """The first executor that can run a tool."""
        found = next((executor for executor in self._parts.executors if executor.can_run(tool)), None)
        if found is None:
            if not self._is_looked_for:
                self._installed, self._is_looked_for = self._parts.installed(), True
            found = next((executor for executor in self._installed if executor.can_run(tool)), None)
        return found

    def execution_profile(self, tool_id: str) -> dict[str, Any]:
        """How a tool runs here, as the standard's execution profile. Raises SurfaceError for a tool that is not there."""
        tool = self._find_tool(tool_id)
        if tool is None:
            raise SurfaceError(f"there is no tool {tool_id!r}")
        return profile_of(tool, self.find_executor(tool))

    def _find_runner(self, tool: Tool) -> Executor | None:
        """What runs a tool's calls: its executor, with the cache before it where results are kept."""
        executor, cache = self.find_executor(tool), self._parts.cache
        return None if executor is None else cache.wrap(executor, tool)

    async def rebuild(self) -> bool:
        """Build the catalog from the definitions as they are now, and adopt it. False when nothing of it changed. Raises
        FerruleError: then the one in force stays."""
        catalog = await asyncio.to_thread(self._parts.remake_catalog)
        if catalog.digest == self.catalog.digest:
            return False
        self.adopt(catalog)
        return True

    def adopt(self, catalog: CatalogView) -> None:
        """Swap the catalog whole: calls in flight finish on the old one, surfaces are made again."""
        before, self.catalog = self.catalog, catalog
        self._epoch += 1
        self._record_catalog(before, catalog)

    def _load_policy(self) -> None:
        was_refused = self._policy_state is not None and isinstance(self._engine, RefusingPolicy)
        self._policy_state = self._parts.policy.state()
        before = self._engine.digest
        try:
            self._engine = self._parts.policy.load(self.services.classifiers)
            if was_refused:
                _log.warning("the policy can be used again")
        except FerruleError as error:
            _log.error("the policy cannot be used, so every call is refused: %s", error)
            # Callers read the reason; where the files lie on this machine is not for them.
            self._engine = RefusingPolicy(str(error).replace(os.path.join(self.root.absolute(), ""), ""))
        if self._engine.digest != before:
            self._epoch += 1
        if self._engine.digest != self._told_policy:
            self._told_policy = self._engine.digest
            self._record_change(
                "policy", "in_force", {"digest": self._engine.digest}, Payload(text=self._engine.text.encode())
            )

    async def _last_digest(self, kind: Kind) -> str:
        """The digest of the catalog or policy that the ledger saw last."""
        rows = await self.store.rows_before(None, 1, kinds=(kind,))
        return str(rows[0].facts().get("digest", "")) if rows else ""

    async def remind(self, waiting: Iterable[OpenCall]) -> None:
        """Tell people again of those of these tasks that nobody has answered for long enough."""
        await self._reminders.look(waiting)

    async def _refresh_switches(self, generation: int) -> None:
        if generation != self._off_at:
            self._off = frozenset(switch.tool_id for switch in await self.store.list_disabled())
            self._off_at = generation

    def _build_surface(self, request: SurfaceRequest, generation: int) -> Surface:
        return build_surface(
            self.catalog,
            request,
            engine=self._engine,
            switched_off=self._off,
            settings=self.surface_settings,
            now=self.services.now(),
            new_id=lambda: self.new_id("srf"),
            generation=generation,
            readiness=self._parts.readiness,
        )

    def _is_known(self, name: str) -> bool:
        return bool(self.catalog.find_ids(name))

    def _find_tool(self, tool_id: str) -> Tool | None:
        versions = self.catalog.versions(tool_id)
        return versions[0].tool if versions else None

    def _description(self, tool_id: str) -> str | None:
        tool = self._find_tool(tool_id)
        return tool.description if tool is not None else None

    async def _why_edit_invalid(self, call_id: str, edited: bytes) -> str | None:
        """What is wrong with an input that an approver changed."""
        tool = await self._find_called_tool(call_id)
        if tool is None:
            return "its tool is gone"
        if is_input_fixed(tool):
            return f"the contract of {tool.tool_id!r} forbids to replace its input; approve it as it is, or reject it"
        parsed = Arguments.of(tool).parse_runtime(edited)
        return parsed.message if isinstance(parsed, ArgumentProblem) else None

    async def _mask_input(self, call_id: str, edited: bytes) -> bytes:
        tool = await self._find_called_tool(call_id)
        mask = Mask.of(tool) if tool is not None else None
        return redact_input(edited, mask, self._parts.services.redactor)

    def _mask_answer(self, given: bytes, schema: dict[str, Any]) -> bytes:
        """What somebody answered a tool, as it may be stored and shown."""
        return redact_input(given, Mask.of_schema(schema), self.services.redactor)

    async def _find_called_tool(self, call_id: str) -> Tool | None:
        rows = await self.store.rows_of(call_id)
        return self._find_tool(rows[0].tool) if rows else None

    def record_surface(self, surface: Surface, change: str, **facts: Any) -> None:
        """Record that a surface was made or changed, or that tools were found on it."""
        request = surface.request
        told = {
            "surface_id": surface.surface_id,
            "change": change,
            "scope": request.scope,
            "agent": request.agent,
            "principal": request.principal,
            "tenant": request.tenant,
            "counts": {standing: len(surface.standing(standing)) for standing in STANDINGS},
            **facts,
        }
        self._record_change("surface", change, told)

    def _record_catalog(self, before: CatalogView | None, after: CatalogView) -> None:
        old = {listed.tool.tool_id: listed.digest for listed in before.list_preferred()} if before is not None else {}
        new = {listed.tool.tool_id: listed.digest for listed in after.list_preferred()}
        declared = [tool_id for tool_id, digest in new.items() if old.get(tool_id) != digest]
        removed = [tool_id for tool_id in old if tool_id not in new]
        self._record_change("catalog", "adopted", {"digest": after.digest, "declared": declared, "removed": removed})

    def _record_change(self, kind: Kind, outcome: str, facts: dict[str, Any], payload: Payload | None = None) -> None:
        try:
            self.store.record(Entry(kind, "", self.services.now(), "", outcome, facts, payload))
        except LedgerUnavailable as error:
            _log.warning("a %s row could not be written: %s", kind, error)


def _refuse_unencodable(request: SurfaceRequest) -> None:
    """Who calls is on every record, so it must be text that can be written."""
    for word in (request.principal, request.channel, request.tenant, request.run_id, request.agent or ""):
        try:
            word.encode()
        except (UnicodeEncodeError, AttributeError):
            raise SurfaceError(f"{word!r} cannot name a caller: it is no text that can be written as UTF-8") from None
