"""A generated project builds with `tsc`, runs with `node` and speaks the Model Context Protocol."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.cli.run import ferrule
from tests.definitions.stubs.languages.toolchains import node, prettier, tsc
from tests.definitions.stubs.languages.typescript.compiled_program import linked

_AGENT = """
apiVersion: adl.inference-gateway.com/v1
kind: Agent
metadata: {name: clerk, description: Finds orders., version: 1.2.3}
spec:
  capabilities: {streaming: false, pushNotifications: false, stateTransitionHistory: false}
  server: {port: 8080}
  language: {typescript: {packageName: "@shop/clerk", nodeVersion: "20"}}
  config:
    database: {url: "${SHOP_DATABASE_URL:-memory}", pool: 5, shard: 9007199254740993, limits: [12345678901234567890]}
    tools: {read: {enabled: true}}
  services:
    orderRepo: {type: repository, interface: OrderRepo, factory: NewOrderRepo, description: Where orders are.}
  tools:
    - id: find_order
      name: find_order
      description: Finds an order.
      tags: [orders]
      inject: [logger, orderRepo, config.database]
      schema:
        type: object
        properties: {id: {type: string}, count: {type: integer, minimum: 1}}
        required: [id]
    - id: wait_long
      name: wait_long
      description: Waits.
      tags: [orders]
      schema: {type: object, properties: {seconds: {type: number}}}
    - id: read
"""
_UNWRITTEN = '    throw new Error("not implemented yet");\n'
_FOUND = """\
    call.report({ progress: 1, total: 2, message: "looking" });
    logger.info("found", { orderRepo });
    const shard: bigint = databaseConfig.shard;
    if (input.id === "text") {
      return '12 "x"';
    }
    return { id: input.id, url: databaseConfig.url, shard: `${shard}` };
"""
_WAITED = """\
    await new Promise((resolve, reject) => {
      setTimeout(resolve, (input.seconds ?? 60) * 1000);
      call.signal.addEventListener("abort", () => reject(new Error("stopped")));
    });
    if (input.seconds === -1) {
      setInterval(() => undefined, 1000);
      await new Promise(() => undefined);
    }
    return null;
"""


class Program:
    """The project, running."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def send(self, **message: Any) -> None:
        """Sends a message."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def end(self) -> None:
        """Nothing more will be sent."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def read(self) -> dict[str, Any]:
        """The next message."""
        assert self._process.stdout is not None
        said = json.loads(self._process.stdout.readline())
        assert isinstance(said, dict)
        return said

    def greet(self) -> None:
        """Opens the conversation."""
        info = {"name": "test", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=info)
        self.send(method="notifications/initialized")

    def ask(self, method: str, number: int = 1, **params: Any) -> dict[str, Any]:
        """The answer to a request."""
        self.send(id=number, method=method, params=params)
        return self.read()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project generated from an agent file, with its tools filled in and built."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "clerk.yaml").write_text(_AGENT)
    ran = ferrule("gen", "typescript", "clerk.yaml", "--project", "--out", "out", folder=folder)
    assert ran.code == 0, ran
    out = folder / "out"
    assert prettier().run("--list-different", ".", cwd=out) == ""
    linked(out)
    tsc().run("-p", ".", cwd=out)  # before anything is filled in (ADL-41)
    for stem, body in {"find_order": _FOUND, "wait_long": _WAITED}.items():
        file = out / "src" / "tools" / f"{stem}.ts"
        text = file.read_text()
        assert _UNWRITTEN in text
        file.write_text(text.replace(_UNWRITTEN, body))
    tsc().run("-p", ".", cwd=out)
    return out


