"""Recorded batches: the list, the calls of one, and cancelling those of its calls that have not begun.

`batches` makes them. It knows a batch only by what its calls recorded.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from ferrule.app.views.past_calls import Rows, find_calls_holding, next_row_number, read_whole_calls
from ferrule.contracts.store import CallsWanted
from ferrule.ledger.history.summary import PREFIX, WAITS, Membership, find_standing, read_batch_start, read_membership
from ferrule.model.journal import StoredEntry
from ferrule.model.lifecycle import STATES, TERMINAL
from ferrule.model.story import Story
from ferrule.model.surface import Surface
from ferrule.model.timestamps import iso
from ferrule.model.value import JsonObject
from ferrule.runtime.pipeline.live import Cancel, LiveCall
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.calls.call_filters import Row
from ferrule.servers.api.calls.calls import CancelBody
from ferrule.servers.api.calls.invocations import (
    InvocationBrief,
    find_visibility_surface,
    is_hidden_from,
    summarize_call,
)
from ferrule.servers.api.calls.outcomes import may_see, owner_in
from ferrule.servers.api.replies import AnyReply, JsonReply, link_header, next_link, not_found
from ferrule.servers.api.shapes import describe

_NOTE = b"batch_id"
_ID = re.compile(f"{PREFIX}[0-9a-f]{{24}}")
_NEAR_ROWS, _FAR_ROWS = 2_000, 50_000
"""Rows after a batch's beginning that are searched for its calls: for a list, and for one batch."""
_LIST_ROWS = 50_000
"""Rows that are read for one page of the list."""
_AT_ONCE = 200
_UNBEGUN = frozenset({"planned", "queued", "opening"})


class BatchQuery(msgspec.Struct, kw_only=True):
    """The size and the start of a page."""

    limit: Annotated[int, describe("How many on one page.", ge=1, le=100)] = 20
    cursor: Annotated[Row | None, describe("Go on with batches whose calls were recorded before this row.")] = None


class BatchBrief(msgspec.Struct, kw_only=True):
    """A batch in a few words."""

    batch_id: str
    at: Annotated[str, describe("When it began.")]
    size: int
    known: Annotated[int, describe("How many of its calls were found: on record, or under way here.")]
    principal: str
    tenant: str
    agent: str | None
    run_id: str
    is_over: Annotated[bool, describe("True when all its calls have ended.")]
    standings: Annotated[dict[str, int], describe("How many of its calls stand how.")]
    tools: Annotated[
        dict[str, int], describe("How many of its calls are of which tool, by the name they were called by.")
    ]
    duration_ms: Annotated[float | None, describe("From its beginning to its last end; none while it goes on.")]


class BatchPage(msgspec.Struct, kw_only=True):
    """Batches, the newest first. A page may be short or empty and still have a next one: one request reads a limited
    number of rows.
    """

    items: list[BatchBrief]
    next: Annotated[str | None, describe("Where the next page is.")] = None


class StateTime(msgspec.Struct, kw_only=True):
    """The time at which a call entered a state."""

    state: str
    at: str


class LockClaim(msgspec.Struct, kw_only=True):
    """A lock that a call takes while it runs."""

    key: str
    mode: str


class BatchMember(msgspec.Struct, kw_only=True):
    """One call of a batch."""

    index: int
    call: InvocationBrief
    is_read_only: bool
    depends_on: Annotated[list[str], describe("Calls that had to end before it could begin.")]
    waited_ms: Annotated[float | None, describe("How long it waited for those.")]
    queued_ms: Annotated[float | None, describe("How long it waited for its turn.")]
    locks: list[LockClaim]
    states: list[StateTime]
    is_on_record: Annotated[bool, describe("False for a call that is under way here and has no row yet.")]
    error_class: str | None
    message: Annotated[str | None, describe("What went wrong.")]
    abort_reason: str | None
    cause: Annotated[str | None, describe("The call whose failure ended this one.")]


class PastBatch(msgspec.Struct, kw_only=True):
    """A batch with its calls, in call order."""

    brief: BatchBrief
    sibling_failure_policy: str
    ordering_policy: str
    now: Annotated[str, describe("The server's time.")]
    calls: list[BatchMember]


