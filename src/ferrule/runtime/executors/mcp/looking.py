"""Looks at a server without calling anything: who it says it is, and every definition it has."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.infra.lockfile.native import Native
from ferrule.runtime.executors.mcp.executor import McpExecutor
from ferrule.runtime.executors.mcp.upstream import Upstream

if TYPE_CHECKING:
    from ferrule.runtime.executors.mcp.connection import Connection


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says about itself and its tools."""

    name: str
    version: str
    protocol_version: str
    instructions: str
    tools: tuple[Native, ...]


async def look_at(executor: McpExecutor, upstream: Upstream) -> Seen:
    """Connect and list. Raises ExecutionFailed."""

    async def use(connection: Connection) -> Seen:
        tools = await connection.list_tools()
        name, version, instructions = connection.server
        return Seen(
            name=name,
            version=version,
            protocol_version=connection.protocol_version,
            instructions=instructions,
            tools=tools,
        )

    try:
        async with asyncio.timeout(executor.settings.connect_seconds + executor.settings.timeout_seconds):
            return await executor.with_connection(upstream, Context("lock", "", None, ""), use)
    except TimeoutError:
        raise ExecutionFailed("timeout", f"the MCP server {upstream.label!r} took too long to list its tools") from None
