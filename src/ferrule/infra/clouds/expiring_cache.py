"""A cache of values that are fetched and expire. Callers that want one at the same moment share one fetch.

A caller that stops waiting does not cancel the fetch for the others; when nobody waits any more, it is cancelled. A
failure is never cached. One event loop does not wait for another's fetch.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

_MOST = 4_096


class Fresh(NamedTuple, Generic[T]):
    """A value, and for how many seconds it may be kept."""

    value: T
    seconds: float

    def __repr__(self) -> str:
        return f"Fresh(…, {self.seconds})"  # a finished task prints its result, and asyncio prints tasks


class _Flight(Generic[T]):
    __slots__ = ("task", "waiters")

    def __init__(self, task: asyncio.Task[Fresh[T]]) -> None:
        self.task = task
        self.waiters = 0


class ExpiringCache(Generic[T]):
    """Values by key, at most `most` of them; the oldest one goes first."""

    def __init__(self, tick: Callable[[], float] | None = None, *, most: int = _MOST) -> None:
        """`tick` gives seconds and never goes back; the event loop's clock when not given."""
        self._tick = tick or _loop_time
        self._most = most
        self._values: OrderedDict[Hashable, tuple[T, float]] = OrderedDict()
        self._flights: dict[Hashable, _Flight[T]] = {}

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[Fresh[T]]]) -> T:
        """Returns the cached value of a key, or fetches it with `ask`. Raises what `ask` raises."""
        found = self._values.get(key)
        if found is not None and self._tick() < found[1]:
            return found[0]
        flight = self._flights.get(key)
        if flight is None or not _can_be_joined(flight.task):
            flight = self._flights[key] = _Flight(asyncio.ensure_future(_run(ask)))
            flight.task.add_done_callback(lambda task: self._store_result(key, task))
        return (await self._wait(key, flight)).value

    def forget(self, is_meant: Callable[[Hashable], bool]) -> None:
        """Drops the values of matching keys. A fetch under way still serves its callers, and is not cached."""
        for entries in (self._values, self._flights):
            for key in [key for key in entries if is_meant(key)]:
                del entries[key]

    async def _wait(self, key: Hashable, flight: _Flight[T]) -> Fresh[T]:
        flight.waiters += 1
        try:
            # Shielded: a caller that is cancelled must not cancel the fetch of the others.
            return await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if not flight.waiters and not flight.task.done():
                if self._flights.get(key) is flight:
                    del self._flights[key]
                flight.task.cancel()

    def _store_result(self, key: Hashable, task: asyncio.Task[Fresh[T]]) -> None:
        flight = self._flights.get(key)
        # Reading the exception also keeps asyncio from reporting it as never retrieved.
        failed = task.cancelled() or task.exception() is not None
        # Dropped by `forget` meanwhile: its callers still get the value, and it is not kept.
        if flight is None or flight.task is not task:
            return
        del self._flights[key]
        if failed:
            return
        value, seconds = task.result()
        if seconds > 0:
            self._values[key] = (value, self._tick() + seconds)
            self._values.move_to_end(key)
            self._trim()

    def _trim(self) -> None:
        """Drops expired values, as far as they stand first, and those beyond the limit."""
        now = self._tick()
        while self._values:
            first = next(iter(self._values))
            if len(self._values) <= self._most and now < self._values[first][1]:
                return
            del self._values[first]


async def _run(ask: Callable[[], Awaitable[Fresh[T]]]) -> Fresh[T]:
    return await ask()


def _can_be_joined(task: asyncio.Task[Fresh[T]]) -> bool:
    # A task can be awaited in its own loop only.
    return not task.done() and task.get_loop() is asyncio.get_running_loop()


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
