"""A client of `ferrule serve --stdio`, in a process of its own."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

from tests.servers.mcp.session_client import make_initialize, make_message

WAIT_SECONDS = 30.0
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}

FUNCTIONS = '''
"""Tools for tests of standard streams."""

import asyncio
import os
import subprocess
import sys
import time
from typing import Any

import ferrule
from ferrule.contracts.executor import Context, Waiting

print("loading prints")
os.write(1, b"and writes\\\\n")


@ferrule.tool(read_only=True, concurrency_safe=True)
def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


@ferrule.tool(read_only=True, concurrency_safe=True)
def noisy() -> str:
    """Prints in every way there is."""
    print("printed", flush=True)
    sys.stdout.write("written\\\\n")
    sys.__stdout__.flush()
    os.write(1, b"{\\\\"jsonrpc\\\\":\\\\"2.0\\\\",\\\\"id\\\\":1,\\\\"result\\\\":\\\\"forged\\\\"}\\\\n")
    subprocess.run(["echo", "from a child"], check=True)
    return "quiet"


@ferrule.tool(read_only=True, concurrency_safe=True)
def reader() -> str:
    """Reads its standard input, alone and as a child."""
    mine = sys.stdin.read()
    theirs = subprocess.run(["cat"], capture_output=True, text=True, check=True).stdout
    return repr((mine, theirs))


@ferrule.tool(read_only=True, concurrency_safe=True)
async def slow(seconds: float = 60.0) -> str:
    """Takes its time."""
    await asyncio.sleep(seconds)
    return "done"


@ferrule.tool(read_only=True, concurrency_safe=True)
def stubborn(seconds: float = 60.0) -> str:
    """Takes its time, and cannot be stopped."""
    time.sleep(seconds)
    return "done"


@ferrule.tool(read_only=True, concurrency_safe=True)
async def parent() -> str:
    """Starts a child that stays, and waits for it."""
    child = await asyncio.create_subprocess_exec("sleep", "300")
    print(f"child {child.pid}", file=sys.stderr, flush=True)
    try:
        await child.wait()
    finally:
        child.kill()
        await child.wait()
    return "done"


@ferrule.tool(read_only=True, concurrency_safe=True)
async def steps(context: Context) -> str:
    """Says how far it is."""
    for number in range(3):
        context.progress(f"step {number}", percent=50 * number)
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
    return f"hello {received['name']['content']['name']}"


@ferrule.tool(read_only=True, concurrency_safe=True)
def long_text(size: int) -> str:
    """Many letters."""
    return "x" * size
'''.replace("\\\\", "\\")


def write_workspace(folder: Path) -> Path:
    """A workspace with those tools."""
    (folder / "ferrule.toml").write_text('[functions]\nmodules = ["functions.py"]\n')
    (folder / "functions.py").write_text(FUNCTIONS)
    return folder


class PipeClient:
    """Talks to a server over its standard streams."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._ids = count(1)
        self._rest = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._out, selectors.EVENT_READ)
        self.lines: list[bytes] = []
        """Everything that came, line by line."""

    def write(self, data: bytes) -> None:
        self._in.write(data)
        self._in.flush()

    def send(self, said: Any) -> None:
        self.write(json.dumps(said).encode() + b"\n")

    def read_line(self) -> bytes | None:
        """The next line; None at the end."""
        until = time.monotonic() + WAIT_SECONDS
        while b"\n" not in self._rest:
            assert self._selector.select(until - time.monotonic()), "nothing came"
            data = os.read(self._out.fileno(), 65536)
            if not data:
                assert not self._rest
                return None
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        self.lines.append(line)
        return line

    def read_message(self) -> Any:
        """The next message."""
        line = self.read_line()
        assert line is not None, "it ended"
        return json.loads(line)

    def start(self, method: str, **params: Any) -> int:
        number = next(self._ids)
        self.send(make_message(method, number, params=params))
        return number

    def ask(self, method: str, **params: Any) -> Any:
        """The response to a request. Nothing else may come meanwhile."""
        number = self.start(method, **params)
        answered = self.read_message()
        assert answered["id"] == number
        return answered

    def call(self, name: str, **arguments: Any) -> Any:
        return self.ask("tools/call", name=name, arguments=arguments)["result"]

    def begin(self, revision: str = "2025-11-25", capabilities: Any = None) -> Any:
        """The handshake."""
        self.send(make_initialize(revision, capabilities))
        answered = self.read_message()
        self.send(make_message("notifications/initialized"))
        return answered["result"]

    def close(self) -> float:
        """Close the pipe, and wait for the end; gives how long that took. Everything that still came is in `lines`."""
        begun = time.monotonic()
        self._in.close()
        while self.read_line() is not None:
            pass
        assert self.process.wait(WAIT_SECONDS) == 0
        return time.monotonic() - begun


@contextmanager
def running_stdio_server(folder: Path, env: Mapping[str, str] | None = None) -> Iterator[PipeClient]:
    """`ferrule serve --stdio`, until the end of the block. What it says on standard error is in `stderr.txt`."""
    words = [sys.executable, "-m", "ferrule", "serve", "--stdio", "--workspace", str(folder)]
    with open(folder / "stderr.txt", "wb") as told:
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=told, env={**os.environ, **(env or {})}
        )
    client = PipeClient(process)
    try:
        yield client
    finally:
        client._selector.close()
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()
