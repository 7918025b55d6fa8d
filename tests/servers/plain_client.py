"""HTTP by hand: one connection, the bytes one says, and answers read as strictly as the standard allows."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from tests.servers.local_server import Reply

WAIT_SECONDS = 30.0
VERSION = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": VERSION, "io.modelcontextprotocol/clientCapabilities": {}}


class Broken(Exception):
    """The other end closed, or said something that is no HTTP."""


class PlainClient:
    """One connection; made anew when the other end has closed it."""

    def __init__(self, port: int, token: str = "", wait: float = WAIT_SECONDS) -> None:
        self.port = port
        self.token = token
        self._wait = wait
        self._socket: socket.socket | None = None
        self._rest = b""

    def __enter__(self) -> PlainClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Go away."""
        if self._socket is not None:
            self._socket.close()
        self._socket, self._rest = None, b""

    @property
    def connection(self) -> socket.socket:
        """The connection, made when there is none."""
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self.port), self._wait)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def send(self, data: bytes) -> None:
        """Bytes, as they are."""
        self.connection.sendall(data)

    def request(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | Iterable[tuple[str, str]] = ()
    ) -> bytes:
        """A request as bytes."""
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
        if self.token:
            lines.append(f"Authorization: Bearer {self.token}")
        lines += [f"{name}: {value}" for name, value in dict(headers).items()]
        if body or method in ("POST", "PUT"):
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body

    def ask(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | Iterable[tuple[str, str]] = ()
    ) -> Reply:
        """One request and its whole answer. Raises Broken and TimeoutError."""
        self.send(self.request(method, path, body, headers))
        return self.answer(is_head=method == "HEAD")

    def answer(self, *, is_head: bool = False) -> Reply:
        """The next answer. Raises Broken and TimeoutError."""
        status, headers = self.head()
        while status == 100:
            status, headers = self.head()
        if is_head or status in (204, 304):
            body = b""
        elif headers.get("transfer-encoding") == "chunked":
            body = b"".join(iter(self.chunk, b""))
        elif "content-length" in headers:
            body = self._exactly(int(headers["content-length"]))
        else:
            body = self._to_the_end()
        if headers.get("connection") == "close":
            self.close()
        return Reply(status, headers, body)

    def head(self) -> tuple[int, dict[str, str]]:
        """The status and headers of an answer."""
        text = self._until(b"\r\n\r\n").decode("latin-1")
        first, *lines = text.split("\r\n")
        words = first.split(" ", 2)
        if words[0] != "HTTP/1.1" or not words[1].isdecimal() or len(words) < 3:
            raise Broken(f"no status line: {first!r}")
        headers: dict[str, str] = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or not name or name != name.strip() or name.lower() in headers:
                raise Broken(f"no header, or one said twice: {line!r}")
            headers[name.lower()] = value.strip()
        return int(words[1]), headers

    def chunk(self) -> bytes:
        """The next part of an answer in parts; empty at its end."""
        size = int(self._until(b"\r\n"), 16)
        part = self._exactly(size)
        if self._exactly(2) != b"\r\n":
            raise Broken("a chunk has no end")
        return part

    def event(self) -> dict[str, str]:
        """The next event of a stream, comments left out. Events and chunks need not be the same."""
        while True:
            block = self.chunk()
            if not block:
                raise Broken("the stream has ended")
            lines = [line.partition(":") for line in block.decode().split("\n") if line and not line.startswith(":")]
            if lines:
                return {name: value.removeprefix(" ") for name, _, value in lines}

    def _read(self) -> bytes:
        try:
            data = self.connection.recv(65_536)
        except (ConnectionError, BrokenPipeError) as error:
            self.close()
            raise Broken("the connection was reset") from error
        if not data:
            rest = self._rest
            self.close()
            raise Broken(f"the connection was closed after {rest[:80]!r}")
        return data

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._rest:
            self._rest += self._read()
        found, _, self._rest = self._rest.partition(mark)
        return found

    def _exactly(self, size: int) -> bytes:
        parts, have = [self._rest], len(self._rest)
        while have < size:
            parts.append(self._read())
            have += len(parts[-1])
        data = b"".join(parts)
        self._rest = data[size:]
        return data[:size]

    def _to_the_end(self) -> bytes:
        parts = [self._rest]
        while data := self.connection.recv(65_536):
            parts.append(data)
        self.close()
        return b"".join(parts)

    # MCP

    def modern(self, method: str, params: dict[str, Any], request_id: Any = 1, **meta: Any) -> Reply:
        """One request of the revision without sessions."""
        body = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": {**params, "_meta": {**META, **meta}}}
        return self.ask("POST", "/mcp", json.dumps(body).encode(), modern_headers(method, params))

    def call(self, tool: str, arguments: dict[str, Any], **meta: Any) -> Any:
        """The response to one call."""
        reply = self.modern("tools/call", {"name": tool, "arguments": arguments}, **meta)
        if reply.headers.get("content-type") == "text/event-stream":
            return json.loads(reply.events()[-1]["data"])
        return reply.json()

    def session(self, revision: str = "2025-11-25", capabilities: dict[str, Any] | None = None) -> dict[str, str]:
        """Begin a session; gives the headers of everything in it."""
        client = {
            "protocolVersion": revision,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        reply = self.ask("POST", "/mcp", json.dumps(rpc("initialize", client)).encode(), SESSION_HEADERS)
        assert reply.status == 200, reply
        found = {**SESSION_HEADERS, "Mcp-Session-Id": reply.headers["mcp-session-id"], "MCP-Protocol-Version": revision}
        started = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
        assert self.ask("POST", "/mcp", started, found).status == 202
        return found


SESSION_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def rpc(method: str, params: dict[str, Any], request_id: Any = 1) -> dict[str, Any]:
    """A JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def modern_headers(method: str, params: dict[str, Any]) -> dict[str, str]:
    """The headers that agree with a request."""
    name = params.get("name") or params.get("uri") or params.get("taskId")
    named = {"Mcp-Name": name} if isinstance(name, str) and method != "prompts/list" else {}
    return {**SESSION_HEADERS, "MCP-Protocol-Version": VERSION, "Mcp-Method": method, **named}
