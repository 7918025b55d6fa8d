"""Lines of one client on two file descriptors: read in large pieces, taken in order, written once per turn of the loop.

A client that does not read never blocks the process: output waits, and while much of it waits nothing more is read or
answered. It does not know what a line says.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections import deque
from collections.abc import Callable
from typing import Any

_READ_BYTES = 64 * 1024
_MOST_UNSENT = 4 * 1024**2
"""Bytes that may wait to be written before no more lines are taken."""
_ENOUGH = 16
"""Lines after which output is written before the turn ends: the client works on them meanwhile."""


class Pipe:
    """Both ends of a conversation by lines."""

    def __init__(self, read_from: int, write_to: int, most_bytes: int) -> None:
        """`most_bytes`: of one line."""
        self._read_from = read_from
        self._write_to = write_to
        self._most = most_bytes
        self._loop = asyncio.get_running_loop()
        self._take: Callable[[bytes | None], None] = lambda line: None
        self._rest: list[bytes] = []
        """The beginning of an incomplete line."""
        self._rest_size = 0
        self._is_skipping = False
        """True until the end of a line that is too long."""
        self._is_taking = False
        self._is_paused = False
        self._is_flush_due = False
        self._ready: list[bytes] = []
        self._unsent = bytearray()
        self._waiters: list[asyncio.Future[None]] = []
        # The selector cannot watch plain files; they are read a piece per turn of the loop.
        self.is_plain_file = stat.S_ISREG(os.fstat(read_from).st_mode) or not _can_be_watched(read_from)
        self.ended = asyncio.Event()
        """Set when the other end is closed for reading or writing."""

    def begin(self, take: Callable[[bytes | None], None]) -> None:
        """Passes lines to `take` from now on, without their ends; None stands for one that is too long."""
        self._take = take
        self._resume()

    def send(self, text: bytes) -> None:
        """Writes one line, together with the others of the same turn."""
        self._ready.append(text)
        if len(self._ready) >= _ENOUGH:
            self.flush()
        elif not self._is_taking and not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_soon(self.flush)

    def room(self) -> asyncio.Future[None] | None:
        """Returns None while there is room for more output; else the future of that."""
        if len(self._unsent) <= _MOST_UNSENT or self.ended.is_set():
            return None
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append(waiter)
        return waiter

    async def drain(self) -> None:
        """Waits until there is room for more output."""
        while (waiter := self.room()) is not None:
            await waiter

    async def aclose(self, within: float) -> None:
        """Stops reading, and writes what is left, if the other end takes it."""
        self._pause()
        self.flush()
        until = self._loop.time() + within
        while self._unsent and not self.ended.is_set() and self._loop.time() < until:
            await asyncio.sleep(0.005)
        if self._unsent:
            self._loop.remove_writer(self._write_to)

    # Reading

    def _resume(self) -> None:
        if self.is_plain_file:
            self._loop.call_soon(self._on_readable)
        else:
            self._loop.add_reader(self._read_from, self._on_readable)

    def _pause(self) -> None:
        self._is_paused = True
        if not self.is_plain_file:
            self._loop.remove_reader(self._read_from)

    def _on_readable(self) -> None:
        if self._is_paused:
            return
        try:
            data = os.read(self._read_from, _READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:  # the other end is gone
            data = b""
        if not data:
            self._pause()
            self.ended.set()
            return
        # Answers to the lines of one read are written together, by the flush below.
        self._is_taking = True
        try:
            self._split(data)
        finally:
            self._is_taking = False
            self.flush()
        if len(self._unsent) > _MOST_UNSENT:
            self._pause()
        elif self.is_plain_file and not self._is_paused:
            self._loop.call_soon(self._on_readable)

    def _split(self, data: bytes) -> None:
        lines = data.split(b"\n")
        last = lines.pop()
        if lines and (self._rest or self._is_skipping):
            if self._is_skipping:
                self._is_skipping = False
                del lines[0]
            else:
                self._rest.append(lines[0])
                lines[0] = b"".join(self._rest)
            self._rest, self._rest_size = [], 0
        for line in lines:
            if len(line) > self._most:
                self._take(None)
            elif line and not line.isspace():
                self._take(line)
        if last and not self._is_skipping:
            self._rest.append(last)
            self._rest_size += len(last)
            if self._rest_size > self._most:
                self._rest, self._rest_size, self._is_skipping = [], 0, True
                self._take(None)

    # Writing

    def flush(self) -> None:
        """Writes the lines of this turn."""
        self._is_flush_due = False
        if not self._ready:
            return
        self._ready.append(b"")
        data = b"\n".join(self._ready)
        self._ready = []
        # Never past what still waits: that may end in the middle of a line.
        if self._unsent:
            self._unsent += data
            return
        written = self._write(data)
        if written < len(data):
            self._unsent += memoryview(data)[written:]
            self._loop.add_writer(self._write_to, self._on_writable)

    def _write(self, data: bytes | bytearray) -> int:
        """Writes as much as the pipe takes; returns how much. After the reader has left, everything counts as written."""
        try:
            return os.write(self._write_to, data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:
            self.ended.set()
            return len(data)

    def _on_writable(self) -> None:
        del self._unsent[: self._write(self._unsent)]  # from the front: what is left is not copied
        if not self._unsent:
            self._loop.remove_writer(self._write_to)
        # Half of the limit, so that reading does not stop and start with every write.
        if len(self._unsent) > _MOST_UNSENT // 2 and not self.ended.is_set():
            return
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)
        if self._is_paused and not self.ended.is_set():
            self._is_paused = False
            self._resume()


def _can_be_watched(descriptor: int) -> bool:
    """False for files and the null device: they are always ready, and the loop cannot watch them."""
    kind = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) or os.isatty(descriptor)


class LineQueue:
    """Lines that are taken in order, each when nothing is in its way."""

    def __init__(
        self, take: Callable[[bytes | None], None], find_obstacle: Callable[[], asyncio.Future[Any] | None]
    ) -> None:
        """`find_obstacle` returns the future the next line has to wait for, or None."""
        self._take = take
        self._find_obstacle = find_obstacle
        self._waiting: deque[bytes | None] = deque()
        self._obstacle: asyncio.Future[Any] | None = None
        self._is_over = False

    def put(self, line: bytes | None) -> None:
        """Takes one more line, now or in its turn."""
        if self._obstacle is None and not self._waiting and not self._is_over:
            self._obstacle = self._find_obstacle()
            if self._obstacle is None:  # the usual case: nothing is before it
                self._take(line)
                return
            self._obstacle.add_done_callback(self._free)
        self._waiting.append(line)

    @property
    def is_idle(self) -> bool:
        """True when every line was taken."""
        return not self._waiting

    def close(self) -> None:
        """Drops the lines that wait, and takes no more."""
        self._is_over = True
        self._waiting.clear()

    def _go_on(self) -> None:
        while self._waiting and not self._is_over:
            self._obstacle = self._find_obstacle()
            if self._obstacle is not None:
                self._obstacle.add_done_callback(self._free)
                return
            self._take(self._waiting.popleft())

    def _free(self, _: object) -> None:
        self._obstacle = None
        self._go_on()
