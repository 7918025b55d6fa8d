"""Waiting that a cancellation cannot cut short: for writes whose outcome must be known."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


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
