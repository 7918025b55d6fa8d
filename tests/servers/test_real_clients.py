"""Clients that others wrote, against a real `ferrule serve`: the official SDK, FastMCP and the Inspector, over HTTP and pipes, in
both eras.

Each lists, calls, fails, hears progress, is asked, reads, gets a prompt, cancels, and waits while a person approves, as far as
it can.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import fastmcp
import mcp
import mcp_types
import pytest
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from scripts.conformance import NoSuite, node_program

import ferrule
from ferrule.model.approval import APPROVE, Identity
from tests.servers.local_server import running_process
from tests.services import missing

SAMPLE = Path(__file__).parent / "sample"
WAIT_SECONDS = 30.0


class Tried(Protocol):
    """What every client here is tried with, in words that are all the same."""

    @property
    def revision(self) -> str | None: ...
    async def tools(self) -> list[str]: ...
    async def call(self, name: str, arguments: dict[str, Any], heard: list[float] | None = None) -> Any: ...
    async def read(self, uri: str) -> str: ...
    async def prompt(self, name: str, arguments: dict[str, str]) -> str: ...


class Sdk:
    """The official Python SDK."""

    def __init__(self, client: mcp.Client) -> None:
        self._client = client

    @property
    def revision(self) -> str | None:
        return self._client.protocol_version

    async def tools(self) -> list[str]:
        return [tool.name for tool in (await self._client.list_tools()).tools]

    async def call(self, name: str, arguments: dict[str, Any], heard: list[float] | None = None) -> Any:
        async def hear(progress: float, total: float | None, message: str | None) -> None:
            if heard is not None:
                heard.append(progress)

        return await self._client.call_tool(name, arguments, progress_callback=None if heard is None else hear)

    async def read(self, uri: str) -> str:
        (content,) = (await self._client.read_resource(uri)).contents
        assert isinstance(content, mcp_types.TextResourceContents)
        return content.text

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        (message,) = (await self._client.get_prompt(name, arguments)).messages
        assert isinstance(message.content, mcp_types.TextContent)
        return message.content.text


class Fast:
    """FastMCP's client."""

    def __init__(self, client: fastmcp.Client[Any]) -> None:
        self._client = client

    @property
    def revision(self) -> str | None:
        return self._client.protocol_version

    async def tools(self) -> list[str]:
        return [tool.name for tool in await self._client.list_tools()]

    async def call(self, name: str, arguments: dict[str, Any], heard: list[float] | None = None) -> Any:
        async def hear(progress: float, total: float | None, message: str | None) -> None:
            if heard is not None:
                heard.append(progress)

        return await self._client.call_tool_mcp(name, arguments, progress_handler=hear)

    async def read(self, uri: str) -> str:
        (content,) = await self._client.read_resource(uri)
        assert isinstance(content, mcp_types.TextResourceContents)
        return content.text

    async def prompt(self, name: str, arguments: dict[str, str]) -> str:
        (message,) = (await self._client.get_prompt(name, arguments)).messages
        assert isinstance(message.content, mcp_types.TextContent)
        return message.content.text


async def asked(context: Any, params: Any) -> mcp_types.ElicitResult:
    assert params.message == "Who are you?"
    return mcp_types.ElicitResult(action="accept", content={"name": "Ann"})


async def asked_fast(message: str, response_type: Any, params: Any, context: Any) -> Any:
    assert message == "Who are you?"
    return fastmcp.client.elicitation.ElicitResult(action="accept", content={"name": "Ann"})


def piped(folder: Path) -> list[str]:
    return ["-m", "ferrule", "serve", "--stdio", "--workspace", str(folder)]


