"""The outcome of a call as a client sees it: how it stands or ended, the HTTP status, and who may look at it.

A call of somebody else looks exactly like one that does not exist. So does a tool that the caller may not know of, now
and whenever the call is looked at again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec

from ferrule.app.app import App
from ferrule.app.surface import SurfaceHandle
from ferrule.infra.tasks import resolve
from ferrule.model.failure import Stop, tool_error
from ferrule.model.journal import StoredEntry
from ferrule.model.result import Pending, Result
from ferrule.model.surface import Surface
from ferrule.model.timestamps import iso
from ferrule.runtime.pipeline.arguments.complaints import Complaint
from ferrule.schema.pointers import write_pointer
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.replies import CONFLICT_CODES, STATUSES, Member, Problem, not_found
from ferrule.servers.api.shapes import Record, ResultOrNone, says
from ferrule.servers.auth.callers import Caller

_MOST_MEMBERS = 50
_EXPLAINED = 64 * 1024
"""Longer arguments are not gone through a second time for it: the detail says what is wrong with them."""


class CallState(msgspec.Struct, kw_only=True):
    """Where a call stands."""

    invocation_id: str
    state: Annotated[str, says("A state of the lifecycle while it has not ended, then the status of its result.")]
    is_pending: Annotated[bool, says("True while it has not ended.")]
    message: Annotated[str, says("What it waits for, and where that can be given.")] = ""
    expires_at: Annotated[str | None, says("When it ends by itself, if nobody answers.")] = None
    client_requests: Annotated[
        dict[str, Record], says("What the tool asks its caller, by key; answer at `/v1/calls/{invocation_id}/answers`.")
    ] = {}
    round: Annotated[int, says("Another round is another question.")] = 0
    result: ResultOrNone = None


def state_of(outcome: Result | Pending) -> CallState:
    """A call's outcome as clients get it."""
    if isinstance(outcome, Result):
        record = outcome.to_record()
        return CallState(
            invocation_id=outcome.invocation_id, state=outcome.status, is_pending=False, result=record
        )  # fmt: skip
    return CallState(
        invocation_id=outcome.invocation_id,
        state=outcome.state,
        is_pending=True,
        message=outcome.message,
        expires_at=iso(outcome.expires_at) if outcome.expires_at is not None else None,
        client_requests=outcome.client_requests,
        round=outcome.round,
    )


def is_unseen(surface: Surface, name: str, error_class: str | None) -> bool:
    """True when a call was refused and its tool is not one the caller may know of."""
    if error_class not in STATUSES:
        return False
    entry = surface.find(name)
    if entry is None and surface.is_ambiguous(name):
        return not all(surface.entries[tool_id].is_visible for tool_id in surface.names[name])
    return entry is None or not entry.is_visible


def as_unknown(result: Result, name: str) -> Result:
    """The result of a call whose tool does not exist, as far as its caller may know."""
    stop = Stop("unknown_tool", f"there is no tool {name[:200]!r} here; GET /v1/tools lists yours", "tool_not_found")
    return Result(
        invocation_id=result.invocation_id,
        status="failed",
        created_at=result.created_at,
        error=tool_error(stop, has_run=False, is_repeatable=False),
        content=({"type": "text", "text": stop.message},),
    )


def seen(surface: Surface, name: str, outcome: Result | Pending) -> Result | Pending:
    """An outcome as the caller may see it."""
    error = outcome.error if isinstance(outcome, Result) else None
    if isinstance(outcome, Result) and error is not None and is_unseen(surface, name, error.error_class):
        return as_unknown(outcome, name)
    return outcome


def refused(result: Result, handle: SurfaceHandle, name: str, arguments: bytes) -> Problem | None:
    """The problem that a refused call is; None for a call that was made, however it ended."""
    error = result.error
    status = None if error is None else STATUSES.get(error.error_class)
    if error is None or status is None:
        return None
    if error.error_code in CONFLICT_CODES:
        status = 409
    more: dict[str, Any] = {}
    if error.error_class == "schema_validation_failed":
        more["errors"] = _misfits(handle, name, arguments)
    return Problem(
        status,
        error.error_code,
        error.message,
        error_class=error.error_class,
        invocation_id=result.invocation_id,
        result=result.to_record(),
        **more,
    )


def _misfits(handle: SurfaceHandle, name: str, arguments: bytes) -> list[Member]:
    """Where arguments do not fit their schema, as a check of the same call tells it."""
    session = handle.session
    prepared = session.prepared.get(name) or session.find(name)
    judge = prepared.arguments if len(arguments) <= _EXPLAINED else None
    found = [] if judge is None else judge.misfits(arguments, _MOST_MEMBERS)
    return members_of(found) or [Member("/arguments", "they do not fit the tool's schema")]


def members_of(complaints: Iterable[Complaint]) -> list[Member]:
    """Wrong arguments, as members of the request that has them."""
    return [Member(write_pointer(("arguments", *complaint.path)), complaint.text) for complaint in complaints]


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
    return seen((await resolve(ask.surface())).surface, owner.tool_name, outcome)


async def demand_recorded(later: asyncio.Task[Any], recorded: asyncio.Event, within: float) -> None:
    """Waits until an answer stands in the ledger or was refused. Raises Problem (503) when neither is known in time.

    `wait` of a request shortens only the time given to the call: who is told "accepted" while the answer is still on its way
    to the ledger is told so wrongly when somebody else's gets there first.
    """
    known = asyncio.ensure_future(recorded.wait())
    try:
        done, _ = await asyncio.wait({later, known}, timeout=within, return_when=asyncio.FIRST_COMPLETED)
    finally:
        known.cancel()
    if not done:
        detail = "it is not known yet whether the answer counts; look at the call again"
        raise Problem(503, "not_recorded", detail, headers=[(b"retry-after", b"5")])