class BatchCancelState(msgspec.Struct, kw_only=True):
    """The effect of cancelling a batch."""

    batch_id: str
    canceled: Annotated[list[str], describe("Calls that had not begun, and never will.")]
    going_on: Annotated[list[str], describe("Calls that run; each can be canceled by itself.")]


class _BatchCall(msgspec.Struct):
    """One call of a batch: its rows, or the running call."""

    place: Membership
    rows: Rows = ()
    live: LiveCall | None = None
    is_hidden: bool = False
    """True when the caller may not know of its tool."""

    @property
    def standing(self) -> str:
        """Its standing, as the caller may know it."""
        if not self.rows:
            return "waiting" if _call(self.live).state in WAITS else "running"
        return "failed" if self.is_hidden else find_standing(self.rows[-1].kind, self.rows[-1].outcome)

    @property
    def call_id(self) -> str:
        """Its invocation id."""
        return self.rows[0].call if self.rows else _call(self.live).invocation_id


def _call(live: LiveCall | None) -> Any:
    assert live is not None  # a call without rows is running
    return live.call


async def list_batches(ask: Ask) -> AnyReply:
    """Lists the batches on record, and those running in this process."""
    wanted, surface = ask.query(BatchQuery), await find_visibility_surface(ask)
    met, before = await _find_batches(ask, wanted)
    found = {batch_id: await _load_batch(ask, surface, batch_id, firsts) for batch_id, firsts in met.items()}
    if wanted.cursor:  # a batch with calls on both sides of the cursor is listed with the newest of them
        found = {batch_id: calls for batch_id, calls in found.items() if _latest_start(calls) < wanted.cursor}
    briefs = [_summarize_batch(batch_id, calls) for batch_id, calls in sorted(found.items(), reverse=True) if calls]
    if before is None:
        return JsonReply(BatchPage(items=briefs))
    address = next_link("/v1/batches", ask.pairs, str(before))
    return JsonReply(BatchPage(items=briefs, next=address), headers=(link_header(address),))


async def _find_batches(ask: Ask, wanted: BatchQuery) -> tuple[dict[str, list[StoredEntry]], int | None]:
    """Returns the newest batches before the cursor, with the first rows of their calls that were found, and the next
    cursor.
    """
    store = ask.edge.app.store
    top = min(wanted.cursor or 10**15, await next_row_number(store))
    floor = max(0, top - 1 - _LIST_ROWS)
    quick = CallsWanted(after=floor, holding=(_NOTE, *_list_own_texts(ask)))
    named: dict[str, list[StoredEntry]] = {} if wanted.cursor else {one: [] for one in _live_batches(ask)}
    while True:
        firsts = await store.calls_before(top, _AT_ONCE, quick)
        for row in firsts:
            place = _find_visible_membership(ask, row)
            if place is not None:
                if place.batch_id not in named and len(named) >= wanted.limit:
                    # The cursor is exclusive, and this row belongs to the next page.
                    return named, row.seq + 1
                named.setdefault(place.batch_id, []).append(row)
            top = row.seq
        if len(firsts) < _AT_ONCE:
            return named, floor + 1 if floor else None


async def _load_batch(ask: Ask, surface: Surface | None, batch_id: str, firsts: list[StoredEntry]) -> list[_BatchCall]:
    """Returns the calls of a batch, starting from the first rows of some of them."""
    places = [read_membership([row.segment().notes]) for row in firsts]
    if not firsts or places[0] is None or len(firsts) < places[0].size:
        return await _search_batch(ask, surface, batch_id, _NEAR_ROWS)
    calls = await read_whole_calls(ask.edge.app.store, firsts)
    found = [
        _BatchCall(place, rows, is_hidden=is_hidden_from(surface, rows))
        for place, rows in zip(places, calls, strict=True)
        if place is not None
    ]
    return sorted(found, key=lambda one: one.place.index)


def _latest_start(calls: Sequence[_BatchCall]) -> int:
    return max((call.rows[0].seq for call in calls if call.rows), default=0)


def _list_own_texts(ask: Ask) -> tuple[bytes, ...]:
    """Returns texts that every record a non-operator may see contains, for the ledger to filter by."""
    caller = ask.caller
    return () if caller.is_operator else (caller.identity.principal.encode(), caller.tenant.encode())


