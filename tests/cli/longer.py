"""A workspace whose tools take their time, commands that run beside one another, and a terminal to watch them on."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

FERRULE = [sys.executable, "-c", "import sys; from ferrule.cli import main; sys.exit(main())"]
PATIENCE = 20.0
FUNCTIONS = '''
import asyncio
import time
from pathlib import Path

import ferrule


@ferrule.tool(read_only=True, concurrency_safe=True)
async def steps(context: ferrule.Context, count: int = 3, pause: float = 0.02) -> dict[str, int]:
    """Goes step by step."""
    for number in range(1, count + 1):
        context.progress(f"at step {number}", percent=100 * number / count, current_step=number, total_steps=count)
        context.partial(f"part {number}")
        await asyncio.sleep(pause)
    return {"count": count}


@ferrule.tool(read_only=True)
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@ferrule.tool(destructive=False)
def fails(why: str) -> str:
    """Fails."""
    raise ferrule.ToolFailed(why)


@ferrule.tool(destructive=False)
async def endless(context: ferrule.Context, message: str = "begun") -> str:
    """Goes on until it is stopped."""
    context.progress(message, bytes_read=1_500_000, line_count=7)
    print("a word of the tool")
    await asyncio.Event().wait()
    return "never"


@ferrule.tool(destructive=False)
def stubborn(context: ferrule.Context, gate: str) -> str:
    """A plain function, which cannot be stopped; ends when a file is there."""
    context.progress("begun")
    while not Path(gate).exists():
        time.sleep(0.01)
    return "it was done"


@ferrule.tool(destructive=False)
async def later(context: ferrule.Context, gate: str) -> str:
    """Goes on in the background."""
    context.to_background("job-1", "the printer was told")
    while not Path(gate).exists():
        await asyncio.sleep(0.01)
    return "printed"


@ferrule.tool
async def asks(context: ferrule.Context) -> str:
    """A person is asked before this."""
    context.progress("approved and begun")
    return "allowed"
'''
POLICY = """
[[rules]]
id = "known"
decision = "allow"
tool = ["fails", "endless", "stubborn", "later"]
"""
_BEGUN: list[int] = []
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def write_longer(root: Path) -> Path:
    """The workspace."""
    root.mkdir()
    (root / "ferrule.toml").write_text('namespace = "slow"\n[functions]\nmodules = ["functions.py"]\n')
    (root / "functions.py").write_text(FUNCTIONS)
    (root / "policy.toml").write_text(POLICY)
    return root


def end_what_is_left() -> None:
    """Nothing that a failed test began goes on."""
    while _BEGUN:
        with suppress(ProcessLookupError):
            os.kill(_BEGUN.pop(), signal.SIGKILL)


def surroundings(**more: str) -> dict[str, str]:
    dropped = ("NO_COLOR", "FORCE_COLOR", "FERRULE_TOKEN", "FERRULE_POLICY")
    return {name: value for name, value in os.environ.items() if name not in dropped} | {"PYTHONUTF8": "1"} | more


class Running:
    """A command in a process of its own, its standard error read as it comes."""

    def __init__(self, *words: str, folder: Path, **environment: str) -> None:
        self._process = subprocess.Popen(
            [*FERRULE, *words],
            cwd=folder,
            env=surroundings(**environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.err = ""
        self.out = ""
        self._readers = [
            threading.Thread(target=self._read, args=("err", self._process.stderr)),
            threading.Thread(target=self._read, args=("out", self._process.stdout)),
        ]
        for reader in self._readers:
            reader.start()
        _BEGUN.append(self._process.pid)

    def _read(self, name: str, stream: object) -> None:
        with stream:  # type: ignore[attr-defined]
            for line in stream:  # type: ignore[attr-defined]
                setattr(self, name, getattr(self, name) + line.decode())

    def until(self, words: str) -> str:
        """Standard error, once these words are in it."""
        _wait(lambda: words in self.err or self._process.poll() is not None, lambda: self.err)
        assert words in self.err, self.err
        return self.err

    def call_id(self) -> str:
        """The id it told."""
        _wait(lambda: _id(self.err) or self._process.poll() is not None, lambda: self.err)
        return _id(self.err)

    def interrupt(self) -> None:
        """Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def ended(self) -> int:
        """Its exit code."""
        try:
            code = self._process.wait(PATIENCE)
            _BEGUN.remove(self._process.pid)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise AssertionError(f"it does not end:\n{self.err}") from None
        for reader in self._readers:
            reader.join(PATIENCE)
        return code


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, *words: str, folder: Path, **environment: str) -> None:
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:  # pragma: no cover - another process
            os.chdir(folder)
            os.execve(sys.executable, [*FERRULE, *words], surroundings(**{"TERM": "xterm-256color"} | environment))
        self.raw = b""
        _BEGUN.append(self._pid)

    @property
    def shown(self) -> str:
        """What was written, without the codes that move and colour."""
        return _ESCAPES.sub("", self.raw.decode(errors="replace"))

    def until(self, words: str) -> str:
        """What was written, once these words are in it."""
        until = time.monotonic() + PATIENCE
        while words not in self.shown and time.monotonic() < until and self._more():
            pass
        assert words in self.shown, self.shown
        return self.shown

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._terminal, keys)

    def ended(self) -> int:
        """Its exit code."""
        until = time.monotonic() + PATIENCE
        while self._more() and time.monotonic() < until:
            pass
        os.close(self._terminal)
        _, status = os.waitpid(self._pid, 0)
        _BEGUN.remove(self._pid)
        return os.waitstatus_to_exitcode(status)

    def _more(self) -> bool:
        if not select.select([self._terminal], [], [], 0.1)[0]:
            return True
        try:
            read = os.read(self._terminal, 65536)
        except OSError:  # the other side is gone
            return False
        self.raw += read
        return bool(read)


def _id(text: str) -> str:
    found = re.search("inv_[0-9a-f]{24}", text)
    return found.group() if found else ""


def _wait(is_so: Callable[[], object], shown: Callable[[], str]) -> None:
    until = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > until:
            raise AssertionError(f"it did not come:\n{shown()}")
        time.sleep(0.01)
