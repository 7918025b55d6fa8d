"""A real `ferrule serve` that is watched from outside: what it logs, and what it holds of the machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ferrule.access.keys import AGENT_FILE, KEYS_FOLDER, OWNER_FILE

WAIT_SECONDS = 30.0
FUNCTIONS = '''
import asyncio
import os
from pathlib import Path
from typing import Any

import ferrule

EFFECTS = Path(__file__).with_name("effects.log")


@ferrule.tool(read_only=True, inline=True)
def add(a: int, b: int) -> int:
    """Adds two whole numbers."""
    return a + b


@ferrule.tool(read_only=True, inline=True)
def echo(value: Any = None) -> Any:
    """Gives back what it gets."""
    return {"value": value}


@ferrule.tool
def act(n: int, key: str, context: ferrule.Context) -> dict[str, str]:
    """Leaves a trace on disk."""
    log = os.open(EFFECTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(log, f"{context.invocation_id} {key}\\n".encode())
        os.fsync(log)
    finally:
        os.close(log)
    return {"receipt": context.invocation_id}


@ferrule.tool
def pay(n: int, key: str, context: ferrule.Context) -> dict[str, str]:
    """Does something that needs an approval."""
    return act(n, key, context)


@ferrule.tool
async def drag(n: int, key: str, context: ferrule.Context) -> dict[str, str]:
    """Leaves a trace on disk, and takes long over it."""
    given = act(n, key, context)
    await asyncio.sleep(60)
    return given


@ferrule.tool(read_only=True, concurrency_safe=True)
async def nap(seconds: float, context: ferrule.Context) -> str:
    """Takes a while, and says so."""
    for part in range(10):
        await asyncio.sleep(seconds / 10)
        context.progress("napping", current_step=part + 1, total_steps=10)
    return "rested"


@ferrule.tool(read_only=True, inline=True)
def announce(times: int, context: ferrule.Context) -> int:
    """Tells everybody who listens that a page has changed."""
    for _ in range(times):
        context.announce("docs://page/one")
    return times


@ferrule.tool(read_only=True, inline=True)
def large(size: int) -> str:
    """A long text."""
    return "x" * min(size, 2_000_000)


@ferrule.tool(read_only=True)
async def ask(what: str, context: ferrule.Context) -> Any:
    """Asks the client for a form."""
    form = {"type": "object", "properties": {"name": {"type": "string"}}}
    question = {"method": "elicitation/create", "params": {"message": what, "requestedSchema": form}}
    return context.ask_client({"form": question})


@ask.resume
async def _asked(state: bytes, answer: dict[str, Any], context: ferrule.Context) -> Any:
    return {"answer": answer}


@ferrule.resource("docs://page/{name}", complete={"name": ["one", "two"]})
def page(name: str) -> str:
    """A page."""
    return name


@ferrule.prompt
def greet(name: str = "you") -> str:
    """Says hello."""
    return f"Hello, {name}"
'''
POLICY = """
[[rules]]
id = "all"
decision = "allow"
tool = "*"

[[rules]]
id = "pay"
decision = "ask"
tool = "pay"
expires = "1h"
"""


class Held(NamedTuple):
    """What a process and its children hold."""

    files: int
    threads: int
    children: int
    kilobytes: int


class Running:
    """A server process and its workspace."""

    def __init__(self, folder: Path, *options: str, port: int = 0) -> None:
        self.folder = folder
        self.log = folder / "serve.log"
        self._options = options
        self.port = port
        self.process: subprocess.Popen[str] | None = None
        self._looked = 0

    def start(self) -> None:
        """Begin to serve: on the port it had before, if it had one. Returns when clients can connect."""
        words = [sys.executable, "-m", "ferrule", "serve", "--workspace", str(self.folder), "--port", str(self.port)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*words, "--json", *self._options], stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"it did not begin:\n{self.log.read_text()}"
        self.port = int(json.loads(line)["url"].rpartition(":")[2])

    @property
    def pid(self) -> int:
        """Of the process."""
        assert self.process is not None
        return self.process.pid

    def kill(self) -> None:
        """End it without any warning."""
        os.kill(self.pid, signal.SIGKILL)
        self._gone()

    def stop(self) -> int:
        """End it politely; gives its exit code."""
        assert self.process is not None
        self.process.terminate()
        try:
            return self.process.wait(WAIT_SECONDS)
        finally:
            self.process.kill()
            self._gone()

    def _gone(self) -> None:
        assert self.process is not None
        self.process.wait(WAIT_SECONDS)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def token(self, file: str = AGENT_FILE) -> str:
        """The secret of a local token."""
        return (self.folder / KEYS_FOLDER / file).read_text().strip()

    def owner(self) -> str:
        """The owner's token."""
        return self.token(OWNER_FILE)

    def complaints(self) -> str:
        """What it logged since the last look that only a mistake of ours explains."""
        size = self.log.stat().st_size
        if size == self._looked:
            return ""
        with self.log.open("rb") as log:
            log.seek(self._looked)
            text = log.read().decode(errors="replace")
        self._looked = size
        bad = any(mark in text for mark in ("Traceback", "ERROR", "CRITICAL", "never retrieved", "Exception ignored"))
        return text if bad else ""

    def held(self) -> Held:
        """What it holds now."""
        return held(self.pid)


def held(pid: int) -> Held:
    """What a process holds now."""
    place = Path(f"/proc/{pid}")
    files = len(os.listdir(place / "fd"))
    said = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines() if ":" in line)
    children = (place / f"task/{pid}/children").read_text().split()
    return Held(files, int(said["Threads"]), len(children), int(said["VmRSS"].split()[0]))


def workspace(folder: Path, toml: str = "") -> Path:
    """A workspace with tools of every kind, and one that needs approvals."""
    (folder / "functions.py").write_text(FUNCTIONS)
    (folder / "policy.toml").write_text(POLICY)
    (folder / "ferrule.toml").write_text(f'namespace = "rough"\n[functions]\nmodules = ["functions.py"]\n{toml}')
    return folder


@contextmanager
def running(folder: Path, *options: str) -> Iterator[Running]:
    """A server for the length of the block."""
    server = Running(folder, *options)
    server.start()
    try:
        yield server
    finally:
        if server.process is not None and server.process.poll() is None:
            server.stop()
        elif server.process is not None and server.process.stdout is not None:
            server.process.stdout.close()


def until(check: Callable[[], bool], what: str = "it") -> None:
    """Wait until something is so."""
    end = time.monotonic() + WAIT_SECONDS
    while not check():
        assert time.monotonic() < end, f"{what} never came"
        time.sleep(0.02)