def _find_visible_membership(ask: Ask, row: StoredEntry) -> Membership | None:
    if not may_see(ask.caller, owner_in((row,))):
        return None
    return read_membership([row.segment().notes])


def _live_batches(ask: Ask) -> list[str]:
    lives = (live for live in _visible_live_calls(ask) if not live.has_ended)
    found = {place.batch_id for live in lives if (place := read_membership([live.call.notes])) is not None}
    return sorted(found, reverse=True)


def _visible_live_calls(ask: Ask) -> Iterable[LiveCall]:
    """Yields the calls running in this process that the caller may see."""
    for live in list(ask.edge.app.services.live.calls.values()):
        request = live.call.session.surface.request
        if ask.caller.sees(request.principal, request.tenant):
            yield live


async def _search_batch(ask: Ask, surface: Surface | None, batch_id: str, most_rows: int) -> list[_BatchCall]:
    """Returns the calls of a batch that the caller may see, in call order."""
    store, began = ask.edge.app.store, read_batch_start(batch_id)
    if began is None or not _ID.fullmatch(batch_id):
        return []
    after = await store.seq_at(began) - 1
    calls: dict[str, _BatchCall] = {}
    # Calls are recorded soon after their batch began, so a look near its beginning nearly always finds all of them.
    for most in dict.fromkeys((min(_NEAR_ROWS, most_rows), most_rows)):
        for rows in await find_calls_holding(store, batch_id.encode(), after=after, most_rows=most):
            place = read_membership([row.segment().notes for row in rows])
            if place is not None and place.batch_id == batch_id and may_see(ask.caller, owner_in(rows)):
                calls[rows[0].call] = _BatchCall(place, rows, is_hidden=is_hidden_from(surface, rows))
        if calls and len(calls) >= next(iter(calls.values())).place.size:
            break
    for live in _visible_live_calls(ask):
        place = read_membership([live.call.notes])
        if place is not None and place.batch_id == batch_id:
            known = calls.setdefault(live.call.invocation_id, _BatchCall(place))
            known.live = live
    return sorted(calls.values(), key=lambda found: found.place.index)


def _summarize_batch(batch_id: str, calls: Sequence[_BatchCall]) -> BatchBrief:
    began = read_batch_start(batch_id) or 0
    first = calls[0]
    size = first.place.size
    standings = Counter(found.standing for found in calls)
    open_calls = sum(not found.rows or found.rows[-1].outcome not in TERMINAL for found in calls)
    is_over = not open_calls and len(calls) >= size
    ended = max((found.rows[-1].at for found in calls if found.rows), default=began)
    owner = first.rows[0].header() if first.rows else _call(first.live).session.surface.request
    names = (found.rows[0].header().tool_name if found.rows else _call(found.live).tool_name for found in calls)
    return BatchBrief(
        batch_id=batch_id,
        at=iso(began),
        size=size,
        known=len(calls),
        principal=owner.principal,
        tenant=owner.tenant,
        agent=owner.agent,
        run_id=owner.run_id,
        is_over=is_over,
        standings=dict(standings),
        tools=dict(Counter(names)),
        duration_ms=round(max(0, ended - began) / 1000, 3) if is_over else None,
    )


async def get_batch(ask: Ask) -> AnyReply:
    """Returns one batch with its calls."""
    calls = await _require_calls(ask)
    batch_id, first = ask.parts["batch_id"], calls[0]
    members = [await _build_member(ask, found) for found in calls]
    state = PastBatch(
        brief=_summarize_batch(batch_id, calls),
        sibling_failure_policy=first.place.sibling_failure_policy,
        ordering_policy=first.place.ordering_policy,
        now=iso(ask.edge.app.services.now()),
        calls=members,
    )
    return JsonReply(state, is_final=state.brief.is_over)


async def _require_calls(ask: Ask) -> list[_BatchCall]:
    batch_id = ask.parts["batch_id"]
    calls = await _search_batch(ask, await find_visibility_surface(ask), batch_id, _FAR_ROWS)
    if not calls:
        raise not_found(f"there is no batch {batch_id[:40]!r} of yours on record")
    return calls