@contextmanager
def _running(project: Path) -> Iterator[Program]:
    process = subprocess.Popen(
        [*node().command, "dist/src/main.js"],
        cwd=project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield Program(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()
            process.stdout.close()


async def _talk(project: Path) -> dict[str, Any]:
    """What the official client in Python hears of the program."""
    program = StdioServerParameters(command=node().command[0], args=["dist/src/main.js"], cwd=project)
    with open(os.devnull, "w") as nothing:
        async with stdio_client(program, nothing) as (read, write), ClientSession(read, write) as client:
            hello = await client.initialize()
            told: dict[str, Any] = {"server": (hello.server_info.name, hello.server_info.version)}
            told["tools"] = (await client.list_tools()).tools
            calls: dict[str, tuple[str, dict[str, Any]]] = {
                "found": ("find_order", {"id": "A1"}),
                "text": ("find_order", {"id": "text"}),
                "nothing": ("wait_long", {"seconds": 0}),
                "wrong": ("find_order", {"id": "A1", "count": 0}),
                "remote": ("read", {"file_path": "x"}),
            }
            for name, (tool, arguments) in calls.items():
                told[name] = await client.call_tool(tool, arguments)
            return told


def test_a_real_client_lists_and_calls_the_tools(project: Path) -> None:
    told = asyncio.run(_talk(project))
    assert told["server"] == ("clerk", "1.2.3")
    assert [each.name for each in told["tools"]] == ["find_order", "wait_long", "read"]
    assert told["tools"][0].input_schema["properties"]["count"] == {"type": "integer", "minimum": 1}
    found = told["found"]
    assert found.structured_content == {"id": "A1", "url": "memory", "shard": "9007199254740993"}
    assert json.loads(found.content[0].text) == found.structured_content
    assert [each.text for each in told["text"].content] == ['12 "x"']
    assert (told["nothing"].content, told["nothing"].is_error) == ([], False)
    assert told["wrong"].is_error
    assert told["wrong"].content[0].text == "input/count must be >= 1"
    assert told["remote"].is_error
    assert "FERRULE_URL" in told["remote"].content[0].text


def test_a_tool_that_there_is_not_is_an_error_of_the_protocol(project: Path) -> None:
    with _running(project) as program:
        program.greet()
        assert program.ask("tools/call", name="nobody")["error"]["code"] == -32602
        assert program.ask("resources/list")["error"]["code"] == -32601


def test_progress_is_told_to_who_asks(project: Path) -> None:
    with _running(project) as program:
        program.greet()
        said = program.ask("tools/call", name="find_order", arguments={"id": "A"}, _meta={"progressToken": "t"})
        assert said["method"] == "notifications/progress"
        assert said["params"] == {"progressToken": "t", "progress": 1, "total": 2, "message": "looking"}
        assert program.read()["id"] == 1


def test_calls_run_side_by_side_and_can_be_canceled(project: Path) -> None:
    with _running(project) as program:
        program.greet()
        program.send(id="long", method="tools/call", params={"name": "wait_long"})
        assert program.ask("tools/call", 2, name="find_order", arguments={"id": "B"})["id"] == 2
        program.send(method="notifications/cancelled", params={"requestId": "long"})
        # A canceled call has no answer: the next one is that of the ping.
        assert program.ask("ping", 3)["id"] == 3


def test_calls_that_run_when_the_input_ends_are_answered(project: Path) -> None:
    with _running(project) as program:
        program.greet()
        program.send(id=1, method="tools/call", params={"name": "wait_long", "arguments": {"seconds": 0.5}})
        program.end()
        assert program.read()["id"] == 1


def test_calls_that_do_not_end_are_stopped_some_time_after_the_input_ends(project: Path) -> None:
    with _running(project) as program:
        program.greet()
        program.send(id=1, method="tools/call", params={"name": "wait_long", "arguments": {"seconds": -1}})
        program.end()  # and then `_running` waits for the program


def test_the_program_is_called_after_the_project(project: Path) -> None:
    assert '[mcp.programs."clerk"]\ncommand = ["node", "./' in (project / "README.md").read_text()


def test_large_settings_are_kept(project: Path) -> None:
    config = (project / "src" / "config.ts").read_text()
    assert "shard: 9007199254740993n,\n" in config


def test_the_test_skeletons_pass(project: Path) -> None:
    said = node().run("--test", "dist/test/find_order.test.js", cwd=project)
    assert "# pass 1" in said
    assert "# fail 0" in said
    assert "# todo 1" in said


def test_a_changed_definition_stops_the_persons_file_and_leaves_it_alone(project: Path, tmp_path: Path) -> None:
    """The function that a person wrote reads a member which is no more: the compiler says where."""
    (tmp_path / "clerk.yaml").write_text(_AGENT.replace("{id: {", "{number: {").replace("[id]", "[number]"))
    out = tmp_path / "out"
    ran = ferrule("gen", "typescript", "clerk.yaml", "--project", "--out", "out", folder=tmp_path)
    assert ran.code == 0, ran
    linked(out)
    theirs = (project / "src" / "tools" / "find_order.ts").read_text()
    (out / "src" / "tools" / "find_order.ts").write_text(theirs)
    assert ferrule("gen", "--out", "out", folder=tmp_path).code == 0
    assert (out / "src" / "tools" / "find_order.ts").read_text() == theirs
    with pytest.raises(AssertionError, match=r"find_order\.ts.*Property 'id' does not exist"):
        tsc().run("-p", ".", "--noEmit", cwd=out)
