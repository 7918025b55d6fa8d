"""Surfaces and sessions of callers, kept in step with the catalog, the policy, the switches and what tools need.

Every call compares one number, `generation`. Only when it differs are switches read and surfaces built again. It does not
run calls: `SurfaceHandle` and `Calls` do, on the sessions they get here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ferrule.app.active_policy import ActivePolicy
from ferrule.app.change_log import ChangeLog
from ferrule.app.executors import Executors
from ferrule.app.parts import Parts
from ferrule.contracts.surface import CatalogView
from ferrule.errors import SurfaceError
from ferrule.model.surface import Surface, SurfaceRequest, request_key
from ferrule.runtime.pipeline.session import Session
from ferrule.runtime.redaction.redactor import ONLY_GIVEN
from ferrule.runtime.scheduler.scheduler import Lane
from ferrule.runtime.surface.build import build_surface
from ferrule.runtime.surface.changes import compare_surfaces
from ferrule.runtime.surface.records import find_scheduler_policy

_SESSIONS_KEPT = 64
_LOOK_EVERY = 1_000_000_000
"""How often, in nanoseconds, the files of the policy and of secrets are looked at."""


class Sessions:
    """Builds surfaces for callers, and builds them again when something they depend on changed."""

    def __init__(self, parts: Parts, policy: ActivePolicy, executors: Executors, changes: ChangeLog) -> None:
        self.catalog = parts.catalog
        self._parts = parts
        self._services = parts.services
        self._policy = policy
        self._executors = executors
        self._changes = changes
        self._readiness_state: object = parts.readiness_state()
        self._epoch = 0
        self._next_look = 0
        self._off: frozenset[str] = frozenset()
        self._off_at = -1
        self._recent: dict[str, Session] = {}

    def generation(self) -> int:
        """Returns a number that differs once the catalog, the policy, a switch or the readiness of tools may have changed."""
        tick = self._services.tick()
        if tick > self._next_look:
            self._next_look = tick + _LOOK_EVERY
            if self._policy.has_source_changed():
                self.reload_policy()
            ready = self._parts.readiness_state()
            if ready != self._readiness_state:
                self._readiness_state = ready
                self._epoch += 1
        # Our own changes count above bit 48, so they never meet the counter of the store.
        return self._parts.store.generation() + (self._epoch << 48)

    def reload_policy(self) -> None:
        """Loads the policy again, and has surfaces built again if another one is in force."""
        if self._policy.load():
            self._epoch += 1

    async def open(self) -> None:
        """Loads the policy and the switches, and records the catalog if the ledger does not know it yet."""
        if await self._policy.open():
            self._epoch += 1
        if self.catalog.digest != await self._changes.last_digest("catalog"):
            self._changes.record_catalog(None, self.catalog)
        await self._refresh_switches(self.generation())

    def adopt(self, catalog: CatalogView) -> None:
        """Replaces the catalog: calls in flight finish on the old one, surfaces are built again."""
        before, self.catalog = self.catalog, catalog
        self._epoch += 1
        self._changes.record_catalog(before, catalog)

    def create(self, request: SurfaceRequest) -> Session:
        """Makes the first session of a caller, and records its surface. Raises SurfaceError."""
        _refuse_unencodable(request)
        session = self._make(request, self._off_at)
        self._changes.record_surface(session.surface, "created")
        return session

    async def refresh(
        self,
        request: SurfaceRequest,
        before: Session | None = None,
        *,
        is_forced: bool = False,
        is_recorded: bool = True,
    ) -> Session:
        """Returns a session for a request: `before` again if nothing it depends on changed. Raises SurfaceError."""
        generation = self.generation()
        await self._refresh_switches(generation)
        # The number also changes for what this surface does not depend on.
        if before is not None and not is_forced and before.stamp == (self._epoch, self._off):
            before.generation = generation
            return before
        session = self._make(request, generation)
        if before is not None:
            session.adopt_counts(before)
            if is_recorded:
                changed = compare_surfaces(before.surface, session.surface).to_record()
                self._changes.record_surface(session.surface, "updated", difference=changed)
        return session

    async def resume(self, request: SurfaceRequest) -> Session:
        """Returns a session for a call that resumes. Recent ones are cached: callers come back often."""
        key = request_key(request)
        # Taken out and put in again: the first one is then the one that was not used for longest.
        session = await self.refresh(request, self._recent.pop(key, None), is_recorded=False)
        self._recent[key] = session
        if len(self._recent) > _SESSIONS_KEPT:
            del self._recent[next(iter(self._recent))]
        return session

    def derive(self, surface: Surface, before: Session) -> Session:
        """Makes a session on another surface of the same caller, after tools were loaded."""
        session = self._make_on(surface, before.generation)
        session.stamp = before.stamp
        session.adopt_counts(before)
        return session

    async def preview(self, request: SurfaceRequest) -> Surface:
        """Builds the surface a caller would get now, and records nothing. Raises SurfaceError."""
        await self._refresh_switches(self.generation())
        return self._build(request, self._off_at)

    def redact(self, value: object, also: Iterable[str] = ()) -> Any:
        """Returns a text or JSON value without known secrets, and without those in `also`."""
        redactor = self._services.redactor or ONLY_GIVEN
        return redactor.value(value, also)[0]

    async def _refresh_switches(self, generation: int) -> None:
        if generation != self._off_at:
            self._off = frozenset(switch.tool_id for switch in await self._parts.store.list_disabled())
            self._off_at = generation

    def _make(self, request: SurfaceRequest, generation: int) -> Session:
        session = self._make_on(self._build(request, generation), generation)
        session.stamp = (self._epoch, self._off)
        return session

    def _make_on(self, surface: Surface, generation: int) -> Session:
        return Session(
            surface,
            self._policy.engine,
            self._executors.find_runner,
            generation,
            self._is_known,
            hooks=self._services.hooks,
            lane=self._choose_lane(surface.request),
            retries=self._services.retries,
            told=self.redact,
        )

    def _build(self, request: SurfaceRequest, generation: int) -> Surface:
        return build_surface(
            self.catalog,
            request,
            engine=self._policy.engine,
            switched_off=self._off,
            settings=self._parts.surface_settings,
            now=self._services.now(),
            new_id=lambda: self._parts.new_id("srf"),
            generation=generation,
            readiness=self._parts.readiness,
        )

    def _choose_lane(self, request: SurfaceRequest) -> Lane:
        """Returns the queue whose calls the calls of this surface are ordered among."""
        scheduler = self._services.scheduler
        policy = find_scheduler_policy(self.catalog, request, scheduler.policy)
        match policy.scope:
            case "surface":
                key = f"run {request.tenant} {request.run_id}"
            case "principal":
                key = f"principal {request.tenant} {request.principal}"
            case _:
                key = "workspace"
        return scheduler.get_lane(key, policy)

    def _is_known(self, name: str) -> bool:
        return bool(self.catalog.find_ids(name))


def _refuse_unencodable(request: SurfaceRequest) -> None:
    """Raises SurfaceError for a caller whose names cannot be written into records."""
    for word in (request.principal, request.channel, request.tenant, request.run_id, request.agent or ""):
        try:
            word.encode()
        except (UnicodeEncodeError, AttributeError):
            raise SurfaceError(f"{word!r} cannot name a caller: it is no text that can be written as UTF-8") from None
