"""A bounded set of named threads for functions that block.

Daemon threads of our own: the standard pool joins its threads at exit, so one stuck tool would keep the program from
ending. A canceled call that runs already goes on in its thread, since nothing can stop it; a queued one never begins.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NamedTuple

DEFAULT_SIZE = 32


class _Work(NamedTuple):
    function: Callable[[], Any]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    context: contextvars.Context
    chance: list[None]
    """Holds one item: the side that pops it decides whether the function begins."""


class ThreadJob(NamedTuple):
    """A function submitted to the threads."""

    future: asyncio.Future[Any]
    chance: list[None]

    def withdraw(self) -> None:
        """Keeps the function from beginning; does nothing once it has begun. Call it in the event loop."""
        if self.chance:
            with suppress(IndexError):
                self.chance.pop()
                self.future.cancel()


class Threads:
    """A pool of threads that start when needed, up to a maximum."""

    def __init__(self, size: int = DEFAULT_SIZE, name: str = "ferrule-tool") -> None:
        self._size = size
        self._name = name
        self._queue: SimpleQueue[_Work | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._started = 0
        self._is_closed = False
        self._idle = 0
        """Threads that wait for work, less the work that waits for them."""

    def run(self, function: Callable[[], object]) -> asyncio.Future[Any]:
        """Runs a function in a thread, in a copy of the caller's context variables."""
        return self.submit(function).future

    def submit(self, function: Callable[[], object]) -> ThreadJob:
        """Submits a function that the caller may withdraw until it begins."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the threads for tools are closed")
            # A negative count means more queued work than idle threads, so another thread is worth starting.
            self._idle -= 1
            if self._idle < 0 and self._started < self._size:
                self._idle += 1
                self._start()
        given = ThreadJob(future, [None])
        self._queue.put(_Work(function, future, loop, contextvars.copy_context(), given.chance))
        return given

    def close(self) -> None:
        """Ends every thread after its current work and the queued work."""
        with self._lock:
            self._is_closed = True
        for _ in range(self._started):
            self._queue.put(None)

    def _start(self) -> None:
        self._started += 1
        threading.Thread(target=self._work, name=f"{self._name}-{self._started}", daemon=True).start()

    def _work(self) -> None:
        while (work := self._queue.get()) is not None:
            _perform(work)
            # Otherwise the thread would keep the last call's arguments alive until its next job.
            del work
            with self._lock:
                self._idle += 1


def _perform(work: _Work) -> None:
    try:
        # `pop` is atomic, so either this thread or `withdraw` gets the one item, never both.
        work.chance.pop()
    except IndexError:
        return  # it was withdrawn
    if work.future.cancelled():
        return
    value: Any = None
    error: BaseException | None = None
    try:
        value = work.context.run(work.function)
    except BaseException as raised:
        error = raised
    with suppress(RuntimeError):  # the loop is closed, so no caller waits any more
        work.loop.call_soon_threadsafe(_finish, work.future, value, error)


def _finish(future: asyncio.Future[Any], value: object, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(value)
    elif isinstance(
        error, StopIteration | GeneratorExit
    ):  # a future cannot carry the one, and the other looks like its end
        future.set_exception(RuntimeError(f"the function raised {type(error).__name__}"))
    else:
        future.set_exception(error)
