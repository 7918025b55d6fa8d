"""Small MCP servers on loopback, written from the protocol alone: they record requests and answer as the test says.

One speaks the HTTP of the first revision (2024-11-05: a stream of events, and posts beside it), one the HTTP of those after it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

Answering = Callable[[dict[str, Any]], dict[str, Any]]
"""From a request of JSON-RPC to its `{"result": …}` or `{"error": …}`."""


class ToolServerRequest(NamedTuple):
    """One HTTP request."""

    method: str
    path: str
    headers: dict[str, str]
    message: dict[str, Any]
    """The message of JSON-RPC; empty when there is none."""


class ToolServer:
    """The address of a running server, and the requests it received."""

    def __init__(self, port: int, path: str) -> None:
        self.url = f"http://127.0.0.1:{port}{path}"
        self.asked: list[ToolServerRequest] = []

    def list_requests(self, method: str) -> list[ToolServerRequest]:
        """The requests of one method of JSON-RPC."""
        return [each for each in self.asked if each.message.get("method") == method]


@asynccontextmanager
async def running_tool_server(
    answering: Answering, *, revision: str, path: str = "/mcp", session: str = "session-1", tools: tuple[str, ...] = ()
) -> AsyncIterator[ToolServer]:
    """Runs a server of one revision. `answering`: answers `tools/call`; the server answers everything else itself."""
    server: ToolServer
    streams: list[asyncio.StreamWriter] = []
    tasks: set[asyncio.Task[Any]] = set()

    def build_answer(message: dict[str, Any]) -> dict[str, Any]:
        match message["method"]:
            case "initialize":
                result: dict[str, Any] = {
                    "protocolVersion": revision,
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "comms", "version": "7.1"},
                }
            case "tools/list":
                listed = [{"name": name, "inputSchema": {"type": "object"}} for name in tools]
                result = {"tools": listed}
            case "tools/call":
                return answering(message)
            case "ping":
                result = {}
            case _:
                return {"error": {"code": -32601, "message": "no such method"}}
        return {"result": result}

    async def serve_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            while (asked := await _read_request(reader)) is not None:
                server.asked.append(asked)
                if asked.method == "GET" and revision == "2024-11-05":
                    writer.write(_format_response(200, "text/event-stream", None))
                    writer.write(b"event: endpoint\ndata: /messages?session_id=1\n\n")
                    streams.append(writer)
                    await writer.drain()
                    continue
                writer.write(answer_request(asked))
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    def answer_request(asked: ToolServerRequest) -> bytes:
        is_first = revision == "2024-11-05"
        if asked.method != "POST" or (is_first and not asked.path.startswith("/messages")):
            return _format_response(405, "text/plain", b"")
        if "id" not in asked.message:
            return _format_response(202, "text/plain", b"")
        body = json.dumps({"jsonrpc": "2.0", "id": asked.message["id"], **build_answer(asked.message)}).encode()
        if is_first:
            streams[-1].write(b"event: message\ndata: " + body + b"\n\n")
            return _format_response(202, "text/plain", b"Accepted")
        return _format_response(200, "application/json", body, {"Mcp-Session-Id": session})

    listening = await asyncio.start_server(serve_connection, "127.0.0.1", 0)
    server = ToolServer(listening.sockets[0].getsockname()[1], path)
    try:
        yield server
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _format_response(status: int, media_type: str, body: bytes | None, headers: dict[str, str] | None = None) -> bytes:
    said = {"Content-Type": media_type, **(headers or {})}
    if body is not None:
        said["Content-Length"] = str(len(body))
    lines = "".join(f"{name}: {value}\r\n" for name, value in said.items())
    return f"HTTP/1.1 {status} -\r\n{lines}\r\n".encode() + (body or b"")


async def _read_request(reader: asyncio.StreamReader) -> ToolServerRequest | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    line, *lines = head[:-4].decode("latin-1").split("\r\n")
    method, path, _ = line.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (text.partition(":") for text in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return ToolServerRequest(method, path, headers, json.loads(body) if body else {})
