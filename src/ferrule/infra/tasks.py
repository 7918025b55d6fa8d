"""Asyncio primitives: a coroutine whose first step was made already, work that starts without a task, and waits that a
cancellation cannot cut short. They know nothing of calls.
"""

from __future__ import annotations

import asyncio
import sys
import types
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Awaitable, Coroutine, Generator
from contextvars import Context, copy_context
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
