"""A client of the revisions with sessions, over HTTP in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import ferrule
from ferrule.contracts.executor import Context, Waiting
from ferrule.model.serving import LimitSettings, McpSettings, ServeSettings
from tests.servers.local_server import InProcessServer, Open, Reply, running_server

REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
WAIT_SECONDS = 30.0
BOTH = "application/json, text/event-stream"
ALL: dict[str, Any] = {"sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}, "roots": {}}


def make_message(method: str | None = None, request_id: Any = None, **members: Any) -> dict[str, Any]:
    """A JSON-RPC message."""
    said: dict[str, Any] = {"jsonrpc": "2.0", **members}
    if method is not None:
        said["method"] = method
    if request_id is not None:
        said["id"] = request_id
    return said


def make_initialize(revision: Any = REVISIONS[0], capabilities: Any = None, request_id: Any = 0) -> dict[str, Any]:
    """The first message."""
    params = {
        "protocolVersion": revision,
        "capabilities": capabilities or {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    return make_message("initialize", request_id, params=params)


class SessionClient:
    """One session."""

    def __init__(self, stand: InProcessServer, session_id: str, revision: str, token: str | None = None) -> None:
        self.stand = stand
        self.id = session_id
        self.revision = revision
        self.token = token
        self._ids = count(1)

    @property
    def headers(self) -> dict[str, str]:
        found = {"Accept": BOTH, "Mcp-Session-Id": self.id}
        if self.revision != "2025-03-26":
            found["MCP-Protocol-Version"] = self.revision
        if self.token is not None:
            found["Authorization"] = f"Bearer {self.token}"
        return found

    def open(self, said: Any, **headers: str) -> Open:
        """Send something, and give the answer while it comes."""
        return self.stand.open("POST", "/mcp", said, {**self.headers, **headers})

    async def post(self, said: Any, **headers: str) -> Reply:
        return await self.stand.ask("POST", "/mcp", said, {**self.headers, **headers})

    def start(self, method: str, *, request_id: Any = None, **params: Any) -> Open:
        """Send a request, and give the answer while it comes."""
        return self.open(make_message(method, next(self._ids) if request_id is None else request_id, params=params))

    async def ask(self, method: str, **params: Any) -> Any:
        """The response to a request that is answered by JSON."""
        reply = await self.post(make_message(method, next(self._ids), params=params))
        assert reply.status == 200, reply
        assert reply.headers["content-type"] == "application/json"
        return reply.json()

    async def call(self, name: str, **arguments: Any) -> Any:
        answered = await self.ask("tools/call", name=name, arguments=arguments)
        return answered["result"]

    async def tell(self, method: str, **params: Any) -> None:
        reply = await self.post(make_message(method, params=params))
        assert (reply.status, reply.body) == (202, b"")

    async def answer(self, asked: dict[str, Any], result: Any) -> None:
        """Answer a request of the server's."""
        reply = await self.post(make_message(id=asked["id"], result=result))
        assert (reply.status, reply.body) == (202, b"")

    def listen(self, last: str | None = None) -> Open:
        """The session's own stream, or the rest of another."""
        extra = {} if last is None else {"Last-Event-ID": last}
        return self.stand.open("GET", "/mcp", b"", {**self.headers, "Accept": "text/event-stream", **extra})


async def read_data(opened: Open) -> Any:
    """The message in the next event that has one."""
    while (event := await opened.read_event()) is not None:
        if event.get("data"):
            return json.loads(event["data"])
    return None


async def read_rest(opened: Open) -> list[dict[str, str]]:
    """Every event until the end."""
    found = []
    while (event := await opened.read_event()) is not None:
        found.append(event)
    return found


async def begin_session(
    stand: InProcessServer, revision: str = REVISIONS[0], capabilities: Any = None, token: str | None = None
) -> SessionClient:
    """A new session."""
    headers = {"Accept": BOTH, **({"Authorization": f"Bearer {token}"} if token else {})}
    reply = await stand.ask("POST", "/mcp", make_initialize(revision, capabilities), headers)
    assert reply.status == 200, reply
    talk = SessionClient(stand, reply.headers["mcp-session-id"], reply.json()["result"]["protocolVersion"], token)
    await talk.tell("notifications/initialized")
    return talk


class Gate:
    """Holds tools back until it is opened."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self.opened = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.count = 0


GATE = Gate()


@ferrule.tool(read_only=True, concurrency_safe=True)
def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


@ferrule.tool(read_only=True, concurrency_safe=True)
async def held(label: str = "") -> str:
    """Waits until it is let go."""
    GATE.count += 1
    GATE.entered.set()
    try:
        await GATE.opened.wait()
    except asyncio.CancelledError:
        GATE.cancelled.set()
        raise
    return f"done {label}"


@ferrule.tool(read_only=True, concurrency_safe=True)
async def held_apart(context: Context) -> str:
    """The same, in a task of its own."""
    return await held("apart")


@ferrule.tool(read_only=True, concurrency_safe=True)
async def steps(context: Context) -> str:
    """Says how far it is, and logs."""
    for number in range(3):
        context.progress(f"step {number}", percent=50 * number)
        context.log("info", {"step": number}, logger="steps")
        context.log("debug", "a detail")
        await asyncio.sleep(0)
    return "all steps"


@ferrule.tool(read_only=True, concurrency_safe=True)
def who(context: Context) -> Waiting:
    """Asks for a name."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    params = {"message": "Your name?", "requestedSchema": schema}
    return context.ask_client({"name": {"method": "elicitation/create", "params": params}})


@who.resume
def greet(state: bytes, received: Any, context: Context) -> str:
    """Greets whoever it is."""
    given = received["name"]
    return f"hello {given['content']['name']}" if given["action"] == "accept" else f"no name: {given['action']}"


@ferrule.tool(read_only=True, concurrency_safe=True)
def places(context: Context) -> Waiting:
    """Asks for the client's roots and for a word of its model."""
    sampling = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 10}
    return context.ask_client(
        {"roots": {"method": "roots/list"}, "word": {"method": "sampling/createMessage", "params": sampling}}
    )


@places.resume
def counted(state: bytes, received: Any, context: Context) -> str:
    """Tells what came."""
    return f"{len(received['roots']['roots'])} roots, {received['word']['content']['text']}"


TOOLS = (add, held, held_apart, steps, who, places)


@asynccontextmanager
async def running_session_server(
    folder: Path, *, auth: bool = False, limits: Any = None, **settings: Any
) -> AsyncIterator[InProcessServer]:
    """A workspace with tools that take their time, say something and ask. `settings`: of `[serve.mcp]`."""
    global GATE
    GATE = Gate()
    chosen = ServeSettings(auth=auth, mcp=McpSettings(**settings), limits=limits or LimitSettings())
    async with running_server(folder, tools=TOOLS, settings=chosen) as stand:
        yield stand


def gate() -> Gate:
    """What holds the tools of this test back."""
    return GATE
