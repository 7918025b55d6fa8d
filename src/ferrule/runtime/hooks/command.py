"""A program as a provider: JSON on its standard input, JSON on its standard output, no shell in between.

It runs in a process group of its own. When it ends, is late or its call is canceled, everything left in that group is
killed; only a process that moved to another session can outlive it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from ferrule.contracts.hook import HookFailed
from ferrule.errors import SettingsError

MAX_ANSWER_BYTES = 1024 * 1024
_REAP_SECONDS = 1.0
"""How long to wait for a killed program; only a stuck system needs that long."""


class CommandReach:
    """A program to ask, started anew for each question."""

    def __init__(
        self,
        argv: Sequence[str],
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout_seconds: float = 5.0,
    ) -> None:
        """`env` is the whole environment it gets; a program without a slash is looked for on its PATH. Raises SettingsError."""
        if isinstance(argv, str) or not argv or not argv[0] or any("\0" in word for word in argv):
            raise SettingsError('a command is a list of words that begins with the program: ["python3", "check.py"]')
        self.timeout_seconds = timeout_seconds
        self._argv = tuple(argv)
        self._cwd = cwd
        self._env = dict(env or {})

    async def ask(self, message: bytes) -> bytes:
        """Runs the program and returns its standard output. Raises HookFailed."""
        try:
            async with asyncio.timeout(self.timeout_seconds):
                return await self._run(message)
        except TimeoutError:
            raise HookFailed(f"{self._program} gave no answer within {self.timeout_seconds:g} s") from None

    async def aclose(self) -> None:
        """Closes nothing: no process outlives its question."""

    @property
    def _program(self) -> str:
        """The program's name for messages. Its arguments may hold secrets, its name does not."""
        return f"the program {os.path.basename(self._argv[0])!r}"

    async def _run(self, message: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        heard = _ProgramOutput(loop)
        # Not asyncio's own pipe: on some systems that is a socket, which a program cannot open as /dev/stdin.
        read_end, write_end = os.pipe()
        stdin = open(write_end, "wb", buffering=0)  # noqa: SIM115  # closed by its transport
        try:
            transport, _ = await loop.subprocess_exec(
                lambda: heard,
                *self._argv,
                stdin=read_end,
                cwd=self._cwd,
                env=self._env,
                # A process group of its own, so that killing the group reaches everything the program started.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            stdin.close()
            raise HookFailed(f"{self._program} cannot be started: {type(error).__name__}") from None
        except BaseException:
            stdin.close()
            raise
        finally:
            os.close(read_end)
        try:
            writing, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, stdin)
            writing.write(message)
            writing.write_eof()
            try:
                await heard.complete
            finally:
                if (
                    writing.get_write_buffer_size()
                ):  # the program did not read its input; an empty buffer closes by itself
                    writing.abort()
        finally:
            await _end_program(transport, heard)
        return self._take_output(heard, transport.get_returncode())

    def _take_output(self, heard: _ProgramOutput, code: int | None) -> bytes:
        if heard.is_too_long:
            raise HookFailed(f"{self._program} wrote more than {MAX_ANSWER_BYTES} bytes")
        if code != 0:
            how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
            wrote = f" ({heard.error_bytes} bytes on its error output)" if heard.error_bytes else ""
            raise HookFailed(f"{self._program} {how}{wrote}")
        return bytes(heard.output)


class _ProgramOutput(asyncio.SubprocessProtocol):
    """The output of a program so far. Its error output is only counted, since it may hold secrets."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.output = bytearray()
        self.error_bytes = 0
        self.is_too_long = False
        self.exited: asyncio.Future[None] = loop.create_future()
        self.complete: asyncio.Future[None] = loop.create_future()
        """Done when the program has ended and nobody can write any more, or when it wrote too much."""
        self._transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport of the started program."""
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Collects standard output up to the limit; counts error output."""
        if fd != 1:
            self.error_bytes += len(data)
        elif len(self.output) + len(data) <= MAX_ANSWER_BYTES:
            self.output += data
        else:
            self.is_too_long = True
            _complete(self.complete)

    def process_exited(self) -> None:
        """Kills the processes that the program left behind, which closes the pipes."""
        _complete(self.exited)
        if self._transport is not None:
            _kill_group(self._transport.get_pid())

    def connection_lost(self, exc: Exception | None) -> None:
        """Completes: the program has ended and every pipe is closed."""
        _complete(self.complete)


async def _end_program(transport: asyncio.SubprocessTransport, heard: _ProgramOutput) -> None:
    """Kills a program and everything it started, also when the waiting task is canceled meanwhile."""
    try:
        if not heard.exited.done():
            _kill_group(transport.get_pid())
            await asyncio.wait({heard.exited}, timeout=_REAP_SECONDS)
    finally:
        transport.close()


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _complete(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
