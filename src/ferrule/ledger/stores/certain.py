"""Waiting for an outcome that must be known: a cancellation comes after it, not instead of it."""

from __future__ import annotations

import asyncio
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
