"""Work that often ends with its first step."""

from __future__ import annotations

import asyncio
import sys
from contextvars import ContextVar, copy_context

import pytest

from ferrule.infra.tasks import begun, own_task, rest_in
from tests.driven import driven

WORD: ContextVar[str] = ContextVar("WORD", default="none")


@driven
async def test_what_ends_with_its_first_step_is_not_waited_for() -> None:
    """On 3.11 it has no task; on later versions one of its own, which it needs for time limits that never come."""
    before = asyncio.current_task()

    async def quick() -> object:
        return asyncio.current_task()

    found = begun(quick(), asyncio.get_running_loop())
    assert found is not before and (found is None) == (sys.version_info < (3, 12))
    assert asyncio.current_task() is before


@driven
async def test_what_waits_has_one_task_from_where_it_needs_one() -> None:
    async def slow() -> list[object]:
        WORD.set("mine")
        await own_task()
        first = asyncio.current_task()
        async with asyncio.timeout(20):
            await asyncio.sleep(0)
        return [first, asyncio.current_task(), WORD.get()]

    task = begun(slow(), asyncio.get_running_loop())
    assert isinstance(task, asyncio.Task)
    assert await task == [task, task, "mine"]
    assert WORD.get() == "none"


@driven
async def test_a_task_that_is_cancelled_before_it_goes_on_still_begins() -> None:
    """What comes after has to end in its own way: places that were taken are given back there."""
    seen = []

    async def work() -> None:
        await own_task()
        seen.append("begun")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("told")
            raise

    task = begun(work(), asyncio.get_running_loop())
    assert isinstance(task, asyncio.Task)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["begun", "told"]


def test_a_mistake_of_the_first_step_is_told() -> None:
    async def wrong() -> None:
        raise KeyError("x")

    async def main() -> None:
        before = asyncio.current_task()
        with pytest.raises(KeyError):
            begun(wrong(), asyncio.get_running_loop())
        assert asyncio.current_task() is before

    asyncio.run(main())


@driven
async def test_the_rest_stays_in_its_context() -> None:
    async def work() -> list[str]:
        WORD.set("inside")
        found = [WORD.get()]
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            found.append(WORD.get())
        await asyncio.sleep(0)
        return [*found, WORD.get()]

    running, context = work(), copy_context()
    waited = context.run(running.send, None)

    async def rest() -> list[str]:
        return await rest_in(context, running, waited)

    task = asyncio.ensure_future(rest())
    await asyncio.sleep(0)
    task.cancel()
    assert await task == ["inside"] * 3
    assert WORD.get() == "none"
