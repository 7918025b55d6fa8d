"""A server that is killed under load, again and again: nothing that a client was told is lost, and nothing happens twice.

Clients act over MCP and over the HTTP API, each with a key of its own, and repeat whatever was not answered. FERRULE_SOAK=N kills
the server N times instead of a few.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import ferrule
from ferrule.app.custody.check import verify_ledger
from ferrule.app.ledger_file import LEDGER_PUBLIC
from ferrule.definitions.compiler.seal import read_trusted_keys
from ferrule.model.journal import StoredEntry
from tests.faults.place import SOAK, played, rows_by_call
from tests.servers.plain_client import Broken, PlainClient
from tests.servers.running import Running, until, workspace

KILLS = max(min(SOAK, 60), 4)
KEY = "dev.ferrule/idempotency-key"
TASKS: dict[str, Any] = {
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}
}
TOML = "[serve.mcp]\nwait_seconds = 0\n"


class Told(NamedTuple):
    """What a client was told about one key."""

    way: str
    tool: str
    key: str
    state: str
    """`succeeded`, or what the call waits for: `awaiting_approval`, `needs_input`, `running`; or the code of an error."""
    invocation: str
    task: str = ""


class Client(threading.Thread):
    """Acts for as long as it is let, one key after the other, and keeps what it is told."""

    def __init__(self, server: Running, number: int, stop: threading.Event) -> None:
        super().__init__(name=f"client-{number}", daemon=True)
        self._server, self._number, self._stopping = server, number, stop
        self.told: list[Told] = []
        self.failed: BaseException | None = None

    def run(self) -> None:
        try:
            with PlainClient(self._server.port, self._server.token()) as client:
                count = 0
                while not self._stopping.is_set():
                    count += 1
                    key = f"k-{self._number}-{count}"
                    tool = "pay" if count % 5 == 0 else "act"
                    way = ("mcp", "http", "task")[(self._number + count) % 3]
                    self.told.append(self._answered(client, way, tool, key))
        except BaseException as error:
            self.failed = error

    def _answered(self, client: PlainClient, way: str, tool: str, key: str) -> Told:
        """Ask until there is an answer, with the same key."""
        while True:
            try:
                found = _by_http(client, tool, key) if way == "http" else _by_mcp(client, way, tool, key)
                if found is not None:
                    return found
            except (Broken, ConnectionError, TimeoutError):
                client.close()
            time.sleep(0.02)  # the server may be on its way up again


def _arguments(key: str) -> dict[str, Any]:
    return {"n": 1, "key": key}


def _by_mcp(client: PlainClient, way: str, tool: str, key: str) -> Told | None:
    """None when the server is about to stop."""
    meta = {KEY: key, **(TASKS if way == "task" else {})}
    response = client.call(tool, _arguments(key), **meta)
    if "error" in response:
        raise AssertionError(f"{key}: {response}")
    result = response["result"]
    if result["resultType"] == "task":
        task = result.get("taskId") or result["task"]["taskId"]
        return Told(way, tool, key, "task", "", task)
    said = result["_meta"]
    state = said.get(
        "dev.ferrule/state", "succeeded" if not result.get("isError") else str(said.get("dev.ferrule/error"))
    )
    return Told(way, tool, key, state, said["dev.ferrule/invocation"])


def _by_http(client: PlainClient, tool: str, key: str) -> Told | None:
    body = json.dumps({"tool": tool, "arguments": _arguments(key)}).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": key, "Prefer": "wait=5"}
    reply = client.ask("POST", "/v1/calls", body, headers)
    if reply.status == 503:
        return None
    said = reply.json()
    assert reply.status in (200, 202), (key, reply)
    state = said["state"] if reply.status == 202 else said["result"]["status"]
    return Told("http", tool, key, state, said["invocation_id"])


def test_a_killed_server_loses_nothing_that_was_told(tmp_path: Path) -> None:
    """Promises 1, 3, 6 and 7, from outside: over MCP with and without tasks, and over the HTTP API."""
    chance, folder = random.Random(7), workspace(tmp_path, TOML)
    server, stop = Running(folder), threading.Event()
    server.start()
    clients = [Client(server, number, stop) for number in range(4)]
    try:
        for client in clients:
            client.start()
        for _ in range(KILLS):
            acted = len(effects(folder))
            until(lambda seen=acted: len(effects(folder)) > seen + 3, "another effect")  # type: ignore[misc]
            time.sleep(chance.uniform(0.0, 0.2))  # the moment of death, not a wait for something
            server.kill()
            server.start()
        acted = len(effects(folder))
        until(lambda: len(effects(folder)) > acted, "an effect after the last restart")
        stop.set()
        for client in clients:
            client.join(60)
            assert not client.is_alive() and client.failed is None, client.failed
        told = [one for client in clients for one in client.told]
        _check_waiting(server, told)
    finally:
        stop.set()
        if server.process is not None and server.process.poll() is None:
            assert server.stop() == 0
    assert not server.complaints()
    calls = played(_read(folder))
    _check(folder, told, calls)
    verdict = verify_ledger(folder / ".ferrule" / "ledger.db", read_trusted_keys(folder / LEDGER_PUBLIC))
    assert not verdict.findings


def test_what_nobody_knows_is_told_as_unknown_until_a_person_settles_it(tmp_path: Path) -> None:
    """The server dies after the tool acted and before its end is on record: repeating the call does not repeat the effect."""
    folder = workspace(tmp_path, TOML)
    server = Running(folder)
    server.start()
    try:
        with PlainClient(server.port, server.token()) as client:
            body = json.dumps({"tool": "drag", "arguments": _arguments("lost")}).encode()
            headers = {"Content-Type": "application/json", "Idempotency-Key": "lost"}
            client.send(client.request("POST", "/v1/calls", body, headers))
            until(lambda: effects(folder)["lost"] == 1, "the effect")
            server.kill()
            server.start()
            client.close()
            over_http, over_mcp = _by_http(client, "drag", "lost"), _by_mcp(client, "mcp", "drag", "lost")
            assert over_http is not None and over_mcp is not None
            assert {over_http.state, over_mcp.state} == {"needs_input"}, (over_http, over_mcp)
            assert over_http.invocation == over_mcp.invocation
            again = client.call("drag", _arguments("lost"), **{KEY: "lost"})["result"]["content"][0]["text"]
            assert "Do not make the call again" in again
        with PlainClient(server.port, server.owner()) as owner:
            (item,) = owner.ask("GET", "/v1/approvals").json()["items"]
            assert (item["invocation_id"], item["purpose"]) == (over_http.invocation, "outcome")
            settled = json.dumps({"happened": True, "reason": "the log says so"}).encode()
            path = f"/v1/approvals/{over_http.invocation}/settle"
            assert owner.ask("POST", path, settled, {"Content-Type": "application/json"}).status == 200
            assert owner.ask("GET", "/v1/approvals").json()["items"] == []
        assert effects(folder) == {"lost": 1}
    finally:
        server.stop()
    assert not server.complaints()


def effects(folder: Path) -> Counter[str]:
    """The keys whose tool really acted, each with how often."""
    log = folder / "effects.log"
    return Counter(line.split()[1] for line in log.read_text().splitlines()) if log.exists() else Counter()


def _check_waiting(server: Running, told: list[Told]) -> None:
    """What waited before the server died still waits, and goes on when a person says yes."""
    waiting = [one for one in told if one.tool == "pay" and one.state in ("awaiting_approval", "task")]
    assert {"http", "mcp", "task"} <= {one.way for one in waiting}
    with PlainClient(server.port, server.owner()) as owner, PlainClient(server.port, server.token()) as agent:
        listed = owner.ask("GET", "/v1/approvals").json()["items"]
        open_calls = {item["invocation_id"]: item for item in listed}
        for one in waiting:
            if one.task:
                state = agent.modern("tasks/get", {"taskId": one.task}, **TASKS).json()["result"]
                assert state["status"] in ("working", "input_required"), (one, state)
            else:
                assert one.invocation in open_calls, f"{one} waits no more"
        for invocation in open_calls:
            if open_calls[invocation]["purpose"] == "approval":
                reply = owner.ask(
                    "POST", f"/v1/approvals/{invocation}/approve", b"{}", {"Content-Type": "application/json"}
                )
                assert reply.status in (200, 202), reply
        for one in waiting:
            if one.task:
                until(lambda one=one: _is_over(agent, one), f"the end of {one}")  # type: ignore[misc]
    until(lambda: all(effects(server.folder)[one.key] == 1 for one in waiting), "what was approved")


def _is_over(agent: PlainClient, one: Told) -> bool:
    state = agent.modern("tasks/get", {"taskId": one.task}, **TASKS).json()["result"]
    return bool(state["status"] == "completed")


async def _read(folder: Path) -> dict[str, list[StoredEntry]]:
    async with ferrule.open(folder, tends=False) as app:
        return await rows_by_call(app)


def _check(folder: Path, told: list[Told], calls: dict[str, list[StoredEntry]]) -> None:
    happened = effects(folder)
    assert set(happened.values()) == {1}, f"something happened twice: {happened.most_common(3)}"
    states = Counter(one.state for one in told)
    assert states["succeeded"] > KILLS, states
    for one in told:
        rows = calls.get(one.invocation)
        if one.task:
            continue
        assert rows, f"{one} was told and is lost"
        if one.state == "succeeded":
            assert rows[-1].kind == "ended" and rows[-1].outcome == "succeeded", one
            assert happened[one.key] == 1, f"{one} is told as a success and never acted"
        elif one.tool == "act":
            assert one.state in ("needs_input", "running"), one
            assert rows[-1].outcome != "succeeded" or happened[one.key] == 1
    by_call = {line.split()[0] for line in (folder / "effects.log").read_text().splitlines()}
    for call in by_call:
        assert "started" in [row.kind for row in calls[call]], f"{call} acted without a record before"
