"""Calls over a connection: those that wait for nothing are answered without a task, and recorded, like any other."""

from __future__ import annotations

import asyncio
import builtins
import json
import re
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.access.keys import Access
from ferrule.model.approval import CALL
from ferrule.servers.asgi import HttpAnswer
from ferrule.servers.http1.connection import ServerConnection
from ferrule.servers.http1.server import HttpServer
from tests.servers.http1.reader.test_remembered_heads import Wire
from tests.servers.local_server import InProcessServer, running_server
from tests.servers.mcp.direct_client import in_loop

FACTS: dict[str, Any] = {"read_only": True, "open_world": False, "concurrency_safe": True}
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
LEFT: ContextVar[int] = ContextVar("LEFT", default=0)


@ferrule.tool(inline=True, **FACTS)
def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


@ferrule.tool(**FACTS)
async def add_later(a: int, b: int) -> int:
    """Add two whole numbers, and take a moment."""
    await asyncio.sleep(0)
    return a + b


@ferrule.tool(inline=True, **FACTS)
def fail(a: int) -> int:
    """Always fails."""
    raise ValueError("no")


@ferrule.tool(inline=True, **FACTS)
def leave() -> int:
    """How many calls before left something in this context."""
    LEFT.set(LEFT.get() + 1)
    return LEFT.get()


@ferrule.tool(inline=True, **FACTS)
def long() -> str:
    """A long text."""
    return "x" * 5_000


@ferrule.tool(**FACTS)
async def add_at_once(a: int, b: int) -> int:
    """Add two whole numbers, in an async function that waits for nothing."""
    return a + b


@ferrule.tool(**FACTS)
async def give_up(seconds: float) -> str:
    """Wait within a time limit, and beside a task; both belong to the task in which this function began."""
    began_in = asyncio.current_task()
    async with asyncio.TaskGroup() as group:
        beside = group.create_task(asyncio.sleep(0, "beside"))
    try:
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()
    except TimeoutError:
        return f"gave up, {beside.result()}, {began_in is asyncio.current_task()}"
    return "did not give up"


