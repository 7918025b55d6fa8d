"""The caller's surface: its identity, its tools, search among them, and loading of deferred ones.

Each tool says whether its calls wait for a person: always, depending on the call, or never. Lists ask the policy only
about the tools on their page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from ferrule.app.preview.reach import reach_tool
from ferrule.app.surface import SurfaceHandle
from ferrule.contracts.policy import PolicyEngine
from ferrule.infra.tasks import resolve
from ferrule.model.surface import SearchResult, Surface, SurfaceEntry
from ferrule.model.value import JsonObject
from ferrule.runtime.surface.search import SHARED_INDEXES
from ferrule.schema.internal_fields import model_schema
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.replies import AnyReply, JsonReply, link_header, next_link, not_found
from ferrule.servers.api.shapes import Limit, Name, Record, describe, whole_number

Asks = Literal["always", "depends", "never"]


def predict_ask(handle: SurfaceHandle, entry: SurfaceEntry, engine: PolicyEngine) -> Asks:
    """Returns whether calls of a visible tool wait for a person."""
    if not handle.session.may_ask(entry):
        return "never"
    return "always" if predict_surface_ask(handle.surface, entry, engine) == "always" else "depends"


def predict_surface_ask(surface: Surface, entry: SurfaceEntry, engine: PolicyEngine) -> Asks | None:
    """Returns whether calls of a tool on a surface wait for a person; None when they are refused."""
    verdict = reach_tool(surface, entry, engine).verdict
    if verdict in ("deny", "blocked"):
        return None
    if verdict == "ask" or entry.tool.facts.requires_user_interaction:
        return "always"
    return "depends" if verdict == "depends" or entry.approval_from else "never"


Standing = Literal["loaded", "deferred"]


class CallerState(msgspec.Struct, kw_only=True):
    """The caller, as its credential says."""

    principal: str
    channel: Annotated[str, describe("The credential it came by; the channel that made a call never approves it.")]
    scopes: list[str]
    groups: list[str]
    tenant: str
    agent: str | None
    role: str | None
    is_operator: bool


class ToolBrief(msgspec.Struct, kw_only=True):
    """A tool of the caller's surface."""

    name: Annotated[str, describe("The name to call it by.")]
    tool_id: str
    version: str | None
    title: str | None
    description: str
    standing: Annotated[Standing, describe("`deferred`: it has to be selected before it can be called.")]
    needs_approval: Annotated[
        bool,
        describe(
            "True when a call may have to wait for a person: its definition, a role, an agent or a rule wants one."
        ),
    ]
    asks: Annotated[Asks, describe("Whether calls wait for a person: `always`, `depends` (on the call) or `never`.")]
    facts: Annotated[Record, describe("What it may do: `is_read_only`, `is_destructive`, …")]


class ToolState(ToolBrief, kw_only=True):
    """A tool of the caller's surface, with its schemas."""

    digest: Annotated[str | None, describe("Names this very version with its schemas; null while it is deferred.")]
    input_schema: Annotated[Any, describe("JSON Schema of its arguments; null while it is deferred.")]
    output_schema: Annotated[Any, describe("JSON Schema of its structured result, where it states one.")]
    tags: list[str]
    aliases: list[str]
    max_calls_per_run: int | None


class SurfaceState(msgspec.Struct, kw_only=True):
    """The caller's surface, without its tools."""

    surface_id: str
    catalog_digest: str
    caller: CallerState
    loaded: Annotated[int, describe("Tools that can be called.")]
    deferred: Annotated[int, describe("Tools that can be found and selected.")]
    tool_choice: str
    instructions: Annotated[str, describe("What a model should be told about these tools.")]


class ToolQuery(msgspec.Struct, kw_only=True):
    """Filters for tools."""

    limit: Limit = 100
    cursor: Annotated[Annotated[str, msgspec.Meta(max_length=300)] | None, describe("Go on after this tool id.")] = None
    standing: Annotated[Standing | None, describe("Only tools that stand so.")] = None
    q: Annotated[
        Annotated[str, msgspec.Meta(max_length=500)] | None,
        describe("Only tools that have something of these words, the best first. There is one page of them."),
    ] = None


class ToolPage(msgspec.Struct, kw_only=True):
    """Tools, by id; the best first where words were given."""

    items: list[ToolBrief]
    next: Annotated[str | None, describe("Where the next page is.")] = None


class SearchBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A search for tools."""

    query: Annotated[
        str, describe("What a tool should do, or `select:name,name`, which loads them too.", max_length=2000)
    ]
    limit: Annotated[Annotated[float, whole_number(1, 100)] | None, describe("How many at most.")] = None


class SelectionBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Deferred tools to load."""

    tools: Annotated[list[Name], describe("Their names.", min_length=1, max_length=100)]


class Selection(msgspec.Struct, kw_only=True):
    """The tools that were loaded."""

    items: list[ToolState]
    missing: Annotated[list[str], describe("Names that lead to nothing.")]


