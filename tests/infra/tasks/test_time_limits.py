"""One timer for many limits: each means what `asyncio.timeout_at` means."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ferrule.infra.tasks import TimeLimits

SOON, LATE = 0.02, 30.0


def play(story: Callable[[TimeLimits, asyncio.AbstractEventLoop], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with asyncio.timeout(10):
            return await story(TimeLimits(), asyncio.get_running_loop())

    return asyncio.run(main())


async def waits(limits: TimeLimits, when: float | None) -> str:
    try:
        with limits.until(when):
            await asyncio.get_running_loop().create_future()
    except TimeoutError:
        await asyncio.sleep(0)  # the task goes on as if nothing had been
        task = asyncio.current_task()
        return f"late, {task.cancelling() if task is not None else None}"
    return "never"


def test_what_takes_too_long_ends_and_its_task_goes_on() -> None:
    async def story(limits: TimeLimits, loop: asyncio.AbstractEventLoop) -> None:
        assert await waits(limits, loop.time() + SOON) == "late, 0"
        assert await waits(limits, loop.time() - 1) == "late, 0"
        assert not limits.running

    play(story)


def test_limits_are_reached_in_their_own_order_whichever_began_first() -> None:
    async def story(limits: TimeLimits, loop: asyncio.AbstractEventLoop) -> None:
        ended: list[float] = []

        async def one(after: float) -> None:
            assert await waits(limits, start + after) == "late, 0"
            ended.append(after)

        start = loop.time()
        await asyncio.gather(*(one(after) for after in (0.06, 0.02, 0.08, 0.04)))
        assert ended == [0.02, 0.04, 0.06, 0.08] and not limits.running

    play(story)


def test_what_ends_in_time_leaves_nothing() -> None:
    async def story(limits: TimeLimits, loop: asyncio.AbstractEventLoop) -> None:
        with limits.until(loop.time() + SOON):
            await asyncio.sleep(0)
        with pytest.raises(KeyError), limits.until(loop.time() + SOON):
            raise KeyError
        with limits.until(None):
            await asyncio.sleep(0)
        assert not limits.running
        await asyncio.sleep(2 * SOON)  # the timer rings for nobody
        assert await waits(limits, loop.time() + SOON) == "late, 0"

    play(story)


@pytest.mark.parametrize("is_late_too", [False, True])
def test_a_cancellation_by_somebody_else_is_one(is_late_too: bool) -> None:
    async def story(limits: TimeLimits, loop: asyncio.AbstractEventLoop) -> None:
        async def stuck() -> None:
            with limits.until(loop.time() + (SOON if is_late_too else LATE)):
                try:
                    await loop.create_future()
                finally:
                    if is_late_too:
                        task.cancel()

        task = asyncio.create_task(stuck())
        await asyncio.sleep(0)
        if not is_late_too:
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled() and not limits.running

    play(story)


def test_the_inner_limit_is_the_inner_one_s_and_the_outer_the_outer_one_s() -> None:
    async def story(limits: TimeLimits, loop: asyncio.AbstractEventLoop) -> None:
        with limits.until(loop.time() + LATE):
            assert await waits(limits, loop.time() + SOON) == "late, 0"
        with pytest.raises(TimeoutError), limits.until(loop.time() + SOON):
            await waits(limits, loop.time() + LATE)

    play(story)


def test_an_error_at_the_last_moment_stays_what_it_is() -> None:
    async def story(limits: TimeLimits, loop: asyncio.AbstractEventLoop) -> None:
        with pytest.raises(KeyError), limits.until(loop.time() + SOON):
            try:
                await loop.create_future()
            except asyncio.CancelledError:
                raise KeyError from None
        task = asyncio.current_task()
        assert task is not None and not task.cancelling()

    play(story)


def test_another_loop_is_another_beginning() -> None:
    limits = TimeLimits()

    async def leaves() -> None:
        with limits.until(asyncio.get_running_loop().time() + LATE):
            await asyncio.sleep(0)

    async def late() -> str:
        return await waits(limits, asyncio.get_running_loop().time() + SOON)

    asyncio.run(leaves())
    assert asyncio.run(late()) == "late, 0"
