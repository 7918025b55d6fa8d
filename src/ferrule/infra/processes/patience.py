"""Waiting that a cancellation does not cut short: for what must not be left half done, such as ending processes."""

from __future__ import annotations

import asyncio
from typing import Any


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
