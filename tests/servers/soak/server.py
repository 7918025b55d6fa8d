"""A real server that can be asked what it holds inside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import ROOT
from tests.servers.running import Running, until


class Watched(Running):
    """A server that can be asked what it holds inside."""

    def start(self) -> None:
        self.counts = self.folder / "counts.json"
        module = [sys.executable, "-m", "tests.servers.soak.watched", str(self.counts)]
        words = [*module, "serve", "--workspace", str(self.folder), "--port", "0", "--json"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.log.read_text()
        self.port = int(json.loads(line)["url"].rpartition(":")[2])

    def inside(self) -> dict[str, int]:
        return counts(self.pid, self.counts)


def counts(pid: int, file: Path) -> dict[str, int]:
    """What a process holds inside."""
    file.unlink(missing_ok=True)
    os.kill(pid, signal.SIGUSR1)
    until(file.exists, "what it holds")
    found: dict[str, int] = json.loads(file.read_text())
    return found


@contextmanager
def watched(folder: Path) -> Iterator[Watched]:
    """Such a server for the length of the block."""
    server = Watched(folder)
    server.start()
    try:
        yield server
    finally:
        if server.process is not None and server.process.poll() is None:
            server.stop()
