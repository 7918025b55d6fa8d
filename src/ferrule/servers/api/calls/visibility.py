"""Who may look at which call. What is somebody else's is answered exactly like what does not exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ferrule.app.app import App
from ferrule.model.journal import StoredEntry
from ferrule.model.result import Pending, Result
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.calls.outcomes import seen
from ferrule.servers.api.problems import not_found
from ferrule.servers.auth.callers import Caller


class Owner(NamedTuple):
    """Whose call it is, and of what."""

    principal: str
    tenant: str
    tool_name: str


async def owner_of(app: App, invocation_id: str) -> Owner | None:
    """Whose call an id is; None when there is none."""
    live = app.services.live.calls.get(invocation_id)
    if live is not None:
        request = live.call.session.surface.request
        return Owner(request.principal, request.tenant, live.call.tool_name)
    rows = await app.store.rows_of(invocation_id)
    return owner_in(rows) if rows else None


def owner_in(rows: Sequence[StoredEntry]) -> Owner:
    """Whose call these are the rows of."""
    header = rows[0].header()
    return Owner(header.principal, header.tenant, header.tool_name)


def sees(caller: Caller, owner: Owner) -> bool:
    """True when a caller may look at a call."""
    return caller.sees(owner.principal, owner.tenant)


async def demand_sight(ask: Ask) -> Owner:
    """Whose the call of the path is, if the caller may look at it. Raises Problem (404)."""
    owner = await owner_of(ask.edge.app, ask.invocation_id)
    if owner is None or not sees(ask.caller, owner):
        raise not_found(f"there is no call {ask.invocation_id[:40]!r} of yours")
    return owner


async def as_seen(ask: Ask, owner: Owner, outcome: Result | Pending) -> Result | Pending:
    """An outcome as whoever asks may see it; who oversees the tenant sees all of it."""
    if ask.caller.oversees(owner.tenant) or not isinstance(outcome, Result) or outcome.error is None:
        return outcome
    return seen((await ask.surface()).surface, owner.tool_name, outcome)
