"""Batches that were made: which there are, what became of the calls of one, and ending what of it has not begun."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import msgspec

from ferrule.app.views.past_calls import Rows, after_last, calls_holding, whole_calls
from ferrule.contracts.store import CallsWanted
from ferrule.ledger.history.summary import PREFIX, WAITS, Membership, begun_at, membership_in, standing_of
from ferrule.model.journal import StoredEntry
from ferrule.model.lifecycle import STATES, TERMINAL
from ferrule.model.story import Story
from ferrule.model.surface import Surface
from ferrule.model.timestamps import iso
from ferrule.runtime.pipeline.live import Cancel, LiveCall
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.calls.call_filters import Row
from ferrule.servers.api.calls.calls import CancelBody
from ferrule.servers.api.calls.invocations import InvocationBrief, brief, is_hidden_from, own_surface
from ferrule.servers.api.calls.outcomes import owner_in, sees
from ferrule.servers.api.replies import Replied, Reply, link_header, next_link, not_found
from ferrule.servers.api.shapes import says

_NOTE = b"batch_id"
_ID = re.compile(f"{PREFIX}[0-9a-f]{{24}}")
_NEAR_ROWS, _FAR_ROWS = 2_000, 50_000
"""Rows after its beginning in which the calls of a batch are looked for: for a list, and for one batch."""
_LIST_ROWS = 50_000
"""Rows that are gone through for one page of the list."""
_AT_ONCE = 200
_UNBEGUN = frozenset({"planned", "queued", "opening"})


class BatchQuery(msgspec.Struct, kw_only=True):
    """How many batches."""

    limit: Annotated[int, says("How many on one page.", ge=1, le=100)] = 20
    cursor: Annotated[Row | None, says("Go on with batches whose calls were recorded before this row.")] = None


class BatchBrief(msgspec.Struct, kw_only=True):
    """A batch in a few words."""

    batch_id: str
    at: Annotated[str, says("When it began.")]
    size: int
    known: Annotated[int, says("How many of its calls were found: on record, or under way here.")]
    principal: str
    tenant: str
    agent: str | None
    run_id: str
    is_over: Annotated[bool, says("True when all its calls have ended.")]
    standings: Annotated[dict[str, int], says("How many of its calls stand how.")]
    tools: Annotated[dict[str, int], says("How many of its calls are of which tool, by the name they were called by.")]
    duration_ms: Annotated[float | None, says("From its beginning to its last end; none while it goes on.")]


class BatchPage(msgspec.Struct, kw_only=True):
    """Batches, the newest first. A page may be short, or empty, and still have a next one: looking is bounded."""

    items: list[BatchBrief]
    next: Annotated[str | None, says("Where the next page is.")] = None


class StateTime(msgspec.Struct, kw_only=True):
    """When a call came into a state."""

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
    depends_on: Annotated[list[str], says("Calls that had to end before it could begin.")]
    waited_ms: Annotated[float | None, says("How long it waited for those.")]
    queued_ms: Annotated[float | None, says("How long it waited for its turn.")]
    locks: list[LockClaim]
    states: list[StateTime]
    is_on_record: Annotated[bool, says("False for a call that is under way here and has no row yet.")]
    error_class: str | None
    message: Annotated[str | None, says("What went wrong.")]
    abort_reason: str | None
    cause: Annotated[str | None, says("The call whose failure ended this one.")]


class PastBatch(msgspec.Struct, kw_only=True):
    """A batch with its calls, in call order."""

    brief: BatchBrief
    sibling_failure_policy: str
    ordering_policy: str
    now: Annotated[str, says("The server's time.")]
    calls: list[BatchMember]


class BatchCancelState(msgspec.Struct, kw_only=True):
    """What was asked to stop."""

    batch_id: str
    canceled: Annotated[list[str], says("Calls that had not begun, and never will.")]
    going_on: Annotated[list[str], says("Calls that run; each can be canceled by itself.")]


class _Found(msgspec.Struct):
    """One call of a batch: its rows, or what runs here of it."""

    place: Membership
    rows: Rows = ()
    live: LiveCall | None = None
    is_hidden: bool = False
    """True when the caller may not know of its tool."""

    @property
    def standing(self) -> str:
        """Where it stands, as the caller may know."""
        if not self.rows:
            return "waiting" if _call(self.live).state in WAITS else "running"
        return "failed" if self.is_hidden else standing_of(self.rows[-1].kind, self.rows[-1].outcome)

    @property
    def call_id(self) -> str:
        """Its id."""
        return self.rows[0].call if self.rows else _call(self.live).invocation_id


def _call(live: LiveCall | None) -> Any:
    assert live is not None  # what has no rows is under way
    return live.call


async def list_batches(ask: Ask) -> Replied:
    """The batches on record, and those under way here."""
    wanted, surface = ask.query(BatchQuery), await own_surface(ask)
    named, before = await _named(ask, wanted)
    found = {batch_id: await _whole(ask, surface, batch_id, firsts) for batch_id, firsts in named.items()}
    if wanted.cursor:  # a batch may have calls on both sides of a cursor: it is told with the newest of them
        found = {batch_id: calls for batch_id, calls in found.items() if _last_first(calls) < wanted.cursor}
    briefs = [_brief(batch_id, calls) for batch_id, calls in sorted(found.items(), reverse=True) if calls]
    if before is None:
        return Reply(BatchPage(items=briefs))
    address = next_link("/v1/batches", ask.pairs, str(before))
    return Reply(BatchPage(items=briefs, next=address), headers=(link_header(address),))


async def _named(ask: Ask, wanted: BatchQuery) -> tuple[dict[str, list[StoredEntry]], int | None]:
    """The newest batches before the cursor, each with the first rows of those of its calls that were met, and where to go on."""
    store = ask.edge.app.store
    top = min(wanted.cursor or 10**15, await after_last(store))
    floor = max(0, top - 1 - _LIST_ROWS)
    quick = CallsWanted(after=floor, holding=(_NOTE, *_own(ask)))
    named: dict[str, list[StoredEntry]] = {} if wanted.cursor else {one: [] for one in _live_batches(ask)}
    while True:
        firsts = await store.calls_before(top, _AT_ONCE, quick)
        for row in firsts:
            place = _seen_place(ask, row)
            if place is not None:
                if place.batch_id not in named and len(named) >= wanted.limit:
                    return named, row.seq + 1
                named.setdefault(place.batch_id, []).append(row)
            top = row.seq
        if len(firsts) < _AT_ONCE:
            return named, floor + 1 if floor else None


async def _whole(ask: Ask, surface: Surface | None, batch_id: str, firsts: list[StoredEntry]) -> list[_Found]:
    """The calls of a batch, from the first rows of some of them."""
    places = [membership_in([row.segment().notes]) for row in firsts]
    if not firsts or places[0] is None or len(firsts) < places[0].size:
        return await _batch(ask, surface, batch_id, _NEAR_ROWS)
    calls = await whole_calls(ask.edge.app.store, firsts)
    found = [
        _Found(place, rows, is_hidden=is_hidden_from(surface, rows))
        for place, rows in zip(places, calls, strict=True)
        if place is not None
    ]
    return sorted(found, key=lambda one: one.place.index)


def _last_first(calls: Sequence[_Found]) -> int:
    return max((call.rows[0].seq for call in calls if call.rows), default=0)


def _own(ask: Ask) -> tuple[bytes, ...]:
    """What the records of calls hold that somebody may see who does not oversee everything."""
    caller = ask.caller
    return () if caller.is_operator else (caller.identity.principal.encode(), caller.tenant.encode())


def _seen_place(ask: Ask, row: StoredEntry) -> Membership | None:
    if not sees(ask.caller, owner_in((row,))):
        return None
    return membership_in([row.segment().notes])


def _live_batches(ask: Ask) -> list[str]:
    lives = (live for live in _lives(ask) if not live.has_ended)
    found = {place.batch_id for live in lives if (place := membership_in([live.call.notes])) is not None}
    return sorted(found, reverse=True)


def _lives(ask: Ask) -> Iterable[LiveCall]:
    """Calls under way in this process that the caller may see."""
    for live in list(ask.edge.app.services.live.calls.values()):
        request = live.call.session.surface.request
        if ask.caller.sees(request.principal, request.tenant):
            yield live


async def _batch(ask: Ask, surface: Surface | None, batch_id: str, most_rows: int) -> list[_Found]:
    """The calls of a batch that the caller may see, in call order."""
    store, began = ask.edge.app.store, begun_at(batch_id)
    if began is None or not _ID.fullmatch(batch_id):
        return []
    after = await store.seq_at(began) - 1
    calls: dict[str, _Found] = {}
    for most in dict.fromkeys((min(_NEAR_ROWS, most_rows), most_rows)):
        for rows in await calls_holding(store, batch_id.encode(), after=after, most_rows=most):
            place = membership_in([row.segment().notes for row in rows])
            if place is not None and place.batch_id == batch_id and sees(ask.caller, owner_in(rows)):
                calls[rows[0].call] = _Found(place, rows, is_hidden=is_hidden_from(surface, rows))
        if calls and len(calls) >= next(iter(calls.values())).place.size:
            break
    for live in _lives(ask):
        place = membership_in([live.call.notes])
        if place is not None and place.batch_id == batch_id:
            known = calls.setdefault(live.call.invocation_id, _Found(place))
            known.live = live
    return sorted(calls.values(), key=lambda found: found.place.index)


def _brief(batch_id: str, calls: Sequence[_Found]) -> BatchBrief:
    began = begun_at(batch_id) or 0
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


async def get_batch(ask: Ask) -> Replied:
    """One batch with its calls."""
    calls = await _calls_of(ask)
    batch_id, first = ask.parts["batch_id"], calls[0]
    members = [await _member(ask, found) for found in calls]
    state = PastBatch(
        brief=_brief(batch_id, calls),
        sibling_failure_policy=first.place.sibling_failure_policy,
        ordering_policy=first.place.ordering_policy,
        now=iso(ask.edge.app.services.now()),
        calls=members,
    )
    return Reply(state, is_final=state.brief.is_over)


async def _calls_of(ask: Ask) -> list[_Found]:
    batch_id = ask.parts["batch_id"]
    calls = await _batch(ask, await own_surface(ask), batch_id, _FAR_ROWS)
    if not calls:
        raise not_found(f"there is no batch {batch_id[:40]!r} of yours on record")
    return calls


async def _member(ask: Ask, found: _Found) -> BatchMember:
    if not found.rows:
        return _live_member(found)
    rows = found.rows
    is_canceled = rows[-1].outcome == "canceled"
    story = Story(rows, await ask.edge.app.store.news_of(rows[0].call) if is_canceled else ())
    if found.is_hidden:
        ended = StateTime(state="failed", at=iso(story.created_at))
        return _plain_member(found, brief(rows, is_hidden=True), [ended])
    states = [StateTime(state=move.state, at=iso(move.at)) for move in story.moves]
    return msgspec.structs.replace(
        _plain_member(found, brief(rows, is_hidden=False), states),
        is_read_only=story.header.is_read_only,
        error_class=None if story.error is None else story.error.error_class,
        message=None if story.error is None else story.error.message,
        abort_reason=story.notes.get("abort_reason"),
        cause=_cause(story),
        **_scheduled(story.notes),
    )


def _plain_member(found: _Found, short: InvocationBrief, states: list[StateTime]) -> BatchMember:
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


def _scheduled(notes: Mapping[str, Any]) -> dict[str, Any]:
    """What the scheduler noted of a call."""
    noted = notes.get("scheduler", {})
    locks = [LockClaim(key=str(lock["key"]), mode=str(lock["mode"])) for lock in noted.get("resource_locks", ())]
    return {"queued_ms": noted.get("waited_ms"), "locks": locks}


def _cause(story: Story) -> str | None:
    return next((one.cause for one in story.cancellations if one.cause), None)


def _live_member(found: _Found) -> BatchMember:
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
    entered = [(STATES[code & 31], call.created_at + (code >> 5) // 1000) for code in call.states]
    states = [StateTime(state=state, at=iso(at)) for state, at in entered]
    is_read_only = prepared is not None and prepared.traits.is_read_only
    plain = _plain_member(found, short, states)
    return msgspec.structs.replace(plain, is_read_only=is_read_only, **_scheduled(call.notes))


async def cancel_batch(ask: Ask) -> Replied:
    """Ask that what of a batch has not begun never does."""
    calls, app = await _calls_of(ask), ask.edge.app
    cancel = Cancel(reason=ask.body(CancelBody).reason, by=ask.caller.identity.principal)
    ending: list[str] = []
    going_on: list[str] = []
    for found in calls:
        if found.live is not None and not found.live.has_ended:
            (ending if found.live.stage in _UNBEGUN else going_on).append(found.call_id)
        elif found.rows and found.rows[-1].outcome not in TERMINAL:
            (ending if found.rows[-1].outcome == "awaiting_approval" else going_on).append(found.call_id)
    told = await asyncio.gather(*(app.calls.cancel(call_id, cancel) for call_id in ending))
    done = [call_id for call_id, state in zip(ending, told, strict=True) if state and state.outcome == "canceled"]
    left = [call_id for call_id in ending if call_id not in done]
    state = BatchCancelState(batch_id=ask.parts["batch_id"], canceled=done, going_on=[*going_on, *left])
    return Reply(state)
