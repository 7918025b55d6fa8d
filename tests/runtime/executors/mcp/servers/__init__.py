"""Real servers, started as programs, and what they left in their notes."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path(__file__).parent
BOUND = 30.0


def command(name: str, *words: str) -> list[str]:
    """What starts one of the servers of this folder."""
    return [sys.executable, str(FOLDER / f"{name}.py"), *words]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class Notes:
    """What a server wrote down."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def count(self, word: str) -> int:
        file = self.folder / word
        return len(file.read_text().splitlines()) if file.exists() else 0

    async def reaches(self, word: str, count: int) -> bool:
        """True as soon as it was noted so often; waits for that, within a bound."""
        end = time.monotonic() + BOUND
        while self.count(word) < count:
            if time.monotonic() > end:
                return False
            await asyncio.sleep(0.01)
        return True


class HttpServer:
    """A server on a port of this machine."""

    def __init__(self, name: str, notes: Notes, port: int | None = None, **env: str) -> None:
        self.port = port or free_port()
        self.notes = notes
        self.process = subprocess.Popen(
            command(name, "http", str(self.port)),
            env={**os.environ, "NOTES": str(notes.folder), **env},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait()

    def url(self, path: str = "/mcp") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        if self.process.poll() is None:
            self.kill()

    def _wait(self) -> None:
        end = time.monotonic() + BOUND
        while time.monotonic() < end and self.process.poll() is None:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise RuntimeError("the server did not start")


@contextmanager
def http_server(name: str, folder: Path, port: int | None = None, **env: str) -> Iterator[HttpServer]:
    """One that ends with the test."""
    server = HttpServer(name, Notes(folder), port, **env)
    try:
        yield server
    finally:
        server.close()


def is_alive(pid: int) -> bool:
    """True for a process that runs; a zombie does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZXx"
    except OSError:
        return False


async def is_gone(pid: int) -> bool:
    """True as soon as a process has ended and was reaped; waits for that, within a bound."""
    end = time.monotonic() + BOUND
    while os.path.exists(f"/proc/{pid}"):
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.01)
    return True
