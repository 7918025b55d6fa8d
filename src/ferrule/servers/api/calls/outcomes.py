"""Outcomes of calls as clients see them: the state or result, the HTTP status, and who may see it.

Calls of other tenants and principals look like calls that do not exist. So do tools that are hidden from the caller,
now and whenever the call is looked at again.
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
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.arguments.complaints import Complaint
from ferrule.schema.pointers import write_pointer
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.replies import CONFLICT_CODES, STATUSES, Member, Problem, not_found
from ferrule.servers.api.shapes import Record, ResultOrNone, describe
from ferrule.servers.auth.callers import Caller

_MOST_MEMBERS = 50
_EXPLAINED = 64 * 1024
"""Longer arguments are not validated a second time to list every error: the detail names the first."""


class CallState(msgspec.Struct, kw_only=True):
    """The state of a call, with its result once it has ended."""

    invocation_id: str
    state: Annotated[str, describe("A state of the lifecycle while it has not ended, then the status of its result.")]
    is_pending: Annotated[bool, describe("True while it has not ended.")]
    message: Annotated[str, describe("What it waits for, and where that can be given.")] = ""
    expires_at: Annotated[str | None, describe("When it ends by itself, if nobody answers.")] = None
    client_requests: Annotated[
        dict[str, Record],
        describe("What the tool asks its caller, by key; answer at `/v1/calls/{invocation_id}/answers`."),
    ] = {}
    round: Annotated[int, describe("Another round is another question.")] = 0
    result: ResultOrNone = None


def state_of(outcome: Result | Pending) -> CallState:
    """Returns the outcome of a call as clients receive it."""
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


def is_refused_and_hidden(surface: Surface, name: str, error_class: str | None) -> bool:
    """Returns True when a call was refused and its tool is hidden from the caller."""
    if error_class not in STATUSES:
        return False
    entry = surface.find(name)
    # An ambiguous name has no entry of its own. To say so would tell of a hidden tool among those it may mean.
    if entry is None and surface.is_ambiguous(name):
        return not all(surface.entries[tool_id].is_visible for tool_id in surface.names[name])
    return entry is None or not entry.is_visible


def mask_as_unknown(result: Result, name: str) -> Result:
    """Returns the result of a call as if its tool did not exist."""
    stop = Stop("unknown_tool", f"there is no tool {name[:200]!r} here; GET /v1/tools lists yours", "tool_not_found")
    return Result(
        invocation_id=result.invocation_id,
        status="failed",
        created_at=result.created_at,
        error=tool_error(stop, has_run=False, is_repeatable=False),
        content=({"type": "text", "text": stop.message},),
    )


def mask_outcome(surface: Surface, name: str, outcome: Result | Pending) -> Result | Pending:
    """Returns an outcome as the caller may see it: a hidden tool looks unknown."""
    error = outcome.error if isinstance(outcome, Result) else None
    if isinstance(outcome, Result) and error is not None and is_refused_and_hidden(surface, name, error.error_class):
        return mask_as_unknown(outcome, name)
    return outcome


def explain_refusal(result: Result, handle: SurfaceHandle, name: str, arguments: bytes) -> Problem | None:
    """Returns the problem for a refused call; None for a call that was made, however it ended."""
    error = result.error
    status = None if error is None else STATUSES.get(error.error_class)
    if error is None or status is None:
        return None
    if error.error_code in CONFLICT_CODES:
        status = 409
    more: JsonObject = {}
    if error.error_class == "schema_validation_failed":
        more["errors"] = _list_invalid_members(handle, name, arguments)
    return Problem(
        status,
        error.error_code,
        error.message,
        error_class=error.error_class,
        invocation_id=result.invocation_id,
        result=result.to_record(),
        **more,
    )


def _list_invalid_members(handle: SurfaceHandle, name: str, arguments: bytes) -> list[Member]:
    """Lists where arguments do not match their schema."""
    session = handle.session
    prepared = session.prepared.get(name) or session.find(name)
    judge = prepared.arguments if len(arguments) <= _EXPLAINED else None
    found = [] if judge is None else judge.list_misfits(arguments, _MOST_MEMBERS)
    return members_of(found) or [Member("/arguments", "they do not fit the tool's schema")]


def members_of(complaints: Iterable[Complaint]) -> list[Member]:
    """Returns invalid arguments as members of the request body."""
    return [Member(write_pointer(("arguments", *complaint.path)), complaint.text) for complaint in complaints]


class CallOwner(NamedTuple):
    """The principal, the tenant and the tool of a call."""

    principal: str
    tenant: str
    tool_name: str


async def owner_of(app: App, invocation_id: str) -> CallOwner | None:
    """Returns the owner of a call; None for an unknown id."""
    live = app.services.live.calls.get(invocation_id)
    if live is not None:
        request = live.call.session.surface.request
        return CallOwner(request.principal, request.tenant, live.call.tool_name)
    rows = await app.store.rows_of(invocation_id)
    return owner_in(rows) if rows else None


def owner_in(rows: Sequence[StoredEntry]) -> CallOwner:
    """Returns the owner of the call with these rows."""
    header = rows[0].header()
    return CallOwner(header.principal, header.tenant, header.tool_name)


def may_see(caller: Caller, owner: CallOwner) -> bool:
    """Returns True when a caller may see a call."""
    return caller.sees(owner.principal, owner.tenant)


async def require_visible_call(ask: Ask) -> CallOwner:
    """Returns the owner of the call in the path. Raises Problem (404) unless the caller may see it."""
    owner = await owner_of(ask.edge.app, ask.invocation_id)
    if owner is None or not may_see(ask.caller, owner):
        raise not_found(f"there is no call {ask.invocation_id[:40]!r} of yours")
    return owner


async def mask_for_caller(ask: Ask, owner: CallOwner, outcome: Result | Pending) -> Result | Pending:
    """Returns an outcome as the caller may see it; an operator of the tenant sees all of it."""
    if ask.caller.oversees(owner.tenant) or not isinstance(outcome, Result) or outcome.error is None:
        return outcome
    return mask_outcome((await resolve(ask.surface())).surface, owner.tool_name, outcome)


async def wait_until_recorded(later: asyncio.Task[Any], recorded: asyncio.Event, within: float) -> None:
    """Waits until an answer is in the ledger or refused. Raises Problem (503) when neither is known in time.

    The client's `wait` shortens only the time given to the call: "accepted" before the row is written would be false if
    another person's answer is written first.
    """
    known = asyncio.ensure_future(recorded.wait())
    try:
        done, _ = await asyncio.wait({later, known}, timeout=within, return_when=asyncio.FIRST_COMPLETED)
    finally:
        known.cancel()
    if not done:
        detail = "it is not known yet whether the answer counts; look at the call again"
        raise Problem(503, "not_recorded", detail, headers=[(b"retry-after", b"5")])
