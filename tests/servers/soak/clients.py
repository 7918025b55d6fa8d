"""Clients of every kind, at a steady rate, that do everything right, and some that leave in the middle."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from random import Random
from typing import Any

from tests.servers.local_server import Reply
from tests.servers.plain_client import META, PlainClient, modern_headers, rpc
from tests.servers.running import Running

_JSON = {"Content-Type": "application/json"}


class Load:
    """Threads that talk to one server, until told to stop."""

    def __init__(self, server: Running, seed: int, threads: int, pause: float) -> None:
        """`pause`: seconds between the beginnings of two conversations of one thread."""
        self._server = server
        self._pause = pause
        self._stop = threading.Event()
        self.failures: list[str] = []
        self.count = 0
        self._threads = [threading.Thread(target=self._work, args=(Random(seed + n),)) for n in range(threads)]

    def run(self, seconds: float) -> None:
        """Work for so long; then everybody has left."""
        for thread in self._threads:
            thread.start()
        self._stop.wait(seconds)
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive(), "a client waits for ever"
        assert not self.failures, self.failures[:3]

    def _work(self, chance: Random) -> None:
        kept = PlainClient(self._server.port, self._server.token())
        due = time.monotonic()
        try:
            while not self._stop.is_set():
                story = chance.choices(STORIES, WEIGHTS)[0]
                if chance.random() < 0.3:
                    kept.close()  # another connection
                try:
                    story(kept, chance)
                except Exception as error:
                    self.failures.append(f"{story.__name__}: {error!r}")
                    self._stop.set()
                self.count += 1
                due = max(due + self._pause, time.monotonic() - 1)
                self._stop.wait(max(0.0, due - time.monotonic()))
        finally:
            kept.close()


def _ask(client: PlainClient, method: str, path: str, body: Any, headers: dict[str, str], status: int = 200) -> Reply:
    reply = client.ask(method, path, json.dumps(body).encode() if body is not None else b"", headers)
    assert reply.status == status, (path, body, reply)
    return reply


def call(client: PlainClient, chance: Random) -> None:
    """A few calls, one after the other."""
    for _ in range(chance.randrange(1, 8)):
        a, b = chance.randrange(1000), chance.randrange(1000)
        assert client.call("add", {"a": a, "b": b})["result"]["structuredContent"] == a + b


def look_around(client: PlainClient, chance: Random) -> None:
    """Lists, and things that are not there."""
    assert client.modern("tools/list", {}).json()["result"]["tools"]
    assert client.modern("server/discover", {}).status == 200
    assert client.modern("resources/read", {"uri": "docs://page/one"}).json()["result"]["contents"]
    assert "error" in client.call(f"no-such-{chance.randrange(10**9)}", {})
    assert client.call("add", {"a": "x" * chance.randrange(1000)})["result"]["isError"]


def large_results(client: PlainClient, chance: Random) -> None:
    """A long text, by either way."""
    size = chance.choice((1000, 100_000))
    assert "result" in client.call("large", {"size": size})


def in_a_run(client: PlainClient, chance: Random) -> None:
    """A run of its own: nobody comes back to it."""
    assert "result" in client.call("add", {"a": 1, "b": 1}, **{"dev.ferrule/run": f"run-{chance.randrange(10**12)}"})


def session(client: PlainClient, chance: Random) -> None:
    """A session from its beginning to its end, with a stream of its own and progress."""
    revision = chance.choice(("2025-11-25", "2025-06-18", "2025-03-26"))
    headers = client.session(revision, {"elicitation": {}})
    with PlainClient(client.port, client.token) as listening:
        if chance.random() < 0.5:
            listening.send(listening.request("GET", "/mcp", b"", {**headers, "Accept": "text/event-stream"}))
            assert listening.head()[0] == 200
        for number in range(chance.randrange(4)):
            said = _ask(
                client, "POST", "/mcp", rpc("tools/call", {"name": "add", "arguments": {"a": 1, "b": number}}), headers
            )
            told = "%d" if revision == "2025-03-26" else '{"result":%d}'
            assert said.json()["result"]["content"][0]["text"] == told % (1 + number)
        params = {"name": "nap", "arguments": {"seconds": 0.02}, "_meta": {"progressToken": 1}}
        events = [
            event
            for event in _ask(client, "POST", "/mcp", rpc("tools/call", params, 9), headers).events()
            if event.get("data")
        ]
        assert json.loads(events[-1]["data"])["id"] == 9 and len(events) > 1
    _ask(client, "DELETE", "/mcp", None, headers)


def asked_in_a_session(client: PlainClient, chance: Random) -> None:
    """A tool asks its client."""
    headers = client.session(capabilities={"elicitation": {}})
    client.send(
        client.request(
            "POST", "/mcp", json.dumps(rpc("tools/call", {"name": "ask", "arguments": {"what": "?"}})).encode(), headers
        )
    )
    client.head()
    question = json.loads(_data(client))
    with PlainClient(client.port, client.token) as other:
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"name": "x"}}}
        _ask(other, "POST", "/mcp", answer, headers, 202)
        assert "result" in json.loads(_data(client))
        assert client.chunk() == b""
        _ask(other, "DELETE", "/mcp", None, headers)


def _data(client: PlainClient) -> str:
    while not (event := client.event()).get("data"):
        pass
    return event["data"]


def listen(client: PlainClient, chance: Random) -> None:
    """A subscription that its client gives up."""
    with PlainClient(client.port, client.token) as listening:
        params: dict[str, Any] = {"notifications": {"toolsListChanged": True}, "_meta": META}
        body = json.dumps(rpc("subscriptions/listen", params)).encode()
        listening.send(listening.request("POST", "/mcp", body, modern_headers("subscriptions/listen", params)))
        assert listening.head()[0] == 200
        listening.event()


def leave(client: PlainClient, chance: Random) -> None:
    """Clients that go away in the middle: of a head, of a body, of an answer."""
    body = json.dumps(rpc("tools/call", {"name": "nap", "arguments": {"seconds": 0.2}, "_meta": META})).encode()
    whole = client.request("POST", "/mcp", body, modern_headers("tools/call", {"name": "nap"}))
    with PlainClient(client.port, client.token) as leaving:
        leaving.send(whole[: chance.randrange(len(whole) + 1)])
        time.sleep(chance.random() * 0.05)


def over_http(client: PlainClient, chance: Random) -> None:
    """The HTTP API: a call, one in the background, its events."""
    said = {"tool": "add", "arguments": {"a": 1, "b": 2}}
    assert _ask(client, "POST", "/v1/calls", said, _JSON).json()["result"]["structured_content"] == 3
    nap = {"tool": "nap", "arguments": {"seconds": 0.02}}
    begun = _ask(client, "POST", "/v1/calls", nap, {**_JSON, "Prefer": "respond-async"}, 202).json()
    events = _ask(client, "GET", f"/v1/calls/{begun['invocation_id']}/events", None, {"Accept": "text/event-stream"})
    assert events.events()[-1]["event"] == "result"
    _ask(client, "GET", "/v1/tools", None, {})
    _ask(client, "GET", f"/v1/invocations/{begun['invocation_id']}", None, {})


def over_oxp(client: PlainClient, chance: Random) -> None:
    """The OXP server."""
    _ask(client, "GET", "/oxp/tools", None, {})
    call = {"call_id": f"c{chance.randrange(10**12)}", "tool_id": "rough.add", "input": {"a": 1, "b": 2}}
    assert _ask(client, "POST", "/oxp/tools/call", {"$schema": "urn:oxp:1.0", "request": call}, _JSON).json()["result"][
        "success"
    ]


STORIES: tuple[Callable[[PlainClient, Random], None], ...] = (
    call, look_around, large_results, in_a_run, session, asked_in_a_session, listen, leave, over_http, over_oxp,
)  # fmt: skip
WEIGHTS = (10, 2, 1, 2, 3, 1, 2, 2, 2, 2)
