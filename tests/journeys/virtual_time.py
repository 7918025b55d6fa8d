"""An event loop whose time passes only when nothing else is left to do, and a clock that goes with it.

A story that takes hours takes no time, and the same story takes the same course. When nobody can ever go on, that is told.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

from ferrule.infra.clock import Clock

T = TypeVar("T")
_START = 1_770_000_000_000_000


class Stuck(AssertionError):
    """Everybody waits for somebody."""


class _Selector(selectors.SelectSelector):
    """Waits by moving the time on."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise Stuck("nothing is left that could happen, and not everything has ended")
        self.loop.moment += max(timeout, 0)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in which waiting costs nothing."""

    def __init__(self) -> None:
        selector = _Selector()
        selector.loop = self
        self.moment = 0.0
        super().__init__(selector)

    def time(self) -> float:
        """Seconds since the story began."""
        return self.moment


class LoopClock(Clock):
    """The loop's time. Each look at it passes a little, so that what happened later has a later time."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._looks = 0

    def now(self) -> int:
        """Microseconds since 1970."""
        self._looks += 1
        return _START + round(self._loop.moment * 1_000_000) + self._looks

    def tick(self) -> int:
        """A clock that never goes back, in nanoseconds."""
        self._looks += 1
        return round(self._loop.moment * 1_000_000_000) + self._looks * 1000


def in_virtual_time(story: Coroutine[Any, Any, T], loop: VirtualLoop) -> T:
    """Play a story to its end. Raises Stuck when it cannot have one."""
    try:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(story)
    finally:
        asyncio.set_event_loop(None)
        loop.close()
