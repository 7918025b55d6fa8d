"""The catalog as operators see it: every tool with its versions, agents, roles, and the off switches.

`app` holds the catalog; this module encodes it and knows who may see what it holds only by the routes' scopes.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated, Any, Literal

import msgspec

from ferrule.app.app import App
from ferrule.app.views.browsing import effect_of, measure_tool
from ferrule.contracts.surface import CatalogEntry
from ferrule.errors import FerruleError
from ferrule.infra.lockfile.file import Lock, find_tool_key, read_lock
from ferrule.infra.lockfile.oxp_tools import SERVER_DIALECT, make_lock_key
from ferrule.infra.lockfile.tools import DIALECT as MCP_DIALECT
from ferrule.infra.lockfile.tools import ImportedTool
from ferrule.model.surface import SurfaceEntry
from ferrule.model.tool import FACT_NAMES, SafetyFacts, Tool
from ferrule.model.value import JsonObject
from ferrule.runtime.executors.transports import transport_of
from ferrule.runtime.pipeline.tool_facts import read_traits
from ferrule.servers.api.ask import Ask
from ferrule.servers.api.replies import AnyReply, JsonReply, link_header, next_link, not_found
from ferrule.servers.api.shapes import Limit, Reason, describe

_IMPORTED = (MCP_DIALECT, SERVER_DIALECT)
"""Dialects of tools that come from other servers."""


class CatalogState(msgspec.Struct, kw_only=True):
    """The catalog and the policy in force."""

    digest: Annotated[str, describe("Equal digests mean equal contents.")]
    policy_digest: str
    tools: int
    agents: int
    roles: int
    switched_off: Annotated[list[str], describe("Tools that are turned off.")]


class CatalogQuery(msgspec.Struct, kw_only=True):
    """Filters for tools."""

    limit: Limit = 100
    cursor: Annotated[Annotated[str, msgspec.Meta(max_length=300)] | None, describe("Go on after this tool id.")] = None
    namespace: Annotated[
        Annotated[str, msgspec.Meta(max_length=300)] | None, describe("Only tools of this namespace.")
    ] = None


class CatalogTool(msgspec.Struct, kw_only=True):
    """One version of one tool."""

    tool_id: str
    version: str | None
    namespace: str
    name: str
    title: str | None
    description: str
    dialect: str
    kind: str
    lifecycle: str
    digest: str
    tags: list[str]
    owner: str | None


class CatalogToolPage(msgspec.Struct, kw_only=True):
    """Tools in the version that surfaces show, by id."""

    items: list[CatalogTool]
    next: Annotated[str | None, describe("Where the next page is.")] = None


class CatalogVersions(msgspec.Struct, kw_only=True):
    """One tool in every version, the one that surfaces show first."""

    tool_id: str
    is_on: Annotated[bool, describe("False when it is turned off.")]
    versions: list[CatalogDefinition]


class FactState(msgspec.Struct, kw_only=True):
    """One safety fact of a tool."""

    name: str
    value: Any
    is_inferred: Annotated[bool, describe("True when nobody stated it.")]
    why: Annotated[str, describe("Where it comes from.")]


class SizeState(msgspec.Struct, kw_only=True):
    """The text that a model receives about a tool, each time."""

    characters: Annotated[int, describe("Of name, description and input schema, as JSON.")]
    tokens: Annotated[int, describe("About 4.5 characters each: an estimate, no provider's own count.")]
    description_characters: int


class LockState(msgspec.Struct, kw_only=True):
    """The accepted definition of a tool that comes from another server."""

    server: str
    digest: str
    approved_by: str
    approved_at: str
    is_as_locked: Annotated[bool, describe("True when what is in force is what was accepted.")]


class CatalogDefinition(CatalogTool, kw_only=True):
    """One version of one tool, with its full definition."""

    aliases: list[str]
    search_hint: str | None
    risk: str
    effect: Annotated[str, describe("`reads`, `writes`, `destroys`, or `depends` on its input.")]
    facts: list[FactState]
    approval_required: bool
    max_calls_per_run: int | None
    timeout_seconds: Annotated[float | None, describe("The smallest limit that its definition states.")]
    runs_on: Annotated[str | None, describe("The transport its definition names.")]
    credentials: Annotated[Any, describe("References to secrets, never their values.")]
    size: SizeState
    lock: Annotated[LockState | None, describe("Null for a tool of the workspace's own.")]
    documentation: Annotated[dict[str, str], describe("What its author wrote for people, in Markdown by section.")]
    input_schema: Any
    output_schema: Any
    definition: Annotated[
        Any, describe("The definition, as it was compiled. References to secrets, never their values.")
    ]


class CatalogRecord(msgspec.Struct, kw_only=True):
    """An agent or a role."""

    id: str
    version: str | None
    dialect: str
    definition: Annotated[Any, describe("The definition, as it was compiled.")]


class RecordPage(msgspec.Struct, kw_only=True):
    """Agents or roles, by id."""

    items: list[CatalogRecord]
    next: Annotated[str | None, describe("Where the next page is.")] = None


class PageQuery(msgspec.Struct, kw_only=True):
    """The size and the start of a page."""

    limit: Limit = 100
    cursor: Annotated[Annotated[str, msgspec.Meta(max_length=300)] | None, describe("Go on after this id.")] = None


class SwitchBody(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The new position of a switch."""

    is_on: bool
    reason: Reason = ""


