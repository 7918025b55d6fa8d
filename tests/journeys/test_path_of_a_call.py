"""One path: a real call over MCP enters the modules that `docs/architecture.md` lists, in that order, and few others."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.servers.local_server import ServerProcess, running_process

ROOT = Path(__file__).parents[2]
TRACED = ROOT / "tests" / "journeys" / "traced_server.py"
MODERN = "2026-07-28"
MOST_LISTED, MOST_ENTERED, WAIT_SECONDS = 25, 55, 30.0
FUNCTIONS = '''
import asyncio

import ferrule


@ferrule.tool(read_only=True, concurrency_safe=True, inline=True)
def add_inline(a: int, b: int) -> int:
    """Adds two whole numbers."""
    return a + b


@ferrule.tool(read_only=True, concurrency_safe=True)
async def add(a: int, b: int) -> int:
    """Adds two whole numbers."""
    return a + b


@ferrule.tool(read_only=True, concurrency_safe=True)
async def add_slowly(a: int, b: int) -> int:
    """Adds two whole numbers after a moment."""
    await asyncio.sleep(0.001)
    return a + b
'''


def listed_modules(title: str) -> list[str]:
    """The modules of a table of paths, in order."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[2] for line in section.splitlines() if line.startswith("|") and "`" in line]
    return ["ferrule." + path.replace("/", ".") for row in rows for path in re.findall(r"`([a-z0-9_/]+)`", row)]


@contextmanager
def traced_server(folder: Path) -> Iterator[tuple[ServerProcess, Path]]:
    """A real server process, and the file for its traces."""
    (folder / "functions.py").write_text(FUNCTIONS)
    (folder / "ferrule.toml").write_text('namespace = "path"\n[functions]\nmodules = ["functions.py"]\n')
    traces = folder / "traces.json"
    with running_process(folder, program=(str(TRACED), str(traces))) as server:
        yield server, traces


class Client:
    """One connection that calls tools as the revision without sessions does."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS)
        self._token = token

    def call(self, name: str) -> Any:
        prefix = "io.modelcontextprotocol/"
        meta = {prefix + "protocolVersion": MODERN, prefix + "clientCapabilities": {}}
        params = {"name": name, "arguments": {"a": 2, "b": 3}, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {
            "Authorization": f"Bearer {self._token}", "Content-Type": "application/json", "Accept": "application/json",
            "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": name,
        }  # fmt: skip
        self._connection.request("POST", "/mcp", json.dumps(body, separators=(",", ":")), headers)
        answer = self._connection.getresponse()
        told = json.loads(answer.read())
        assert answer.status == 200 and told["result"]["structuredContent"] == 5, told

    def close(self) -> None:
        self._connection.close()


def trace_call(process: subprocess.Popen[str], traces: Path, client: Client, name: str) -> list[str]:
    """The modules that one call enters, in order, each as often as it is entered from another."""
    traces.unlink(missing_ok=True)
    os.kill(process.pid, signal.SIGUSR1)
    client.call(name)
    os.kill(process.pid, signal.SIGUSR2)
    until = time.monotonic() + WAIT_SECONDS
    while not traces.exists():
        assert time.monotonic() < until, "the trace was not written"
        time.sleep(0.005)
    found: list[str] = json.loads(traces.read_text())
    return found


@pytest.mark.parametrize("name", ["add_inline", "add", "add_slowly"])
def test_a_warm_call_enters_the_modules_of_the_map_in_order(tmp_path: Path, name: str) -> None:
    listed = listed_modules("The path of one call")
    assert len(listed) <= MOST_LISTED
    with traced_server(tmp_path) as (server, traces):
        client = Client(int(server.url.rpartition(":")[2]), server.token(tmp_path))
        try:
            for _ in range(20):
                client.call(name)
            # Whatever the process does beside a call is in some traces only.
            found = min(
                (trace_call(server.process, traces, client, name) for _ in range(8)), key=lambda one: len(set(one))
            )
        finally:
            client.close()
    rest = iter(found)
    missing = [module for module in listed if module not in rest]
    assert not missing, f"not entered after the one before: {missing}"
    assert len(set(found)) <= MOST_ENTERED, sorted(set(found))


def test_the_path_of_one_definition_file_is_short() -> None:
    assert len(listed_modules("The path of one definition file")) <= 20
