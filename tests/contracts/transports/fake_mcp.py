"""MCP servers of three kinds behind the suite: the newest revision, one with sessions, and the oldest over events.

One program serves them all, started once for all tests of the process.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from ferrule.settings import NetworkSettings, Settings
from tests.contracts.transports.fake_upstream import CANARY, Behaviour, FakeUpstream, aml
from tests.runtime.executors.mcp.servers import HttpServer, Notes, free_port

_SAME: tuple[Behaviour, ...] = ("echo", "slow", "fails", "big", "steps", "empty", "flaky")


@cache
def _server() -> HttpServer:
    folder = Path(tempfile.mkdtemp(prefix="ferrule-mcp-"))
    server = HttpServer("official", Notes(folder))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.close)
    return server


@asynccontextmanager
async def newest() -> AsyncIterator[FakeUpstream]:
    yield _fake_upstream("/mcp", "")


@asynccontextmanager
async def with_sessions() -> AsyncIterator[FakeUpstream]:
    yield _fake_upstream("/mcp", "2025-11-25")


@asynccontextmanager
async def over_events() -> AsyncIterator[FakeUpstream]:
    yield _fake_upstream(
        "/sse", "2024-11-05", without={"flaky": "its requests are acknowledged before they are worked on"}
    )


def _fake_upstream(path: str, revision: str, without: dict[Behaviour, str] | None = None) -> FakeUpstream:
    server = _server()
    notes = server.notes
    begun, stopped = notes.count("begun"), notes.count("stopped")

    def tool(name: Behaviour, url: str, credentials: str = "{scheme: none}") -> str:
        lines = [f'type: mcp\n  url: "{url}"', f"tool_name: {name if name in _SAME else 'echo'}"]
        lines += [f'protocol_version: "{revision}"'] if revision else []
        lines += ["retry_policy: {max_attempts: 3, backoff_ms: 1}"] if name == "flaky" else []
        return aml(name, "\n".join(f"  {line}" for line in (*lines, f"credentials: {credentials}")))

    definitions: dict[Behaviour, str] = {name: tool(name, server.url(path)) for name in _SAME}
    definitions["gone"] = tool("gone", f"http://127.0.0.1:{free_port()}{path}")
    private = server.url(f"/private{path}")
    definitions["refused"] = tool("refused", private, "{scheme: bearer-token, source: env, name: WRONG_TOKEN}")
    definitions["unset"] = tool("unset", private, "{scheme: bearer-token, source: env, name: NOT_SET_ANYWHERE}")
    for name in without or {}:
        del definitions[name]

    async def has_begun() -> None:
        assert await notes.reaches("begun", begun + 1)

    async def has_stopped() -> bool:
        return await notes.reaches("stopped", stopped + 1)

    return FakeUpstream(
        definitions=definitions,
        settings=Settings(network=NetworkSettings(allow=("127.0.0.1",))),
        environment={"WRONG_TOKEN": CANARY},
        touched=lambda: notes.count("touched"),
        begun=has_begun,
        stopped=has_stopped,
        without=without or {},
    )