async def get_surface(ask: Ask) -> AnyReply:
    """Returns the caller's surface."""
    handle = await resolve(ask.surface())
    surface, rendering, caller = handle.surface, handle.tools(), ask.caller
    offered = [entry for entry in surface.entries.values() if entry.is_visible and entry.is_offered]
    loaded = sum(entry.standing == "loaded" for entry in offered)
    state = SurfaceState(
        surface_id=surface.surface_id,
        catalog_digest=surface.catalog_digest,
        caller=CallerState(
            principal=caller.identity.principal,
            channel=caller.identity.channel,
            scopes=sorted(caller.identity.scopes),
            groups=sorted(caller.identity.groups),
            tenant=caller.tenant,
            agent=caller.agent,
            role=caller.role,
            is_operator=caller.is_operator,
        ),
        loaded=loaded,
        deferred=len(offered) - loaded,
        tool_choice=rendering.tool_choice,
        instructions=rendering.instructions,
    )
    return JsonReply(state)


async def list_tools(ask: Ask) -> AnyReply:
    """Lists the tools of the caller's surface."""
    wanted, handle = ask.query(ToolQuery), await resolve(ask.surface())
    if wanted.q:
        found = find_visible_tools(handle.surface, wanted.q, wanted.limit, wanted.standing)
        return JsonReply(ToolPage(items=[brief_of(ask, handle, entry) for entry in found]))
    entries = [entry for entry in _list_offered(handle.surface) if wanted.standing in (None, entry.standing)]
    after = wanted.cursor
    rest = entries if after is None else [entry for entry in entries if entry.tool.tool_id > after]
    page = rest[: wanted.limit]
    items = [brief_of(ask, handle, entry) for entry in page]
    if len(rest) <= wanted.limit:
        return JsonReply(ToolPage(items=items))
    address = next_link("/v1/tools", ask.pairs, page[-1].tool.tool_id)
    return JsonReply(ToolPage(items=items, next=address), headers=(link_header(address),))


def find_visible_tools(surface: Surface, words: str, limit: int, standing: Standing | None) -> list[SurfaceEntry]:
    """Returns the matching tools of a surface, as agents find them; selects and records nothing."""
    exact = surface.find(words.strip())
    found = {exact.tool.tool_id: exact} if exact is not None else {}
    for tool_id, _, _ in SHARED_INDEXES.find_or_build(surface).find(words, limit):
        found.setdefault(tool_id, surface.entries[tool_id])
    shown = [entry for entry in found.values() if entry.is_visible and entry.is_offered]
    return [entry for entry in shown if standing in (None, entry.standing)][:limit]


def _list_offered(surface: Surface) -> Sequence[SurfaceEntry]:
    found = (entry for entry in surface.entries.values() if entry.is_visible and entry.is_offered)
    return sorted(found, key=lambda entry: entry.tool.tool_id)


async def get_tool(ask: Ask) -> AnyReply:
    """Returns one tool of the caller's surface."""
    handle = await resolve(ask.surface())
    entry = handle.surface.find(ask.parts["tool"])
    if entry is None or not entry.is_visible:
        raise not_found(f"there is no tool {ask.parts['tool'][:200]!r} here; GET /v1/tools lists yours")
    return JsonReply(encode_tool(ask, handle, entry))


async def search_tools(ask: Ask) -> AnyReply:
    """Searches tools by what they do."""
    body, handle = ask.body(SearchBody), await resolve(ask.surface())
    found: SearchResult = await handle.search(body.query, None if body.limit is None else int(body.limit))
    return JsonReply(found)


async def select_tools(ask: Ask) -> AnyReply:
    """Loads deferred tools, so that they can be called."""
    names, handle = ask.body(SelectionBody).tools, await resolve(ask.surface())
    surface = handle.select(names)
    found = {name: surface.find(name) for name in dict.fromkeys(names)}
    items = [encode_tool(ask, handle, entry) for entry in found.values() if entry is not None and entry.is_visible]
    missing = [name for name, entry in found.items() if entry is None or not entry.is_visible]
    return JsonReply(Selection(items=items, missing=missing))


def brief_of(ask: Ask, handle: SurfaceHandle, entry: SurfaceEntry) -> ToolBrief:
    """Returns a tool as lists show it."""
    return ToolBrief(**_describe(ask, handle, entry))


def encode_tool(ask: Ask, handle: SurfaceHandle, entry: SurfaceEntry) -> ToolState:
    """Returns a tool with its schemas; those of a deferred tool stay hidden (AT-180)."""
    tool, is_loaded = entry.tool, entry.standing == "loaded"
    return ToolState(
        **_describe(ask, handle, entry),
        digest=entry.digest if is_loaded else None,
        input_schema=model_schema(tool) if is_loaded else None,
        output_schema=tool.output_schema if is_loaded else None,
        tags=list(tool.tags),
        aliases=list(tool.aliases),
        max_calls_per_run=entry.max_calls_per_run,
    )


def _describe(ask: Ask, handle: SurfaceHandle, entry: SurfaceEntry) -> JsonObject:
    tool, asks = entry.tool, predict_ask(handle, entry, ask.edge.app.policy)
    facts = tool.facts
    return {
        "name": handle.surface.shown_name(entry),
        "tool_id": tool.tool_id,
        "version": tool.version,
        "title": tool.title,
        "description": tool.description,
        "standing": entry.standing,
        "needs_approval": asks != "never",
        "asks": asks,
        "facts": {
            "is_read_only": facts.is_read_only,
            "is_concurrency_safe": facts.is_concurrency_safe,
            "is_destructive": facts.is_destructive,
            "is_open_world": facts.is_open_world,
            "requires_user_interaction": facts.requires_user_interaction,
        },
    }