class SwitchState(msgspec.Struct, kw_only=True):
    """The position of a tool's switch."""

    tool_id: str
    is_on: bool
    ended_calls: Annotated[int, describe("Waiting calls that were ended by turning it off.")] = 0


class SwitchList(msgspec.Struct, kw_only=True):
    """Tools that are turned off."""

    items: list[SwitchState]


class PolicyState(msgspec.Struct, kw_only=True):
    """The policy in force."""

    digest: str


async def get_catalog(ask: Ask) -> AnyReply:
    """Returns the digests and sizes of what is in force."""
    app = ask.edge.app
    state = CatalogState(
        digest=app.catalog.digest,
        policy_digest=app.policy.digest,
        tools=len(app.catalog.list_preferred()),
        agents=sum(1 for _ in app.catalog.records("agent")),
        roles=sum(1 for _ in app.catalog.records("role")),
        switched_off=sorted(await list_switched_off(ask)),
    )
    return JsonReply(state)


async def list_switched_off(ask: Ask) -> set[str]:
    """Returns the ids of the tools that are turned off."""
    return {switch.tool_id for switch in await ask.edge.app.store.list_disabled()}


async def list_catalog_tools(ask: Ask) -> AnyReply:
    """Lists every tool."""
    wanted = ask.query(CatalogQuery)
    found = [
        listed
        for listed in ask.edge.app.catalog.list_preferred()
        if wanted.namespace in (None, listed.tool.namespace) and listed.tool.tool_id > (wanted.cursor or "")
    ]
    found.sort(key=lambda listed: listed.tool.tool_id)
    items = [CatalogTool(**describe_tool(listed)) for listed in found[: wanted.limit]]
    if len(found) <= wanted.limit:
        return JsonReply(CatalogToolPage(items=items))
    address = next_link("/v1/catalog/tools", ask.pairs, items[-1].tool_id)
    return JsonReply(CatalogToolPage(items=items, next=address), headers=(link_header(address),))


async def get_catalog_tool(ask: Ask) -> AnyReply:
    """Returns one tool in every version."""
    tool_id = ask.parts["tool_id"]
    versions = ask.edge.app.catalog.versions(tool_id)
    if not versions:
        raise not_found(f"there is no tool {tool_id[:200]!r} in the catalog")
    lock = await asyncio.to_thread(_read_lock_for, ask.edge.app, versions[0].tool)
    state = CatalogVersions(
        tool_id=tool_id,
        is_on=tool_id not in await list_switched_off(ask),
        versions=[_encode_definition(ask.edge.app, listed, lock) for listed in versions],
    )
    return JsonReply(state)


def _encode_definition(app: App, listed: CatalogEntry, lock: Lock | None) -> CatalogDefinition:
    tool = listed.tool
    traits, size = read_traits(SurfaceEntry(tool, listed.digest, "loaded")), measure_tool(tool)
    return CatalogDefinition(
        **describe_tool(listed),
        aliases=list(tool.aliases),
        search_hint=tool.search_hint,
        risk=traits.risk,
        effect=effect_of(tool),
        facts=[
            FactState(
                name=name,
                value=getattr(tool.facts, name),
                is_inferred=name in tool.inferred_facts,
                why=explain_fact(tool, name),
            )
            for name in FACT_NAMES
        ],
        approval_required=tool.approval_required,
        max_calls_per_run=tool.max_calls_per_run,
        timeout_seconds=traits.timeout_seconds,
        runs_on=transport_of(tool),
        credentials=tool.credentials,
        size=SizeState(
            characters=size.characters, tokens=size.tokens, description_characters=size.description_characters
        ),
        lock=_find_lock_state(tool, lock),
        documentation=app.catalog.documentation(tool),
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        definition=tool.payload,
    )


