"""Stdio transport: runs a server as a program, one message a line. It ends with the connection, and all it started too.

The official client leaves running what a server started that ended by itself; here all of it is always ended and reaped.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from ferrule.infra.network.request import TooLong
from ferrule.infra.processes.tree import ProcessTree
from ferrule.infra.tasks import Patience

_log = logging.getLogger("ferrule.mcp")
_MARK = "FERRULE_MCP_SERVER"
_BUFFERED = 1024**2
"""The most that is read from the program before its lines are consumed."""
_GRACE_SECONDS = 2.0
"""How long a program may take to end after its input is closed, and again after SIGTERM."""
_DRAIN_SECONDS = 0.2
_LAST_WORDS = 2_000

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


class ServerProgram(asyncio.SubprocessProtocol):
    """A running server program."""

    def __init__(self, max_bytes: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._max_bytes = max_bytes
        self.exited: asyncio.Future[int] = self._loop.create_future()
        self.transport: asyncio.SubprocessTransport
        self._lines: deque[bytes] = deque()
        self._rest: list[bytes] = []
        self._rest_size = 0
        self._buffered = 0
        self._is_over = False
        self._is_paused = False
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._news = asyncio.Event()
        self._errors: deque[str] = deque()
        self._is_deaf = False
        """True once the beginning of its error output was dropped."""
        self.problem: Exception | None = None
        """The defect in its output."""

    @property
    def has_exited(self) -> bool:
        """True once the process has exited, even before the event loop knows. Does not reap it."""
        if self.exited.done() or not hasattr(os, "waitid"):
            return self.exited.done()
        try:
            how = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.transport.get_pid(), how) is not None
        except ChildProcessError:  # the loop's own watcher was quicker
            return True

    @property
    def last_words(self) -> str:
        """The end of its error output, without a truncated first word, which might be half a secret and escape redaction."""
        words = "".join(self._errors)
        end = words[-_LAST_WORDS:]
        if end == words and not self._is_deaf:
            return words
        return end.partition("\n")[2] or end.partition(" ")[2]

    # Callbacks of the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keeps the transport of the started program."""
        self.transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Splits output into lines; pauses reading when they are not consumed."""
        if fd == 2:
            self._hear_errors(data)
            return
        if self.problem is not None:
            return
        *lines, rest = data.split(b"\n")
        if lines:
            self._lines.append(b"".join((*self._rest, lines[0])))
            self._lines.extend(lines[1:])
            self._rest, self._rest_size = [], 0
        if rest:
            self._rest.append(rest)
            self._rest_size += len(rest)
        self._buffered += len(data)
        if self._rest_size > self._max_bytes:
            self.problem = TooLong(self._max_bytes)
            self._is_over = True
            self._rest, self._rest_size = [], 0
        # Not without a whole line: a line longer than this has to come in, and `max_bytes` bounds it.
        if self._buffered > _BUFFERED and self._lines and not self._is_paused:
            self._is_paused = True
            self._pipe(1).pause_reading()
        self._news.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Notes that the program has closed a pipe."""
        if fd == 1:
            self._is_over = True
            self._news.set()
        elif fd == 0:
            # A writer that waits has to find out that nobody reads any more.
            self._may_write.set()

    def process_exited(self) -> None:
        """Notes that the program has exited and was reaped."""
        code = self.transport.get_returncode()
        if not self.exited.done():
            self.exited.set_result(-1 if code is None else code)
        # Output may still be in the pipe, and a child that it left behind may hold the pipe open for ever.
        self._loop.call_later(_DRAIN_SECONDS, self.pipe_connection_lost, 1, None)

    def pause_writing(self) -> None:
        """Makes writers wait: the program reads too slowly."""
        self._may_write.clear()

    def resume_writing(self) -> None:
        """Lets writers continue."""
        self._may_write.set()

    # Called by the connection

    async def lines(self) -> AsyncIterator[bytes]:
        """Yields its output line by line, until it ends or a line exceeds the limit."""
        while True:
            while self._lines:
                line = self._lines.popleft()
                self._buffered -= len(line) + 1
                if self._is_paused and self._buffered <= _BUFFERED:
                    self._is_paused = False
                    self._pipe(1).resume_reading()
                if line.strip():
                    yield line
            if self._is_over:
                return
            self._news.clear()
            await self._news.wait()

    async def write(self, data: bytes) -> None:
        """Writes one line to its input. Raises BrokenPipeError when it no longer reads."""
        await self._may_write.wait()
        pipe = self.transport.get_pipe_transport(0)
        if pipe is None or pipe.is_closing() or self.exited.done():
            raise BrokenPipeError
        cast(asyncio.WriteTransport, pipe).write(data)

    def close_input(self) -> None:
        """Closes its input, by which the protocol asks a server to end."""
        pipe = self.transport.get_pipe_transport(0)
        if pipe is not None:
            pipe.close()
        # A program that waits to write never gets to its end.
        if self._is_paused:
            self._is_paused = False
            self._pipe(1).resume_reading()

    def _hear_errors(self, data: bytes) -> None:
        self._errors.append(data.decode("utf-8", "replace"))
        while len(self._errors) > 1 and sum(map(len, self._errors)) > 2 * _LAST_WORDS:
            self._errors.popleft()
            self._is_deaf = True

    def _pipe(self, fd: int) -> Any:
        return self.transport.get_pipe_transport(fd)


@asynccontextmanager
async def program_streams(program: ServerProgram) -> AsyncIterator[Streams]:
    """Yields a program's streams of messages in the form that the official client takes."""
    read_in, read_out = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_in, write_out = anyio.create_memory_object_stream[SessionMessage](0)

    async def hear() -> None:
        async with read_in:
            async for line in program.lines():
                try:
                    await read_in.send(_message(line))
                except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                    return

    async def tell() -> None:
        async with write_out:
            async for message in write_out:
                data = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await program.write(data.encode() + b"\n")
                except BrokenPipeError:
                    await read_in.aclose()
                    return

    async with read_in, read_out, write_in, write_out, anyio.create_task_group() as group:
        group.start_soon(hear)
        group.start_soon(tell)
        yield read_out, write_in
        group.cancel_scope.cancel()


async def start_program(
    argv: tuple[str, ...], env: dict[str, str], cwd: str, max_bytes: int
) -> tuple[ServerProgram, ProcessTree]:
    """Starts a server in a process session of its own. Raises OSError."""
    mark = secrets.token_hex(16)
    loop = asyncio.get_running_loop()
    transport, program = await loop.subprocess_exec(
        lambda: ServerProgram(max_bytes), *argv, cwd=cwd, env={**env, _MARK: mark}, start_new_session=True
    )
    return program, ProcessTree(transport.get_pid(), mark=f"{_MARK}={mark}")


async def end_program(program: ServerProgram, tree: ProcessTree) -> None:
    """Ends it and everything it started: closes its input, then sends SIGTERM, then kills. Defers a cancellation."""
    patience = Patience()
    # Noted before it ends: afterwards the system no longer tells whose children they were.
    tree.look()
    program.close_input()
    await patience.wait(program.exited, _GRACE_SECONDS)
    if not program.exited.done():
        tree.ask_to_end()
        await patience.wait(program.exited, _GRACE_SECONDS)
    if not await tree.end(program.exited, patience):
        _log.warning("the MCP server with process %d could not be ended", program.transport.get_pid())
    program.transport.close()
    patience.check()


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:  # the client skips a line that is not a message and keeps the connection
        return error
