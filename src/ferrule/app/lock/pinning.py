"""Pins the tool descriptions of other servers: asks each server of a workspace, compares with `ferrule.lock`, and accepts.

Servers are those of `[mcp.servers]` and `[oxp.servers]`, with every tool they offer, and those that AML definitions name, with
the named tools.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Collection, Mapping

import msgspec

from ferrule.app.connections import make_transport_services
from ferrule.app.lock.reviews import (
    HOLDS_SECRET,
    LockReview,
    ReviewedServer,
    ServerReview,
    redact_description,
    review_oxp_servers,
)
from ferrule.app.network import Network
from ferrule.contracts.executor import ExecutionFailed
from ferrule.contracts.redactor import Redactor
from ferrule.errors import SettingsError
from ferrule.infra.lockfile.compare import ToolDifference, compare_tools
from ferrule.infra.lockfile.file import Lock, LockedServer, LockedTool, Native, make_locked_tool, read_lock
from ferrule.infra.lockfile.tools import check_server, is_wanted, why_unusable
from ferrule.infra.tasks import Patience
from ferrule.model.timestamps import MICROSECONDS
from ferrule.runtime.executors.mcp.executor import McpExecutor, ServerDescription, inspect_server
from ferrule.runtime.executors.mcp.upstream import ToolLocation, locate_tool, upstream_of
from ferrule.runtime.executors.transport_services import TransportServices
from ferrule.runtime.executors.transports import MCP, transport_of
from ferrule.runtime.redaction.redactor import KnownSecrets
from ferrule.settings import FILE_NAME
from ferrule.workspace.workspace import Workspace

_AT_ONCE = 8


async def review_servers(
    workspace: Workspace, env: Mapping[str, str] = os.environ, *, only: Collection[str] | None = None
) -> LockReview:
    """Reviews every server, several at once, or `only` some of them, by their names in the lock. A server that cannot be
    reached is reported as such. Raises FerruleError."""
    lock = read_lock(workspace.root)
    servers = [server for server in list_reviewed_servers(workspace) if only is None or server.upstream.key in only]
    # Text that only looks like a key is not redacted: examples in descriptions do.
    redactor = KnownSecrets(msgspec.structs.replace(workspace.settings.redaction, well_known=False), env)
    client = Network(workspace.settings, env, workspace.root, redactor.add).make_client()
    around = make_transport_services(
        client, workspace.settings, env, workspace.root, redactor.add, tick=time.monotonic,
        now=lambda: int(time.time() * MICROSECONDS), redactor=redactor,
    )  # fmt: skip
    executor = McpExecutor(around)
    limit = asyncio.Semaphore(_AT_ONCE)

    async def one(server: ReviewedServer) -> ServerReview:
        async with limit:
            return await _review_server(executor, server, lock.servers.get(server.upstream.key), redactor)

    try:
        found = [
            *await asyncio.gather(*map(one, servers)),
            *await review_oxp_servers(workspace, around, lock, redactor),
        ]
    except asyncio.CancelledError:
        executor.connections.give_up()
        raise
    finally:
        await _close(executor, around)
    named = {review.key for review in found}
    return LockReview(lock, tuple(found), tuple(sorted(lock.servers.keys() - named)) if only is None else ())


async def _close(executor: McpExecutor, around: TransportServices) -> None:
    """Ends every program that was started, even when the review is canceled meanwhile."""
    patience = Patience()
    closing = asyncio.ensure_future(executor.aclose())
    await patience.wait(closing)
    await around.client.aclose()
    closing.result()
    patience.check()


def list_reviewed_servers(workspace: Workspace) -> list[ReviewedServer]:
    """Returns the servers of a workspace: imported ones, then those that definitions name. Raises SettingsError."""
    settings = workspace.settings.mcp
    found: list[ReviewedServer] = []
    for server_id, server in settings.servers.items():
        check_server(server_id, server)
        try:
            upstream = upstream_of(server_id, server)
        except ExecutionFailed as failed:
            raise SettingsError(
                f"{workspace.root / FILE_NAME}: {failed.message}; mend it there, or take [mcp.servers.{server_id}] out"
            ) from None
        found.append(ReviewedServer(upstream=upstream, is_imported=True))
    places: dict[str, tuple[ToolLocation, dict[str, tuple[str, ...]]]] = {}
    for file in workspace.compile():
        for tool in (tool for compiled in file.compiled for tool in compiled.tools if transport_of(tool) == MCP):
            try:
                place = locate_tool(tool, settings)
            except ExecutionFailed:  # `ferrule check` reports it
                continue
            _, tools = places.setdefault(place.upstream.key, (place, {}))
            tools[place.tool_name] = (*tools.get(place.tool_name, ()), tool.tool_id)
    return found + [ReviewedServer(upstream=place.upstream, tools=tools) for place, tools in places.values()]


def accept_servers(reviewed: LockReview, by: str, at: str, names: Collection[str] | None, *, firsts: bool) -> Lock:
    """Returns the lock with the accepted changes. `names`: servers, tools as `SERVER.TOOL`, or definitions; None: only `firsts`,
    the servers without a pin; empty: everything."""
    servers = dict(reviewed.lock.servers)
    for one in reviewed.servers:
        if one.seen is None:
            continue
        accepted = {name for name in _list_changed_names(one) if names is not None and _is_named(one, name, names)}
        if one.is_first and firsts:
            accepted = set(one.offered)
        if accepted or (names is not None and not names) or (one.is_first and firsts):
            servers[one.key] = _update_locked_server(one, accepted, by, at)
    if names is not None:
        for key in reviewed.unused:
            if not names or key in names:
                del servers[key]
    return Lock(servers=servers)


async def _review_server(
    executor: McpExecutor, server: ReviewedServer, pinned: LockedServer | None, redactor: Redactor
) -> ServerReview:
    try:
        seen, telling = redact_description(await inspect_server(executor, server.upstream), redactor)
    except ExecutionFailed as failed:
        words = failed.output.content if failed.output is not None else None
        said = redactor.text(str(words[0].get("text", "")))[0].strip() if words else ""
        more = f" ({said[-300:]})" if said else ""
        return ServerReview(served=server, pinned=pinned, problem=f"{redactor.text(failed.message)[0]}{more}")
    settings = executor.settings.servers.get(server.upstream.key)
    wanted = [
        tool
        for tool in seen.tools
        if (is_wanted(settings, tool["name"]) if settings is not None else tool["name"] in server.tools)
    ]
    unfit = {tool["name"]: why for tool in wanted if (why := why_unusable(tool)) is not None and server.is_imported}
    unfit |= {tool["name"]: HOLDS_SECRET for tool in wanted if tool["name"] in telling}
    fit = [tool for tool in wanted if tool["name"] not in unfit]
    return ServerReview(
        served=server,
        pinned=pinned,
        seen=seen,
        offered={tool["name"]: tool for tool in fit},
        unfit=unfit,
        differences=_find_differences(server, pinned, seen, fit),
        notes=tuple(_list_notes(server, pinned, seen)),
    )


def _find_differences(
    server: ReviewedServer, pinned: LockedServer | None, seen: ServerDescription, fit: list[Native]
) -> tuple[ToolDifference, ...]:
    accepted = {name: tool.definition for name, tool in pinned.tools.items()} if pinned is not None else {}
    if server.is_imported:
        found = compare_tools(accepted, fit)
    else:
        # Compared with all its tools, so that a renamed one is found; new tools that no definition names are ignored.
        accepted = {name: definition for name, definition in accepted.items() if name in server.tools}
        found = tuple(
            one for one in compare_tools(accepted, seen.tools) if one.kind != "new" or one.tool in server.tools
        )
    offered = {tool["name"] for tool in seen.tools}
    return found + tuple(
        ToolDifference(kind="vanished", tool=name)
        for name in sorted(server.tools)
        if name not in offered and name not in accepted
    )


def _list_notes(server: ReviewedServer, pinned: LockedServer | None, seen: ServerDescription) -> list[str]:
    if pinned is None:
        return []
    pairs = [
        ("its name", pinned.name, seen.name),
        ("its version", pinned.version, seen.version),
        ("its revision of MCP", pinned.protocol_version, seen.protocol_version),
        ("its instructions", pinned.instructions, seen.instructions),
        ("its place", pinned.source, server.upstream.source),
    ]
    return [f"{what} changed: {before!a} is now {after!a}" for what, before, after in pairs if before != after]


def _list_changed_names(one: ServerReview) -> set[str]:
    """Returns the names of changed tools that can be accepted."""
    return {name for found in one.differences for name in (found.tool, found.now) if name}


def _is_named(one: ServerReview, name: str, names: Collection[str]) -> bool:
    if not names or one.key in names or f"{one.key}.{name}" in names:
        return True
    return any(tool_id in names for tool_id in one.served.tools.get(name, ()))


def _update_locked_server(one: ServerReview, accepted: set[str], by: str, at: str) -> LockedServer:
    assert one.seen is not None
    renamed = {found.tool: found.now for found in one.differences if found.kind == "renamed" and found.tool in accepted}
    accepted = accepted | set(renamed.values())
    tools: dict[str, LockedTool] = dict(one.pinned.tools) if one.pinned is not None else {}
    for name in accepted:
        definition = one.offered.get(name)
        if definition is not None:
            tools[name] = make_locked_tool(definition, by, at)
        else:
            tools.pop(name, None)
    # Pins of tools that no definition names any more would only hide later changes.
    if not one.served.is_imported:
        tools = {name: tool for name, tool in tools.items() if name in one.served.tools}
    seen = one.seen
    return LockedServer(
        source=one.served.upstream.source,
        name=seen.name,
        version=seen.version,
        protocol_version=seen.protocol_version,
        instructions=seen.instructions,
        tools=tools,
    )
