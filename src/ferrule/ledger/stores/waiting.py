"""Waits of the stores: for an outcome that must be known, and for the next rows.

A cancellation comes after a certain outcome, not instead of it. Watchers wait on any event loop; any thread wakes them.
Every kind of store uses both. It does not know rows.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TypeVar

T = TypeVar("T")


class Certain(asyncio.Future[T]):
    """A future that cannot be cancelled. Whoever is cancelled while waiting for it is told so once it is done."""

    def cancel(self, msg: object = None) -> bool:
        """No."""
        return False


async def certainly(future: Certain[T]) -> T:
    """The outcome. A cancellation meanwhile is delivered at the waiting task's next await."""
    try:
        return await future
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or not future.done():
            raise
        task.uncancel()
        task.cancel()
        return future.result()


class Watchers:
    """A bell inside the process."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    async def wait(self, seconds: float) -> None:
        """Until woken, or the time is up."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await asyncio.wait((future,), timeout=seconds)
        finally:
            self._waiting.discard(future)

    def wake(self) -> None:
        """Wake all; from any thread."""
        if not self._waiting:
            return
        for future in list(self._waiting):
            with contextlib.suppress(RuntimeError):  # its loop was closed
                future.get_loop().call_soon_threadsafe(_wake, future)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
