"""Reviews of upstream servers: the present tool descriptions of each, compared with the accepted ones.

The record is the same for every protocol. OXP servers are asked here, for `ferrule lock`; `pinning` asks MCP servers and
accepts. It writes nothing.
"""

from __future__ import annotations

import asyncio

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.contracts.redactor import Redactor
from ferrule.infra.lockfile.compare import ToolDifference, compare_tools
from ferrule.infra.lockfile.file import Lock, LockedServer, Native
from ferrule.infra.lockfile.oxp_tools import check_oxp_server, is_wanted_oxp, make_lock_key, why_unusable_oxp
from ferrule.model.upstreams import OxpServer
from ferrule.runtime.executors.mcp.executor import ServerDescription
from ferrule.runtime.executors.mcp.upstream import McpUpstream
from ferrule.runtime.executors.oxp.upstream import ToolLists, upstream_of
from ferrule.runtime.executors.transport_services import TransportServices
from ferrule.workspace.workspace import Workspace

HOLDS_SECRET = "its definition holds a secret, which is not written down; tell whoever runs the server"


class ReviewedServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server, and the tools wanted of it."""

    upstream: McpUpstream
    tools: dict[str, tuple[str, ...]] = {}
    """For a server that AML definitions name: the tools they name, and the ids of the definitions."""
    is_imported: bool = False


class ServerReview(msgspec.Struct, frozen=True, kw_only=True):
    """One server, compared with its pin."""

    served: ReviewedServer
    pinned: LockedServer | None
    seen: ServerDescription | None = None
    problem: str = ""
    """Why it could not be reviewed."""
    offered: dict[str, Native] = {}
    """The wanted and usable tools it offers."""
    unfit: dict[str, str] = {}
    """The tools it offers that are unusable, and why."""
    differences: tuple[ToolDifference, ...] = ()
    notes: tuple[str, ...] = ()
    """Other changes; none of them blocks a tool."""

    @property
    def key(self) -> str:
        """The name of the server in the lock."""
        return self.served.upstream.key

    @property
    def is_first(self) -> bool:
        """True when it has no pin yet."""
        return self.pinned is None and self.seen is not None


class LockReview(msgspec.Struct, frozen=True):
    """The review of all servers of a workspace."""

    lock: Lock
    servers: tuple[ServerReview, ...]
    unused: tuple[str, ...]
    """Servers in the lock that nothing names any more."""


def redact_description(
    seen: ServerDescription, redactor: Redactor, key: str = "name"
) -> tuple[ServerDescription, frozenset[str]]:
    """Redacts a server's description, and returns the tools whose definitions held a secret, by their `key`."""
    tools: list[Native] = []
    telling: set[str] = set()
    for tool in seen.tools:
        cleaned, names = redactor.value(tool)
        tools.append(cleaned)
        if names:
            telling.add(str(cleaned.get(key)))
    name, version, instructions = (redactor.text(text)[0] for text in (seen.name, seen.version, seen.instructions))
    cleaned_seen = msgspec.structs.replace(
        seen, name=name, version=version, instructions=instructions, tools=tuple(tools)
    )
    return cleaned_seen, frozenset(telling)


_AT_ONCE = 8


async def review_oxp_servers(
    workspace: Workspace, around: TransportServices, lock: Lock, redactor: Redactor
) -> list[ServerReview]:
    """Reviews every server of `[oxp.servers]`, several at once. Raises SettingsError."""
    listings, limit = ToolLists(around), asyncio.Semaphore(_AT_ONCE)

    async def one(server_id: str, server: OxpServer) -> ServerReview:
        async with limit:
            return await _review_oxp_server(
                listings, server_id, server, lock.servers.get(make_lock_key(server_id)), redactor
            )

    servers = workspace.settings.oxp.servers
    for server_id, server in servers.items():
        check_oxp_server(server_id, server)
    return await asyncio.gather(*(one(server_id, server) for server_id, server in servers.items()))


async def _review_oxp_server(
    listings: ToolLists, server_id: str, server: OxpServer, pinned: LockedServer | None, redactor: Redactor
) -> ServerReview:
    served = ReviewedServer(upstream=McpUpstream(key=make_lock_key(server_id), label=server_id), is_imported=True)
    try:
        upstream = upstream_of(server_id, server)
        served = ReviewedServer(
            upstream=McpUpstream(key=make_lock_key(server_id), label=server_id, target=upstream.target),
            is_imported=True,
        )
        listed = await listings.tools(upstream, Context("lock", "", None, ""))
    except ExecutionFailed as failed:
        return ServerReview(served=served, pinned=pinned, problem=redactor.text(failed.message)[0])
    found = ServerDescription(name=server_id, version="", protocol_version="OXP 1.0", instructions="", tools=listed)
    seen, telling = redact_description(found, redactor, "id")
    wanted = {str(tool.get("id")): tool for tool in seen.tools if is_wanted_oxp(server, str(tool.get("id")))}
    unfit = {
        tool_id: why for tool_id, tool in wanted.items() if (why := why_unusable_oxp(tool, is_compat=server.compat))
    }
    unfit |= {tool_id: HOLDS_SECRET for tool_id in wanted if tool_id in telling}
    fit = {tool_id: tool for tool_id, tool in wanted.items() if tool_id not in unfit}
    accepted = {tool_id: tool.definition for tool_id, tool in pinned.tools.items()} if pinned is not None else {}
    return ServerReview(
        served=served,
        pinned=pinned,
        seen=seen,
        offered=fit,
        unfit=unfit,
        differences=compare_tools(accepted, fit.values(), "id"),
    )
