"""What the tests of programs stand on: whether there is a sandbox, a context that remembers, and who is still alive."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ferrule.contracts.executor import Context
from ferrule.contracts.payloads import PayloadOwner, StoredPayload
from ferrule.infra.processes.command_line import split_command
from ferrule.infra.processes.confined import Confinement, FinishedProgram, run_confined
from ferrule.infra.processes.programs import ProgramLimits
from ferrule.infra.processes.sandbox import find_bubblewrap

MUST_RUN = os.environ.get("FERRULE_REQUIRE_SERVICES") == "1"
OWNER = PayloadOwner("inv_1", "ada", "", "ops.bash")


def sandboxed() -> None:
    """Skip where there is no sandbox, unless everything must run."""
    found = find_bubblewrap()
    if isinstance(found, str) and MUST_RUN:
        pytest.fail(found)
    if isinstance(found, str):
        pytest.skip(f"needs service: {found}")


class RecordedOutput:
    """A payload in memory."""

    def __init__(self) -> None:
        self.size = 0
        self.data = bytearray()
        self.state = "open"

    def write(self, chunk: bytes) -> None:
        self.data += chunk
        self.size += len(chunk)

    def close(self) -> StoredPayload:
        self.state = "closed"
        digest = f"sha256:{hashlib.sha256(self.data).hexdigest()}"
        return StoredPayload(
            uri="payload:1", media_type="text/plain", digest=digest, size=self.size, created_at=0, owner=OWNER
        )

    def discard(self) -> None:
        if self.state == "open":
            self.state = "discarded"


class RecordingWire:
    """The pipeline's end of a context, remembering."""

    def __init__(self, *, keeps: bool = True) -> None:
        self.said: list[dict[str, Any]] = []
        self.outputs: list[RecordedOutput] = []
        self._keeps = keeps

    def progress(self, facts: dict[str, Any]) -> None:
        self.said.append(facts)

    def partial(self, blocks: tuple[dict[str, Any], ...]) -> None:
        raise NotImplementedError

    def background(self, task_id: str, message: str) -> None:
        raise NotImplementedError

    def native(self, ref: dict[str, Any]) -> None:
        raise NotImplementedError

    def secret(self, value: str) -> None:
        raise NotImplementedError

    def output(self, media_type: str, name: str) -> RecordedOutput:
        if not self._keeps:
            raise OSError("no room")
        self.outputs.append(RecordedOutput())
        return self.outputs[-1]


def make_context(wire: RecordingWire | None = None) -> Context:
    """The context of a call."""
    return Context("inv_1", "ada", None, "", wire=wire)


def make_confinement(root: Path, **said: Any) -> Confinement:
    """A workspace's confinement with short limits; `said` is put into it, or into its limits."""
    limits = {name: said.pop(name) for name in ProgramLimits.__struct_fields__ if name in said}
    return Confinement(root=root, limits=ProgramLimits(**({"seconds": 10.0, "grace_seconds": 0.2} | limits)), **said)


async def run_line(line: str | list[str], confinement: Confinement, told: Context | None = None) -> FinishedProgram:
    """A command, run to its end."""
    argv = split_command(line) if isinstance(line, str) else line
    return await run_confined(argv, confinement, told or make_context())


def find_living(sign: str) -> list[int]:
    """The processes with a text among their arguments, the dead ones that nobody has collected yet left out."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes()
            state = Path(f"/proc/{name}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        except OSError:
            continue
        if sign.encode() in words and state != "Z":
            found.append(int(name))
    return found


async def wait_until(condition: Callable[[], object], seconds: float = 5.0) -> None:
    """Wait for something to be so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to be"
        await asyncio.sleep(0.01)


def count_descriptors() -> int:
    """How many descriptors this process has open, without those that earlier tests left to the collector."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))