@ferrule.tool(**FACTS)
async def cancel_itself(waits: bool) -> str:
    """Cancel the task in which it runs, as no tool should."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    if waits:
        await asyncio.sleep(0)
    return "done"


@ferrule.tool(inline=True, **FACTS)
def raise_inline(name: str) -> str:
    """Raise an exception by its name."""
    raise getattr(builtins, name)


@ferrule.tool(**FACTS)
async def raise_at_once(name: str) -> str:
    """Raise an exception by its name."""
    raise getattr(builtins, name)


@ferrule.tool(**FACTS)
async def raise_later(name: str) -> str:
    """Raise an exception by its name, after a moment."""
    await asyncio.sleep(0)
    raise getattr(builtins, name)


RAISING = (raise_inline, raise_at_once, raise_later)
TOOLS = (add, add_later, fail, leave, long, add_at_once, give_up, cancel_itself, *RAISING)
CALLS: tuple[tuple[str, Any], ...] = (
    ("add", {"a": 1, "b": 2}),
    ("add", {"a": "1", "b": 2}),
    ("add", {"a": "one", "b": 2}),
    ("add", {"a": 1}),
    ("add", None),
    ("add", [1]),
    ("add_later", {"a": 1, "b": 2}),
    ("fail", {"a": 1}),
    ("leave", {}),
    ("long", {}),
    ("nothing", {}),
)


class Client:
    """One connection."""

    def __init__(self, stand: InProcessServer) -> None:
        self.given = 0
        """Requests that were answered without waiting."""
        self.server = HttpServer(self._count(stand), asyncio.get_running_loop())
        self.connection, self.wire = ServerConnection(self.server), Wire()
        self.connection.connection_made(self.wire)  # type: ignore[arg-type]

    def _count(self, stand: InProcessServer) -> Callable[[Any], Any]:
        def respond(request: Any) -> Any:
            given = stand.root.respond(request)
            self.given += isinstance(given, HttpAnswer)
            return given

        return respond

    async def ask(self, body: Any, **headers: str) -> tuple[bytes, bytes]:
        """The head and the body of the answer to a POST."""
        data = json.dumps(body, separators=(",", ":")).encode()
        said = {"Host": "localhost:8787", "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream", **headers}  # fmt: skip
        lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in said.items())
        self.wire.written = b""
        loop, request = asyncio.get_running_loop(), f"POST /mcp HTTP/1.1\r\n{lines}Content-Length: {len(data)}\r\n\r\n"
        loop.call_soon(self.connection.data_received, request.encode() + data)
        async with asyncio.timeout(30):
            while not self.wire.written or not self.connection.is_idle:
                await asyncio.sleep(0.001)
        head, _, answer = self.wire.written.partition(b"\r\n\r\n")
        return head, answer

    async def call(self, name: str, arguments: Any, number: Any, **headers: str) -> tuple[bytes, bytes]:
        """The same for a call of the revision without sessions."""
        asked = {"name": name, "arguments": arguments, "_meta": META}
        said = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": asked}
        return await self.ask(
            said, MCP_Protocol_Version="2026-07-28", Mcp_Method="tools/call", Mcp_Name=name, **headers
        )


def anonymous(said: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """An answer without what is different every time."""
    return tuple(re.sub(rb"[0-9a-f]{16,}|content-length: \d+", b"", part) for part in said)


async def records(stand: InProcessServer) -> list[tuple[Any, ...]]:
    """What is on record of the calls, the oldest first, without ids and times."""
    rows = await stand.app.store.calls_before(None, 200)
    return [(row.kind, row.tool, row.outcome, anonymous((row.payload or b"",))) for row in reversed(rows)]


@in_loop
async def test_a_call_is_answered_and_recorded_alike_the_first_time_and_later(tmp_path: Path) -> None:
    """The first call of a tool waits until it is found; those after it need not."""
    async with running_server(tmp_path, tools=TOOLS) as stand:
        told = []
        for _ in range(3):
            client = Client(stand)
            told.append([anonymous(await client.call(name, given, 7)) for name, given in CALLS])
        assert told[0] == told[1] == told[2]
        assert client.given >= 3
        found = await records(stand)
        size = len(found) // 3
        assert size > 5 and found[:size] == found[size : 2 * size] == found[2 * size :]


@in_loop
async def test_both_eras_say_the_same_of_a_call(tmp_path: Path) -> None:
    start = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    async with running_server(tmp_path, tools=TOOLS) as stand:
        client = Client(stand)
        head, _ = await client.ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": start})
        found = re.search(rb"mcp-session-id: (\S+)", head)
        assert found is not None
        session = {"Mcp_Session_Id": found[1].decode(), "MCP_Protocol_Version": "2025-11-25"}
        await client.ask({"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)
        client.given = 0
        for number, (name, given) in enumerate([*CALLS, *CALLS]):
            said = {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {"name": name, "arguments": given},
            }
            of_session = json.loads((await client.ask(said, **session))[1])
            modern = json.loads((await client.call(name, given, number))[1])
            assert of_session.get("error") == modern.get("error"), name
            if "result" in modern:
                assert of_session["result"]["content"][0]["type"] == modern["result"]["content"][0]["type"], name
                assert of_session["result"].get("isError") == modern["result"].get("isError"), name
        assert client.given >= 6


@in_loop
async def test_calls_of_functions_that_wait_are_answered_in_a_task(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS) as stand:
        client = Client(stand)
        await client.call("add_later", {"a": 1, "b": 2}, 1)
        client.given = 0
        _, body = await client.call("add_later", {"a": 1, "b": 2}, 2)
        assert json.loads(body)["result"]["structuredContent"] == 3 and client.given == 0


@in_loop
async def test_async_functions_that_do_not_wait_are_answered_without_a_task(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS) as stand:
        client = Client(stand)
        await client.call("add_at_once", {"a": 1, "b": 2}, 1)
        client.given = 0
        for number in range(3):
            _, body = await client.call("add_at_once", {"a": number, "b": 2}, number)
            assert json.loads(body)["result"]["structuredContent"] == number + 2
        assert client.given == 3


@in_loop
async def test_time_limits_of_tools_end_their_own_calls_alone(tmp_path: Path) -> None:
    """Several calls begin in one turn of the server; each goes on in the task in which its function began."""
    start = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    async with running_server(tmp_path, tools=TOOLS) as stand:
        clients = [Client(stand) for _ in range(4)]
        session: dict[str, str] = {}
        head, _ = await clients[0].ask({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": start})
        found = re.search(rb"mcp-session-id: (\S+)", head)
        assert found is not None
        session = {"Mcp_Session_Id": found[1].decode(), "MCP_Protocol_Version": "2025-11-25"}
        await clients[0].ask({"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)
        params = {"name": "give_up", "arguments": {"seconds": 0.05}}
        for _ in range(3):  # the first one of each era finds the tool
            told = await asyncio.gather(
                clients[0].ask({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, **session),
                clients[1].ask({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}, **session),
                *(client.call("give_up", {"seconds": 0.05}, 3) for client in clients[2:]),
            )
            texts = [json.loads(body)["result"]["content"][0]["text"] for _, body in told]
            assert texts == ["gave up, beside, True"] * 4


@pytest.mark.parametrize("waits", [True, False])
@in_loop
async def test_a_tool_that_cancels_its_own_task_ends_its_call_and_nothing_else(tmp_path: Path, waits: bool) -> None:
    async with running_server(tmp_path, tools=TOOLS) as stand:
        client = Client(stand)
        for number in range(3):
            async with asyncio.timeout(10):
                _, body = await client.call("cancel_itself", {"waits": waits}, number)
            result = json.loads(body)["result"]
            text = result["content"][0]["text"]
            assert text.startswith("the call was canceled: the tool stopped by itself") if waits else text == "done"
        _, body = await client.call("add", {"a": 1, "b": 2}, 9)
        assert json.loads(body)["result"]["structuredContent"] == 3


@pytest.mark.parametrize("name", ["KeyboardInterrupt", "SystemExit", "GeneratorExit"])
@in_loop
async def test_a_tool_that_raises_what_ends_processes_ends_its_call_and_nothing_else(tmp_path: Path, name: str) -> None:
    async with running_server(tmp_path, tools=TOOLS) as stand:
        client = Client(stand)
        for number in range(3):
            for way in ("raise_inline", "raise_at_once", "raise_later"):
                async with asyncio.timeout(10):
                    _, body = await client.call(way, {"name": name}, number)
                result = json.loads(body)["result"]
                assert result["isError"] and f"failed ({name})" in result["content"][0]["text"]


@in_loop
async def test_a_call_leaves_nothing_in_the_context_of_the_next_one(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS) as stand:
        client = Client(stand)
        for number in range(4):
            _, body = await client.call("leave", {}, number)
            assert json.loads(body)["result"]["structuredContent"] == 1
        assert client.given


@in_loop
async def test_a_credential_that_is_revoked_is_refused_on_a_connection_that_used_it(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        access = Access(stand.app.root)
        token, secret = access.add(access.local_owner(), "bot", [CALL])
        client, headers = Client(stand), {"Authorization": f"Bearer {secret}"}
        for number in range(3):
            head, _ = await client.call("add", {"a": 1, "b": 2}, number, **headers)
            assert head.startswith(b"HTTP/1.1 200 ")
        assert client.given
        access.revoke(access.local_owner(), token.id)
        async with asyncio.timeout(30):
            while not head.startswith(b"HTTP/1.1 401 "):
                head, _ = await client.call("add", {"a": 1, "b": 2}, 9, **headers)


@in_loop
async def test_a_change_is_looked_at_before_the_next_call(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS) as stand:
        client = Client(stand)
        for number in range(3):
            await client.call("add", {"a": 1, "b": 2}, number)
        given = client.given
        assert given
        stand.app.store.bump()
        _, body = await client.call("add", {"a": 1, "b": 2}, 9)
        assert client.given == given and json.loads(body)["result"]["structuredContent"] == 3
        await client.call("add", {"a": 1, "b": 2}, 10)
        assert client.given == given + 1
