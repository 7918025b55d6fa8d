"""Programs of `[mcp.programs]`: they do the work of tools that are defined here, whatever they say about themselves."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ferrule
from ferrule.runtime.executors.mcp.executor import McpRun
from tests.cli.run import ferrule as command_line

_PROGRAM = """
import json, os, sys

for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params", {})
    if "id" not in message:
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "p", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "greet", "description": "Lies.", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call" and params["arguments"].get("name") == "nobody":
        result = {"content": [{"type": "text", "text": "there is nobody"}], "isError": True}
    elif method == "tools/call" and params["arguments"].get("name").startswith("say "):
        result = {"content": [{"type": "text", "text": params["arguments"]["name"][4:]}]}
    elif method == "tools/call":
        said = {"words": f"hello {params['arguments']['name']}", "called": params["name"], "given": os.environ.get("GIVEN")}
        result = {"content": [{"type": "text", "text": json.dumps(said)}], "structuredContent": said}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
_AGENT = """
apiVersion: adl.inference-gateway.com/v1
kind: Agent
metadata: {name: clerk, description: Greets., version: "1.0.0"}
spec:
  capabilities: {streaming: true, pushNotifications: false, stateTransitionHistory: false}
  server: {port: 8080}
  language: {go: {module: example.com/clerk, version: "1.24"}}
  tools:
    - id: greet
      name: greet
      description: Say hello to somebody.
      tags: [greeting]
      schema:
        type: object
        properties: {name: {type: string, minLength: 1, description: Who.}}
        required: [name]
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "clerk.py").write_text(_PROGRAM)
    (tmp_path / "clerk.yaml").write_text(_AGENT)
    (tmp_path / "policy.toml").write_text('[[rules]]\nid = "all"\ndecision = "allow"\nreason = "a test"\n')
    (tmp_path / "ferrule.toml").write_text(
        'namespace = "desk"\n\n[mcp]\nrequire_lock = true\n\n'
        f'[mcp.programs.clerk]\ncommand = [{json.dumps(sys.executable)}, "clerk.py"]\n'
        'tools = ["clerk.*"]\nenv = { GIVEN = "${GIVEN_HERE}" }\n'
    )
    return tmp_path


def _called(workspace: Path, tool: str = "greet", **arguments: Any) -> Any:
    async def story() -> Any:
        async with ferrule.open(workspace, environment={"GIVEN_HERE": "s3cret-value", "PATH": "/usr/bin:/bin"}) as app:
            return await app.surface(principal="ada").call(tool, arguments)

    return asyncio.run(story())


def test_a_program_does_the_work_of_a_defined_tool_and_nothing_is_locked(workspace: Path) -> None:
    result = _called(workspace, name="Ada")
    assert result.status == "succeeded", result.error
    assert result.structured_content["words"] == "hello Ada"
    assert result.structured_content["called"] == "greet"
    assert "s3cret-value" not in str(result)


def test_the_definition_decides_what_is_sent(workspace: Path) -> None:
    """The program says it takes anything; the definition does not."""
    assert _called(workspace, name="").error.error_class == "schema_validation_failed"


def test_what_the_program_says_went_wrong_ends_the_call(workspace: Path) -> None:
    result = _called(workspace, name="nobody")
    assert (result.status, result.error.error_class) == ("failed", "execution_failed")
    assert result.error.message == "the tool 'greet' failed: there is nobody"


_TYPED = """
schema_version: 0.2.0
tool_id: desk.say
namespace: desk
name: say
title: Say
description: Say something.
lifecycle: available
tool_kind: function
input_contract:
  model_input_schema: {type: object, properties: {name: {type: string}}, required: [name]}
output_contract:
  structured_schema: SCHEMA
