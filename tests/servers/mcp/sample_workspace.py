"""A workspace with a little of everything, for tests that hold the servers to their specifications, and wires to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, Protocol

import msgspec

import ferrule
from ferrule.contracts.executor import Context, Output
from tests.servers.local_server import InProcessServer, Reply, running_server
from tests.servers.mcp.modern_client import ModernClient, read_messages
from tests.servers.mcp.session_client import SessionClient, begin_session, make_message

WAIT_SECONDS = 30.0
TASKS: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
FORM: dict[str, Any] = {"elicitation": {}}
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def question(schema: dict[str, Any] | None = None) -> dict[str, Any]:
    """A form for the person at the client."""
    return {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": schema or NAME}}


@ferrule.tool(read_only=True)
def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


@ferrule.tool(read_only=True)
def where(region: Annotated[str, msgspec.Meta(extra_json_schema={"x-mcp-header": "Region"})] = "") -> str:
    """Has a parameter that clients repeat as a header."""
    return region


@ferrule.tool(read_only=True)
async def who(context: Context) -> Any:
    """Asks for a name."""
    return context.ask_client({"name": question()})


@who.resume
async def _greeted(state: bytes, answer: dict[str, Any], context: Context) -> str:
    return f"hello {answer['name'].get('content', {}).get('name', 'nobody')}"


@ferrule.tool(read_only=True)
async def talks(context: Context) -> str:
    """Says how far it is, and something else."""
    for step in (1, 2, 3):
        context.progress(f"step {step}", percent=step * 30)
        context.log("info", {"step": step}, "reading")
        await asyncio.sleep(0)
    return "said"


@ferrule.tool(read_only=True)
def breaks() -> dict[str, int]:
    """Fails in a way nobody foresaw."""
    raise RuntimeError("at /srv/secret/place with hunter2")


@ferrule.tool(read_only=True, task="required")
async def job(context: Context) -> str:
    """A task."""
    context.progress("working", percent=50)
    context.log("info", "working", "reading")
    await asyncio.sleep(0)
    return "done"


@ferrule.tool
def pay(amount: int) -> str:
    """Needs somebody's yes."""
    return f"paid {amount}"


@ferrule.tool(read_only=True)
def embeds() -> Any:
    """Gives a resource."""
    return Output(content=({"type": "resource", "resource": {"uri": "docs://static", "text": "inside"}},))


@ferrule.resource("docs://static", mime_type="text/plain", name="static")
def static() -> str:
    """Never changes."""
    return "static"


@ferrule.resource("docs://page/{name}", name="page", complete={"name": ["one", "two"]})
def page(name: str) -> str:
    """A page."""
    return name


@ferrule.prompt
def hello(name: str) -> str:
    """Says hello."""
    return f"Hello, {name}"


EVERYTHING = (add, where, who, talks, breaks, job, pay, embeds, static, page, hello)
POLICY = """
[[rules]]
id = "most"
decision = "allow"
tool = "*"

[[rules]]
id = "pay"
decision = "ask"
tool = "pay"
"""


class Wire(Protocol):
    """One way to ask."""

    async def ask(self, method: str, params: dict[str, Any], capabilities: dict[str, Any]) -> tuple[int, Any]:
        """The status, and the response."""


class ModernWire:
    """The revision without sessions."""

    def __init__(self, client: ModernClient) -> None:
        self._client = client

    async def ask(self, method: str, params: dict[str, Any], capabilities: dict[str, Any]) -> tuple[int, Any]:
        reply = await self._client.ask(method, capabilities, **params)
        return reply.status, read_messages(reply)[-1]


class SessionWire:
    """A session, whose capabilities were said at its beginning."""

    def __init__(self, talk: SessionClient) -> None:
        self._talk = talk

    async def ask(self, method: str, params: dict[str, Any], capabilities: dict[str, Any]) -> tuple[int, Any]:
        reply = await self._talk.post(make_message(method, 1, params=params))
        return reply.status, read_last(reply)


def read_last(reply: Reply) -> Any:
    """The last message of an answer of either form."""
    if reply.headers.get("content-type") == "text/event-stream":
        return [json.loads(event["data"]) for event in reply.events() if event.get("data")][-1]
    return reply.json()


def with_sample_server(test: Callable[[InProcessServer], Awaitable[None]]) -> Callable[[Path], None]:
    """Runs a test with everything served in this process, without authentication."""

    def run(tmp_path: Path) -> None:
        async def within() -> None:
            (tmp_path / "policy.toml").write_text(POLICY)
            async with asyncio.timeout(2 * WAIT_SECONDS), running_server(tmp_path, tools=EVERYTHING) as stand:
                await test(stand)

        asyncio.run(within())

    run.__doc__ = test.__doc__
    run.__name__ = test.__name__
    return run


async def open_wires(stand: InProcessServer) -> dict[str, Wire]:
    """Every revision over HTTP."""
    found: dict[str, Wire] = {"2026-07-28": ModernWire(ModernClient(stand))}
    for revision in ("2025-11-25", "2025-06-18", "2025-03-26"):
        found[revision] = SessionWire(await begin_session(stand, revision))
    return found
