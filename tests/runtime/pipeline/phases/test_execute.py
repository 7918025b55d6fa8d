"""Running a tool: it answers alike in its first step and later, and one that stops itself is closed."""

from __future__ import annotations

import asyncio

import pytest

import ferrule
from ferrule.contracts.executor import Output
from ferrule.model.result import Result
from ferrule.testing import memory_app
from tests.runtime.pipeline.readers import at_once, breaks, soon


@ferrule.tool(read_only=True)
async def gives_up(when: str) -> int:
    """Stop by itself, at once or later."""
    if when == "later":
        await asyncio.sleep(0)
    raise asyncio.CancelledError


@ferrule.tool(read_only=True)
async def pours(a: int) -> Output:
    """Give a stream, made in the first step."""
    return Output(stream=iter([b"x" * a, b"y"]))


TOOLS = (at_once, soon, breaks, gives_up, pours)


def test_tools_answer_alike_in_their_first_step_and_later() -> None:
    """AT-115"""

    async def go() -> None:
        async with memory_app(tools=TOOLS) as app:
            surface = app.surface(principal="ann")
            for name in ("at_once", "soon"):
                result = await surface.call(name, {"a": 7})
                assert isinstance(result, Result) and result.value == 7
            for when in ("at once", "later"):
                failed = await surface.call("breaks", {"when": when})
                assert isinstance(failed, Result) and failed.error is not None
                assert (failed.error.error_class, failed.error.message) == ("execution_failed", "no such luck")
            assert not app.services.live.calls and surface.session.lane.is_idle

    asyncio.run(go())


@pytest.mark.parametrize("when", ["at once", "later"])
def test_a_tool_that_cancels_itself_is_closed_as_canceled(when: str) -> None:
    """AT-105"""

    async def go() -> None:
        async with memory_app(tools=TOOLS) as app:
            surface = app.surface(principal="ann")
            stopped = await surface.call("gives_up", {"when": when})  # nobody cancelled the caller
            assert isinstance(stopped, Result) and stopped.status == "canceled"
            assert not app.services.live.calls and surface.session.lane.is_idle
            result = await surface.call("at_once", {"a": 1})
            assert isinstance(result, Result) and result.value == 1

    asyncio.run(go())
