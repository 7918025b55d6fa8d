"""Invocations from the ledger: the list of calls, the explanation of one, its relatives, and the check of its rows.

`call_filters` finds the matching calls that the caller may see. It knows no call that is not on record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

import msgspec

from ferrule.app.custody.check import RowCheck, check_rows
from ferrule.app.custody.paths import ledger_paths
from ferrule.app.views.past_calls import find_calls_holding, read_story
from ferrule.infra.tasks import resolve
from ferrule.ledger.history.expand import expand_row
from ferrule.ledger.history.summary import find_standing, read_brief, read_membership
from ferrule.model.failure import ToolError
from ferrule.model.journal import StoredEntry
from ferrule.model.lifecycle import TERMINAL
from ferrule.model.result import Result
from ferrule.model.story import Story
from ferrule.model.surface import Surface
from ferrule.model.timestamps import iso
from ferrule.model.value import JsonObject
from ferrule.runtime.redaction.sensitive_input import mask_all_members
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.calls.call_filters import CallQuery, Row, prepare_search, read_input
from ferrule.servers.api.calls.outcomes import is_refused_and_hidden, mask_as_unknown, may_see, owner_in
from ferrule.servers.api.replies import AnyReply, JsonReply, link_header, next_link, not_found
from ferrule.servers.api.shapes import Limit, Record, describe
from ferrule.workspace.workspace import Workspace

_SHOWN_INPUT = 200


class InvocationBrief(msgspec.Struct, kw_only=True):
    """A call in a few words."""

    invocation_id: str
    at: Annotated[str, describe("When it was planned.")]
    seq: Annotated[int, describe("Its first row in the ledger.")]
    tool_id: str
    tool_name: Annotated[str, describe("The name it was called by.")]
    principal: str
    tenant: str
    agent: str | None
    run_id: str
    status: Annotated[str, describe("Its state in the lifecycle.")]
    standing: Annotated[str, describe("The same in one of eight words.")]
    duration_ms: float | None
    decision: str
    rules: Annotated[list[str], describe("The rules that its last decision goes back to.")]
    error_code: str | None
    input: Annotated[str, describe("The beginning of its input, as JSON; sensitive members are masked.")]


class InvocationQuery(CallQuery, kw_only=True):
    """Filters for calls, and the size of a page."""

    limit: Limit = 50
    cursor: Annotated[Row | None, describe("Go on with calls that began before this row of the ledger.")] = None


class InvocationPage(msgspec.Struct, kw_only=True):
    """Calls, the newest first. A page may be short or empty and still have a next one: one request reads a limited
    number of calls.
    """

    items: list[InvocationBrief]
    next: Annotated[str | None, describe("Where the next page is.")] = None


class Explanation(msgspec.Struct, kw_only=True):
    """The complete record of a call, phase by phase. It may have more members."""

    invocation_id: str
    status: str
    created_at: str
    ended_at: str | None
    tool_name: str
    principal: str
    tenant: str
    inputs: list[Record]
    decisions: list[Record]
    rules: list[Record]
    phases: list[Record]
    transitions: list[Record]
    result: Record | None


class EventList(msgspec.Struct, kw_only=True):
    """The events of a call, in order."""

    items: list[Record]


async def list_invocations(ask: Ask) -> AnyReply:
    """Lists recorded calls."""
    wanted, surface = ask.query(InvocationQuery), await find_visibility_surface(ask)
    search = await prepare_search(ask, wanted, surface)
    page = await search.page(wanted.cursor, wanted.limit)
    items = [summarize_call(rows, is_hidden=search.hides(rows)) for rows in page.calls]
    if page.before is None:
        return JsonReply(InvocationPage(items=items))
    address = next_link("/v1/invocations", ask.pairs, str(page.before))
    return JsonReply(InvocationPage(items=items, next=address), headers=(link_header(address),))


async def find_visibility_surface(ask: Ask) -> Surface | None:
    """Returns the surface that decides which tools the caller may know of; None when it may know of all."""
    return None if ask.caller.is_operator else (await resolve(ask.surface())).surface


def summarize_call(rows: Sequence[StoredEntry], *, is_hidden: bool) -> InvocationBrief:
    """Returns a call in a few words. `is_hidden`: the caller may not know of its tool."""
    short, header = read_brief(rows), rows[0].header()
    written = read_input(rows, is_hidden=is_hidden)
    found = InvocationBrief(
        invocation_id=short.invocation_id,
        at=iso(short.at),
        seq=rows[0].seq,
        tool_id=short.tool_id,
        tool_name=header.tool_name,
        principal=short.principal,
        tenant=header.tenant,
        agent=short.agent,
        run_id=header.run_id,
        status=short.status,
        standing=find_standing(rows[-1].kind, short.status),
        duration_ms=short.duration_ms,
        decision=short.decision,
        rules=list(short.rules),
        error_code=short.error_code,
        input=written if len(written) <= _SHOWN_INPUT else f"{written[:_SHOWN_INPUT]}…",
    )
    if not is_hidden:
        return found
    return msgspec.structs.replace(
        found,
        tool_id=f"unknown:{header.tool_name}",
        status="failed",
        standing="failed",
        decision="",
        rules=[],
        error_code="tool_not_found",
        duration_ms=None,
    )


def is_hidden_from(surface: Surface | None, rows: Sequence[StoredEntry]) -> bool:
    """Returns True for a call of a tool that the holder of this surface may not know of."""
    error = rows[-1].segment().error if surface is not None and rows else None
    return (
        surface is not None
        and error is not None
        and is_refused_and_hidden(surface, rows[0].header().tool_name, error.error_class)
    )


async def load_visible_rows(ask: Ask) -> Sequence[StoredEntry]:
    """Returns the rows of the call in the path. Raises Problem (404) unless the caller may see it."""
    rows = await ask.edge.app.store.rows_of(ask.invocation_id)
    if not rows or not may_see(ask.caller, owner_in(rows)):
        raise not_found(f"there is no call {ask.invocation_id[:40]!r} of yours on record")
    return rows


async def get_invocation(ask: Ask) -> AnyReply:
    """Returns one call in a few words."""
    rows = await load_visible_rows(ask)
    is_hidden = is_hidden_from(await find_visibility_surface(ask), rows)
    return JsonReply(summarize_call(rows, is_hidden=is_hidden), is_final=rows[-1].outcome in TERMINAL)


async def explain_invocation(ask: Ask) -> AnyReply:
    """Returns the complete record of one call."""
    rows, surface, app = await load_visible_rows(ask), await find_visibility_surface(ask), ask.edge.app
    story = await read_story(app.store, rows, app.catalog, app.policy)
    is_hidden = is_hidden_from(surface, rows)
    record = _mask_story(story) if is_hidden else story.to_record()
    if surface is not None:  # rules that did not match may name tools that the caller may not know of
        record["rules"] = [rule for rule in record["rules"] if rule["is_matched"]]
    return JsonReply(record, is_final=story.status in TERMINAL)


def _mask_story(story: Story) -> JsonObject:
    """Returns the record of a call whose tool is hidden from its caller: the names of its arguments, and that the tool
    is unknown.
    """
    header, error = story.header, story.error
    assert isinstance(error, ToolError)
    at = story.created_at
    result = mask_as_unknown(
        Result(invocation_id=story.invocation_id, status="failed", created_at=at), header.tool_name
    )
    sent = [{**msgspec.to_builtins(view), "value": mask_all_members(view.value)} for view in story.inputs[:1]]
    return {
        "invocation_id": story.invocation_id,
        "status": "failed",
        "created_at": iso(at),
        "ended_at": iso(at),
        "tool_id": f"unknown:{header.tool_name}",
        "tool_name": header.tool_name,
        "principal": header.principal,
        "agent": header.agent,
        "channel": header.channel,
        "tenant": header.tenant,
        "run_id": header.run_id,
        "inputs": sent,
        "decisions": [],
        "rules": [],
        "phases": [],
        "transitions": [],
        "result": {"status": "failed", "error": msgspec.to_builtins(result.error), "content": list(result.content)},
    }


async def list_invocation_events(ask: Ask) -> AnyReply:
    """Lists the events of one call."""
    rows, surface, app = await load_visible_rows(ask), await find_visibility_surface(ask), ask.edge.app
    if is_hidden_from(surface, rows):
        return JsonReply(EventList(items=[]))
    news = await app.store.news_of(ask.invocation_id)
    ordered = sorted([*rows, *news], key=lambda row: row.seq)
    events = [event.to_record() for row in ordered for event in expand_row(row, source=app.name)]
    return JsonReply(EventList(items=events), is_final=rows[-1].outcome in TERMINAL)


_MOST_ROWS = 20_000
_MOST_SHOWN = 50
_MOST_CHECKED = 200


class Relatives(msgspec.Struct, kw_only=True):
    """Calls related to one: its parent, batch, children and retries."""

    parent: Annotated[str | None, describe("The call whose tool made this one.")]
    retry_of: Annotated[str | None, describe("The call that this one repeats.")]
    batch_id: str | None
    index: Annotated[int | None, describe("Its place in the batch, counted from 0.")]
    size: Annotated[int | None, describe("How many calls the batch has.")]
    children: Annotated[list[InvocationBrief], describe("Calls that its tool made.")]
    retries: Annotated[list[InvocationBrief], describe("Calls that repeat it.")]
    is_complete: Annotated[bool, describe("False when calls that came much later were not looked at.")]


class ChainRow(msgspec.Struct, kw_only=True):
    """One row of the ledger and whether its hash is right."""

    seq: int
    before: Annotated[str | None, describe("The hash of the row before it; none where that row is gone.")]
    hash: str
    is_intact: Annotated[bool | None, describe("None where it cannot be told, because the row before it is gone.")]


class ChainState(msgspec.Struct, kw_only=True):
    """The rows of one call, each checked against the row before it. Only a check of the full ledger proves more."""

    is_checked: Annotated[bool, describe("False where the workspace keeps no ledger on disk.")]
    is_intact: Annotated[bool, describe("True when no row that was checked is other than it was written.")]
    rows: list[ChainRow]
    unchecked: Annotated[int, describe("Rows of the call that were too many to check here.")]
    last_seq: Annotated[
        int | None, describe("The last row of the ledger. Only for who sees all of it: it tells how much others do.")
    ]


async def list_relatives(ask: Ask) -> AnyReply:
    """Lists the calls related to one."""
    rows, surface, store = await load_visible_rows(ask), await find_visibility_surface(ask), ask.edge.app.store
    story = Story(rows)
    notes = story.notes
    place = read_membership([notes])
    began = await store.seq_at(story.created_at) - 1
    named = ask.invocation_id.encode()
    found = await find_calls_holding(store, named, after=began, most_rows=_MOST_ROWS)
    seen = [other for other in found if other[0].call != ask.invocation_id and may_see(ask.caller, owner_in(other))]
    last = await store.rows_before(None, 1)

    def list_related(name: str) -> list[InvocationBrief]:
        fitting = [other for other in seen if Story(other).notes.get(name) == ask.invocation_id]
        return [summarize_call(other, is_hidden=is_hidden_from(surface, other)) for other in fitting[:_MOST_SHOWN]]

    return JsonReply(
        Relatives(
            parent=_text(notes.get("parent")),
            retry_of=_text(notes.get("retry_of")),
            batch_id=place.batch_id if place else None,
            index=place.index if place else None,
            size=place.size if place else None,
            children=list_related("parent"),
            retries=list_related("retry_of"),
            is_complete=not last or last[0].seq <= began + _MOST_ROWS,
        ),
        is_final=False,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


async def check_chain(ask: Ask) -> AnyReply:
    """Checks the rows of a call against the rows before them."""
    rows, surface, app = await load_visible_rows(ask), await find_visibility_surface(ask), ask.edge.app
    mine: list[StoredEntry] = []
    if not is_hidden_from(surface, rows):
        mine = sorted([*rows, *await app.store.news_of(ask.invocation_id)], key=lambda row: row.seq)
    ledger = ledger_paths(Workspace.open(app.root)).ledger
    last = await app.store.rows_before(None, 1) if ask.caller.sees_all else None
    checks: list[RowCheck] = []
    is_there = ledger.is_file()
    if is_there:
        checks = await asyncio.to_thread(check_rows, ledger, [row.seq for row in mine[:_MOST_CHECKED]])
    missing = {row.seq for row in mine[:_MOST_CHECKED]} - {check.seq for check in checks}
    state = ChainState(
        is_checked=is_there,
        is_intact=is_there and not missing and all(check.is_intact is not False for check in checks),
        rows=[_encode_row(check) for check in checks],
        unchecked=max(0, len(mine) - _MOST_CHECKED),
        last_seq=None if last is None else last[0].seq if last else 0,
    )
    return JsonReply(state, is_final=False)


def _encode_row(check: RowCheck) -> ChainRow:
    before = None if check.before is None else check.before.hex()
    return ChainRow(seq=check.seq, before=before, hash=check.hash.hex(), is_intact=check.is_intact)