"""


def _said(workspace: Path, text: str, schema: Any) -> Any:
    """What comes of a text that the program says for a tool with an output schema."""
    file = workspace / "ferrule.toml"
    file.write_text(file.read_text().replace('"clerk.*"', '"clerk.*", "desk.say"'))
    program = workspace / "clerk.py"
    program.write_text(program.read_text().replace('{"name": "greet", ', '{"name": "say", '))
    (workspace / "say.yaml").write_text(_TYPED.replace("SCHEMA", json.dumps(schema)))
    return _called(workspace, "say", name=f"say {text}")


@pytest.mark.parametrize("text", ['{"a": 1}', "[1]", "12"])
@pytest.mark.parametrize("kind", [{"type": ["string", "null"]}, {"anyOf": [{"type": "object"}, {"type": "string"}]}])
def test_a_text_that_looks_like_json_stays_a_text(workspace: Path, text: str, kind: Any) -> None:
    """A program says what is structured as such."""
    result = _said(workspace, text, kind)
    assert (result.status, result.value) == ("succeeded", text), result.error


def test_a_text_of_a_tool_that_promises_nothing_stays_a_text(workspace: Path) -> None:
    assert _called(workspace, name='say {"a": 1}').value == '{"a": 1}'


def test_structure_in_a_text_is_read_where_the_definition_takes_no_text(workspace: Path) -> None:
    assert _said(workspace, '{"a": 1}', {"type": "object"}).value == {"a": 1}


def test_the_doctor_finds_the_program(workspace: Path) -> None:
    ran = command_line("doctor", folder=workspace, environment={"GIVEN_HERE": "x"})
    assert "clerk.greet  program" in ran.out
    assert "the tool is there" in ran.out


def test_a_tool_that_no_program_names_is_told_where_to_name_one(workspace: Path) -> None:
    file = workspace / "ferrule.toml"
    file.write_text(file.read_text().replace("clerk.*", "other.*"))
    ran = command_line("doctor", folder=workspace, environment={"GIVEN_HERE": "x"})
    assert "[mcp.programs]" in ran.out


def test_a_folder_outside_of_the_workspace_is_refused(workspace: Path) -> None:
    file = workspace / "ferrule.toml"
    file.write_text(file.read_text() + 'cwd = "../.."\n')
    result = _called(workspace, name="Ada")
    assert result.error.error_class == "setup_required"
    assert "leaves the workspace" in result.error.message


@pytest.mark.parametrize("name", ["clerk.greet", "greet"])
def test_a_program_may_call_its_tools_by_their_namespaces(workspace: Path, name: str) -> None:
    """Two agents may each have a `greet`: one program can do the work of both."""
    listed = json.dumps(name)
    program = workspace / "clerk.py"
    program.write_text(program.read_text().replace('{"name": "greet", "desc', f'{{"name": {listed}, "desc'))
    result = _called(workspace, name="Ada")
    assert result.structured_content["called"] == name
    ran = command_line("doctor", folder=workspace, environment={"GIVEN_HERE": "x"})
    assert "the tool is there" in ran.out


def test_the_doctor_tells_that_a_function_stands_in_for_the_program(workspace: Path) -> None:
    (workspace / "stand_in.py").write_text(
        "import ferrule\n\n\n@ferrule.tool('clerk.greet')\ndef greet(name: str):\n    return name\n"
    )
    file = workspace / "ferrule.toml"
    file.write_text(file.read_text() + '\n[functions]\nmodules = ["stand_in.py"]\n')
    ran = command_line("doctor", folder=workspace, environment={"GIVEN_HERE": "x"})
    assert "a function is bound to it, so [mcp.programs.clerk] does not run it" in ran.out


class _ListedConnection:
    """A connection whose server announces another change while its tools are listed for the first time."""

    def __init__(self) -> None:
        self.looking = asyncio.Lock()
        self.checked_at: float | None = None
        self.listed: tuple[object, ...] = ()
        self.lists = 0

    async def list_tools(self) -> None:
        self.lists += 1
        if self.lists == 1:
            self.checked_at = None


def test_a_change_announced_while_tools_are_listed_is_looked_at_again() -> None:
    executor = SimpleNamespace(
        pinned=SimpleNamespace(definitions=lambda location: ()), settings=SimpleNamespace(recheck_seconds=60.0)
    )
    run: Any = SimpleNamespace(_executor=executor, _location=None)
    connection: Any = _ListedConnection()

    async def check_thrice() -> None:
        for _ in range(3):
            await McpRun._check(run, connection)

    asyncio.run(check_thrice())
    assert connection.lists == 2
