"""Runs one program from start to end: streams its output, and ends it with all its processes when it must.

The caller gives the words, the folder and the limits; this module knows neither tools nor sandboxes, except that a
sandbox reports its first process and the program's ending over a status descriptor.
"""

from __future__ import annotations

import asyncio
import json
import os
from asyncio.subprocess import DEVNULL
from collections.abc import Callable, Mapping
from typing import Literal, cast

import msgspec

from ferrule.contracts.payloads import PayloadWriter, StoredPayload
from ferrule.infra.processes.output import Capture, OutputLines
from ferrule.infra.processes.programs import ProgramLimits
from ferrule.infra.processes.tree import ProcessTree
from ferrule.infra.tasks import Patience

Reason = Literal["exited", "timeout", "aborted", "too_much_output", "too_many_processes", "not_confined"]

_TICK_SECONDS = 0.1
"""How often to check the processes and report progress."""
_DRAIN_SECONDS = 0.5
"""How long to wait for output after the last process has ended; only a process that got away can hold it that long."""
_CHUNK = 64 * 1024
_STATUS_BYTES = 16 * 1024


class ProgramStart(msgspec.Struct, frozen=True, kw_only=True):
    """A program to start."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    fds: tuple[int, ...] = ()
    """Descriptors it inherits besides its outputs. The caller closes them."""
    status_fd: int | None = None
    """Where a sandbox reports its status; None without one. The caller closes it."""
    mark: str | None = None
    """A text in `env` that all its processes share."""
    keepers: int = 0
    """How many generations of processes are the sandbox's."""
    stdout_bytes: int = 0
    """How much of its standard output is also kept apart from standard error."""


class ProgramEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended."""

    reason: Reason
    exit_code: int | None
    """None when it did not end by itself."""
    signal: int | None
    seconds: float
    output: str
    """Both outputs as they came, cut in the middle when long."""
    stdout_bytes: int
    stderr_bytes: int
    line_count: int
    is_whole: bool
    """False when `output` was cut."""
    kept: StoredPayload | None
    """The stored long output."""
    is_gone: bool
    """True when none of its processes is left."""
    stdout: bytes = b""
    """Its standard output alone, as far as `Start.stdout_bytes` goes."""


class ProgramFacts(msgspec.Struct, frozen=True):
    """The progress of a program, and its exit code at the end (AT-203)."""

    stdout_bytes: int
    stderr_bytes: int
    line_count: int
    timeout_ms: int
    exit_code: int | None = None


async def run_program(
    start: ProgramStart,
    limits: ProgramLimits,
    *,
    until: float | None = None,
    on_abort: Callable[[Callable[[], None]], None] | None = None,
    tell: Callable[[ProgramFacts], None] | None = None,
    keep: Callable[[], PayloadWriter] | None = None,
    hear: Callable[[str], None] | None = None,
) -> ProgramEnd:
    """Runs a program to its end. Raises OSError when it cannot be started.

    `until`: the time of the loop's clock at which it must have ended, if that is sooner. `on_abort`: takes the function
    that stops it. `tell`: gets progress; `hear`: gets its output, in whole lines. Cancelling ends all of its processes
    before the cancellation propagates.
    """
    run = _Run(start, limits, tell, keep, hear)
    patience = Patience()
    try:
        if on_abort is not None:
            on_abort(lambda: run.stop("aborted"))
        await run.begin(patience)
        try:
            patience.check()
            reason = await run.watch(until)
        except asyncio.CancelledError:
            await run.finish("aborted", patience, keeps=False)
            raise
        ended = await run.finish(reason, patience)
        patience.check()
        return ended
    finally:
        run.close()


class _Run:
    """One running program."""

    def __init__(
        self,
        start: ProgramStart,
        limits: ProgramLimits,
        tell: Callable[[ProgramFacts], None] | None,
        keep: Callable[[], PayloadWriter] | None,
        hear: Callable[[str], None] | None = None,
    ) -> None:
        self._lines = None if hear is None else OutputLines(hear)
        self._stdout = bytearray()
        self._start = start
        self._limits = limits
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._capture = Capture(limits.inline_bytes, keep)
        self._written = [0, 0]
        self._told: ProgramFacts | None = None
        self._reason: asyncio.Future[Reason] = self._loop.create_future()
        self._drained: asyncio.Future[None] = self._loop.create_future()
        self._open: dict[int, int] = {}
        """Our ends of its outputs, and which they are."""
        self._ours: list[int] = []
        self._status = b""
        self._is_confined = start.status_fd is None
        self._status_exit: int | None = None
        self._exited: asyncio.Future[int] = self._loop.create_future()
        self._exited.add_done_callback(lambda _: self.stop("exited"))
        self._transport: asyncio.SubprocessTransport | None = None
        self._tree: ProcessTree

    # From start to end

    async def begin(self, patience: Patience) -> None:
        """Starts it. Raises OSError."""
        start = self._start
        theirs: list[int] = []
        for which in (0, 1):
            ours, their = os.pipe()
            theirs.append(their)
            os.set_blocking(ours, False)
            self._open[ours] = which
            self._ours.append(ours)
        starting = asyncio.ensure_future(
            self._loop.subprocess_exec(
                lambda: _Exit(self._exited), *start.argv, stdin=DEVNULL, stdout=theirs[0], stderr=theirs[1], cwd=start.cwd,
                env=dict(start.env), pass_fds=start.fds, start_new_session=True,
            )
        )  # fmt: skip
        try:
            # A cancelled start could leave a process that nobody knows, so the request is only noted here.
            await patience.wait(starting)
            self._transport, _ = starting.result()
        finally:
            # As long as we hold these ends, the end of the program's output would never be seen.
            for their in theirs:
                os.close(their)
        self._tree = ProcessTree(self._transport.get_pid(), mark=start.mark, keepers=start.keepers)
        for fd in self._open:
            self._loop.add_reader(fd, self._read, fd)
        if start.status_fd is not None:
            os.set_blocking(start.status_fd, False)
            self._loop.add_reader(start.status_fd, self._read_status)

    async def watch(self, until: float | None) -> Reason:
        """Waits for the end, or for a reason to end it."""
        deadline = self._began + self._limits.seconds
        deadline = deadline if until is None else min(deadline, until)
        while not self._reason.done():
            left = deadline - self._loop.time()
            if left <= 0:
                self.stop("timeout")
                break
            await asyncio.wait({self._reason}, timeout=min(left, _TICK_SECONDS))
            if self._reason.done():
                break
            if self._tree.look() > self._limits.processes + self._start.keepers:
                self.stop("too_many_processes")
            self._progress()
        return self._reason.result()

    async def finish(self, reason: Reason, patience: Patience, *, keeps: bool = True) -> ProgramEnd:
        """Ends all its processes, and returns how it ended."""
        ended_at = self._loop.time()
        if reason in ("timeout", "aborted"):
            self._tree.look()
            self._tree.ask_to_end()
            await patience.wait(self._exited, self._limits.grace_seconds)
        self._read_status()
        # Also after a normal exit: processes that the program left behind end with it.
        is_gone = await self._tree.end(self._exited, patience)
        # Once more: the sandbox may have written the exit code just before it ended.
        self._read_status()
        if self._open and reason != "too_much_output":
            await patience.wait(self._drained, _DRAIN_SECONDS)
        # Only the sandbox's own status proves that the program ran inside it.
        if reason == "exited" and not self._is_confined:
            reason = "not_confined"
        code, signal = self._ending() if reason == "exited" else (None, None)
        self._progress(code, is_last=True)
        kept: StoredPayload | None = None
        if keeps and self._capture.writer is not None:
            closing = self._loop.run_in_executor(None, self._capture.close)
            await patience.wait(closing)
            kept = closing.result()
        return ProgramEnd(
            reason=reason,
            exit_code=code,
            signal=signal,
            seconds=ended_at - self._began,
            output=self._capture.text(),
            stdout_bytes=self._written[0],
            stderr_bytes=self._written[1],
            line_count=self._capture.line_count,
            is_whole=self._capture.is_whole,
            kept=kept,
            is_gone=is_gone,
            stdout=bytes(self._stdout),
        )

    def close(self) -> None:
        """Closes what was opened, and discards stored output that has no result."""
        if self._transport is not None:
            self._transport.close()
        for fd in list(self._open):
            self._close(fd)
        for fd in self._ours:
            os.close(fd)
        if self._start.status_fd is not None:
            self._loop.remove_reader(self._start.status_fd)
        self._capture.discard()

    def stop(self, reason: Reason) -> None:
        """Asks it to end. The first reason counts."""
        if not self._reason.done():
            self._reason.set_result(reason)

    # What it says

    def _read(self, fd: int) -> None:
        try:
            chunk = os.read(fd, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._close(fd)
            return
        # Cut at the limit, so that the kept output never exceeds it.
        room = self._limits.output_bytes - self._capture.total
        chunk, is_too_much = chunk[:room], len(chunk) > room
        which = self._open[fd]
        self._written[which] += len(chunk)
        if which == 0 and len(self._stdout) < self._start.stdout_bytes:
            self._stdout += chunk[: self._start.stdout_bytes - len(self._stdout)]
        if self._lines is not None:
            self._lines.feed(chunk)
        self._capture.feed(chunk)
        if is_too_much:
            self.stop("too_much_output")
            for each in list(self._open):
                self._close(each)

    def _close(self, fd: int) -> None:
        self._loop.remove_reader(fd)
        del self._open[fd]
        if not self._open and not self._drained.done():
            self._drained.set_result(None)

    def _read_status(self) -> None:
        """Reads a sandbox's status: `{"child-pid": 7, …}` once it is set up, `{"exit-code": 0}` when the program has
        ended."""
        fd = self._start.status_fd
        if fd is None:
            return
        try:
            chunk = os.read(fd, _STATUS_BYTES)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._loop.remove_reader(fd)
        self._status += chunk
        *lines, self._status = self._status.split(b"\n")
        for line in lines:
            self._take_status(line)

    def _take_status(self, line: bytes) -> None:
        try:
            said = json.loads(line)
        except ValueError:
            return
        if isinstance(said.get("child-pid"), int):
            self._tree.add(said["child-pid"], os.path.basename(self._start.argv[0]))
        if isinstance(said.get("exit-code"), int):
            self._is_confined = True
            self._status_exit = said["exit-code"]

    def _progress(self, code: int | None = None, *, is_last: bool = False) -> None:
        if self._lines is not None:
            self._lines.tell(is_last=is_last)
        if self._tell is None:
            return
        timeout_ms = int(self._limits.seconds * 1000)
        facts = ProgramFacts(self._written[0], self._written[1], self._capture.line_count, timeout_ms, code)
        if facts != self._told or is_last:
            self._told = facts
            self._tell(facts)

    def _ending(self) -> tuple[int | None, int | None]:
        """Returns exit code and signal. A sandbox reports a signal as 128 and its number, as shells do, so that counts
        as one."""
        code = self._exited.result() if self._status_exit is None else self._status_exit
        if code < 0:
            return 128 - code, -code
        if self._start.status_fd is not None and 128 < code <= 128 + 64:
            return code, code - 128
        return code, None


class _Exit(asyncio.SubprocessProtocol):
    """Reports how a program ended."""

    def __init__(self, exited: asyncio.Future[int]) -> None:
        self._exited = exited
        self._transport: asyncio.SubprocessTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Takes the transport."""
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def process_exited(self) -> None:
        """Reports the exit, after the process is reaped."""
        code = self._transport.get_returncode()
        if not self._exited.done():
            self._exited.set_result(-1 if code is None else code)
