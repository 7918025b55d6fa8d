"""Looks at the OXP servers of a workspace, for `ferrule lock`: what each lists now, against what was accepted."""

from __future__ import annotations

import asyncio

from ferrule.app.lock.reviews import TELLING, Review, Served, without_secrets
from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.contracts.redactor import Redactor
from ferrule.infra.lockfile.compare import differences
from ferrule.infra.lockfile.file import Lock, LockedServer
from ferrule.infra.lockfile.oxp_tools import check_oxp_server, is_wanted_oxp, lock_key, unusable_oxp
from ferrule.model.upstreams import OxpServer
from ferrule.runtime.executors.mcp.looking import Seen
from ferrule.runtime.executors.mcp.upstream import Upstream
from ferrule.runtime.executors.oxp.listing import Listings
from ferrule.runtime.executors.oxp.upstream import upstream_of
from ferrule.runtime.executors.surroundings import Surroundings
from ferrule.workspace.workspace import Workspace

_AT_ONCE = 8


async def review_oxp(workspace: Workspace, around: Surroundings, lock: Lock, redactor: Redactor) -> list[Review]:
    """Every server of `[oxp.servers]`, several at once. Raises SettingsError."""
    listings, door = Listings(around), asyncio.Semaphore(_AT_ONCE)

    async def one(server_id: str, server: OxpServer) -> Review:
        async with door:
            return await _reviewed(listings, server_id, server, lock.servers.get(lock_key(server_id)), redactor)

    servers = workspace.settings.oxp.servers
    for server_id, server in servers.items():
        check_oxp_server(server_id, server)
    return await asyncio.gather(*(one(server_id, server) for server_id, server in servers.items()))


async def _reviewed(
    listings: Listings, server_id: str, server: OxpServer, pinned: LockedServer | None, redactor: Redactor
) -> Review:
    served = Served(upstream=Upstream(key=lock_key(server_id), label=server_id), is_imported=True)
    try:
        upstream = upstream_of(server_id, server)
        served = Served(
            upstream=Upstream(key=lock_key(server_id), label=server_id, target=upstream.target), is_imported=True
        )
        listed = await listings.tools(upstream, Context("lock", "", None, ""))
    except ExecutionFailed as failed:
        return Review(served=served, pinned=pinned, problem=redactor.text(failed.message)[0])
    found = Seen(name=server_id, version="", protocol_version="OXP 1.0", instructions="", tools=listed)
    seen, telling = without_secrets(found, redactor, "id")
    wanted = {str(tool.get("id")): tool for tool in seen.tools if is_wanted_oxp(server, str(tool.get("id")))}
    unfit = {tool_id: why for tool_id, tool in wanted.items() if (why := unusable_oxp(tool, is_compat=server.compat))}
    unfit |= {tool_id: TELLING for tool_id in wanted if tool_id in telling}
    fit = {tool_id: tool for tool_id, tool in wanted.items() if tool_id not in unfit}
    accepted = {tool_id: tool.definition for tool_id, tool in pinned.tools.items()} if pinned is not None else {}
    return Review(
        served=served,
        pinned=pinned,
        seen=seen,
        offered=fit,
        unfit=unfit,
        differences=differences(accepted, fit.values(), "id"),
    )
