"""A client of the revision without sessions, as thin as can be: it builds requests with everything they need."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from ferrule.model.serving import ServeSettings
from tests.servers.local_server import WAIT_SECONDS, InProcessServer, Open, Reply, running_server

VERSION = "2026-07-28"
KEY = "io.modelcontextprotocol/"
LOG_LEVEL = f"{KEY}logLevel"


def make_meta(capabilities: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The `_meta` of a request."""
    return {f"{KEY}protocolVersion": VERSION, f"{KEY}clientCapabilities": capabilities or {}, **more}


def make_body(method: str, params: dict[str, Any], request_id: Any = 1) -> dict[str, Any]:
    """A request."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def make_headers(method: str, name: str | None = None, **more: str) -> dict[str, str]:
    """The headers that agree with a request."""
    found = {"MCP-Protocol-Version": VERSION, "Mcp-Method": method}
    if name is not None:
        found["Mcp-Name"] = name
    return {**found, **{key.replace("_", "-"): value for key, value in more.items()}}


class ModernClient(NamedTuple):
    """Talks to a stand."""

    stand: InProcessServer
    token: str = ""

    def _headers(self, method: str, params: dict[str, Any]) -> dict[str, str]:
        name = params.get("name") or params.get("uri") or params.get("taskId")
        said = make_headers(method, name)
        return {**said, "Authorization": f"Bearer {self.token}"} if self.token else said

    async def ask(
        self, method: str, capabilities: dict[str, Any] | None = None, said: dict[str, Any] | None = None, **params: Any
    ) -> Reply:
        """One request. `said`: more members of `_meta`."""
        whole = {**params, "_meta": make_meta(capabilities, **(said or {}))}
        return await self.stand.ask("POST", "/mcp", make_body(method, whole), self._headers(method, params))

    def open(self, method: str, said: dict[str, Any] | None = None, **params: Any) -> Open:
        """One request whose answer is watched as it comes."""
        whole = {**params, "_meta": make_meta({}, **(said or {}))}
        return self.stand.open("POST", "/mcp", make_body(method, whole), self._headers(method, params))

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any] | None = None,
        capabilities: dict[str, Any] | None = None,
        said: dict[str, Any] | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """The response to one call: of a stream, its last message."""
        given = {} if arguments is None else {"arguments": arguments}
        reply = await self.ask("tools/call", capabilities, said, name=tool, **given, **more)
        response: dict[str, Any] = read_messages(reply)[-1]
        return response


def read_messages(reply: Reply) -> list[dict[str, Any]]:
    """The messages of an answer, of either form."""
    if reply.headers["content-type"] == "text/event-stream":
        return [json.loads(event["data"]) for event in reply.events()]
    return [reply.json()]


def with_server(
    *tools: Any, settings: ServeSettings | None = None, toml: str = ""
) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """Runs an async test with a client of a stand of its own, as its first argument."""

    def decorated(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(tmp_path: Path, **others: Any) -> None:
            async def within() -> None:
                async with (
                    asyncio.timeout(WAIT_SECONDS),
                    running_server(tmp_path, tools=tools, settings=settings, toml=toml) as stand,
                ):
                    await test(ModernClient(stand), **others)

            asyncio.run(within())

        first, *rest = inspect.signature(test).parameters.values()
        run.__signature__ = inspect.Signature([first.replace(name="tmp_path"), *rest])  # type: ignore[attr-defined]
        return run

    return decorated
