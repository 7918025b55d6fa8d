"""State that the servers of one process share: the app, the gate, each caller's surface, and what to end on shutdown.

The endpoints of MCP, OXP, the HTTP API and the console stand above it. It knows no protocol.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from typing import Protocol, TypeAlias

from ferrule.app.app import App
from ferrule.app.surface import SurfaceHandle
from ferrule.errors import SurfaceError
from ferrule.model.serving import ServeSettings
from ferrule.servers.asgi import Header, HttpRequest
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.auth.metadata import Metadata
from ferrule.servers.auth.refusals import RefusalLog

_SURFACES_KEPT = 1024
_FEWEST_KEPT, _ENTRIES_KEPT = 32, 200_000
"""Limits for the surfaces of runs: a surface weighs as much as its tools, so their entries are counted together."""
_log = logging.getLogger("ferrule.serve")


Leave: TypeAlias = Callable[[], None]
"""Frees a place among the running calls; called once, when the work is done."""


class Gate(Protocol):
    """The check that each request passes first: Host, Origin and credential."""

    metadata: Metadata

    def admit(self, request: HttpRequest) -> tuple[Header, ...]:
        """Checks Host and Origin, before anything else; returns headers that a browser needs in the answer. Raises
        Refused.
        """

    def caller(self, request: HttpRequest) -> Caller | Awaitable[Caller]:
        """Returns the caller of the request's credential; something to await when an issuer has to be asked.

        Raises Refused.
        """

    def challenge(self, request: HttpRequest, scopes: Sequence[str]) -> str:
        """Returns the value of `WWW-Authenticate` for a credential that lacks scopes."""

    def problem(self) -> str | None:
        """Returns why no caller can be let in, for the log; None while the gate works."""

    async def aclose(self) -> None:
        """Closes connections and stops background work."""


class Turnstile(Protocol):
    """Fair limits: keeps one caller's rate and number of parallel calls from starving the others."""

    def enter(self, caller: Caller) -> Leave | Awaitable[Leave]:
        """Takes a place if there is one, else returns something to await for a turn. Raises Refused (429)."""


class Edge:
    """The shared state of one process's servers."""

    def __init__(self, app: App, settings: ServeSettings, gate: Gate, turnstile: Turnstile) -> None:
        self.app = app
        self.settings = settings
        self.gate = gate
        self.turnstile = turnstile
        self.refusals = RefusalLog()
        self.began_at = app.services.now()
        """Start of this process's service: microseconds since 1970."""
        self._surfaces: dict[tuple[Caller, str, str], SurfaceHandle] = {}
        self._runs: dict[tuple[Caller, str, str], SurfaceHandle] = {}
        """Surfaces of runs. There may be any number, most of them used once, so they must not push out the shared ones.
        """
        self.is_closing = False
        """True once the process begins to stop: it is no longer ready for requests."""
        self.ending: list[Callable[[], Awaitable[None]]] = []
        """Callbacks that end open streams, run before calls in flight are waited for."""
        self.closing: list[Callable[[], Awaitable[None]]] = []
        """Callbacks that release resources, run after those calls."""

    def surface(
        self, caller: Caller, run_id: str = "", protocol: str = "http"
    ) -> SurfaceHandle | Awaitable[SurfaceHandle]:
        """Returns the caller's current surface; something to await when it has to be made again.

        All requests of a credential share its surface, except those that name a run. Raises Refused for a credential
        that names an agent, role or surface that the catalog does not have.
        """
        handle = (self._runs if run_id else self._surfaces).get((caller, run_id, protocol))
        if handle is None:
            try:
                handle = self._new_surface(caller, run_id, protocol)
            except SurfaceError as error:
                raise _refuse_surface(caller, error) from None
        # What `is_current` would say: asked for every request, so without a call of the property.
        return handle if handle.session.generation == self.app.generation() else _refresh(handle, caller)

    def _new_surface(self, caller: Caller, run_id: str, protocol: str) -> SurfaceHandle:
        identity = caller.identity
        handle = self.app.surface(
            agent=caller.agent,
            principal=identity.principal,
            channel=identity.channel,
            tenant=caller.tenant,
            role=caller.role,
            surface_id=caller.surface_id,
            run_id=scope_run_id(caller, run_id) if run_id else None,
        )
        cache = self._runs if run_id else self._surfaces
        cache[caller, run_id, protocol] = handle
        most = max(_FEWEST_KEPT, min(_SURFACES_KEPT, _ENTRIES_KEPT // (1 + len(handle.surface.entries))))
        while len(cache) > (most if run_id else _SURFACES_KEPT):
            # A dict keeps the order of insertion, so the first key is the oldest surface.
            del cache[next(iter(cache))]
        return handle

    def forget(self, caller: Caller, run_id: str, protocol: str = "http") -> None:
        """Drops the surface of a run that is over."""
        self._runs.pop((caller, run_id, protocol), None)

    async def end_streams(self) -> None:
        """Ends open streams and reports not ready; the first step of shutting down."""
        self.is_closing = True
        ending, self.ending = self.ending, []
        # In reverse: later parts may use earlier ones.
        for end in reversed(ending):
            await end()

    async def aclose(self) -> None:
        """Ends streams, releases resources and closes the gate."""
        await self.end_streams()
        closing, self.closing = self.closing, []
        for close in reversed(closing):
            await close()
        await self.gate.aclose()


async def _refresh(handle: SurfaceHandle, caller: Caller) -> SurfaceHandle:
    try:
        await handle.refresh()
    except SurfaceError as error:
        raise _refuse_surface(caller, error) from None
    return handle


def _refuse_surface(caller: Caller, error: SurfaceError) -> Refused:
    identity = caller.identity
    _log.warning("%s came by %s and has no surface: %s", identity.principal, identity.channel, error)
    return Refused(403, "there is no surface for this credential; ask whoever gave it to you")


def scope_run_id(caller: Caller, run_id: str) -> str:
    """Returns the run id under which limits and records count this caller's run.

    Callers choose run ids, so the same id from another principal must be another run.
    """
    whose = sha256(f"{caller.tenant}\n{caller.identity.principal}".encode("utf-8", "replace")).hexdigest()
    return f"{run_id}~{whose[:12]}"
