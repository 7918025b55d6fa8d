"""A built-in tool does not change what judges it: the files of hooks and guardrails are out of its reach."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import ferrule
from ferrule.model.result import Result

AGENT = """
apiVersion: adl.inference-gateway.com/v1
kind: Agent
metadata: {name: clerk, description: Keeps notes., version: "1.0.0"}
spec:
  capabilities: {streaming: false, pushNotifications: false, stateTransitionHistory: false}
  tools: [{id: write}]
  config: {tools: {write: {enabled: true}}}
  server: {port: 8080}
  language: {go: {module: example.com/clerk, version: "1.24"}}
"""
SETTINGS = """
[policy]
mode = "trusted"

[[hooks]]
id = "a"
event = "pre_tool_use"
kind = "function"
function = "hooks/check.py:look"
tools = ["none"]

[[hooks]]
id = "b"
event = "pre_tool_use"
kind = "command"
command = ["python3", "-u", "hooks/program.py"]
tools = ["none"]

[[guardrails]]
id = "c"
at = ["tool_input"]
kind = "function"
function = "scan.py:look"
tools = ["none"]
"""
CHECK = "def look(told):\n    return None\n"


@pytest.mark.parametrize("file", ["hooks/check.py", "hooks/program.py", "scan.py", "hooks/../scan.py"])
def test_what_is_asked_about_calls_is_not_written_by_one(tmp_path: Path, file: str) -> None:
    (tmp_path / "ferrule.toml").write_text(SETTINGS)
    (tmp_path / "clerk.yaml").write_text(AGENT)
    (tmp_path / "hooks").mkdir()
    for name in ("hooks/check.py", "hooks/program.py", "scan.py"):
        (tmp_path / name).write_text(CHECK)

    async def written() -> list[object]:
        async with ferrule.open(tmp_path) as app:
            surface = app.surface(principal="ann")
            return [await surface.call("write", {"file_path": path, "content": "x"}) for path in (file, "notes.txt")]

    refused, done = asyncio.run(written())
    assert isinstance(refused, Result) and refused.error is not None and refused.error.error_code == "path_protected"
    assert isinstance(done, Result) and done.status == "succeeded"
    assert (tmp_path / file).read_text() == CHECK
