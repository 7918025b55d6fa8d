"""Offers asyncio primitives: tasks for what turns out to wait, waits that no cancellation cuts short, and cheap time limits.

`EagerTasks` begins plain work as if inside of a task, and gives that task to whatever has to wait. `Patience` waits for what must
not be left half done, such as ending processes. `TimeLimits` has one timer for all limits: `asyncio.timeout_at` makes a timer for
each wait and throws nearly all of them away, so with many short calls the event loop is busy sorting timers that never ring.
Otherwise both mean the same. Nothing here knows calls.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import Context
from inspect import isawaitable
from math import inf
from types import TracebackType
from typing import Any, TypeVar

# Private by their names, and documented for whoever brings tasks of another kind ("Extending" in the documentation of asyncio).
_enter_task: Callable[[asyncio.AbstractEventLoop, asyncio.Task[Any]], None] = asyncio.tasks._enter_task
_leave_task: Callable[[asyncio.AbstractEventLoop, asyncio.Task[Any]], None] = asyncio.tasks._leave_task
T = TypeVar("T")
Given = TypeVar("Given")


_NOT_BEGUN = object()


@types.coroutine
def rest_of(
    running: Coroutine[Any, Any, Any], waited: Any = _NOT_BEGUN, own_cancels: int = 0
) -> Generator[Any, Any, Any]:
    """Carries on a coroutine, from the beginning or from where it waits for `waited`. Whatever is thrown in is passed on.

    A coroutine that cancels the task it runs in ends itself by that, and not whoever awaits it: only its own code runs in one
    of its steps, so a request to cancel that comes up meanwhile is its own. `own_cancels`: those of the step that was made."""
    task = asyncio.current_task()
    assert task is not None
    try:
        while True:
            sent: Any = None
            thrown: BaseException | None = None
            if waited is not _NOT_BEGUN:
                try:
                    sent = yield waited
                except GeneratorExit:
                    running.close()
                    raise
                except BaseException as error:
                    thrown = error
            before = task.cancelling()
            has_ended = True
            try:
                waited = running.send(sent) if thrown is None else running.throw(thrown)
                has_ended = False
            except StopIteration as ended:
                return ended.value
            finally:
                asked = task.cancelling() - before
                own_cancels += max(0, asked)
                if asked > 0 and has_ended:  # it would arrive where somebody else waits
                    with suppress(asyncio.CancelledError):
                        yield
    finally:
        for _ in range(own_cancels):
            task.uncancel()


async def drop_own_cancels(count: int) -> None:
    """Takes back requests to cancel the current task which the work of its last step made: they are not for whoever awaits it."""
    task = asyncio.current_task()
    assert task is not None
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(0)  # where they arrive
    for _ in range(count):
        task.uncancel()


def is_from_outside(error: BaseException) -> bool:
    """True for what ends more than the work in which it came up: a cancellation, the end of a coroutine that is closed, and
    Ctrl-C. To be asked where the error is caught."""
    if isinstance(error, GeneratorExit):
        # Each coroutine that is closed gets a new one, where it waits: one that came up from below was raised there.
        return error.__traceback__ is None or error.__traceback__.tb_next is None
    if isinstance(error, KeyboardInterrupt):
        # Servers and commands have a handler of their own for the signal, which raises nothing in the middle of a tool.
        is_here = threading.current_thread() is threading.main_thread()
        return is_here and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return isinstance(error, asyncio.CancelledError)


class _Carrier(Coroutine[Any, Any, Any]):
    """The coroutine of a task that may be there before what it carries. That begins even when the task was cancelled before its
    first step: it holds places and calls, and hears of the cancellation where it first waits."""

    __slots__ = ("_context", "_has_begun", "_loop", "_parked", "_running")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._parked: asyncio.Future[None] | None = None
        self._running: Coroutine[Any, Any, Any] | None = None
        self._context: Context | None = None
        self._has_begun = False

    def load(self, running: Coroutine[Any, Any, Any], context: Context) -> None:
        """Takes what it carries from now on; each step is made in that context."""
        self._running, self._context = running, context
        if self._parked is not None and not self._parked.done():
            self._parked.set_result(None)

    def send(self, value: Any, /) -> Any:
        if self._running is None:
            self._parked = self._loop.create_future()
            return next(self._parked.__await__())
        assert self._context is not None
        self._has_begun = True
        return self._context.run(self._running.send, value)

    def throw(self, error: Any, /, *more: Any) -> Any:
        if self._running is None:
            raise error
        assert self._context is not None
        if self._has_begun:
            return self._context.run(self._running.throw, error)
        waited = self.send(None)
        if isinstance(error, asyncio.CancelledError) and isinstance(waited, asyncio.Future):
            # As `Task.cancel` does: the work hears of it where it waits, and can clean up.
            waited.cancel()
            return waited
        return self._context.run(self._running.throw, error)

    def close(self) -> None:
        if self._running is not None:
            self._running.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        raise TypeError("it is for a task")


_promised: set[asyncio.Task[Any]] = set()
"""Tasks in which nothing may begin: something else has them, or what begins is awaited in another one."""


class EagerTasks:
    """Begins plain work as if inside of a task, which only what has to wait gets (`go_on`): a call has one task from its first
    step to its last, and a call that never waits costs none.

    Tools need that: `asyncio.timeout` and its like cancel the task that they were entered in.
    """

    __slots__ = ("_carrier", "_spare", "loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._spare: asyncio.Task[Any] | None = None
        """The task in which work begins."""
        self._carrier: _Carrier | None = None

    def begin(self, context: Context, work: Callable[[Given], T], given: Given) -> T:
        """Calls a function in a context, and in a task that is not of anybody. Only for callbacks of the event loop."""
        spare = self._spare
        if spare is None or spare.cancelling():  # somebody kept it, and cancelled it later
            spare = self._new_spare()
        _enter_task(self.loop, spare)
        try:
            return context.run(work, given)
        finally:
            _leave_task(self.loop, spare)
            if _promised:
                _promised.discard(spare)

    def has(self, task: asyncio.Task[Any]) -> bool:
        """True for the task in which work begins now."""
        return task is self._spare

    def go_on(self, running: Coroutine[Any, Any, Any], context: Context) -> asyncio.Task[Any]:
        """Carries on what has to wait, in a context: in the task in which it began where nothing else has that, else in a new
        one. It begins however early that task is cancelled."""
        task = asyncio.current_task()
        spare, carrier = self._spare, self._carrier
        if spare is None or carrier is None or spare.done() or not (task is None or task is spare):
            carrier = _Carrier(self.loop)
            carrier.load(running, context)
            return self.loop.create_task(carrier)
        self._spare = self._carrier = None
        # The task is still the current one here: nothing that begins in it from now on may take it for its own.
        if task is spare:
            _promised.add(spare)
        carrier.load(running, context)
        return spare

    def _new_spare(self) -> asyncio.Task[Any]:
        self._carrier = _Carrier(self.loop)
        self._spare = self.loop.create_task(self._carrier)
        return self._spare


class _Latest(threading.local):
    """Of the last event loop of each thread, so that no loop is kept longer than until the next one."""

    tasks: EagerTasks | None = None


_latest = _Latest()


def eager_tasks() -> EagerTasks:
    """Returns the eager tasks of the running event loop."""
    loop, tasks = asyncio.get_running_loop(), _latest.tasks
    if tasks is None or tasks.loop is not loop:
        tasks = _latest.tasks = EagerTasks(loop)
    return tasks


def go_on(running: Coroutine[Any, Any, Any], context: Context) -> asyncio.Task[Any]:
    """Carries on what has to wait (`EagerTasks.go_on`)."""
    return eager_tasks().go_on(running, context)


def own_task() -> asyncio.Task[Any] | None:
    """Returns the task that will await whatever begins here; None when that is another one, or none yet."""
    task = asyncio.current_task()
    return None if task in _promised else task


@contextmanager
def begin_elsewhere(*, unless_eager: bool = False) -> Iterator[None]:
    """Within, nothing takes the current task for its own: another one awaits what begins. `unless_eager`: but one that `go_on`
    gives away."""
    task = asyncio.current_task()
    if task is None or task in _promised or (unless_eager and eager_tasks().has(task)):
        yield
        return
    _promised.add(task)
    try:
        yield
    finally:
        _promised.discard(task)


async def resolve(value: T | Awaitable[T]) -> T:
    """Awaits a value if it has to be awaited."""
    return await value if isawaitable(value) else value


class Certain(asyncio.Future[T]):
    """A future that cannot be cancelled. asyncio keeps a cancellation of whoever waits for it until it is done: the one way here
    to wait for what must not be left half done."""

    def cancel(self, msg: object = None) -> bool:
        """No."""
        return False


async def finish_uncancelled(awaitable: Awaitable[T]) -> T:
    """Returns the result, however often the waiting task is cancelled meanwhile; the cancellation comes with its next wait."""
    waited: asyncio.Future[T] = asyncio.ensure_future(awaitable)
    was_asked = await _outlast(waited)
    task = asyncio.current_task()
    if was_asked and task is not None and not waited.cancelled():
        # The wait used the request up: `cancel` delivers it at the next one, `uncancel` keeps the count.
        task.uncancel()
        task.cancel()
    return waited.result()


async def _outlast(waited: asyncio.Future[Any], seconds: float | None = None) -> bool:
    """Waits until a future is done, or for so long; True when somebody asked to cancel meanwhile.

    No task is made: a task of its own would be cancelled by itself when the loop is closed.
    """
    if waited.done():
        return False
    loop = asyncio.get_running_loop()
    end: Certain[None] = Certain(loop=loop)

    def ring(done: object = None) -> None:
        if not end.done():
            end.set_result(None)

    waited.add_done_callback(ring)
    timer = None if seconds is None else loop.call_later(seconds, ring)
    try:
        await end
    except asyncio.CancelledError:
        if not end.done():
            raise
        return True
    finally:
        waited.remove_done_callback(ring)
        if timer is not None:
            timer.cancel()
    return False


class Patience:
    """Waits several times, and remembers whether somebody asked to cancel meanwhile. Whoever used it raises the cancellation at
    the end."""

    is_cancelled = False

    async def wait(self, future: asyncio.Future[Any], seconds: float | None = None) -> None:
        """Until it is done, or for so long."""
        self.is_cancelled = await _outlast(future, seconds) or self.is_cancelled

    async def sleep(self, seconds: float) -> None:
        """For so long."""
        await self.wait(asyncio.get_running_loop().create_future(), seconds)

    def check(self) -> None:
        """Raises CancelledError when somebody asked for it."""
        if self.is_cancelled:
            raise asyncio.CancelledError


def hear_failure(task: asyncio.Future[Any]) -> None:
    """To be called when a task is done: nobody may be left to hear of its failure, and asyncio would complain about that."""
    if not task.cancelled():
        task.exception()


def give_up(task: asyncio.Task[Any]) -> None:
    """Leaves a task behind that does not end with its loop, without a complaint of asyncio."""
    task._log_destroy_pending = False  # type: ignore[attr-defined]


def is_running_here(loop: asyncio.AbstractEventLoop) -> bool:
    """True in the thread that runs the loop."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def close_process(process: asyncio.subprocess.Process) -> None:
    """Closes the pipes of a program that has ended, also those that something it started still holds open."""
    process._transport.close()  # type: ignore[attr-defined]


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