@contextmanager
def workspace(folder: Path) -> Iterator[Path]:
    copy = folder / "sample"
    shutil.copytree(SAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__", ".ferrule"))
    yield copy


@asynccontextmanager
async def sdk(folder: Path, way: str, mode: str, **options: Any) -> AsyncIterator[Tried]:
    if way == "stdio":
        server: Any = mcp.StdioServerParameters(command=sys.executable, args=piped(folder))
        async with mcp.Client(server, mode=mode, elicitation_callback=asked, **options) as client:
            yield Sdk(client)
        return
    with running_process(folder) as at:
        headers = {"Authorization": f"Bearer {at.token(folder)}"}
        async with create_mcp_http_client(headers=headers) as http:
            transport = streamable_http_client(f"{at.url}/mcp", http_client=http)
            async with mcp.Client(transport, mode=mode, elicitation_callback=asked, **options) as client:
                yield Sdk(client)


@asynccontextmanager
async def fast(folder: Path, way: str, mode: str) -> AsyncIterator[Tried]:
    if way == "stdio":
        transport: Any = StdioTransport(sys.executable, piped(folder), keep_alive=False)
        async with fastmcp.Client(transport, mode=mode, elicitation_handler=asked_fast) as client:
            yield Fast(client)
        return
    with running_process(folder) as at:
        transport = StreamableHttpTransport(f"{at.url}/mcp", headers={"Authorization": f"Bearer {at.token(folder)}"})
        async with fastmcp.Client(transport, mode=mode, elicitation_handler=asked_fast) as client:
            yield Fast(client)


async def seen(file: Path) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not file.exists():
            await asyncio.sleep(0.02)


async def everything(client: Tried, folder: Path) -> None:
    """What a client does with a server, from first to last."""
    assert {"add", "fail", "steps", "hang", "greet", "pay"} <= set(await client.tools())

    added = await client.call("add", {"a": 2, "b": 3})
    assert added.structured_content == {"sum": 5}
    assert not added.is_error

    failed = await client.call("fail", {})
    assert failed.is_error
    assert "no more paper" in failed.content[0].text
    unfit = await client.call("add", {"a": "two", "b": 3})
    assert unfit.is_error  # a model can mend it (MCP-151)
    with pytest.raises(mcp.MCPError) as unknown:
        await client.call("nothing", {})
    assert unknown.value.error.code == -32602

    heard: list[float] = []
    assert "all done" in (await client.call("steps", {}, heard)).content[0].text
    assert heard == [25, 50, 75, 100]

    assert (await client.call("greet", {})).content[0].text == "Hello, Ann!"
    assert await client.read("sample://readme") == "# A sample\nIt is small."
    assert await client.prompt("review", {"topic": "this"}) == "Please review this."

    waiting = asyncio.create_task(client.call("pay", {"amount": 7}))
    await approve(folder)
    assert (await asyncio.wait_for(waiting, WAIT_SECONDS)).content[0].text == "7 euros are paid"

    hanging = asyncio.create_task(client.call("hang", {}))
    await seen(folder / "hanging")
    hanging.cancel()
    with suppress(asyncio.CancelledError):
        await hanging
    await seen(folder / "stopped")
    assert "add" in await client.tools()


async def approve(folder: Path) -> None:
    """A person says yes to what waits, in another process than the server's."""
    async with ferrule.open(folder, tends=False) as app:
        inbox = app.inbox(Identity("ann", "desk", frozenset({APPROVE})))
        async with asyncio.timeout(WAIT_SECONDS * 4):
            while not (waiting := await inbox.pending()):
                await asyncio.sleep(0.02)
        await inbox.approve(waiting[0].request.invocation_id, resume=False)


REVISIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
WAYS = [("http", "auto"), ("http", "legacy"), ("stdio", "auto"), ("stdio", "legacy")]


@pytest.mark.parametrize(("way", "mode"), WAYS, ids=lambda word: word)
def test_the_official_sdk_gets_along(tmp_path: Path, way: str, mode: str) -> None:
    async def main() -> None:
        with workspace(tmp_path) as folder:
            async with sdk(folder, way, mode) as client:
                assert client.revision == REVISIONS[mode]
                await everything(client, folder)

    asyncio.run(asyncio.wait_for(main(), 3 * WAIT_SECONDS))


@pytest.mark.parametrize(("way", "mode"), WAYS, ids=lambda word: word)
def test_fastmcp_gets_along(tmp_path: Path, way: str, mode: str) -> None:
    async def main() -> None:
        with workspace(tmp_path) as folder:
            async with fast(folder, way, mode) as client:
                assert client.revision == REVISIONS[mode]
                await everything(client, folder)

    asyncio.run(asyncio.wait_for(main(), 3 * WAIT_SECONDS))


class TaskParams(mcp_types.RequestParams):
    task_id: str


class GetTask(mcp_types.Request[TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: TaskParams
    name_param: ClassVar[str | None] = "taskId"


class Task(mcp_types.Result):
    result_type: Literal["complete"] = "complete"
    status: str
    result: dict[str, Any] | None = None


class Handle(mcp_types.Result):
    result_type: Literal["task"] = "task"
    task_id: str
    status: str
    poll_interval_ms: int


class Tasks(ClientExtension):
    """The extension for the official SDK, which has none of its own: comes back for the results of tasks."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self) -> None:
        self.handles: list[Handle] = []

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Handle, resolve=self._resolve)]

    async def _resolve(self, handle: Handle, context: ClaimContext) -> mcp_types.CallToolResult:
        self.handles.append(handle)
        async with asyncio.timeout(WAIT_SECONDS):
            while True:
                asked = GetTask(params=TaskParams(task_id=handle.task_id))
                task = await context.session.send_request(asked, Task)
                if task.status != "working":
                    return mcp_types.CallToolResult.model_validate(task.result)
                await asyncio.sleep(handle.poll_interval_ms / 1000)


@pytest.mark.parametrize("way", ["http", "stdio"])
def test_a_client_that_knows_tasks_comes_back_for_its_results(tmp_path: Path, way: str) -> None:
    async def main() -> None:
        tasks = Tasks()
        with workspace(tmp_path) as folder:
            async with sdk(folder, way, "auto", extensions=[tasks]) as client:
                assert (await client.call("add", {"a": 1, "b": 1})).structured_content == {"sum": 2}
                assert not tasks.handles
                assert (await client.call("slow", {"seconds": 0.8})).content[0].text == "slow, but sure"
                assert len(tasks.handles) == 1
                waiting = asyncio.create_task(client.call("pay", {"amount": 9}))
                await approve(folder)
                assert (await asyncio.wait_for(waiting, WAIT_SECONDS)).content[0].text == "9 euros are paid"
                assert len(tasks.handles) == 2

    asyncio.run(asyncio.wait_for(main(), 3 * WAIT_SECONDS))


CALL = ("--method", "tools/call", "--tool-name")


class Inspector:
    """The Inspector's command line: one process for each request."""

    def __init__(self, target: list[str], mode: str, home: Path) -> None:
        self._env = {**os.environ, "HOME": str(home)}
        self.said = b""
        """What it, or the server it started, had to say besides."""
        era = "modern" if mode == "auto" else mode
        command = node_program("mcp-inspector", {"@modelcontextprotocol/inspector": "2.12.0"})
        self._words = [*command, "--cli", *target, "--protocol-era", era, "--quiet", "--format", "json",
                       "--connect-timeout", "60000"]  # fmt: skip

    async def ask(self, *words: str) -> tuple[int, dict[str, Any]]:
        """The exit code, and what it printed first."""
        process = await asyncio.create_subprocess_exec(*self._words, *words, stdout=PIPE, stderr=PIPE, env=self._env)
        try:
            printed, self.said = await asyncio.wait_for(process.communicate(), WAIT_SECONDS * 4)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode is not None
        result: dict[str, Any] = json.loads(printed.splitlines()[0])["result"] if printed else {}
        return process.returncode, result


@pytest.mark.parametrize(
    ("way", "mode"), [("http", "auto"), ("http", "legacy"), ("stdio", "auto")], ids=lambda word: word
)
def test_the_inspector_gets_along(tmp_path: Path, way: str, mode: str) -> None:
    async def story(folder: Path, target: list[str]) -> None:
        try:
            inspector = Inspector(target, mode, tmp_path)
        except NoSuite as error:
            missing("node", f"the Inspector needs npm and its registry: {error}")
        paying = asyncio.create_task(waited_for(inspector, folder))
        listed, tools = await inspector.ask("--method", "tools/list")
        assert listed == 0, inspector.said
        assert {"add", "pay"} <= {tool["name"] for tool in tools["tools"]}
        code, added = await inspector.ask(*CALL, "add", "--tool-arg", "a=2", "b=3")
        assert (code, added["structuredContent"]) == (0, {"sum": 5})
        bad, failed = await inspector.ask(*CALL, "fail")
        assert bad == 5  # the Inspector's code for a tool that failed
        assert failed["isError"]
        read, contents = await inspector.ask("--method", "resources/read", "--uri", "sample://readme")
        assert (read, contents["contents"][0]["mimeType"]) == (0, "text/markdown")
        words = ("--method", "prompts/get", "--prompt-name", "review", "--prompt-args", "topic=this")
        got, prompt = await inspector.ask(*words)
        assert (got, prompt["messages"][0]["content"]["text"]) == (0, "Please review this.")
        paid, pay = await paying
        assert (paid, pay["content"][0]["text"]) == (0, "7 euros are paid")

    with workspace(tmp_path) as folder:
        if way == "stdio":
            asyncio.run(story(folder, [sys.executable, *piped(folder)]))
        else:
            with running_process(folder, "--no-auth") as at:
                asyncio.run(story(folder, [f"{at.url}/mcp"]))


async def waited_for(inspector: Inspector, folder: Path) -> tuple[int, dict[str, Any]]:
    """A call that a person approves while the client waits."""
    answering = asyncio.create_task(inspector.ask(*CALL, "pay", "--tool-arg", "amount=7"))
    await approve(folder)
    return await answering
