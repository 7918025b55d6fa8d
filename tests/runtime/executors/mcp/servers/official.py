"""A server made with the official SDK: `official.py stdio`, or `http PORT`. It notes what happens in the folder NOTES.

`SET` chooses its tools: `plain`, `edited` (one description changed), `renamed` (one tool under another name), `more` (one tool
added), `hostile` (texts that cannot be seen). Over HTTP it has `/mcp`, `/sse` (the older transport), and both below `/private`,
where only the token `let-me-in` is accepted; `/mcp` answers the first of two calls of `flaky` with 503.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ImageContent,
    InputRequiredResult,
    TextContent,
    ToolAnnotations,
)

NOTES = Path(os.environ["NOTES"])
SET = os.environ.get("SET", "plain")
CANARY = "canary-7f3a9c51e2"
server = MCPServer("official", version="1.2.3", instructions="Be careful.")


def note(word: str) -> None:
    with open(NOTES / word, "a") as file:
        file.write(f"{os.getpid()}\n")


DESCRIPTION = {"edited": "Gives back what it got, and tells a friend.", "hostile": "Gives back.\u200b\u202eteg"}


@server.tool(
    name="mirror" if SET == "renamed" else "echo",
    description=DESCRIPTION.get(SET, "Gives back what it got."),
    annotations=ToolAnnotations(read_only_hint=True),
)
async def echo(text: str = "") -> dict[str, Any]:
    note("touched")
    return {"text": text}


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
async def slow(text: str = "") -> str:
    """Takes long."""
    note("touched")
    note("begun")
    try:
        await asyncio.sleep(30)
    except BaseException:
        note("stopped")
        raise
    return "late"


@server.tool()
async def fails(text: str = "") -> str:
    """Fails."""
    note("touched")
    raise ToolError(f"no, because of {CANARY}")


@server.tool()
async def big(text: str = "", size: int = 1_200_000) -> dict[str, Any]:
    """Gives much."""
    note("touched")
    return {"text": "x" * size + " the end of it"}


@server.tool()
async def empty(text: str = "") -> CallToolResult:
    """Gives nothing."""
    note("touched")
    return CallToolResult(content=[])


@server.tool()
async def steps(ctx: Context, text: str = "") -> dict[str, Any]:
    """Tells of its progress."""
    note("touched")
    for step in (1, 2, 3):
        await ctx.report_progress(step, 3, f"step {step}")
    return {"text": text}


@server.tool()
async def picture() -> CallToolResult:
    """Gives blocks of several kinds, and more about them."""
    return CallToolResult(
        content=[TextContent(type="text", text="look"), ImageContent(type="image", data="aGk=", mime_type="image/png")],
        structured_content={"wide": True},
        _meta={"org.example/trace": "abc"},
    )


@server.tool()
async def ask(ctx: Context, amount: int = 1) -> CallToolResult | InputRequiredResult:
    """Asks a person before it goes on."""
    note("asked")
    answered = (ctx.input_responses or {}).get("who")
    if answered is None:
        question = ElicitRequestFormParams(
            message="Who is it for?",
            requested_schema={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        )
        return InputRequiredResult(
            input_requests={"who": ElicitRequest(params=question)}, request_state=f"amount={amount}"
        )
    note("paid")
    text = f"{ctx.request_state} {getattr(answered, 'action', '')} {getattr(answered, 'content', None)}"
    return CallToolResult(content=[TextContent(type="text", text=text)])


@server.tool()
async def die() -> str:
    """Ends its own process at once."""
    os.kill(os.getpid(), 9)
    return "never"


@server.tool()
async def pid() -> dict[str, Any]:
    """Tells who runs it."""
    return {"pid": os.getpid(), "env": sorted(os.environ), "cwd": os.getcwd()}


@server.tool()
async def breed() -> dict[str, Any]:
    """Leaves a process behind."""
    child = subprocess.Popen(["sleep", "300"], stdin=subprocess.DEVNULL)
    return {"pid": child.pid}


@server.tool()
async def change(ctx: Context) -> str:
    """Changes what the server offers, and tells so."""
    tool = server._tool_manager.get_tool("echo")
    assert tool is not None
    tool.description = "Something else now."
    if ctx.request_context.protocol_version != "2026-07-28":
        await ctx.request_context.session.send_tool_list_changed()
    await ctx.notify_tools_changed()
    return "changed"


if SET == "more":

    @server.tool()
    async def extra() -> str:
        """Was not there before."""
        return "extra"


@server.tool()
async def flaky(text: str = "") -> dict[str, Any]:
    """Works every second time."""
    note("touched")
    return {"text": text}


async def answer(send: Any, status: int, body: bytes, **headers: str) -> None:
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": named})
    await send({"type": "http.response.body", "body": body})


class Front:
    """What stands before the server: the way to its two transports, a token, and trouble."""

    def __init__(self) -> None:
        self.streamable = server.streamable_http_app()
        self.events = server.sse_app()
        self.calls_of_flaky = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.streamable(scope, receive, send)
            return
        note("requests")
        path, shown = scope["path"], dict(scope["headers"]).get(b"authorization", b"").decode()
        if path.startswith("/private/"):
            if shown != "Bearer let-me-in":
                await answer(send, 401, f"who is {shown}?".encode())
                return
            path = path.removeprefix("/private")
        if path.startswith("/status/"):
            await answer(send, int(path.removeprefix("/status/")), b"so it is", retry_after="7")
        elif path.startswith("/away"):
            await answer(send, 307, b"", location="http://127.0.0.2:1/mcp")
        elif path.startswith(("/sse", "/messages")):
            await self.events({**scope, "path": path}, receive, send)
        else:
            await self.call({**scope, "path": path}, receive, send)

    async def call(self, scope: Any, receive: Any, send: Any) -> None:
        first = await receive()
        if b'"tools/call"' in first.get("body", b"") and b'"flaky"' in first["body"]:
            self.calls_of_flaky += 1
            if self.calls_of_flaky % 2:
                await answer(send, 503, b"not now")
                return
        await self.streamable(scope, replayed(first, receive), send)


def replayed(first: Any, receive: Any) -> Any:
    waiting = [first]

    async def again() -> Any:
        return waiting.pop() if waiting else await receive()

    return again


def main() -> None:
    if sys.argv[1] == "stdio":
        server.run("stdio")
        return
    config = uvicorn.Config(Front(), host="127.0.0.1", port=int(sys.argv[2]), log_level="critical", lifespan="on")
    uvicorn.Server(config).run()


main()
