"""A server that is a program of ours: one message a line, in and out. It and everything it started end with the connection.

The official client's own way of starting programs leaves alone what a server that ended by itself has started; here all of
it is ended, always, and reaped.
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
from ferrule.infra.processes.tree import Tree
from ferrule.infra.tasks import Patience

_log = logging.getLogger("ferrule.mcp")
_MARK = "FERRULE_MCP_SERVER"
_BUFFERED = 1024**2
"""More than this is not taken from the program until somebody reads."""
_GRACE_SECONDS = 2.0
"""How long a program may take to end after its input was closed, and after it was asked to."""
_DRAIN_SECONDS = 0.2
_LAST_WORDS = 2_000

Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


class Program(asyncio.SubprocessProtocol):
    """A running server."""

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
        """True once some of its errors are forgotten."""
        self.problem: Exception | None = None
        """What was wrong with its output."""

    @property
    def has_exited(self) -> bool:
        """True once the process is over, also before the loop was told. It is not reaped here."""
        if self.exited.done() or not hasattr(os, "waitid"):
            return self.exited.done()
        try:
            how = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.transport.get_pid(), how) is not None
        except ChildProcessError:  # the loop's own watcher was quicker
            return True

    @property
    def last_words(self) -> str:
        """The end of what it wrote to its standard error; no word that was cut, which might be half a secret."""
        words = "".join(self._errors)
        end = words[-_LAST_WORDS:]
        if end == words and not self._is_deaf:
            return words
        return end.partition("\n")[2] or end.partition(" ")[2]

    # What the loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It runs."""
        self.transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """It wrote something."""
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
        if self._buffered > _BUFFERED and self._lines and not self._is_paused:
            self._is_paused = True
            self._pipe(1).pause_reading()
        self._news.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """It closed one of its ends."""
        if fd == 1:
            self._is_over = True
            self._news.set()
        elif fd == 0:
            self._may_write.set()

    def process_exited(self) -> None:
        """It is over, and reaped."""
        code = self.transport.get_returncode()
        if not self.exited.done():
            self.exited.set_result(-1 if code is None else code)
        # Its last words may still be in the pipe; a program that it left behind may hold the pipe open for ever.
        self._loop.call_later(_DRAIN_SECONDS, self.pipe_connection_lost, 1, None)

    def pause_writing(self) -> None:
        """It does not read as fast as it is written to."""
        self._may_write.clear()

    def resume_writing(self) -> None:
        """It caught up."""
        self._may_write.set()

    # What the connection does

    async def lines(self) -> AsyncIterator[bytes]:
        """What it writes, line by line, until it ends or writes a line without end."""
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
        """Send it one line. Raises BrokenPipeError when it does not listen any more."""
        await self._may_write.wait()
        pipe = self.transport.get_pipe_transport(0)
        if pipe is None or pipe.is_closing() or self.exited.done():
            raise BrokenPipeError
        cast(asyncio.WriteTransport, pipe).write(data)

    def close_input(self) -> None:
        """Tell it that nothing more comes: the polite way of asking a server to end."""
        pipe = self.transport.get_pipe_transport(0)
        if pipe is not None:
            pipe.close()
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
async def program_streams(program: Program) -> AsyncIterator[Streams]:
    """The messages of a running program, as the official client wants them."""
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


async def start_program(argv: tuple[str, ...], env: dict[str, str], cwd: str, max_bytes: int) -> tuple[Program, Tree]:
    """Start a server in a session of its own. Raises OSError."""
    mark = secrets.token_hex(16)
    loop = asyncio.get_running_loop()
    transport, program = await loop.subprocess_exec(
        lambda: Program(max_bytes), *argv, cwd=cwd, env={**env, _MARK: mark}, start_new_session=True
    )
    return program, Tree(transport.get_pid(), mark=f"{_MARK}={mark}")


async def end_program(program: Program, tree: Tree) -> None:
    """End it and everything it started: its input is closed, then it is asked, then it is killed. A cancellation waits."""
    patience = Patience()
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
    except ValueError as error:  # what is no message is passed over, and the connection lives on
        return error
