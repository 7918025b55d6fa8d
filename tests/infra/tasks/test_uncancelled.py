"""Waits that no cancellation cuts short, and the one module that knows private names of asyncio."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.infra.tasks import Certain, Patience, close_process, finish_uncancelled, is_running_here
from tests.driven import driven


@driven
async def test_who_is_cancelled_meanwhile_learns_the_outcome_first() -> None:
    future: Certain[str] = Certain()
    learned: list[str] = []

    async def waits() -> None:
        learned.append(await finish_uncancelled(future))
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
        await finish_uncancelled(future)
    done: Certain[int] = Certain()
    done.set_result(7)
    assert await finish_uncancelled(done) == 7


def _task(wait: Awaitable[str]) -> Awaitable[str]:
    return asyncio.ensure_future(wait)


def _plain(wait: Awaitable[str]) -> Awaitable[str]:
    return wait


@pytest.mark.parametrize("how", [_task, _plain])
@pytest.mark.parametrize("cancels", [0, 1, 3])
@driven
async def test_whatever_is_waited_for_ends_first_however_often_somebody_cancels(
    how: Callable[[Awaitable[str]], Awaitable[str]], cancels: int
) -> None:
    go, learned = asyncio.Event(), list[Any]()

    async def work() -> str:
        await go.wait()
        return "done"

    async def waits() -> None:
        learned.append(await finish_uncancelled(how(work())))
        task = asyncio.current_task()
        assert task is not None and task.cancelling() == cancels
        await asyncio.sleep(0)
        learned.append("went on")

    task = asyncio.create_task(waits())
    for _ in range(cancels):
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    go.set()
    await asyncio.wait({task})
    assert learned == (["done"] if cancels else ["done", "went on"]) and task.cancelled() is bool(cancels)


@driven
async def test_what_was_cancelled_itself_or_failed_says_so() -> None:
    async def fails() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await finish_uncancelled(fails())
    inner = asyncio.ensure_future(asyncio.sleep(10))
    asyncio.get_running_loop().call_soon(inner.cancel)
    with pytest.raises(asyncio.CancelledError):
        await finish_uncancelled(inner)
    task = asyncio.current_task()
    assert task is not None and not task.cancelling()


@driven
async def test_patience_waits_its_time_and_remembers() -> None:
    loop, steps = asyncio.get_running_loop(), list[str]()

    async def waits() -> None:
        patience, never = Patience(), loop.create_future()
        await patience.wait(never, 0.01)
        steps.append("waited")
        await patience.sleep(0.01)
        steps.append("slept")
        assert patience.is_cancelled
        patience.check()

    task = asyncio.create_task(waits())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert steps == ["waited", "slept"]


def test_a_loop_that_closes_waits_for_what_must_not_be_left_half_done() -> None:
    ended: list[str] = []

    async def patient() -> None:
        gone = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.05, gone.set_result, None)
        patience = Patience()
        await patience.wait(gone)
        ended.append("ended")
        patience.check()

    async def main() -> None:
        asyncio.create_task(patient())  # noqa: RUF006  the loop cancels it when it closes
        await asyncio.sleep(0)

    asyncio.run(main())
    assert ended == ["ended"]


@driven
async def test_a_thread_knows_whether_it_runs_a_loop() -> None:
    loop = asyncio.get_running_loop()
    assert is_running_here(loop)
    assert not await asyncio.to_thread(is_running_here, loop)
    found: list[bool] = []
    thread = threading.Thread(target=lambda: asyncio.run(_append(found, loop)))
    thread.start()
    await asyncio.to_thread(thread.join)
    assert found == [False]


async def _append(found: list[bool], loop: asyncio.AbstractEventLoop) -> None:
    found.append(is_running_here(loop))


@driven
async def test_pipes_that_something_else_holds_are_closed_with_their_program() -> None:
    program = await asyncio.create_subprocess_exec("sleep", "0", stdout=asyncio.subprocess.PIPE)
    await program.wait()
    close_process(program)
    assert program.stdout is not None and await program.stdout.read() == b""


def test_private_names_of_asyncio_stand_in_one_module() -> None:
    private = re.compile(
        r"asyncio\.(?:\w+\.)*_[a-z]|_log_destroy_pending|(?:loop|process)\._[a-z]|getattr\(\w*loop, \"_"
    )
    root = Path(ferrule.__file__).parent
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if private.search(line)
    }
    assert found == {"infra/tasks.py"}
