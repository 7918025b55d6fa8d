"""Apps in memory with imported tools, without a lock file: the definitions stand in the tools themselves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ferrule.app.app import App
from ferrule.app.connections import make_transport_services
from ferrule.app.network import Network
from ferrule.infra.lockfile.tools import is_wanted, make_imported_tool
from ferrule.model.result import Result
from ferrule.model.upstreams import McpServerSettings, McpUpstreams
from ferrule.runtime.executors.mcp.executor import McpExecutor, ServerDescription, inspect_server
from ferrule.runtime.executors.mcp.upstream import upstream_of
from ferrule.settings import NetworkSettings, Settings
from ferrule.testing import memory_app
from tests.runtime.executors.mcp.servers import command

ALLOW = 'mode = "trusted"\n'
BOUND = 60.0


def program(notes: Path, name: str = "official", *words: str, **env: str) -> McpServerSettings:
    """One of the servers of this folder, as a program."""
    return McpServerSettings(command=tuple(command(name, *(words or ("stdio",)))), env={"NOTES": str(notes), **env})


def settings_of(server: McpServerSettings, **options: Any) -> Settings:
    return Settings(network=NetworkSettings(allow=("127.0.0.1",)), mcp=McpUpstreams(servers={"far": server}, **options))


async def seen(server: McpServerSettings, environment: Mapping[str, str] | None = None) -> ServerDescription:
    """What the server says at this moment."""
    settings = settings_of(server)
    client = Network(settings, {}, Path("/")).make_client()
    around = make_transport_services(client, settings, environment or {"PATH": "/usr/bin:/bin"}, Path("/"),
                             lambda name, value: None, tick=lambda: 0.0, now=lambda: 0)  # fmt: skip
    executor = McpExecutor(around)
    try:
        return await inspect_server(executor, upstream_of("far", server))
    finally:
        await executor.aclose()
        await around.client.aclose()


_known: dict[object, ServerDescription] = {}
"""What servers say, by what they are: starting one of the large ones takes a second or two."""


def _kind(server: McpServerSettings) -> object:
    return server.command or server.url, server.env.get("SET")


@asynccontextmanager
async def far_app(server: McpServerSettings, *, environment: Mapping[str, str] | None = None,
                  accepted: ServerDescription | None = None,
                  **options: Any) -> AsyncIterator[App]:  # fmt: skip
    """An app with every tool of the server `far`, as it is now (or was `accepted`)."""
    now = accepted or _known.get(_kind(server)) or await seen(server, environment)
    if accepted is None:
        _known[_kind(server)] = now
    tools = [make_imported_tool("far", server, tool) for tool in now.tools if is_wanted(server, tool["name"])]
    async with memory_app(
        tools=tools,
        policy=ALLOW,
        settings=settings_of(server, **options),
        environment=environment or {"PATH": "/usr/bin:/bin"},
    ) as app:
        yield app


def play(story: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(BOUND):
            await story()

    asyncio.run(main())


async def ended(app: App, name: str, arguments: dict[str, Any] | None = None, **options: Any) -> Result:
    found = await app.surface().call(name, arguments or {}, **options)
    assert isinstance(found, Result), found
    return found


async def refs_of(app: App, result: Result) -> list[dict[str, Any]]:
    rows = await app.store.rows_of(result.invocation_id)
    return [ref for row in rows for ref in row.segment().notes.get("native_refs", ())]


def odd(notes: Path, **env: str) -> McpServerSettings:
    """The quickest of the servers."""
    return program(notes, "odd", "2025-11-25", **env)


def value_of(result: Any) -> Any:
    """What a call that had to succeed gave."""
    assert result.status == "succeeded", result.error
    return result.structured_content
