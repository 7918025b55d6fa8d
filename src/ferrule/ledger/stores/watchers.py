"""The wake-up call of a store: wakes everything that waits for the next rows, on any event loop, from any thread."""

from __future__ import annotations

import asyncio
import contextlib


class Watchers:
    """The waiters of one store in this process."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    async def wait(self, seconds: float) -> None:
        """Waits until woken, or the time is up."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await asyncio.wait((future,), timeout=seconds)
        finally:
            self._waiting.discard(future)

    def wake(self) -> None:
        """Wakes all waiters. Safe from any thread."""
        if not self._waiting:
            return
        # A copy, since other threads add and remove waiters meanwhile.
        for future in list(self._waiting):
            with contextlib.suppress(RuntimeError):  # its loop was closed
                future.get_loop().call_soon_threadsafe(_wake, future)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
