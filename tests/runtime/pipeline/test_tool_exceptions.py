"""A tool's exception of any kind ends its call and nothing else: not the server, not the caller's task, not the process."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import Any

import pytest

import ferrule
from ferrule.app.app import App
from ferrule.infra.tasks import is_from_outside
from ferrule.model.result import Result
from ferrule.model.story import Story
from ferrule.testing import memory_app

POLICY = '[[rules]]\nid = "yes"\ndecision = "allow"\ntool = "*"\n'
EXCEPTIONS = (KeyboardInterrupt, SystemExit, GeneratorExit, BaseException)
WAYS = ("at once", "after a step", "inline", "in a thread")


def tool_that_raises(error: type[BaseException], way: str, *, read_only: bool) -> Any:
    async def raise_at_once() -> str:
        raise error

    async def raise_after_a_step() -> str:
        await asyncio.sleep(0)
        raise error

    def raise_plainly() -> str:
        raise error

    function: Callable[..., Any] = {"at once": raise_at_once, "after a step": raise_after_a_step}.get(
        way, raise_plainly
    )
    options: dict[str, Any] = {"inline": True} if way == "inline" else {}
    return ferrule.tool(
        name="break", description="Breaks.", read_only=read_only, concurrency_safe=read_only, **options
    )(function)


async def read_story(app: App, invocation_id: str) -> Story:
    """What is on record of a call, as `explain` has it."""
    await app.store.flush()
    return Story(await app.store.rows_of(invocation_id))


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("error", EXCEPTIONS)
def test_whatever_a_tool_raises_ends_its_call_as_failed(error: type[BaseException], way: str, read_only: bool) -> None:
    """AT-105"""

    async def go() -> None:
        async with memory_app(tools=(tool_that_raises(error, way, read_only=read_only),), policy=POLICY) as app:
            surface = app.surface(principal="ann")
            result = await surface.call("break", {})
            assert isinstance(result, Result) and result.error is not None
            assert (result.status, result.error.error_class) == ("failed", "execution_failed")
            assert result.error.error_code != "internal_error"
            assert not app.services.live.calls and surface.session.lane.is_idle
            story = await read_story(app, result.invocation_id)
            assert story.result_status == "failed"

    asyncio.run(go())


@ferrule.tool(read_only=True, concurrency_safe=True)
async def cancel_itself(when: str, waits: bool) -> str:
    """Cancel the task in which it runs, as no tool should."""
    task = asyncio.current_task()
    assert task is not None
    if when == "later":
        await asyncio.sleep(0)
    task.cancel()
    if waits:
        await asyncio.sleep(0)
    return "done"


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("when", ["at once", "later"])
def test_a_tool_that_cancels_its_task_ends_its_call_and_not_its_caller(when: str, waits: bool, times: int) -> None:
    """AT-105"""

    async def go() -> None:
        async with memory_app(tools=(cancel_itself,), policy=POLICY) as app:
            surface = app.surface(principal="ann")
            for _ in range(times):
                result = await surface.call("cancel_itself", {"when": when, "waits": waits})
                assert isinstance(result, Result)
                assert result.status == ("canceled" if waits else "succeeded")
                task = asyncio.current_task()
                assert task is not None and not task.cancelling()
                await asyncio.sleep(0)  # nothing arrives afterwards either
            assert not app.services.live.calls and surface.session.lane.is_idle
            story = await read_story(app, result.invocation_id)
            assert [run.is_run for run in story.phases if run.phase == "execute"] == [True]

    asyncio.run(go())


def test_a_call_that_is_cancelled_while_its_tool_runs_is_recorded_with_that_phase() -> None:
    @ferrule.tool(read_only=True, concurrency_safe=True)
    async def wait() -> str:
        """Wait for ever."""
        await asyncio.Event().wait()
        return "never"

    async def go() -> None:
        async with memory_app(tools=(wait,), policy=POLICY) as app:
            surface = app.surface(principal="ann")
            calling = asyncio.ensure_future(surface.call("wait", {}))
            while not app.services.live.calls:
                await asyncio.sleep(0)
            (invocation_id,) = app.services.live.calls
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling
            story = await read_story(app, invocation_id)
            assert story.result_status == "canceled"
            assert [run.is_run for run in story.phases if run.phase == "execute"] == [True]

    asyncio.run(go())


def test_only_what_its_caller_does_comes_from_outside() -> None:
    found: list[bool] = []

    async def watch(inner: Any) -> None:
        try:
            await inner
        except BaseException as error:
            found.append(is_from_outside(error))

    @contextlib.contextmanager
    def handling(handler: Any) -> Any:
        before = signal.signal(signal.SIGINT, handler)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    async def leave() -> None:
        raise GeneratorExit

    async def interrupt() -> None:
        raise KeyboardInterrupt

    async def go() -> None:
        await watch(leave())
        with handling(lambda *_: None):  # as servers have one
            await watch(interrupt())
        with handling(signal.default_int_handler):
            await watch(interrupt())
        closed = watch(asyncio.sleep(0))
        closed.send(None)
        closed.close()

    asyncio.run(go())
    assert found == [False, False, True, True]
