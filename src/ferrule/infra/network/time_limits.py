"""Time limits of many tasks, with one timer for all of them.

`asyncio.timeout_at` makes a timer for each wait and throws nearly all of them away; with many short calls the event loop is
busy sorting and sweeping timers that never ring. Here only the earliest limit has one. Otherwise they mean the same.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext
from math import inf
from types import TracebackType

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
