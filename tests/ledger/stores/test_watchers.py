"""Waiting for a bell that any thread rings."""

from __future__ import annotations

import asyncio
import threading

from ferrule.infra.tasks import give_up
from ferrule.ledger.stores.watchers import Watchers
from tests.driven import driven


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
    give_up(task)