async def _build_member(ask: Ask, found: _BatchCall) -> BatchMember:
    if not found.rows:
        return _live_member(found)
    rows = found.rows
    is_canceled = rows[-1].outcome == "canceled"
    story = Story(rows, await ask.edge.app.store.news_of(rows[0].call) if is_canceled else ())
    if found.is_hidden:
        ended = StateTime(state="failed", at=iso(story.created_at))
        return _start_member(found, summarize_call(rows, is_hidden=True), [ended])
    states = [StateTime(state=move.state, at=iso(move.at)) for move in story.moves]
    return msgspec.structs.replace(
        _start_member(found, summarize_call(rows, is_hidden=False), states),
        is_read_only=story.header.is_read_only,
        error_class=None if story.error is None else story.error.error_class,
        message=None if story.error is None else story.error.message,
        abort_reason=story.notes.get("abort_reason"),
        cause=_cause(story),
        **_read_scheduling(story.notes),
    )


def _start_member(found: _BatchCall, short: InvocationBrief, states: list[StateTime]) -> BatchMember:
    return BatchMember(
        index=found.place.index,
        call=short,
        is_read_only=False,
        depends_on=list(found.place.depends_on),
        waited_ms=found.place.waited_ms,
        queued_ms=None,
        locks=[],
        states=states,
        is_on_record=bool(found.rows),
        error_class=None,
        message=None,
        abort_reason=None,
        cause=None,
    )


def _read_scheduling(notes: Mapping[str, Any]) -> JsonObject:
    """Returns what the scheduler recorded about a call."""
    noted = notes.get("scheduler", {})
    locks = [LockClaim(key=str(lock["key"]), mode=str(lock["mode"])) for lock in noted.get("resource_locks", ())]
    return {"queued_ms": noted.get("waited_ms"), "locks": locks}


def _cause(story: Story) -> str | None:
    return next((one.cause for one in story.cancellations if one.cause), None)


def _live_member(found: _BatchCall) -> BatchMember:
    call = _call(found.live)
    request, prepared = call.session.surface.request, call.session.prepared.get(call.tool_name)
    short = InvocationBrief(
        invocation_id=call.invocation_id,
        at=iso(call.created_at),
        seq=0,
        tool_id=prepared.tool_id if prepared is not None else call.tool_name,
        tool_name=call.tool_name,
        principal=request.principal,
        tenant=request.tenant,
        agent=request.agent,
        run_id=request.run_id,
        status=call.state,
        standing=found.standing,
        duration_ms=None,
        decision="",
        rules=[],
        error_code=None,
        input="",
    )
    # As `Call.states` packs them: five bits for the state, and nanoseconds since the call was created.
    entered = [(STATES[code & 31], call.created_at + (code >> 5) // 1000) for code in call.states]
    states = [StateTime(state=state, at=iso(at)) for state, at in entered]
    is_read_only = prepared is not None and prepared.traits.is_read_only
    plain = _start_member(found, short, states)
    return msgspec.structs.replace(plain, is_read_only=is_read_only, **_read_scheduling(call.notes))


async def cancel_batch(ask: Ask) -> AnyReply:
    """Cancels the calls of a batch that have not begun."""
    calls, app = await _require_calls(ask), ask.edge.app
    cancel = Cancel(reason=ask.body(CancelBody).reason, by=ask.caller.identity.principal)
    ending: list[str] = []
    going_on: list[str] = []
    for found in calls:
        if found.live is not None and not found.live.has_ended:
            (ending if found.live.stage in _UNBEGUN else going_on).append(found.call_id)
        elif found.rows and found.rows[-1].outcome not in TERMINAL:
            (ending if found.rows[-1].outcome == "awaiting_approval" else going_on).append(found.call_id)
    states = await asyncio.gather(*(app.calls.cancel(call_id, cancel) for call_id in ending))
    done = [call_id for call_id, state in zip(ending, states, strict=True) if state and state.outcome == "canceled"]
    left = [call_id for call_id in ending if call_id not in done]
    state = BatchCancelState(batch_id=ask.parts["batch_id"], canceled=done, going_on=[*going_on, *left])
    return JsonReply(state)
