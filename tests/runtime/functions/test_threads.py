"""Threads for functions that wait."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from ferrule.runtime.functions.threads import Threads


def test_never_more_threads_than_allowed_and_none_before_they_are_needed() -> None:
    threads = Threads(size=2, name="few")
    barrier = threading.Barrier(3)
    seen: set[str] = set()

    def note() -> None:
        seen.add(threading.current_thread().name)
        barrier.wait(5)

    async def main() -> None:
        await asyncio.wait_for(threads.run(lambda: None), 5)
        both = [threads.run(note), threads.run(note)]
        barrier.wait(5)
        await asyncio.wait_for(asyncio.gather(*both), 5)
        await asyncio.wait_for(asyncio.gather(*[threads.run(lambda: None) for _ in range(50)]), 5)

    asyncio.run(main())
    assert seen == {"few-1", "few-2"}
    assert all(thread.daemon for thread in threading.enumerate() if thread.name.startswith("few"))
    threads.close()


def test_context_variables_are_seen_and_not_changed() -> None:
    threads = Threads()
    variable = contextvars.ContextVar("variable", default=1)

    def change() -> int:
        before = variable.get()
        variable.set(3)
        return before

    async def main() -> None:
        variable.set(2)
        assert await asyncio.wait_for(threads.run(change), 5) == 2
        assert variable.get() == 2

    asyncio.run(main())
    threads.close()


def test_what_is_given_up_in_the_queue_never_begins() -> None:
    threads = Threads(size=1)
    release = threading.Event()
    begun = []

    async def main() -> None:
        first = threads.run(lambda: release.wait(5))
        second = threads.run(lambda: begun.append(1))
        second.cancel()
        release.set()
        await asyncio.wait_for(first, 5)
        await asyncio.wait_for(threads.run(lambda: None), 5)

    asyncio.run(main())
    assert begun == []
    threads.close()


def test_an_exception_no_future_can_carry_still_ends_the_wait() -> None:
    threads = Threads()

    def stop() -> None:
        raise StopIteration

    async def main() -> None:
        with pytest.raises(RuntimeError, match="StopIteration"):
            await asyncio.wait_for(threads.run(stop), 5)

    asyncio.run(main())
    threads.close()


def test_closed_threads_take_nothing_more() -> None:
    threads = Threads()

    async def main() -> None:
        await asyncio.wait_for(threads.run(lambda: None), 5)
        threads.close()
        with pytest.raises(RuntimeError, match="closed"):
            threads.run(lambda: None)

    asyncio.run(main())
