"""Waiting for a certain outcome, which a cancellation cannot take away, and for a bell that any thread rings."""

from __future__ import annotations

import asyncio
import threading

import pytest

from ferrule.ledger.stores.waiting import Certain, Watchers, certainly
from tests.driven import driven


@driven
async def test_who_is_cancelled_meanwhile_learns_the_outcome_first() -> None:
    future: Certain[str] = Certain()
    learned: list[str] = []

    async def waits() -> None:
        learned.append(await certainly(future))
        await asyncio.sleep(0)
        learned.append("went on")

    task = asyncio.create_task(waits())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done() and not future.cancelled()
    future.set_result("written")
    with pytest.raises(asyncio.CancelledError):
        await task
    assert learned == ["written"]


@driven
async def test_a_failure_comes_through_and_without_a_cancellation_nothing_else() -> None:
    future: Certain[str] = Certain()
    future.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        await certainly(future)
    done: Certain[int] = Certain()
    done.set_result(7)
    assert await certainly(done) == 7


@driven
async def test_a_bell_wakes_everybody_from_any_thread() -> None:
    watchers = Watchers()
    waiting = [asyncio.create_task(watchers.wait(10)) for _ in range(3)]
    await asyncio.sleep(0)
    thread = threading.Thread(target=watchers.wake)
    thread.start()
    await asyncio.wait_for(asyncio.gather(*waiting), 5)
    thread.join()


@driven
async def test_a_wait_ends_by_itself_and_a_bell_that_nobody_hears_is_lost() -> None:
    watchers = Watchers()
    watchers.wake()
    await watchers.wait(0.001)
    watchers.wake()


def test_a_loop_that_was_closed_keeps_nobody_from_being_woken() -> None:
    watchers, loop = Watchers(), asyncio.new_event_loop()
    task = loop.create_task(watchers.wait(10))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    watchers.wake()
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # left behind on purpose
