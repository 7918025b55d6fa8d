"""A session that is over is over for every process of its workspace, and after a restart (MCP-75, MCP-80, MCP-91)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

from ferrule.model.approval import Identity
from ferrule.model.serving import LimitSettings, McpSettings, ServeSettings
from ferrule.servers.auth.callers import Caller
from ferrule.servers.mcp.transports.session_ids import FOLDER, SessionIds
from ferrule.servers.mcp.transports.session_store import SessionStore
from tests.servers.running import WAIT_SECONDS, running, until

TOOLS = '''
import os
import ferrule


@ferrule.tool(read_only=True, inline=True)
def who() -> int:
    """The process that answers."""
    return os.getpid()
'''
ADA = Caller(Identity("ada", "token:1"))
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def workspace(folder: Path, toml: str = "") -> Path:
    (folder / "tools.py").write_text(TOOLS)
    (folder / "ferrule.toml").write_text(f'[functions]\nmodules = ["tools.py"]\n{toml}')
    return folder


class Client:
    """One connection: one process answers it for as long as it stands."""

    def __init__(self, port: int) -> None:
        self.wire = HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS)
        self.close = self.wire.close

    def send(self, method: str, session: str, body: Any = None) -> HTTPResponse:
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        if session:
            headers["Mcp-Session-Id"] = session
        self.wire.request(method, "/mcp", None if body is None else json.dumps(body), headers)
        return self.wire.getresponse()

    def status(self, method: str, session: str, body: Any = None) -> int:
        answer = self.send(method, session, body)
        answer.read()
        return answer.status

    def begin(self) -> str:
        answer = self.send("POST", "", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO})
        answer.read()
        return answer.headers["Mcp-Session-Id"]

    def ping(self, session: str) -> int:
        return self.status("POST", session, {"jsonrpc": "2.0", "id": 1, "method": "ping"})

    def process(self, session: str) -> int:
        params = {"name": "who", "arguments": {}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return int(json.loads(self.send("POST", session, asked).read())["result"]["structuredContent"]["result"])


@contextmanager
def connected(port: int, session: str, *, besides: int) -> Iterator[Client]:
    """A client of another process than that."""
    clients = [Client(port)]
    end = time.monotonic() + WAIT_SECONDS
    try:
        while clients[-1].process(session) == besides:
            assert time.monotonic() < end, "one process answers all"
            clients.append(Client(port))
        yield clients[-1]
    finally:
        for client in clients:
            client.close()


def test_a_session_that_was_ended_is_gone_in_the_other_process_at_once(tmp_path: Path) -> None:
    """MCP-75, MCP-80: also what was open there. The time is a hundredth of a second; the rest of it is for a busy machine."""
    with (
        running(workspace(tmp_path), "--no-auth", "--processes", "2") as server,
        closing(Client(server.port)) as first,
    ):
        session, other = first.begin(), first.begin()
        here = first.process(session)
        with (
            connected(server.port, session, besides=here) as second,
            connected(server.port, session, besides=here) as listener,
        ):
            stream = listener.send("GET", session)
            assert (stream.status, second.ping(session), second.ping(other)) == (200, 200, 200)
            assert first.status("DELETE", session) == 200
            ended = time.monotonic()
            until(lambda: second.ping(session) == 404, "the end")
            assert time.monotonic() - ended < 5
            assert {client.ping(session) for client in (first, second) for _ in range(20)} == {404}
            assert (first.ping(other), second.ping(other)) == (200, 200)
            while stream.readline():
                pass


def test_what_is_open_in_a_session_ends_with_it_though_nobody_asks(tmp_path: Path) -> None:
    """MCP-80: its stream in another process, where no request comes that would tell that it is over."""

    async def story() -> None:
        first, second = Process(tmp_path), Process(tmp_path)
        session = first.begin()
        assert second.has(session, 0)
        held = second.store.find(session, ADA)
        assert held is not None
        held.streams.own.read(0)
        assert first.has(session, 0)
        first.store.delete(first.store._sessions[session])
        second.store.end_remotely_ended()
        assert not len(second.store)
        for process in (first, second):
            await process.store.aclose()

    asyncio.run(story())


def test_a_session_that_was_idle_too_long_stays_gone_after_a_restart(tmp_path: Path) -> None:
    """MCP-91: whether its client was told so, or did not ask."""
    with running(workspace(tmp_path, "[serve.mcp]\nsession_seconds = 1\n"), "--no-auth") as server:
        with closing(Client(server.port)) as client:
            told, unasked = client.begin(), client.begin()
            time.sleep(1.05)
            assert client.ping(told) == 404
        server.kill()
        server.start()
        with closing(Client(server.port)) as client:
            assert (client.ping(told), client.ping(unasked)) == (404, 404)


class Process:
    """The sessions of one process of a workspace, at a time set by hand."""

    def __init__(self, folder: Path, most: int = 100) -> None:
        self.now = 0.0
        settings = ServeSettings(mcp=McpSettings(session_seconds=100), limits=LimitSettings(sessions=most))
        ids = SessionIds(b"s" * 32, folder, lambda: 1e9 + self.now, idle_seconds=100)
        self.store = SessionStore(settings, lambda: "run_1", ids, lambda: self.now)

    def begin(self) -> str:
        return self.store.open(ADA, "2025-11-25", frozenset()).id

    def has(self, session: str, at: float) -> bool:
        self.now = at
        return self.store.find(session, ADA) is not None


def test_what_was_said_to_be_gone_stays_gone(tmp_path: Path) -> None:
    """Idle too long, or given up for another one: as soon as its client was told so, for every process."""

    async def story() -> None:
        first, second, crowded = Process(tmp_path), Process(tmp_path), Process(tmp_path, most=1)
        idle = first.begin()
        assert second.has(idle, 1)
        assert not first.has(idle, 101)
        assert not second.has(idle, 101)
        assert not Process(tmp_path).has(idle, 101)
        given_up = crowded.begin()
        crowded.begin()
        assert not crowded.has(given_up, 1)
        assert not Process(tmp_path).has(given_up, 1)
        for process in (first, second, crowded):
            await process.store.aclose()

    asyncio.run(story())


def test_a_session_lives_for_as_long_as_any_process_uses_it(tmp_path: Path) -> None:
    async def story() -> None:
        first, second = Process(tmp_path), Process(tmp_path)
        session = first.begin()
        for at in range(1, 300, 7):
            assert second.has(session, at)
        first.now = 290
        first.store.sweep()
        assert len(first.store) == 1
        assert first.has(session, 290)
        assert Process(tmp_path).has(session, 380)
        for process in (first, second):
            await process.store.aclose()

    asyncio.run(story())


def test_a_use_is_noted_now_and_then_and_not_with_every_request(tmp_path: Path) -> None:
    async def story() -> None:
        process = Process(tmp_path)
        session = process.begin()
        for tenths in range(99):
            assert process.has(session, tenths / 10)
        assert not (tmp_path / FOLDER).exists()
        assert process.has(session, 11)
        (note,) = (tmp_path / FOLDER).iterdir()
        noted = note.stat().st_mtime_ns
        assert process.has(session, 20)
        assert note.stat().st_mtime_ns == noted
        assert process.has(session, 22)
        assert note.stat().st_mtime_ns > noted
        process.now = 140
        process.store.sweep()
        assert not len(process.store)
        assert not Process(tmp_path).has(session, 140)
        await process.store.aclose()

    asyncio.run(story())


def test_nothing_is_read_with_every_request(tmp_path: Path) -> None:
    async def story() -> None:
        process = Process(tmp_path)
        session = process.begin()
        asked = 0
        stamp = process.store._ids.stamp

        def counted() -> bytes:
            nonlocal asked
            asked += 1
            return stamp()

        process.store._ids.stamp = counted  # type: ignore[method-assign]
        for microseconds in range(0, 20_000, 30):
            assert process.has(session, 1 + microseconds / 1e6)
        assert asked <= 5
        await process.store.aclose()

    asyncio.run(story())
