"""Offers asyncio primitives: the rest of a coroutine after its first step, waits that no cancellation cuts short, and cheap
time limits.

`Patience` waits for what must not be left half done, such as ending processes. `TimeLimits` has one timer for all limits:
`asyncio.timeout_at` makes a timer for each wait and throws nearly all of them away, so with many short calls the event
loop is busy sorting timers that never ring. Otherwise both mean the same. Nothing here knows calls.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Awaitable, Coroutine, Generator
from contextlib import AbstractContextManager, nullcontext
from inspect import isawaitable
from math import inf
from types import TracebackType
from typing import Any, TypeVar


@types.coroutine
def rest_of(running: Coroutine[Any, Any, Any], waited: Any) -> Generator[Any, Any, Any]:
    """What is left of a coroutine after its first step, which waits for `waited`. What is thrown in here is thrown into it."""
    while True:
        try:
            sent = yield waited
        except GeneratorExit:
            running.close()
            raise
        except BaseException as error:
            thrown: BaseException | None = error
        else:
            thrown = None
        try:
            waited = running.send(sent) if thrown is None else running.throw(thrown)
        except StopIteration as ended:
            return ended.value


T = TypeVar("T")


async def resolve(value: T | Awaitable[T]) -> T:
    """Awaits a value if it has to be awaited."""
    return await value if isawaitable(value) else value


async def uncancelled(awaitable: Awaitable[T]) -> T:
    """The result, however often the waiting task is cancelled meanwhile; the cancellation is delivered afterwards."""
    waited: asyncio.Future[T] = asyncio.ensure_future(awaitable)
    cancellations = 0
    while not waited.done():
        try:
            await asyncio.shield(waited)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or waited.cancelled():
                raise
            task.uncancel()
            cancellations += 1
        except Exception:
            break  # `result` below raises it again
    task = asyncio.current_task()
    for _ in range(cancellations):
        if task is not None:
            task.cancel()
    return waited.result()


class Patience:
    """Waits, and remembers whether somebody asked to cancel meanwhile. Whoever used it raises the cancellation at the end.

    Everything happens in the task that waits: a task of its own would be cancelled by itself when the loop is closed.
    """

    is_cancelled = False

    async def wait(self, future: asyncio.Future[Any], seconds: float | None = None) -> None:
        """Until it is done, or for so long."""
        loop = asyncio.get_running_loop()
        until = None if seconds is None else loop.time() + seconds
        while not future.done():
            left = None if until is None else until - loop.time()
            if left is not None and left <= 0:
                return
            try:
                await asyncio.wait({future}, timeout=left)
            except asyncio.CancelledError:
                self.is_cancelled = True

    async def sleep(self, seconds: float) -> None:
        """For so long."""
        await self.wait(asyncio.get_running_loop().create_future(), seconds)

    def check(self) -> None:
        """Raises CancelledError when somebody asked for it."""
        if self.is_cancelled:
            raise asyncio.CancelledError


_NO_LIMIT = nullcontext()


class TimeLimits:
    """The limits of one event loop; in another one it begins anew."""

    __slots__ = ("_loop", "_next", "_timer", "running")

    def __init__(self) -> None:
        self.running: set[_Limit] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._next = inf

    def until(self, when: float | None) -> AbstractContextManager[None]:
        """What is awaited within is canceled at that time of the loop's clock; then it raises TimeoutError. None: never."""
        return _NO_LIMIT if when is None else _Limit(self, when)

    def begin(self, limit: _Limit) -> None:
        """Watch over a limit."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._timer, self._next, self.running = loop, None, inf, set()
        self.running.add(limit)
        if limit.when < self._next:
            self._ring_at(limit.when)

    def _ring_at(self, when: float) -> None:
        assert self._loop is not None
        if self._timer is not None:
            self._timer.cancel()
        self._next = when
        self._timer = self._loop.call_at(when, self._ring)

    def _ring(self) -> None:
        assert self._loop is not None
        now = max(self._loop.time(), self._next)  # a timer may ring a moment early
        self._timer, self._next = None, inf
        for limit in [limit for limit in self.running if limit.when <= now]:
            self.running.discard(limit)
            limit.reach()
        if self.running:
            self._ring_at(min(limit.when for limit in self.running))


class _Limit:
    """One of them, around what a task awaits."""

    __slots__ = ("_cancelling", "_is_reached", "_limits", "_task", "when")

    def __init__(self, limits: TimeLimits, when: float) -> None:
        self.when = when
        self._limits = limits
        self._is_reached = False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a time limit is for a task")
        self._task, self._cancelling = task, task.cancelling()
        self._limits.begin(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limits.running.discard(self)
        # A cancellation by somebody else, which came as well, goes on its way.
        if self._is_reached and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def reach(self) -> None:
        """Its time has come."""
        self._is_reached = True
        self._task.cancel()
