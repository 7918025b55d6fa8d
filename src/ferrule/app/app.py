"""The running system: one catalog, one policy, one ledger, and the calls between them.

`ferrule.open(path)` gives an App. Agents get surfaces, people get inboxes; both meet in the ledger. `assembly` makes the
parts and `sessions` keeps surfaces current; here they work together.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable
from random import Random
from typing import TYPE_CHECKING, Any

from ferrule.app.active_policy import ActivePolicy
from ferrule.app.call_records import CallRecords, make_call_records
from ferrule.app.change_log import ChangeLog
from ferrule.app.executors import Executors
from ferrule.app.housekeeping import Housekeeping
from ferrule.app.inboxes import Inboxes
from ferrule.app.parts import Parts
from ferrule.app.progress import Cancellation, follow_progress
from ferrule.app.recorded_calls import Calls
from ferrule.app.replies import Receivers, ReplyDelivery
from ferrule.app.sessions import Sessions
from ferrule.app.surface import SurfaceHandle
from ferrule.contracts.executor import Executor
from ferrule.contracts.policy import PolicyEngine
from ferrule.contracts.receiver import Fate
from ferrule.contracts.surface import CatalogView, Readiness
from ferrule.errors import SurfaceError
from ferrule.ledger.history.details import Level
from ferrule.model.approval import Identity
from ferrule.model.failure import Stop
from ferrule.model.journal import OpenCall
from ferrule.model.progress import Progress
from ferrule.model.result import Pending, Result
from ferrule.model.story import Story
from ferrule.model.surface import Surface, SurfaceRequest
from ferrule.model.tool import Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.approval.inbox import Inbox, OnRecorded
from ferrule.runtime.approval.key import CHANNEL, verify_callback_token
from ferrule.runtime.approval.notices import Reminders
from ferrule.runtime.executors.systems import profile_of
from ferrule.runtime.pipeline.hooks.answers import refuse_unusable_hooks
from ferrule.runtime.pipeline.live import Cancel
from ferrule.runtime.pipeline.pulse import Pulse
from ferrule.runtime.pipeline.results.payload_access import read_payload
from ferrule.runtime.pipeline.session import Session

if TYPE_CHECKING:
    from ferrule.infra.credentials.oauth import Authorizations
    from ferrule.infra.credentials.oauth_tokens import OAuthUserTokens


class App:
    """The running system. Use it as an async context manager; `ferrule.open` makes one."""

    def __init__(self, parts: Parts) -> None:
        refuse_unusable_hooks(parts.services.hooks)
        self._parts = parts
        self.services = parts.services
        self.store = parts.store
        self.new_id = parts.new_id
        self.bits = Random(os.urandom(16)).getrandbits
        """Random numbers for ids of calls."""
        self.name = parts.name
        self.root = parts.root
        self.surface_settings = parts.surface_settings
        self.announcing: list[Callable[[str, str], None]] = []
        """Tell clients of changes: each is called with the change a tool announced, and its tenant."""
        self.patience_seconds = 2.0
        """How long closing waits for tools that were told to stop."""
        self.changes = ChangeLog(parts.store, parts.services.now)
        self._policy = ActivePolicy(parts.policy, parts.services.classifiers, parts.root, self.changes)
        self._executors = Executors(parts.executors, parts.installed, parts.cache)
        self.sessions = sessions = Sessions(parts, self._policy, self._executors, self.changes)
        # Bound once: every call compares it.
        self.generation = sessions.generation
        self._pulse = self.services.live.pulse = Pulse(self.services.live, self.services)
        self.calls = Calls(self.store, self.services, sessions.resume)
        self._inboxes = Inboxes(parts, sessions, self.calls)
        self._delivery = delivery = ReplyDelivery(self.store, self.inbox, self._inboxes.find_tool, self._executors.find)
        receivers = Receivers(delivery.find_reply_channel, delivery.find_receiver, delivery.deliver)
        self._reminders = Reminders(self.store, parts.key, self.services.wall, parts.notices.remind)
        self._housekeeping = Housekeeping(self.store, self.calls, self.services, receivers, self._reminders)

    async def __aenter__(self) -> App:
        await self.store.open()
        await self._pulse.open()
        await self.sessions.open()
        if self._parts.tends:
            await self._housekeeping.begin()
        return self

    async def __aexit__(self, *error: object) -> None:
        # Calls first, and the store last: calls that end while the app closes are still recorded.
        await self.services.live.aclose(self.patience_seconds)
        await self._housekeeping.aclose()
        for close in self._parts.closing:
            closing = close()
            if closing is not None:
                await closing
        await self._executors.aclose()
        await self._parts.outside.aclose()
        if self.services.payloads is not None:
            await self.services.payloads.aclose()
        await self.store.aclose()

    def listen(self) -> None:
        """Receives the replies that calls wait for. Housekeeping does so anyway."""
        self._housekeeping.listen()

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
        """Returns a surface for one caller. `context` takes the fields of `SurfaceRequest`: model, role, tenant, pins, …

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
        return SurfaceHandle(self, request, self.sessions.create(request))

    def make_handle(self, session: Session) -> SurfaceHandle:
        """Returns another handle on a surface in use."""
        return SurfaceHandle(self, session.surface.request, session)

    async def preview(self, request: SurfaceRequest) -> Surface:
        """Returns the surface a caller would get now, and records nothing. Raises SurfaceError."""
        return await self.sessions.preview(request)

    # What people get

    def inbox(self, identity: Identity) -> Inbox:
        """Returns the inbox of an authenticated person; the policy's groups count like those of their token."""
        return self._inboxes.open(identity, self._policy.engine.groups_of(identity.principal))

    async def deliver(
        self,
        invocation_id: str,
        value: object,
        channel: str,
        by: str = "",
        *,
        resume: bool = True,
        on_recorded: OnRecorded = lambda: None,
    ) -> Fate:
        """Gives a waiting call the reply that a channel brought, and resumes the call; with `resume` False the caller does so,
        by `calls.resume`. `by`: who replied, if known."""
        return await self._delivery.deliver(invocation_id, value, channel, by, resume=resume, on_recorded=on_recorded)

    async def answer_callback(self, token: str, value: object, *, on_recorded: OnRecorded = lambda: None) -> Fate:
        """Takes the answer to a task that was posted with this token. Gives `refused` for a foreign, changed or expired token,
        and for an answer that does not match the tool's question: another may still come."""
        call = verify_callback_token(self._parts.key, token, self.services.wall())
        return "refused" if call is None else await self.deliver(call, value, CHANNEL, on_recorded=on_recorded)

    async def result(self, invocation_id: str, *, wait: float | None = None) -> Result | Pending | None:
        """Returns how a call ended, or what it waits for; None when there is no such call."""
        return await self.calls.result(invocation_id, wait)

    async def records(self, invocation_id: str, *, level: Level = "standard") -> CallRecords | None:
        """Returns the standard's records of any caller's call; None when there is no such call. `level`: how much its events
        say: `none`, `standard`, or `full` with arguments and results."""
        await self.store.flush()
        rows = await self.store.rows_of(invocation_id)
        if not rows:
            return None
        story = Story(rows, await self.store.news_of(invocation_id))
        return make_call_records(story, source=self.name, level=level)

    async def cancel(
        self, invocation_id: str, *, by: str, reason: str = "", within: float = 1.0
    ) -> Cancellation | None:
        """Asks a call to stop, in any process, and returns what is known after `within` seconds."""
        return await self.calls.cancel(invocation_id, Cancel(reason=reason, by=by), within=within)

    def follow(self, invocation_id: str, after: int = 0) -> AsyncIterator[Progress]:
        """Yields the progress of any call, in order, after a sequence number, until the call has ended."""
        return follow_progress(self.store, self.services.live, invocation_id, after)

    def guardrail_fired(self, run_id: str, guardrail_id: str, reason: str = "") -> None:
        """Notes that a guardrail fired on an agent's input: agents configured so call no more tools in that run (AML-104)."""
        self._parts.fired.mark(run_id, guardrail_id, reason)

    async def payload(
        self, uri: str, *, principal: str | None = None, tenant: str = "", offset: int = 0, limit: int | None = None
    ) -> bytes:
        """Returns the bytes of a stored result, or a range of them. `principal`: the caller; None for an operator. Raises
        PayloadGone."""
        return await read_payload(self.services, uri, offset=offset, limit=limit, principal=principal, tenant=tenant)

    @property
    def readiness(self) -> Readiness | None:
        """Tells which tools have what they need in this process."""
        return self._parts.readiness

    @property
    def authorizations(self) -> Authorizations:
        """The OAuth authorizations of users, for servers and commands: begin, complete, status, connections, disconnect."""
        return self._parts.outside.authorizations

    @property
    def user_tokens(self) -> OAuthUserTokens:
        """Gives tools the access tokens of users."""
        return self._parts.outside.user_tokens

    # What operators do

    async def disable(self, tool_id: str, *, by: str, reason: str = "") -> int:
        """Turns a tool off, at once and in every process: new calls are refused. Ends waiting calls, and returns how many."""
        await self.changes.commit_switch(tool_id, "off", by, self.sessions.redact(reason))
        ended = 0
        for waiting in await self.store.open_calls("awaiting_approval", "approved", "needs_input"):
            # A call in needs_input has begun to run; only its tool or a person knows how that ends.
            if waiting.tool_id == tool_id and waiting.state != "needs_input":
                stop = Stop("policy_blocked", f"the tool {tool_id!r} was disabled by {by}", "tool_disabled")
                ended += await self.calls.end(waiting.call, stop) is not None
        return ended

    async def enable(self, tool_id: str, *, by: str, reason: str = "") -> None:
        """Turns a tool on again."""
        await self.changes.commit_switch(tool_id, "on", by, self.sessions.redact(reason))

    def reload(self) -> None:
        """Loads the policy again; an unusable one denies every call."""
        self.sessions.reload_policy()

    @property
    def policy(self) -> PolicyEngine:
        """The policy in force."""
        return self._policy.engine

    @property
    def catalog(self) -> CatalogView:
        """The catalog in use."""
        return self.sessions.catalog

    def find_executor(self, tool: Tool) -> Executor | None:
        """Returns the first executor that can run a tool."""
        return self._executors.find(tool)

    def execution_profile(self, tool_id: str) -> JsonObject:
        """Returns the standard's execution profile of a tool as it runs here. Raises SurfaceError for an unknown tool."""
        tool = self._inboxes.find_tool(tool_id)
        if tool is None:
            raise SurfaceError(f"there is no tool {tool_id!r}")
        return profile_of(tool, self.find_executor(tool))

    async def rebuild(self) -> bool:
        """Builds the catalog from the current definitions, and adopts it if it differs; True when it does. Raises FerruleError,
        and keeps the present catalog."""
        catalog = await asyncio.to_thread(self._parts.remake_catalog)
        if catalog.digest == self.catalog.digest:
            return False
        self.adopt(catalog)
        return True

    def adopt(self, catalog: CatalogView) -> None:
        """Replaces the catalog: calls in flight finish on the old one, surfaces are built again."""
        self.sessions.adopt(catalog)

    async def remind(self, waiting: Iterable[OpenCall]) -> None:
        """Reminds people of those tasks that have waited long enough."""
        await self._reminders.remind_due(waiting)
