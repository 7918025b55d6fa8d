"""Invocations: what was called, by whom and how it ended, and the whole story of one of them, from the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from ferrule.history.brief import brief_of
from ferrule.history.expand import events_of
from ferrule.history.story import Story
from ferrule.model.failure import ToolError
from ferrule.model.journal import Header, StoredEntry, header_of
from ferrule.model.lifecycle import STATES, TERMINAL
from ferrule.model.result import Result
from ferrule.model.surface import Surface
from ferrule.model.timestamps import iso
from ferrule.past_calls import page_of_calls, told_story
from ferrule.servers.http.ask import Ask
from ferrule.servers.http.outcomes import as_unknown, is_unseen
from ferrule.servers.http.problems import Problem, not_found
from ferrule.servers.http.reply import Replied, Reply, link_header, next_link
from ferrule.servers.http.says import Limit, Record, says
from ferrule.servers.http.sight import owner_in, sees

Word = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


class InvocationBrief(msgspec.Struct, kw_only=True):
    """A call in a few words."""

    invocation_id: str
    at: Annotated[str, says("When it was planned.")]
    tool_id: str
    tool_name: Annotated[str, says("The name it was called by.")]
    principal: str
    tenant: str
    agent: str | None
    run_id: str
    status: Annotated[str, says("Its state in the lifecycle.")]
    duration_ms: float | None
    decision: str
    error_code: str | None


class InvocationQuery(msgspec.Struct, kw_only=True):
    """Which calls."""

    limit: Limit = 50
    cursor: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=10**15)] | None,
        says("Go on with calls that began before this row of the ledger."),
    ] = None
    tool: Annotated[Word | None, says("Only calls of this tool: its id, or its name alone.")] = None
    status: Annotated[
        Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(STATES)})] | None, says("Only calls in this state.")
    ] = None
    principal: Annotated[Word | None, says("Only calls on behalf of this one.")] = None
    tenant: Annotated[Word | None, says("Only calls of this tenant.")] = None
    agent: Annotated[Word | None, says("Only calls by this agent.")] = None
    run: Annotated[Word | None, says("Only calls of this run.")] = None


class InvocationPage(msgspec.Struct, kw_only=True):
    """Calls, the newest first. A page may be short, or empty, and still have a next one: looking is bounded."""

    items: list[InvocationBrief]
    next: Annotated[str | None, says("Where the next page is.")] = None


class Explanation(msgspec.Struct, kw_only=True):
    """The whole story of a call. It may have more members."""

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


async def list_invocations(ask: Ask) -> Replied:
    """What was called."""
    wanted, surface = ask.query(InvocationQuery), await _own_surface(ask)
    if wanted.status is not None and wanted.status not in STATES:
        raise Problem(400, "invalid_query", f"the parameter 'status' takes one of {', '.join(STATES)}")

    def is_wanted(rows: Sequence[StoredEntry]) -> bool:
        return sees(ask.caller, owner_in(rows)) and _fits(wanted, _brief(ask, rows, surface))

    page = await page_of_calls(ask.edge.app.store, is_wanted, before=wanted.cursor, count=wanted.limit)
    items = [_brief(ask, rows, surface) for rows in page.calls]
    if page.before is None:
        return Reply(InvocationPage(items=items))
    address = next_link("/v1/invocations", ask.pairs, str(page.before))
    return Reply(InvocationPage(items=items, next=address), headers=(link_header(address),))


def _fits(wanted: InvocationQuery, brief: InvocationBrief) -> bool:
    tool = wanted.tool
    return (
        (tool is None or brief.tool_id == tool or brief.tool_id.endswith(f".{tool}"))
        and wanted.status in (None, brief.status)
        and wanted.principal in (None, brief.principal)
        and wanted.tenant in (None, brief.tenant)
        and wanted.agent in (None, brief.agent)
        and wanted.run in (None, brief.run_id, brief.run_id.rpartition("~")[0])
    )


async def _own_surface(ask: Ask) -> Surface | None:
    """The surface that says which tools the caller may know of; None for who may know of all."""
    return None if ask.caller.is_operator else (await ask.surface()).surface


def _brief(ask: Ask, rows: Sequence[StoredEntry], surface: Surface | None) -> InvocationBrief:
    brief, header = brief_of(rows), header_of(rows[0].segment())
    found = InvocationBrief(
        invocation_id=brief.invocation_id,
        at=iso(brief.at),
        tool_id=brief.tool_id,
        tool_name=header.tool_name,
        principal=brief.principal,
        tenant=header.tenant,
        agent=brief.agent,
        run_id=header.run_id,
        status=brief.status,
        duration_ms=brief.duration_ms,
        decision=brief.decision,
        error_code=brief.error_code,
    )
    if not _is_hidden(rows, header, surface):
        return found
    unknown = f"unknown:{header.tool_name}"
    return msgspec.structs.replace(
        found, tool_id=unknown, status="failed", decision="", error_code="tool_not_found", duration_ms=None
    )


def _is_hidden(rows: Sequence[StoredEntry], header: Header, surface: Surface | None) -> bool:
    error = rows[-1].segment().error
    return surface is not None and error is not None and is_unseen(surface, header.tool_name, error.error_class)


async def _rows(ask: Ask) -> Sequence[StoredEntry]:
    rows = await ask.edge.app.store.rows_of(ask.invocation_id)
    if not rows or not sees(ask.caller, owner_in(rows)):
        raise not_found(f"there is no call {ask.invocation_id[:40]!r} of yours on record")
    return rows


async def get_invocation(ask: Ask) -> Replied:
    """One call in a few words."""
    rows = await _rows(ask)
    return Reply(_brief(ask, rows, await _own_surface(ask)), is_final=rows[-1].outcome in TERMINAL)


async def explain_invocation(ask: Ask) -> Replied:
    """The whole story of one call."""
    rows, surface, app = await _rows(ask), await _own_surface(ask), ask.edge.app
    story = await told_story(app.store, rows, app.catalog, app.policy)
    is_hidden = _is_hidden(rows, story.header, surface)
    record = _untold(story) if is_hidden else story.to_record()
    if surface is not None:  # rules about other tools, which the caller may not even know of, are not its business
        record["rules"] = [rule for rule in record["rules"] if rule["is_matched"]]
    return Reply(record, is_final=story.status in TERMINAL)


def _untold(story: Story) -> dict[str, Any]:
    """The story of a call whose tool its caller may not know of: what the caller said, and that there is no such tool."""
    header, error = story.header, story.error
    assert isinstance(error, ToolError)
    at = story.created_at
    result = as_unknown(Result(invocation_id=story.invocation_id, status="failed", created_at=at), header.tool_name)
    sent = [msgspec.to_builtins(view) for view in story.inputs[:1]]
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


async def list_invocation_events(ask: Ask) -> Replied:
    """The events of one call."""
    rows, surface, app = await _rows(ask), await _own_surface(ask), ask.edge.app
    if _is_hidden(rows, header_of(rows[0].segment()), surface):
        return Reply(EventList(items=[]))
    news = await app.store.news_of(ask.invocation_id)
    ordered = sorted([*rows, *news], key=lambda row: row.seq)
    events = [event.to_record() for row in ordered for event in events_of(row, source=app.name)]
    return Reply(EventList(items=events), is_final=rows[-1].outcome in TERMINAL)
