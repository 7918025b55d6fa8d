"""Clients that are slow, silent, greedy or gone, against a real server: whoever behaves is served all the same, nothing stays.

Well-behaved clients are counted, not timed, wherever that shows the same: times only have to stay within what a busy machine
takes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.servers.plain_client import META, SESSION_HEADERS, Broken, PlainClient, modern_headers, rpc
from tests.servers.running import until, workspace
from tests.servers.soak.server import Watched, watched

LONGEST_SECONDS = 10.0
"""For one call of a well-behaved client; alone it takes a thousandth of a second."""
TOML = "[serve.mcp]\nwait_seconds = 0\n[serve.limits]\ncalls_at_once = 8\ncalls_in_all = 12\ncalls_waiting = 64\nstreams = 64\n"
TOOL_CALL = "tools/call"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with watched(workspace(tmp_path_factory.mktemp("rough"), TOML)) as found:
        serve_well(found)
        yield found


def serve_well(server: Watched, calls: int = 30) -> None:
    """A well-behaved client is served, each time in time, also when it comes anew."""
    for _ in range(3):
        with PlainClient(server.port, server.token()) as client:
            for number in range(calls // 3):
                began = time.monotonic()
                assert client.call("add", {"a": number, "b": 1})["result"]["structuredContent"] == number + 1
                assert time.monotonic() - began < LONGEST_SECONDS


def call_text(client: PlainClient, tool: str, arguments: dict[str, Any], request_id: Any = 1) -> bytes:
    """One call as bytes."""
    body = rpc(TOOL_CALL, {"name": tool, "arguments": arguments, "_meta": META}, request_id)
    return client.request("POST", "/mcp", json.dumps(body).encode(), modern_headers(TOOL_CALL, {"name": tool}))


def nothing_is_left(server: Watched) -> None:
    """Everybody who has gone is forgotten, and nothing went wrong."""
    left: dict[str, int] = {}

    def is_empty() -> bool:
        left.update(server.inside())
        return not any(left[name] for name in ("connections", "requests", "sessions", "streams")) and left["tasks"] <= 4

    try:
        until(is_empty)
    except AssertionError:
        raise AssertionError(f"{left} is left") from None
    assert not server.complaints()


def test_slow_heads_and_bodies_hold_up_nobody(server: Watched) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(PlainClient(server.port, server.token())) for _ in range(150)]
        texts = [call_text(client, "add", {"a": 1, "b": 2}) for client in slow]
        for number, (client, text) in enumerate(zip(slow, texts, strict=True)):
            client.send(text[: 20 + number * (len(text) - 21) // len(slow)])
        for step in range(5):
            serve_well(server, 6)
            for number, (client, text) in enumerate(zip(slow, texts, strict=True)):
                at = 20 + number * (len(text) - 21) // len(slow) + step
                client.send(text[at : min(at + 1, len(text) - 1)])
        assert server.inside()["connections"] >= len(slow), "they were all kept"
    nothing_is_left(server)


def test_thousands_of_silent_connections_hold_up_nobody(server: Watched) -> None:
    before = server.held()
    with ExitStack() as stack:
        silent = [stack.enter_context(PlainClient(server.port)) for _ in range(2_000)]
        for client in silent:
            assert client.connection
        serve_well(server)
        until(lambda: server.held().files >= before.files + len(silent), "every connection")
        serve_well(server)
        assert server.held().kilobytes < before.kilobytes + 80_000, "one costs little"
    nothing_is_left(server)
    until(lambda: server.held().files <= before.files + 2, "every file back")


def test_somebody_who_floods_waits_behind_their_own_calls(server: Watched) -> None:
    """Fair turns: while a principal's line is long, another one's calls overtake it; what is too much is refused (429)."""
    other = _key(server.folder, "other")
    flood = Flood(server, 120, 0.5)
    try:
        until(lambda: flood.sent == 120, "the flood")
        with PlainClient(server.port, other) as client:
            for number in range(5):
                assert client.call("add", {"a": number, "b": 1})["result"]["structuredContent"] == number + 1
                assert client.call("nap", {"seconds": 0.01})["result"]["content"]
        overtaken = flood.left
        until(lambda: not flood.left, "the end of the flood")
    finally:
        flood.close()
    assert overtaken > 20, "the others' line was still long"
    assert flood.answers["refused"] > 0 and flood.answers["done"] >= 72, flood.answers
    assert sum(flood.answers.values()) == 120
    nothing_is_left(server)


class Flood:
    """A principal with many connections, each with one call that takes its time."""

    def __init__(self, server: Watched, count: int, seconds: float) -> None:
        self.sent = 0
        self.left = count
        self.answers = {"done": 0, "refused": 0}
        self._lock = threading.Lock()
        self._seconds = seconds
        self._threads = [threading.Thread(target=self._one, args=(server,)) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _one(self, server: Watched) -> None:
        with PlainClient(server.port, server.token(), wait=60) as client:
            client.send(call_text(client, "nap", {"seconds": self._seconds}))
            with self._lock:
                self.sent += 1
            reply = client.answer()
            with self._lock:
                self.left -= 1
                if reply.status == 429 or b'"code":429' in reply.body:
                    self.answers["refused"] += 1
                elif b"rested" in reply.body:
                    self.answers["done"] += 1

    def close(self) -> None:
        for thread in self._threads:
            thread.join(60)


def _key(folder: Path, name: str) -> str:
    words = [sys.executable, "-m", "ferrule", "key", "add", name, "--workspace", str(folder), "--json"]
    said = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    found: str = said.get("secret") or said.get("token") or said["key"]
    return found


def test_clients_that_never_read_take_little_memory_and_nobodys_turn(server: Watched) -> None:
    before = server.held()
    with ExitStack() as stack:
        deaf = [stack.enter_context(PlainClient(server.port, server.token(), wait=2)) for _ in range(20)]
        for client in deaf:
            text = call_text(client, "large", {"size": 200_000})
            with suppress(TimeoutError):  # in the end it is not read from, either
                for _ in range(50):  # ten megabytes of answers each, if anybody made them all
                    client.send(text)
        serve_well(server)
        grown = server.held().kilobytes - before.kilobytes
        assert grown < 100_000, f"{grown} KB for answers that nobody reads"
    nothing_is_left(server)


def test_calls_of_clients_that_vanish_are_stopped(server: Watched) -> None:
    """MCP-71: in the revision without sessions, going away cancels; the places are free again."""
    for _ in range(3):
        with ExitStack() as stack:
            for _ in range(8):
                client = stack.enter_context(PlainClient(server.port, server.token()))
                client.send(call_text(client, "nap", {"seconds": 600}))
            until(lambda: server.inside()["requests"] >= 8, "eight calls")
    serve_well(server)
    nothing_is_left(server)


def test_readers_of_streams_that_lag_hold_up_nobody(server: Watched) -> None:
    """Two listeners hear of every change or of the last; one of them never reads, and a third comes and goes."""
    before = server.held()
    with ExitStack() as stack:
        reading, lagging = (stack.enter_context(PlainClient(server.port, server.token())) for _ in range(2))
        for client in (reading, lagging):
            params: dict[str, Any] = {"notifications": {"resourceSubscriptions": ["docs://page/one"]}, "_meta": META}
            body = json.dumps(rpc("subscriptions/listen", params, "sub")).encode()
            client.send(client.request("POST", "/mcp", body, modern_headers("subscriptions/listen", params)))
            assert client.head()[0] == 200
        session = reading_session(server, stack)
        caller = stack.enter_context(PlainClient(server.port, server.token()))
        for _ in range(40):
            assert caller.call("announce", {"times": 1000})["result"]["structuredContent"] == 1000
        heard = [json.loads(reading.event()["data"]) for _ in range(2)]
        assert heard[1]["method"] == "notifications/resources/updated", heard
        serve_well(server)
        assert server.held().kilobytes < before.kilobytes + 60_000
        assert caller.ask("DELETE", "/mcp", b"", session).status == 200
    nothing_is_left(server)


def reading_session(server: Watched, stack: ExitStack) -> dict[str, str]:
    """A session that listens on its own stream and never reads it."""
    client, deaf = (stack.enter_context(PlainClient(server.port, server.token())) for _ in range(2))
    headers = client.session()
    subscribe = json.dumps(rpc("resources/subscribe", {"uri": "docs://page/one"})).encode()
    assert client.ask("POST", "/mcp", subscribe, headers).status == 200
    deaf.send(deaf.request("GET", "/mcp", b"", {**headers, "Accept": "text/event-stream"}))
    assert deaf.head()[0] == 200
    return headers


def test_connections_that_are_cut_anywhere_leave_nothing(server: Watched) -> None:
    """Every prefix of a request, and a cut after any part of an answer."""
    with PlainClient(server.port, server.token()) as client:
        text = call_text(client, "nap", {"seconds": 0.01})
    for at in range(0, len(text), 7):
        with PlainClient(server.port, server.token()) as client:
            client.send(text[:at])
    for _ in range(20):
        with PlainClient(server.port, server.token()) as client:
            client.send(call_text(client, "large", {"size": 1_000_000}))
            client.head()
    with PlainClient(server.port, server.token()) as client:
        headers = {**SESSION_HEADERS, "Content-Length": "1000000"}
        client.send(client.request("GET", "/mcp", b"", headers) + b"x" * 1000)
        with suppress(Broken):
            client.answer()
    serve_well(server)
    nothing_is_left(server)
