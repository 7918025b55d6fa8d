"""A real workspace with tools that leave a trace of everything they do, and processes that work in it.

A tool writes its invocation's id to `effects.log`, on disk, before it answers: what is in that file really happened.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ferrule.app.app import App
from ferrule.app.custody.check import verify_ledger
from ferrule.app.ledger_file import LEDGER_PUBLIC
from ferrule.definitions.compiler.seal import read_trusted_keys
from ferrule.ledger.audit.findings import AuditVerdict
from ferrule.model.journal import StoredEntry
from tests import ROOT

T = TypeVar("T")
WAIT = 60.0
MUST_RUN = os.environ.get("FERRULE_REQUIRE_SERVICES") == "1"
SOAK = int(os.environ.get("FERRULE_SOAK", "0"))

_FUNCTIONS = '''
import os
import time
from pathlib import Path

import ferrule

EFFECTS = Path(__file__).with_name("effects.log")


def happen(context: ferrule.Context) -> dict[str, str]:
    log = os.open(EFFECTS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(log, f"{context.invocation_id}\\n".encode())
        os.fsync(log)
    finally:
        os.close(log)
    return {"receipt": context.invocation_id}


@ferrule.tool(read_only=True)
def look(n: int) -> int:
    """Look at something."""
    return n


@ferrule.tool
def act(n: int, context: ferrule.Context) -> dict[str, str]:
    """Do something."""
    return happen(context)


@ferrule.tool
def drag(n: int, context: ferrule.Context) -> dict[str, str]:
    """Do something, and take long over it."""
    given = happen(context)
    time.sleep(0.3)
    return given


@ferrule.tool
def pay(n: int, context: ferrule.Context) -> dict[str, str]:
    """Do something that needs an approval."""
    return happen(context)


@ferrule.tool
def wire(n: int, context: ferrule.Context) -> dict[str, str]:
    """Do something that needs the approval of two people."""
    return happen(context)
'''
_POLICY = """
[[rules]]
id = "all"
decision = "allow"
tool = "*"

[[rules]]
id = "pay"
decision = "ask"
tool = "pay"
expires = "1h"

[[rules]]
id = "wire"
decision = "ask"
tool = "wire"
people = 2
expires = "1h"
"""


class Place:
    """One workspace."""

    def __init__(self, folder: Path, ledger: Path | None = None, functions: str = "") -> None:
        self.root = folder / "workspace"
        self.root.mkdir()
        self.ledger = ledger or self.root / ".ferrule" / "ledger.db"
        settings = f'namespace = "faults"\n[functions]\nmodules = ["functions.py"]\n[ledger]\npath = "{self.ledger}"\n'
        (self.root / "ferrule.toml").write_text(settings)
        (self.root / "functions.py").write_text(_FUNCTIONS + functions)
        (self.root / "policy.toml").write_text(_POLICY)

    def effects(self) -> Counter[str]:
        """The invocations whose tool really acted, each with how often."""
        log = self.root / "effects.log"
        return Counter(log.read_text().split()) if log.exists() else Counter()

    def verify(self) -> AuditVerdict:
        """What the audit says of the ledger."""
        return verify_ledger(self.ledger, read_trusted_keys(self.root / LEDGER_PUBLIC))

    def start(self, work: str, name: str = "-", before: Sequence[str] = ()) -> Worker:
        """A process at work (`worker.py`), perhaps run by another command."""
        return Worker([*before, sys.executable, "-m", "tests.faults.worker", work, str(self.root), name])

    def command(self, *words: str, token: str | None = None, before: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """A `ferrule` command in the workspace, started."""
        environment = {**os.environ, **({"FERRULE_TOKEN": token} if token else {})}
        line = [*before, sys.executable, "-m", "ferrule", *words]
        return subprocess.Popen(line, cwd=self.root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ferrule(self, *words: str, token: str | None = None) -> tuple[int, str, str]:
        """A `ferrule` command, run: its exit code, output and complaints."""
        return ended(self.command(*words, token=token))


def ended(command: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """A command's exit code, output and complaints, once it has ended."""
    try:
        out, err = command.communicate(timeout=WAIT)
    finally:
        command.kill()
    return command.returncode, out.decode(), err.decode()


class Worker:
    """A child process, and what it told until now."""

    def __init__(self, command: Sequence[str]) -> None:
        # Unbuffered: what one line was read with must not be missing when the rest is.
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self._heard = b""

    def hear(self) -> list[str]:
        """The words of the next line; empty at the end."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self._heard += line
        return line.decode().split()

    def say(self, word: str) -> None:
        """One line on its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n".encode())
        self.process.stdin.flush()

    def kill(self) -> list[list[str]]:
        """Kill it, now; gives everything it told, in words."""
        self.process.send_signal(signal.SIGKILL)
        return self.finish()

    def finish(self) -> list[list[str]]:
        """Wait until it ends; gives everything it told, in words. A line that was cut short does not count."""
        try:
            rest, _ = self.process.communicate(timeout=WAIT)
        finally:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    pipe.close()
        told = self._heard + rest
        return [line.split() for line in told[: told.rfind(b"\n") + 1].decode().splitlines()]


async def rows_by_call(app: App) -> dict[str, list[StoredEntry]]:
    """The whole ledger, call by call."""
    calls: dict[str, list[StoredEntry]] = {}
    seq = 0
    while rows := await app.store.rows_after(seq, 2000):
        seq = rows[-1].seq
        for row in rows:
            if row.kind == "news":
                continue
            calls.setdefault(row.call, []).append(row)
    return calls


def played(story: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, which it has to reach."""
    return asyncio.run(asyncio.wait_for(story, WAIT))
