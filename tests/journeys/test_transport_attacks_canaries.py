"""Systems that repeat what they were shown, over MCP, queues, databases and people's channels: it is written nowhere.

A real workspace on disk, with its command line. MCP servers repeat their credentials in definitions, results, errors, progress,
logs and last words; a queue repeats them in replies that nobody can use; a database in its errors. Then every byte of every
file, output, result and log line is looked through.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

from ferrule.app.opening import open_app
from ferrule.model.result import Result
from tests.contracts.transports.fake_upstream import aml
from tests.infra.clouds.far import Asked, Far, Reply, far
from tests.journeys.canaries import found_in
from tests.journeys.test_canaries import listening
from tests.runtime.executors.queue.tools import account, eventually, queue_tool

SERVER = Path(__file__).with_name("telling_server.py")


def canary(number: int) -> str:
    return f"Kv9qZx7w{number:03}noiseJt4mWb8k"


ENVIRONMENT = {
    "OF_PROGRAM": canary(1),
    "OF_HTTP": canary(2),
    "OF_QUEUE": json.dumps({"shared_access_key_name": "send", "shared_access_key": canary(3)}),
    "OF_DATABASE": json.dumps(
        {"host": "127.0.0.1", "port": 1, "database": "x", "username": "u", "password": canary(4)}
    ),
    "OF_PERSON": canary(5),
    "OF_MARIA": json.dumps({"host": "127.0.0.1", "port": 1, "database": "x", "username": "u", "password": canary(6)}),
}
SETTINGS = """namespace = "n"
[network]
allow = ["127.0.0.1"]
[results]
max_inline_bytes = 600
[policy]
mode = "trusted"
[queue]
set_aside = "aside"
[mcp.servers.telling]
command = [{program}]
env = {{TOKEN = "${{OF_PROGRAM}}"}}
[mcp.servers.dying]
command = [{dying}]
env = {{TOKEN = "${{OF_PROGRAM}}"}}
[[sinks]]
kind = "jsonl"
path = "events.jsonl"
level = "full"
"""


class Repeating:
    """One address for all: an MCP server over HTTP, a Service Bus, and whoever hears of people's tasks."""

    def __init__(self) -> None:
        self.replies = 0

    def answer(self, asked: Asked) -> Reply:
        shown = asked.headers.get("authorization", "")
        encoded = base64.b64encode(shown.encode()).decode()
        heads = {"x-ms-request-id": shown, "X-Request-Id": encoded, "Mcp-Session-Id": "s1"}
        if asked.path == "/mcp":
            return self._mcp(asked, shown, heads)
        if asked.path == "/jobs/messages":
            return Reply(201, b"", heads)
        if asked.path.startswith("/replies/messages/head"):
            return self._reply(shown, encoded)
        if asked.path.startswith("/tasks"):
            return Reply(500, shown.encode(), heads)
        return Reply(200, b"", heads)

    def _reply(self, shown: str, encoded: str) -> Reply:
        if self.replies >= 3:
            return Reply(204, b"")
        self.replies += 1
        signature = shown.partition("sig=")[2].partition("&")[0]
        body = [shown, json.dumps({"correlation_id": "inv_x" * 50, "said": shown, "encoded": encoded}), "\xff" + shown]
        properties = {"MessageId": signature, "SequenceNumber": self.replies, "LockToken": "l", "DeliveryCount": 9}
        heads = {"BrokerProperties": json.dumps({**properties, "CorrelationId": ""})}
        return Reply(200, body[self.replies - 1].encode("latin-1"), heads)

    def _mcp(self, asked: Asked, shown: str, heads: dict[str, str]) -> Reply:
        if asked.method != "POST":
            return Reply(405, b"")
        message = json.loads(asked.body)
        number, method = message.get("id"), message.get("method")
        if number is None:
            return Reply(202, b"")
        plain = {**heads, "Content-Type": "application/json"}
        if method == "initialize":
            found: dict[str, Any] = {
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": shown, "version": shown}, "instructions": shown,
            }  # fmt: skip
        elif method == "tools/list":
            names = ("repeat", "refuse", "break-off")
            found = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
        elif method == "tools/call":
            name = message["params"]["name"]
            if name == "break-off":
                return Reply(500, shown.encode() * 30, plain)
            if name == "refuse":
                error = {"code": -32602, "message": "x" * 1_970 + shown, "data": {shown: shown}}
                return Reply(200, {"jsonrpc": "2.0", "id": number, "error": error}, plain)
            found = {
                "content": [{"type": "text", "text": shown}],
                "structuredContent": {shown: [shown]},
                "_meta": {"a": shown},
            }
        else:
            return Reply(200, {"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": shown}}, plain)
        return Reply(200, {"jsonrpc": "2.0", "id": number, "result": found}, plain)


