"""Talking to the MCP server itself, behind its transports: one request in, one result out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any

import ferrule
from ferrule.infra.tasks import resolve
from ferrule.model.approval import CALL, Identity
from ferrule.model.serving import LimitSettings, McpSettings, ServeSettings
from ferrule.servers.auth.callers import Caller
from ferrule.servers.edge import Edge
from ferrule.servers.mcp.methods.table import METHODS
from ferrule.servers.mcp.server import Exchange, McpService, RpcAnswer
from ferrule.servers.mcp.wire.messages import MODERN, read_message

WAIT_SECONDS = 30.0
REVISIONS = ("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26")


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """An async test, in an event loop of its own."""

    @wraps(test)
    def run(*args: Any, **named: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **named), 3 * WAIT_SECONDS))

    return run


class _OpenGate:
    """Everybody comes in, as often as they like: transports have doors, and this is behind them."""

    def admit(self, request: Any) -> None: ...

    async def caller(self, request: Any) -> Caller:
        raise AssertionError("callers are given here")

    async def enter(self, caller: Caller) -> Callable[[], None]:
        return lambda: None

    async def aclose(self) -> None: ...


class RpcFailure(Exception):
    """An error response."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.data: Any = error.get("data")


class RecordingBack:
    """The way back to a client, which listens."""

    is_pipe = False

    def __init__(self) -> None:
        self.messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def tell(self, text: bytes) -> None:
        await self.messages.put(json.loads(text))

    async def ask(self, method: str, params: Any) -> Any:
        raise AssertionError("nobody is asked here")

    async def next(self) -> dict[str, Any]:
        return await asyncio.wait_for(self.messages.get(), WAIT_SECONDS)


class McpClient:
    """One caller."""

    def __init__(self, server: McpService, caller: Caller, revision: str = MODERN, session: Any = None) -> None:
        self.server = server
        self.caller = caller
        self.revision = revision
        self.session = session
        self.features: frozenset[str] = frozenset()
        self.back = RecordingBack()
        self._ids = count(1)

    def with_revision(self, revision: str, session: Any = None) -> McpClient:
        """The same caller, by another revision's rules."""
        return McpClient(self.server, self.caller, revision, session)

    def with_principal(self, principal: str, tenant: str = "default") -> McpClient:
        """Another caller of the same server."""
        identity = Identity(principal, f"test:{principal}", frozenset({CALL}))
        return McpClient(self.server, Caller(identity, tenant), self.revision)

    async def make_exchange(self, request_id: Any = None, back: Any = None) -> Exchange:
        run_id = "" if self.session is None else str(id(self.session))
        surface = await resolve(self.server.edge.surface(self.caller, run_id, "mcp"))
        asked = next(self._ids) if request_id is None else request_id
        return Exchange(
            self.server,
            self.caller,
            surface,
            self.revision,
            asked,
            back or self.back,
            client=self.features,
            session=self.session,
        )

    async def ask_raw(self, method: str, params: dict[str, Any] | None = None) -> bytes:
        exchange = await self.make_exchange()
        asked = {"jsonrpc": "2.0", "id": exchange.request_id, "method": method, "params": params or {}}
        return (await asyncio.wait_for(self.answer(exchange, asked), WAIT_SECONDS)).text

    async def answer(self, exchange: Exchange, asked: dict[str, Any]) -> RpcAnswer:
        """The answer to a request, in a task as a transport has it."""
        return await resolve(self.server.answer(exchange, read_message(json.dumps(asked).encode())))

    async def ask(self, method: str, **params: Any) -> Any:
        """The result of a request. Raises Failed."""
        answered = json.loads(await self.ask_raw(method, params))
        if "error" in answered:
            raise RpcFailure(answered["error"])
        return answered["result"]

    async def list_pages(self, method: str, member: str) -> list[list[Any]]:
        """Every page of a list."""
        found, cursor = [], None
        while True:
            result = await self.ask(method, **({"cursor": cursor} if cursor else {}))
            found.append(result[member])
            cursor = result.get("nextCursor")
            if cursor is None:
                return found

    async def list_all(self, method: str, member: str) -> list[Any]:
        """Everything in a list."""
        return [item for page in await self.list_pages(method, member) for item in page]


@asynccontextmanager
async def connected_client(
    folder: Path,
    *,
    tools: Iterable[Any] = (),
    toml: str = "",
    limits: LimitSettings = LimitSettings(),  # noqa: B008  # frozen
    **settings: Any,
) -> AsyncIterator[McpClient]:
    """A client of a workspace. `settings`: of `[serve.mcp]`."""
    if not (folder / "ferrule.toml").exists():
        (folder / "ferrule.toml").write_text(toml)
    async with ferrule.open(folder, tools=tools) as opened:
        door: Any = _OpenGate()
        serve = ServeSettings(auth=False, limits=limits, mcp=McpSettings(**settings))
        edge = Edge(opened, serve, door, door)
        server = McpService(edge, METHODS)
        caller = Caller(Identity("local", "loopback", frozenset({CALL})))
        try:
            yield McpClient(server, caller)
        finally:
            await edge.aclose()
