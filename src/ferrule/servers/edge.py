"""What the servers of one process share: the app, who may come in, each caller's surface, and news of changes."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from hashlib import sha256
from typing import Protocol, TypeAlias

from ferrule.app.app import App
from ferrule.app.surface import SurfaceHandle
from ferrule.errors import SurfaceError
from ferrule.model.serving import ServeSettings
from ferrule.servers.asgi import Header, Request
from ferrule.servers.auth.callers import Caller, Refused
from ferrule.servers.auth.metadata import Metadata
from ferrule.servers.auth.refusals import RefusalLog

_SURFACES_KEPT = 1024
_FEWEST_KEPT, _ENTRIES_KEPT = 32, 200_000
"""Tools on all surfaces of runs that are remembered, together: a surface weighs as much as its tools."""
_log = logging.getLogger("ferrule.serve")


Leave: TypeAlias = Callable[[], None]
"""Gives back a place among the calls that run; called once, when the work is done."""


class Gate(Protocol):
    """Lets requests in, or does not."""

    metadata: Metadata

    def admit(self, request: Request) -> tuple[Header, ...]:
        """Look at Host and Origin, before anything else; gives headers that the answer needs for a browser. Raises Refused."""

    def caller(self, request: Request) -> Caller | Awaitable[Caller]:
        """Returns who calls, by the request's credential alone; something to await when an issuer has to be asked.

        Raises Refused."""

    def challenge(self, request: Request, scopes: Sequence[str]) -> str:
        """For `WWW-Authenticate`, when a caller's credential lacks scopes."""

    def problem(self) -> str | None:
        """Why nobody can be let in, for the log; None when the door can be used."""

    async def aclose(self) -> None:
        """Let go of everything."""


class Turnstile(Protocol):
    """Keeps one caller from taking what others need: limits of rate and of calls at the same time, with fair queues."""

    def enter(self, caller: Caller) -> Leave | Awaitable[Leave]:
        """Takes a place if there is one, else returns something to await for a turn. Raises Refused (429)."""


class Edge:
    """One process's servers, seen from inside."""

    def __init__(self, app: App, settings: ServeSettings, gate: Gate, turnstile: Turnstile) -> None:
        self.app = app
        self.settings = settings
        self.gate = gate
        self.turnstile = turnstile
        self.refusals = RefusalLog()
        self.began_at = app.services.now()
        """When this process began to serve: microseconds since 1970."""
        self._surfaces: dict[tuple[Caller, str, str], SurfaceHandle] = {}
        self._runs: dict[tuple[Caller, str, str], SurfaceHandle] = {}
        """Those of a run: there may be any number, and most are never come back to. They do not push out the others."""
        self.is_closing = False
        """True when the process is about to stop serving: it is not ready for more."""
        self.ending: list[Callable[[], Awaitable[None]]] = []
        """What ends streams that would not end by themselves, before calls in flight are waited for."""
        self.closing: list[Callable[[], Awaitable[None]]] = []
        """What has to be let go of when the process stops serving, after those calls."""

    def surface(
        self, caller: Caller, run_id: str = "", protocol: str = "http"
    ) -> SurfaceHandle | Awaitable[SurfaceHandle]:
        """Returns the caller's surface as it is now; something to await when it has to be made again.

        A surface without a run of its own is shared by all requests of a credential. Raises Refused for a credential that
        names an agent, role or surface that the catalog does not have."""
        handle = (self._runs if run_id else self._surfaces).get((caller, run_id, protocol))
        if handle is None:
            try:
                handle = self._new_surface(caller, run_id, protocol)
            except SurfaceError as error:
                raise _refuse_surface(caller, error) from None
        return handle if handle.is_current else _refresh(handle, caller)

    def _new_surface(self, caller: Caller, run_id: str, protocol: str) -> SurfaceHandle:
        identity = caller.identity
        handle = self.app.surface(
            agent=caller.agent,
            principal=identity.principal,
            channel=identity.channel,
            tenant=caller.tenant,
            role=caller.role,
            surface_id=caller.surface_id,
            run_id=own_run(caller, run_id) if run_id else None,
        )
        kept = self._runs if run_id else self._surfaces
        kept[caller, run_id, protocol] = handle
        most = max(_FEWEST_KEPT, min(_SURFACES_KEPT, _ENTRIES_KEPT // (1 + len(handle.surface.entries))))
        while len(kept) > (most if run_id else _SURFACES_KEPT):
            del kept[next(iter(kept))]
        return handle

    def forget(self, caller: Caller, run_id: str, protocol: str = "http") -> None:
        """A run is over: nobody comes back to its surface."""
        self._runs.pop((caller, run_id, protocol), None)

    async def end_streams(self) -> None:
        """Begin to stop: nobody is kept waiting for news that will not come, and it is not ready for more."""
        self.is_closing = True
        ending, self.ending = self.ending, []
        for end in reversed(ending):
            await end()

    async def aclose(self) -> None:
        """Stop serving."""
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


def own_run(caller: Caller, run_id: str) -> str:
    """A run's id as it is counted and recorded: callers choose them, and what somebody else calls the same is another run."""
    whose = sha256(f"{caller.tenant}\n{caller.identity.principal}".encode("utf-8", "replace")).hexdigest()
    return f"{run_id}~{whose[:12]}"