def _human(server: Far) -> str:
    text = aml("person", f"""\
  type: rest-api
  base_url: "{server.url}"
  endpoint: POST /tasks
  credentials: {{scheme: bearer-token, source: env, name: OF_PERSON}}""")  # fmt: skip
    definition = yaml.safe_load(text.split("---\n")[1])
    return f"---\n{yaml.safe_dump({**definition, 'type': 'human'})}---\n"


def _database(name: str, engine: str, variable: str) -> str:
    return aml(name, f"""\
  type: database
  engine: {engine}
  query_method: parameterised-sql
  x-statement: "SELECT 1 AS one"
  credentials: {{scheme: service-account, source: env, name: {variable}}}""")  # fmt: skip


def lay_out(root: Path, server: Far) -> list[str]:
    """The workspace, and the tools that are called."""
    words = [", ".join(json.dumps(word) for word in (sys.executable, str(SERVER), kind)) for kind in ("tell", "die")]
    (root / "tools").mkdir(parents=True)
    (root / "ferrule.toml").write_text(SETTINGS.format(program=words[0], dying=words[1]))
    back = {"response_queue_url": f"{server.url}/replies", "credentials": account("OF_QUEUE")}
    files = {
        "queued": queue_tool("queued", "azure", f"{server.url}/jobs", **{"x-service": "service-bus", **back}),
        "postgres": _database("postgres", "postgresql", "OF_DATABASE"),
        "maria": _database("maria", "mysql", "OF_MARIA"),
        "person": _human(server),
    }
    for name in ("repeat", "refuse", "break-off"):
        files[name] = aml(name, f"""\
  type: mcp
  url: "{server.url}/mcp"
  tool_name: {name}
  protocol_version: "2025-11-25"
  credentials: {{scheme: bearer-token, source: env, name: OF_HTTP}}""")  # fmt: skip
    for name, text in files.items():
        (root / "tools" / f"{name}.tool.md").write_text(text)
    return [*files, "say", "fail", "ask", "crash"]


def _ferrule(root: Path, *words: str) -> str:
    env = {**os.environ, **ENVIRONMENT, "PYTHONASYNCIODEBUG": "1", "HOME": str(root)}
    ran = subprocess.run(
        [sys.executable, "-m", "ferrule", *words], cwd=root, env=env, capture_output=True, text=True, timeout=60
    )
    return ran.stdout + ran.stderr


async def _called(root: Path, names: list[str]) -> Iterator[bytes]:
    """Every result, and what is shown of those that wait."""
    told: list[bytes] = []
    kinds: dict[str, str] = {}
    async with open_app(root, environment={**ENVIRONMENT, "PATH": os.environ["PATH"]}) as app:
        surface = app.surface()
        for name in names:
            found = await surface.call(name, {})
            kinds[name] = found.status if isinstance(found, Result) else "pending"
            told.append(repr(found).encode())
            if isinstance(found, Result):
                told.append(msgspec.json.encode(found.to_record(), enc_hook=repr))
        await eventually(lambda: len(list((root / "aside").glob("*.json"))) == 3)
    expected = {"say": "succeeded", "repeat": "succeeded", "person": "pending", "queued": "pending"}
    assert {name: kinds[name] for name in expected} == expected, kinds
    return iter(told)


def test_what_systems_repeat_is_written_and_shown_nowhere(tmp_path: Path) -> None:
    """AML-71."""
    asyncio.run(asyncio.wait_for(_story(tmp_path), 90))


async def _story(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    told: list[tuple[str, bytes]] = []
    with far(Repeating().answer) as server, listening() as lines:
        names = lay_out(root, server)
        locked = await asyncio.to_thread(_ferrule, root, "lock")
        assert "telling" in locked
        told += [("a result", said) for said in await _called(root, names)]
        shown = {asked.headers.get("authorization", "") for asked in server.asked}
        assert any(canary(2) in each for each in shown) and any(canary(5) in each for each in shown), (
            "each was really used"
        )
        commands = [
            ("lock", "--show", "--json"),
            ("doctor", "--json", "--timeout", "5"),
            ("log", "--json"),
            ("pending", "--json"),
        ]
        outputs = await asyncio.gather(*(asyncio.to_thread(_ferrule, root, *words) for words in commands))
        told += [(" ".join(words), output.encode()) for words, output in zip(commands, outputs, strict=True)]
        assert all('"' in output for output in outputs), outputs
    told += [("the log", lines.text.getvalue().encode("utf-8", "replace")), ("ferrule lock", locked.encode())]
    told += [(str(file), file.read_bytes()) for file in root.rglob("*") if file.is_file()]
    assert any(what.endswith("ferrule.lock") for what, _ in told)
    leaks = [f"{what}: {where}" for what, said in told if (where := found_in(said)) is not None]
    for file in (root / "aside").glob("*.json"):
        held = base64.b64decode(json.loads(file.read_text())["body_base64"])
        leaks += [f"{file}: {held!r}"] if b"sig=" in held and b"REDACTED" not in held else []
    assert not leaks, "\n\n".join(leaks)
