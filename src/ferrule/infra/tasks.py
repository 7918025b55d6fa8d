"""Offers asyncio primitives: work that starts without a task, waits that no cancellation cuts short, and cheap time limits.

`Patience` waits for what must not be left half done, such as ending processes. `TimeLimits` has one timer for all limits:
`asyncio.timeout_at` makes a timer for each wait and throws nearly all of them away, so with many short calls the event
loop is busy sorting timers that never ring. Otherwise both mean the same. Nothing here knows calls.
"""

from __future__ import annotations

import asyncio
import sys
import types
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Awaitable, Coroutine, Generator
from contextlib import AbstractContextManager, nullcontext
from contextvars import Context, copy_context
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


def begun(work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> T | asyncio.Task[T]:
    """Make the first step: gives what the work gave, or the task that goes on with it. Raises what the work raises."""
    context = copy_context()
    if sys.version_info >= (3, 12):
        task = asyncio.Task(work, loop=loop, context=context, eager_start=True)
        return task.result() if task.done() else task
    current = asyncio.current_task(loop)
    if current is not None:
        _leave_task(loop, current)
    try:
        waited = context.run(work.send, None)
    except StopIteration as ended:
        given: T = ended.value
        return given
    finally:
        if current is not None:
            _enter_task(loop, current)
    return loop.create_task(_Begun(work, waited), context=context)


class _Begun(Coroutine[Any, Any, T]):
    """A coroutine after its first step, for a task: what is thrown in before the task goes on reaches the coroutine, too."""

    def __init__(self, work: Coroutine[Any, Any, T], waited: Any) -> None:
        self._work = work
        self._waited = [waited]

    def send(self, value: Any) -> Any:
        """The next step; the first one was made, so what that waits for is given."""
        return self._waited.pop() if self._waited else self._work.send(value)

    def throw(self, *error: Any) -> Any:
        """The next step, with an error."""
        self._waited.clear()
        return self._work.throw(*error)

    def close(self) -> None:
        """Make no more steps."""
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        raise NotImplementedError("it belongs to a task")


@types.coroutine
def rest_in(context: Context, running: Coroutine[Any, Any, T], waited: Any) -> Generator[Any, Any, T]:
    """What is left of a coroutine after its first step, made in a context of its own, which waits for `waited`."""
    step, fail = running.send, running.throw
    try:
        while True:
            try:
                sent = yield waited
            except GeneratorExit:
                context.run(running.close)
                raise
            except BaseException as error:
                waited = context.run(fail, error)
            else:
                waited = context.run(step, sent)
    except StopIteration as ended:
        given: T = ended.value
        return given


@types.coroutine
def _stepped() -> Generator[None, None, None]:
    yield


async def own_task() -> None:
    """Go on in a task, from here. It is in one already, most of the time."""
    if asyncio.current_task() is not None:
        return
    try:
        await _stepped()
    except asyncio.CancelledError:
        # What comes next has to begin, so that it can end in its own way; then it hears of it.
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
            task.cancel()


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
