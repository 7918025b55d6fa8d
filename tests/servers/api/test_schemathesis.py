"""The document is true: a fuzzer that reads it finds nothing that the server does otherwise.

`make test` runs a short form: every bound of every parameter once, and a little by chance. The long one, with every phase and 200
examples an operation for each kind of credential and for calls in every state:
    FERRULE_EXAMPLES=200 pytest tests/servers/api/test_schemathesis.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from ferrule.access.keys import Access
from ferrule.model.approval import ADMIN, APPROVE, CALL
from tests.servers.local_server import ServerProcess, running_process

EXAMPLES = int(os.environ.get("FERRULE_EXAMPLES", "0"))
KINDS: dict[str, list[str]] = {"everything": [CALL, APPROVE, ADMIN], "agent": [CALL], "owner": [APPROVE, ADMIN]}
REFUSALS = ["400", "401", "403", "404", "405", "406", "409", "413", "414", "415", "422", "429", "431"]
CHECKS = f"[checks.negative_data_rejection]\nexpected-statuses = {REFUSALS}"
"""What is too long to be read is refused, too: the fuzzer does not count 414 by itself."""
TOML = '[functions]\nmodules = ["tools.py"]\n'
TOOLS = '''
import ferrule


@ferrule.tool(read_only=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@ferrule.tool(approval_required=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"
'''


def run(folder: Path, server: ServerProcess, secret: str, *options: str, settings: str = "") -> None:
    """Let the fuzzer loose on a server."""
    (folder / "st.toml").write_text(f"{CHECKS}\n{settings}")
    words = [sys.executable, "-m", "schemathesis.cli", "--config-file", "st.toml", "run", f"{server.url}/v1/openapi.json",
             "--checks", "all", "--seed", "0", "--header", f"Authorization: Bearer {secret}", "--request-timeout", "30",
             "--no-color", *options]  # fmt: skip
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=3000)
    told = "\n".join(line[:300] for line in done.stdout.splitlines())
    assert done.returncode == 0, told[-8000:] + done.stderr[-2000:]


def workspace(folder: Path) -> None:
    (folder / "ferrule.toml").write_text(TOML)
    (folder / "tools.py").write_text(TOOLS)


def key(folder: Path, kind: str) -> str:
    access = Access(folder)
    return access.add(access.local_owner(), f"a fuzzer with {kind}", KINDS[kind])[1]


def test_a_fuzzer_finds_nothing(tmp_path: Path) -> None:
    workspace(tmp_path)
    with running_process(tmp_path) as server:
        run(tmp_path, server, key(tmp_path, "everything"), "--phases", "coverage,fuzzing", "--max-examples", "2")


@pytest.mark.skipif(not EXAMPLES, reason="long: set FERRULE_EXAMPLES")
@pytest.mark.parametrize("kind", KINDS)
def test_a_fuzzer_finds_nothing_in_a_long_time(tmp_path: Path, kind: str) -> None:
    workspace(tmp_path)
    with running_process(tmp_path) as server:
        run(tmp_path, server, key(tmp_path, kind), "--max-examples", str(EXAMPLES))


@pytest.mark.skipif(not EXAMPLES, reason="long: set FERRULE_EXAMPLES")
@pytest.mark.parametrize(("tool", "arguments"), [("add", {"a": 1, "b": 2}), ("pay", {"amount": 1})])
def test_a_fuzzer_finds_nothing_about_calls_that_are_there(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    workspace(tmp_path)
    with running_process(tmp_path) as server:
        secret = key(tmp_path, "everything")
        body = json.dumps({"tool": tool, "arguments": arguments}).encode()
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(f"{server.url}/v1/calls", body, headers)) as reply:
            call = json.load(reply)["invocation_id"]
        names = {"invocation_id": call, "tool": tool, "tool_id": f"{tmp_path.name}.{tool}", "number": "0"}
        lines = [f'"path.{name}" = {json.dumps(value)}' for name, value in names.items()]
        settings = "\n".join(["[parameters]", *lines])
        run(tmp_path, server, secret, "--max-examples", str(max(20, EXAMPLES // 5)), settings=settings)
