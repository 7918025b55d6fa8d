"""A workspace being served: in this process, through its ASGI application, or by a real `ferrule serve`."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import ferrule
from ferrule.access.keys import AGENT_FILE, KEYS_FOLDER, OWNER_FILE, Access
from ferrule.app.app import App
from ferrule.model.serving import ServeSettings
from ferrule.servers.asgi import HttpAnswer, HttpRequest, HttpStream, Scope
from ferrule.servers.auth.gate import gate_of
from ferrule.servers.caller_limits import FairTurnstile
from ferrule.servers.edge import Edge
from ferrule.servers.root import Root
from ferrule.servers.serving import build_root

WAIT_SECONDS = 30.0


class Reply(NamedTuple):
    """An answer as a client has it."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def events(self) -> list[dict[str, str]]:
        """The events of a stream, each with its fields; comments are left out."""
        found = []
        for block in self.body.decode().replace("\r\n", "\n").split("\n\n"):
            lines = [line.partition(":") for line in block.split("\n") if line and not line.startswith(":")]
            if lines:
                found.append({name: value.removeprefix(" ") for name, _, value in lines})
        return found


class Open:
    """A request whose answer is still coming."""

    def __init__(self, root: Root, scope: Scope, body: bytes) -> None:
        self._sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._gone = asyncio.Event()
        self._body: bytes | None = body
        self.status = 0
        self.headers: dict[str, str] = {}
        self._rest = b""
        self._is_over = False
        self.task = asyncio.create_task(root(scope, self._receive, self._put))

    async def _receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _put(self, message: Any) -> None:
        await self._sent.put(dict(message))

    async def wait_for_status(self) -> int:
        """The status, as soon as there is one."""
        message = await asyncio.wait_for(self._next(), WAIT_SECONDS)
        assert message["type"] == "http.response.start"
        self.status = message["status"]
        self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        return self.status

    async def _next(self) -> dict[str, Any]:
        getting = asyncio.ensure_future(self._sent.get())
        await asyncio.wait({getting, self.task}, return_when=asyncio.FIRST_COMPLETED)
        if not getting.done() and self._sent.empty():
            getting.cancel()
            self.task.result()
            raise AssertionError("it ended without an answer")
        return await getting

    async def read_part(self) -> bytes | None:
        """The next bytes of the body; None at its end."""
        if self._is_over:
            return None
        message = await asyncio.wait_for(self._next(), WAIT_SECONDS)
        self._is_over = not message.get("more_body")
        return bytes(message.get("body", b"")) or (None if self._is_over else b"")

    async def read_event(self) -> dict[str, str] | None:
        """The next event of a stream; None at its end. Comments are left out."""
        while b"\n\n" not in self._rest:
            part = await self.read_part()
            if part is None:
                return None
            self._rest += part.replace(b"\r\n", b"\n")
        block, _, self._rest = self._rest.partition(b"\n\n")
        lines = [line.partition(":") for line in block.decode().split("\n") if line and not line.startswith(":")]
        return {name: value.removeprefix(" ") for name, _, value in lines} if lines else await self.read_event()

    async def leave(self) -> None:
        """Close the connection, and wait until the server has noticed."""
        self._gone.set()
        await asyncio.wait({self.task}, timeout=WAIT_SECONDS)


class InProcessServer(NamedTuple):
    """A workspace served in this process."""

    app: App
    edge: Edge
    root: Root

    def read_token(self, file: str = AGENT_FILE) -> str:
        """The secret of a local token: the agents', or the owner's with OWNER_FILE."""
        Access(self.app.root).local_agent()
        return (self.app.root / KEYS_FOLDER / file).read_text().strip()

    def owner(self) -> str:
        """The owner's token."""
        return self.read_token(OWNER_FILE)

    async def respond(self, request: HttpRequest) -> HttpAnswer | HttpStream | None:
        """Give the answer to a request as the root gives it, however long that takes."""
        response = self.root.respond(request)
        return response if isinstance(response, HttpAnswer) else await response

    def open(
        self, method: str, path: str, body: Any = b"", headers: Mapping[str, str] | Iterable[tuple[str, str]] = ()
    ) -> Open:
        """Send a request, and give it while it is answered. `body`: bytes, or what is sent as JSON."""
        given = list(headers.items() if isinstance(headers, Mapping) else headers)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        names = {name.lower() for name, _ in given}
        if data and "content-type" not in names:
            given.append(("Content-Type", "application/json"))
        if "host" not in names:
            given.append(("Host", "localhost:8787"))
        split = urlsplit(path)
        scope: Scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": split.path,
            "raw_path": split.path.encode(),
            "query_string": split.query.encode(),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in given],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8787),
        }
        return Open(self.root, scope, data)

    async def ask(
        self, method: str, path: str, body: Any = b"", headers: Mapping[str, str] | Iterable[tuple[str, str]] = ()
    ) -> Reply:
        """Send a request, and give its whole answer."""
        opened = self.open(method, path, body, headers)
        status = await opened.wait_for_status()
        parts = []
        while (part := await opened.read_part()) is not None:
            parts.append(part)
        await opened.task
        return Reply(status, opened.headers, b"".join(parts))


@asynccontextmanager
async def running_server(
    folder: Path,
    *,
    tools: Iterable[Any] = (),
    toml: str = "",
    auth: bool = False,
    settings: ServeSettings | None = None,
) -> AsyncIterator[InProcessServer]:
    """A workspace in a folder, served here. `toml`: its ferrule.toml, if the folder has none yet."""
    if not (folder / "ferrule.toml").exists():
        (folder / "ferrule.toml").write_text(toml)
    async with ferrule.open(folder, tools=tools) as app:
        chosen = settings or ServeSettings(auth=auth)
        access = Access(app.root)
        if chosen.auth:
            access.prepare()
        edge = Edge(app, chosen, gate_of(chosen, access), FairTurnstile(chosen.limits))
        try:
            yield InProcessServer(app, edge, build_root(edge))
        finally:
            await edge.aclose()


class ServerProcess(NamedTuple):
    """A real server."""

    process: subprocess.Popen[str]
    url: str
    told: dict[str, Any]
    """What it says about itself at its start."""

    def token(self, folder: Path, file: str = AGENT_FILE) -> str:
        return (folder / KEYS_FOLDER / file).read_text().strip()


@contextmanager
def running_process(
    folder: Path, *options: str, env: Mapping[str, str] | None = None, program: Sequence[str] = ("-m", "ferrule")
) -> Iterator[ServerProcess]:
    """`ferrule serve` on a free port, until the end of the block. `program`: what Python runs for `ferrule`."""
    words = [sys.executable, *program, "serve", "--workspace", str(folder), "--port", "0", "--json", *options]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        yield ServerProcess(process, told["url"], told)
    finally:
        process.terminate()
        try:
            process.wait(WAIT_SECONDS)
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
