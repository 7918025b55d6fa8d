"""Plain work begins as if inside of a task, and only what has to wait keeps that task."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine
from contextvars import ContextVar, copy_context
from typing import Any

import pytest

from ferrule.infra.tasks import EagerTasks, begin_elsewhere, eager_tasks, go_on, own_task, rest_of
from tests.servers.mcp.direct_client import in_loop

SAID: ContextVar[str] = ContextVar("SAID", default="")


def _begin(tasks: EagerTasks, work: Coroutine[Any, Any, Any]) -> Any:
    """Makes the first step of a coroutine, as `execute` does; returns its value, or the task that carries it on."""

    def step(running: Coroutine[Any, Any, Any]) -> Any:
        assert own_task() is not None
        try:
            return rest_of(running, running.send(None))
        except StopIteration as ended:
            return ended.value

    async def _carry_on(rest: Any) -> Any:
        return await rest

    context = copy_context()
    given = tasks.begin(context, step, work)
    return tasks.go_on(_carry_on(given), context) if hasattr(given, "send") else given


def _in_callback(function: Any, *args: Any) -> asyncio.Future[Any]:
    """Calls a function from the event loop, outside of any task."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def call() -> None:
        assert asyncio.current_task() is None
        try:
            done.set_result(function(*args))
        except BaseException as error:
            done.set_exception(error)

    loop.call_soon(call)
    return done


@in_loop
async def test_work_that_never_waits_needs_no_task_of_its_own() -> None:
    tasks = eager_tasks()
    before = len(asyncio.all_tasks())

    async def quick() -> Any:
        return asyncio.current_task()

    seen = [await _in_callback(_begin, tasks, quick()) for _ in range(5)]
    assert seen[0] is not None and len(set(seen)) == 1
    assert len(asyncio.all_tasks()) <= before + 1  # the one that waits for whoever comes next


@in_loop
async def test_work_that_waits_keeps_the_task_in_which_it_began() -> None:
    tasks = eager_tasks()

    async def slow() -> bool:
        first = asyncio.current_task()
        await asyncio.sleep(0)
        return first is asyncio.current_task() is not None

    carried = [await _in_callback(_begin, tasks, slow()) for _ in range(3)]
    assert len(set(carried)) == 3
    assert await asyncio.gather(*carried) == [True] * 3


@in_loop
async def test_a_time_limit_entered_in_the_first_step_ends_that_work_alone() -> None:
    tasks = eager_tasks()

    async def limited() -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            return "over"
        return "not over"

    async def unlimited() -> str:
        await asyncio.sleep(0.03)
        return "undisturbed"

    first = await _in_callback(_begin, tasks, limited())
    second = await _in_callback(_begin, tasks, unlimited())
    assert [await first, await second] == ["over", "undisturbed"]


@in_loop
async def test_two_that_wait_in_one_piece_of_work_do_not_share_a_task() -> None:
    tasks = eager_tasks()
    owners: list[Any] = []

    async def wait() -> Any:
        await asyncio.sleep(0)
        return asyncio.current_task()

    def both(_: None) -> list[asyncio.Task[Any]]:
        carried = []
        for _number in range(2):
            owners.append(own_task())
            carried.append(go_on(wait(), copy_context()))
        return carried

    first, second = await _in_callback(tasks.begin, copy_context(), both, None)
    assert owners == [first, None] and first is not second
    assert [await first, await second] == [first, second]


@in_loop
async def test_nothing_is_left_in_the_context_of_the_next() -> None:
    tasks = eager_tasks()

    async def say(word: str, *, waits: bool) -> tuple[str, str]:
        before = SAID.get()
        SAID.set(word)
        if waits:
            await asyncio.sleep(0)
        return before, SAID.get()

    quick = await _in_callback(_begin, tasks, say("a", waits=False))
    slow = await _in_callback(_begin, tasks, say("b", waits=True))
    after = await _in_callback(_begin, tasks, say("c", waits=False))
    assert (quick, await slow, after) == (("", "a"), ("", "b"), ("", "c"))


@pytest.mark.parametrize("is_eager", [True, False])
@in_loop
async def test_work_begins_although_it_is_cancelled_before_its_first_step(is_eager: bool) -> None:
    steps: list[str] = []

    async def work() -> None:
        steps.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            steps.append("cleaned up")

    def start(_: None) -> asyncio.Task[Any]:
        task = go_on(work(), copy_context())
        task.cancel()
        return task

    task = await _in_callback(eager_tasks().begin, copy_context(), start, None) if is_eager else start(None)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert steps == ["begun", "cleaned up"]


@in_loop
async def test_work_that_cancels_its_own_task_without_waiting_spoils_nobody_elses() -> None:
    tasks = eager_tasks()

    async def cancel_itself() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return "done"

    async def wait() -> str:
        await asyncio.sleep(0)
        return "waited"

    assert await _in_callback(_begin, tasks, cancel_itself()) == "done"
    assert await (await _in_callback(_begin, tasks, wait())) == "waited"
    await asyncio.sleep(0)
    assert await (await _in_callback(_begin, tasks, wait())) == "waited"


@in_loop
async def test_work_that_cancels_its_own_task_hears_of_it_where_it_waits() -> None:
    heard: list[str] = []

    async def cancel_itself() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise

    with pytest.raises(asyncio.CancelledError):
        await (await _in_callback(_begin, eager_tasks(), cancel_itself()))
    assert heard == ["cancelled"]


@in_loop
async def test_what_is_awaited_elsewhere_takes_no_task_for_its_own() -> None:
    task = asyncio.current_task()
    assert own_task() is task
    with begin_elsewhere():
        assert own_task() is None
        with begin_elsewhere():
            assert own_task() is None
        assert own_task() is None
    assert own_task() is task

    def inside(_: None) -> tuple[Any, Any, Any]:
        with begin_elsewhere(unless_eager=True):
            kept = own_task()
        with begin_elsewhere():
            return asyncio.current_task(), kept, own_task()

    current, kept, elsewhere = await _in_callback(eager_tasks().begin, copy_context(), inside, None)
    assert current is kept is not None and elsewhere is None


@in_loop
async def test_a_failure_goes_on_its_way_and_leaves_the_loop_usable() -> None:
    tasks = eager_tasks()

    def fail(_: None) -> None:
        raise KeyError("no")

    with pytest.raises(KeyError):
        await _in_callback(tasks.begin, copy_context(), fail, None)
    assert asyncio.current_task() is not None
    assert await _in_callback(tasks.begin, copy_context(), lambda given: given + 1, 1) == 2


def test_a_loop_that_ends_leaves_no_task_behind(recwarn: pytest.WarningsRecorder) -> None:
    async def wait() -> None:
        await asyncio.sleep(0)

    async def main() -> None:
        await _in_callback(_begin, eager_tasks(), wait())
        await _in_callback(eager_tasks().begin, copy_context(), lambda given: given, 1)

    asyncio.run(main())
    gc.collect()
    assert not [warning for warning in recwarn if "never awaited" in str(warning.message)]
