"""A function in a thread learns that nobody waits for it any more: nothing else could tell it."""

from __future__ import annotations

import asyncio
import threading

import ferrule
from ferrule.model.result import Result
from ferrule.testing import memory_app


def test_a_timed_out_thread_sees_that_it_was_aborted() -> None:
    """AT-210: the call is told as timed out at once, and its function can look."""
    seen = threading.Event()
    ended = threading.Event()

    @ferrule.tool(read_only=True, timeout_seconds=0.05)
    def slow(context: ferrule.Context) -> str:
        """Waits until it is told to stop."""
        while not context.aborted and not ended.wait(0.005):
            pass
        if context.aborted:
            seen.set()
        return "late"

    async def story() -> None:
        async with memory_app(tools=[slow]) as app:
            result = await app.surface().call("slow")
            assert isinstance(result, Result) and result.status == "timed_out"
            assert await asyncio.to_thread(seen.wait, 5)

    try:
        asyncio.run(story())
    finally:
        ended.set()
