"""Requests that nobody should send, by the thousand, against a real server: each gets a proper answer of its protocol.

The server logs no failure of its own, never leaves a client waiting, and serves on afterwards. FERRULE_SOAK=N makes it 100,000
cases; the same seed makes the same cases (FERRULE_SEED).
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.servers import cases
from tests.servers.cases import Case
from tests.servers.hostile import hostile_text
from tests.servers.local_server import Reply
from tests.servers.plain_client import META, Broken, PlainClient, modern_headers, rpc
from tests.servers.running import WAIT_SECONDS, Running, running, workspace

SEED = int(os.environ.get("FERRULE_SEED", "1"))
CASES = 100_000 if os.environ.get("FERRULE_SOAK") else 4_000
TOML = "[serve.mcp]\nwait_seconds = 0\ntask_after_seconds = 1\n[serve.limits]\nbody_bytes = 200_000\nstreams = 1000\n"
_LEAKS = ("Traceback", 'File "', "/src/ferrule", "site-packages", "msgspec.", "object at 0x")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(workspace(tmp_path_factory.mktemp("fuzzed"), TOML)) as found:
        yield found


class Fuzzer:
    """Sends cases one after the other, and looks at each answer."""

    def __init__(self, server: Running, token: str, name: str) -> None:
        self.server = server
        self.client = PlainClient(server.port, token)
        self.chance = Random(f"{SEED} {name}")
        self.statuses: Counter[int] = Counter()

    def __enter__(self) -> Fuzzer:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.client.close()

    def put(self, case: Case) -> Reply | None:
        """One case; gives its answer, None where it is a stream."""
        client = self.client
        try:
            client.send(client.request(case.method, case.path, case.body, case.headers))
            reply = self._reply(case)
        except (Broken, TimeoutError, OSError) as error:
            client.close()
            raise AssertionError(
                f"no answer ({error!r}) to\n{cases.shown(case)}\n{self.server.complaints()}"
            ) from error
        complaints = self.server.complaints()
        assert not complaints, f"{complaints}\nto\n{cases.shown(case)}"
        return reply

    def _reply(self, case: Case) -> Reply | None:
        client = self.client
        status, headers = client.head()
        while status == 100:
            status, headers = client.head()
        self.statuses[status] += 1
        if headers.get("content-type") == "text/event-stream" and "transfer-encoding" in headers:
            client.close()  # it may have no end
            return None
        is_empty = case.method == "HEAD" or status in (204, 304)
        body = b"" if is_empty else client._exactly(int(headers["content-length"]))
        if headers.get("connection") == "close":
            client.close()
        return Reply(status, headers, body)

    def is_well(self) -> None:
        """Good requests are answered well after all this."""
        self.client.close()
        response = self.client.call("add", {"a": 20, "b": 22})
        assert response["result"]["structuredContent"] == 42, response
        self.client.close()


def demand_no_leak(case: Any, text: str) -> None:
    assert not any(mark in text for mark in _LEAKS), f"{text}\nto\n{cases.shown(case)}"


def demand_rpc(case: Any, said: Any) -> None:
    """A response of JSON-RPC, or several."""
    for one in said if isinstance(said, list) else [said]:
        assert isinstance(one, dict) and one["jsonrpc"] == "2.0", (one, cases.shown(case))
        if "error" in one:
            assert "result" not in one and type(one["error"]["code"]) is int, (one, cases.shown(case))
            assert one["error"]["code"] != -32603, (one, cases.shown(case))
            demand_no_leak(case, json.dumps(one["error"]))
        elif "method" not in one:
            assert "result" in one and "id" in one, (one, cases.shown(case))


def demand_mcp(case: Case, reply: Reply | None) -> None:
    if reply is None:
        return
    assert reply.status < 500, (reply, cases.shown(case))
    kind = reply.headers.get("content-type", "")
    if case.method == "HEAD":
        return
    if kind == "application/problem+json":
        demand_problem(case, reply)
    elif reply.body and kind == "application/json":
        demand_rpc(case, json.loads(reply.body))
    else:
        assert reply.status in (200, 202, 204, 405), (reply, cases.shown(case))


def demand_problem(case: Case, reply: Reply) -> None:
    said = json.loads(reply.body)
    assert said["status"] == reply.status and said["code"] and said["detail"], (reply, cases.shown(case))
    demand_no_leak(case, reply.body.decode())


def demand_api(case: Case, reply: Reply | None) -> None:
    if reply is None:
        return
    assert reply.status < 500, (reply, cases.shown(case))
    if reply.status >= 400 and case.method != "HEAD":
        assert reply.headers["content-type"] in ("application/problem+json", "text/plain"), (reply, cases.shown(case))
        if reply.headers["content-type"] != "text/plain":
            demand_problem(case, reply)
    elif reply.body and reply.headers["content-type"] == "application/json":
        json.loads(reply.body)


def demand_oxp(case: Case, reply: Reply | None) -> None:
    assert reply is not None and reply.status < 500, (reply, cases.shown(case))
    if reply.headers.get("content-type") == "application/json" and reply.body:
        said = json.loads(reply.body)
        if reply.status >= 400:
            assert said["message"] and said["$schema"], (reply, cases.shown(case))
            demand_no_leak(case, reply.body.decode())
    elif case.method != "HEAD":
        assert reply.headers["content-type"] in ("application/problem+json", "text/plain"), (reply, cases.shown(case))


def test_messages_of_the_revision_without_sessions(server: Running) -> None:
    """MCP-16 to MCP-25, MCP-55, MCP-289."""
    with Fuzzer(server, server.token(), "modern") as fuzzer:
        for _ in range(CASES * 3 // 10):
            case = cases.modern(fuzzer.chance)
            demand_mcp(case, fuzzer.put(case))
        assert {200, 202, 400, 404} <= fuzzer.statuses.keys()
        fuzzer.is_well()


def test_arguments(server: Running) -> None:
    """Whatever a tool's arguments are, the call has a result or a refusal."""
    with Fuzzer(server, server.token(), "arguments") as fuzzer:
        for _ in range(CASES // 20):
            case = Case("POST", "/mcp", cases.MODERN_HEADERS, cases.arguments_text(fuzzer.chance))
            demand_mcp(case, fuzzer.put(case))
        fuzzer.is_well()


def test_messages_of_sessions(server: Running) -> None:
    """MCP-16 to MCP-25, MCP-72 to MCP-76, MCP-289."""
    with Fuzzer(server, server.token(), "sessioned") as fuzzer:
        sessions = [fuzzer.client.session(revision) for revision in ("2025-11-25", "2025-06-18", "2025-03-26")]
        for number in range(CASES * 2 // 10):
            case = cases.sessioned(fuzzer.chance, sessions[number % 3])
            reply = fuzzer.put(case)
            demand_mcp(case, reply)
            if reply is not None and "mcp-session-id" in reply.headers:
                ended = {"Mcp-Session-Id": reply.headers["mcp-session-id"]}
                assert fuzzer.client.ask("DELETE", "/mcp", b"", ended).status == 200
        assert {200, 202, 400, 404} <= fuzzer.statuses.keys()
        fuzzer.is_well()


@pytest.mark.parametrize("who", ["agent", "owner"])
def test_requests_to_the_http_api(server: Running, who: str) -> None:
    with Fuzzer(server, server.token() if who == "agent" else server.owner(), f"api {who}") as fuzzer:
        for number in range(CASES // 10):
            if number % 40 == 0:
                calls = _calls_of_every_kind(server, f"{who}-{number}")
            case = cases.api(fuzzer.chance, calls)
            demand_api(case, fuzzer.put(case))
        assert {200, 400, 404, 405} <= fuzzer.statuses.keys()


def _calls_of_every_kind(server: Running, key: str) -> list[str]:
    """Calls that ended, that wait for an approval, and that wait for their client."""
    found = []
    with PlainClient(server.port, server.token()) as client:
        for tool, arguments, asked in (
            ("act", {"n": 1, "key": key}, []),
            ("pay", {"n": 1, "key": key}, []),
            ("ask", {"what": key}, ["elicitation"]),
            ("large", {"size": 300_000}, []),
        ):
            body = json.dumps({"tool": tool, "arguments": arguments, "client": asked}).encode()
            reply = client.ask("POST", "/v1/calls", body, {"Content-Type": "application/json"})
            assert reply.status in (200, 202), reply
            found.append(reply.json()["invocation_id"])
    return found


def test_answers_of_clients(server: Running) -> None:
    """What a client answers when it is asked, in a session and by repeating its request (MCP-84, MCP-89)."""
    asked: dict[str, Any] = {"elicitation": {}}
    good = {"action": "accept", "content": {"name": "Ada"}}
    with Fuzzer(server, server.token(), "answers") as fuzzer, PlainClient(server.port, server.token()) as side:
        session = side.session(capabilities=asked)
        for number in range(CASES // 40):
            ask = rpc("tools/call", {"name": "ask", "arguments": {"what": "?"}}, number)
            side.send(side.request("POST", "/mcp", json.dumps(ask).encode(), session))
            side.head()
            question = json.loads(_data(side))
            answer = {"jsonrpc": "2.0", "id": question["id"], "result": good}
            for text in (hostile_text(answer, fuzzer.chance), json.dumps(answer).encode()):
                case = Case("POST", "/mcp", session, text)
                demand_mcp(case, fuzzer.put(case))
            said = json.loads(_data(side))
            assert said["id"] == number and ("result" in said or said["error"]["message"]), said
            side.chunk()
            params = {"name": "ask", "arguments": {"what": "?"}}
            meta = {**META, "io.modelcontextprotocol/clientCapabilities": asked}
            first = side.modern("tools/call", params, **meta).json()["result"]
            again = {**params, "requestState": first["requestState"], "inputResponses": {"form": good}, "_meta": meta}
            text = hostile_text(rpc("tools/call", again, number), fuzzer.chance)
            case = Case("POST", "/mcp", modern_headers("tools/call", params), text)
            demand_mcp(case, fuzzer.put(case))
        fuzzer.is_well()


def _data(client: PlainClient) -> str:
    """The next event that says something."""
    while not (event := client.event()).get("data"):
        pass
    return event["data"]


def test_requests_to_the_oxp_server(server: Running) -> None:
    """OXP-23, OXP-26."""
    with Fuzzer(server, server.token(), "oxp") as fuzzer:
        for _ in range(CASES // 10):
            case = cases.oxp(fuzzer.chance)
            demand_oxp(case, fuzzer.put(case))
        assert {200, 400} <= fuzzer.statuses.keys()
        fuzzer.is_well()


def test_bytes_that_may_be_http(server: Running) -> None:
    """Every answer that comes is whole HTTP, none is a failure of ours, and the connection ends when its client is done."""
    chance = Random(f"{SEED} raw")
    statuses: Counter[int] = Counter()
    for _ in range(CASES // 10):
        text = cases.raw(chance)
        client = PlainClient(server.port)
        try:
            try:
                client.send(text)
                client.connection.shutdown(1)
                while True:
                    status, headers = client.head()
                    statuses[status] += 1
                    assert status < 500 or status in (501, 505), cases.shown(text)
                    if status != 100 and "content-length" in headers and not text.startswith(b"HEAD"):
                        client._exactly(int(headers["content-length"]))
            except (Broken, ConnectionError):
                pass
            except TimeoutError as error:
                raise AssertionError(f"it waits for ever after {cases.shown(text)}") from error
        finally:
            client.close()
        complaints = server.complaints()
        assert not complaints, f"{complaints}\nto\n{cases.shown(text)}"
    assert {200, 400, 401} <= statuses.keys()
    with Fuzzer(server, server.token(), "well") as fuzzer:
        fuzzer.is_well()


def test_lines_of_a_pipe(tmp_path: Path) -> None:
    """MCP-18, MCP-19, MCP-28, MCP-32: each line of output is a message, every request that can be read is answered."""
    folder = workspace(tmp_path, TOML)
    chance = Random(f"{SEED} lines")
    words = [sys.executable, "-m", "ferrule", "serve", "--stdio", "--workspace", str(folder)]
    log = tmp_path / "stdio.log"
    with log.open("wb") as complaints:
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints)
    pipe = _Pipe(process)
    try:
        for number in range(CASES // 10 // 50):
            sent = [cases.line(chance) for _ in range(50)]
            last = f"last-{number}"
            sent.append(json.dumps({"jsonrpc": "2.0", "id": last, "method": "ping"}).encode())
            for said in pipe.exchange(b"\n".join(sent) + b"\n", last):
                demand_rpc(b"\n".join(sent), said)
            assert "Traceback" not in log.read_text(), log.read_text()
    finally:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        try:
            code = process.wait(WAIT_SECONDS)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
    assert code == 0
    assert "ERROR" not in log.read_text(), log.read_text()


class _Pipe:
    """Both ends of a pipe, without anybody waiting for the other."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._to, self._from = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._to, False)
        self._rest = b""

    def exchange(self, data: bytes, last: str) -> list[Any]:
        """Send, and read until the response to the last request comes; gives every message."""
        said: list[Any] = []
        while True:
            readable, writable, _ = select.select([self._from], [self._to] if data else [], [], WAIT_SECONDS)
            assert readable or writable, "nothing is read or written any more"
            if writable:
                data = data[os.write(self._to, data[:65_536]) :]
            if readable:
                came = os.read(self._from, 1 << 20)
                assert came, "it has ended"
                *lines, self._rest = (self._rest + came).split(b"\n")
                said += [json.loads(line) for line in lines]
                if any(isinstance(one, dict) and one.get("id") == last for one in said):
                    return said