def explain_fact(tool: Tool, fact: str) -> str:
    """Returns where a safety fact of a tool comes from."""
    if fact not in tool.inferred_facts:
        return "its definition says so"
    if getattr(tool.facts, fact) == getattr(SafetyFacts(), fact):
        return "nobody said otherwise, so the cautious assumption holds"
    if tool.dialect in _IMPORTED:
        return "a hint of the server it comes from, which may only make it count as more dangerous"
    return f"it follows from its kind, {tool.tool_kind}"


def _read_lock_for(app: App, tool: Tool) -> Lock | None:
    """Returns the lock, for a tool that comes from another server; None when it cannot be read."""
    if tool.dialect not in _IMPORTED:
        return None
    with suppress(FerruleError):
        return read_lock(app.root)
    return None


def _find_lock_state(tool: Tool, lock: Lock | None) -> LockState | None:
    if lock is None or tool.dialect not in _IMPORTED:
        return None
    imported = msgspec.json.decode(tool.payload, type=ImportedTool)
    server = imported.server_id if tool.dialect == MCP_DIALECT else make_lock_key(imported.server_id)
    name = find_tool_key(imported.definition, server)
    pinned = None if name is None else lock.tool(server, name)
    if pinned is None:
        return None
    return LockState(
        server=imported.server_id,
        digest=pinned.digest,
        approved_by=pinned.approved_by,
        approved_at=pinned.approved_at,
        is_as_locked=imported.definition == pinned.definition,
    )


def describe_tool(listed: CatalogEntry) -> JsonObject:
    """Returns the fields that every list has of a tool."""
    tool = listed.tool
    return {
        "tool_id": tool.tool_id,
        "version": tool.version,
        "namespace": tool.namespace,
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "dialect": tool.dialect,
        "kind": tool.tool_kind,
        "lifecycle": tool.lifecycle,
        "digest": listed.digest,
        "tags": list(tool.tags),
        "owner": tool.owner,
    }


async def list_agents(ask: Ask) -> AnyReply:
    """Lists every agent."""
    return _list_records(ask, "agent", "/v1/catalog/agents")


async def list_roles(ask: Ask) -> AnyReply:
    """Lists every role."""
    return _list_records(ask, "role", "/v1/catalog/roles")


def _list_records(ask: Ask, kind: Literal["agent", "role"], path: str) -> JsonReply:
    wanted = ask.query(PageQuery)
    found = [
        CatalogRecord(id=record.record_id, version=record.version, dialect=record.dialect, definition=record.payload)
        for record in ask.edge.app.catalog.records(kind)
        if record.record_id > (wanted.cursor or "")
    ]
    found.sort(key=lambda record: record.id)
    page = _fill_page(found, wanted.limit)
    if len(found) == len(page):
        return JsonReply(RecordPage(items=page))
    address = next_link(path, ask.pairs, page[-1].id)
    return JsonReply(RecordPage(items=page, next=address), headers=(link_header(address),))


def _fill_page(found: list[CatalogRecord], limit: int) -> list[CatalogRecord]:
    """Returns a page that never ends between two versions of one id, since the next page begins after that id."""
    page = found[:limit]
    while page and len(page) < len(found) and found[len(page)].id == page[-1].id:
        page.append(found[len(page)])
    return page


async def list_switches(ask: Ask) -> AnyReply:
    """Lists the tools that are turned off."""
    return JsonReply(
        SwitchList(
            items=[SwitchState(tool_id=tool_id, is_on=False) for tool_id in sorted(await list_switched_off(ask))]
        )
    )


async def set_switch(ask: Ask) -> AnyReply:
    """Turns a tool off or on, at once and in every process."""
    tool_id, body, app = ask.parts["tool_id"], ask.body(SwitchBody), ask.edge.app
    off, by = await list_switched_off(ask), ask.caller.identity.principal
    if tool_id not in off and not app.catalog.versions(tool_id):
        raise not_found(f"there is no tool {tool_id[:200]!r} in the catalog")
    ended = 0
    if body.is_on and tool_id in off:
        await app.enable(tool_id, by=by, reason=body.reason)
    elif not body.is_on:
        ended = await app.disable(tool_id, by=by, reason=body.reason)
    return JsonReply(SwitchState(tool_id=tool_id, is_on=body.is_on, ended_calls=ended))


async def reload_policy(ask: Ask) -> AnyReply:
    """Reads the policy again; while it is invalid, every call is denied."""
    ask.edge.app.reload()
    return JsonReply(PolicyState(digest=ask.edge.app.policy.digest))
