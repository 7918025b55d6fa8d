"""Whose time runs when: a tool's limit is for the tool, its caller's for everything."""

from __future__ import annotations

import asyncio

import pytest

import ferrule
from ferrule.testing import memory_app
from tests.spec.running_app import TRUSTED, run_async

TOOL_SECONDS = 0.1
WRITE_SECONDS = 0.2


@ferrule.tool(destructive=False, open_world=False)
async def write() -> str:
    """Write something, alone."""
    await asyncio.sleep(WRITE_SECONDS)
    return "written"


@ferrule.tool(read_only=True, open_world=False, timeout_seconds=TOOL_SECONDS)
async def read(seconds: float = 0.0) -> str:
    """Read something, in less time than a write takes."""
    await asyncio.sleep(seconds)
    return "read"


@run_async
async def test_a_tool_has_its_whole_time_whenever_its_turn_comes() -> None:
    """AT-160: waiting behind a write that takes longer than the reader may take."""
    async with memory_app(tools=[write, read], policy=TRUSTED) as app:
        results = await app.surface().call_many(["write", "read", ("read", {"seconds": 30})])
        assert [results[number].status for number in range(3)] == ["succeeded", "succeeded", "timed_out"]


@pytest.mark.parametrize("seconds", [0.05, 5])
@run_async
async def test_a_caller_s_limit_is_for_the_wait_too(seconds: float) -> None:
    async with memory_app(tools=[write, read], policy=TRUSTED) as app:
        results = await app.surface().call_many(["write", {"name": "read", "timeout_seconds": seconds}])
        assert results[1].status == ("timed_out" if seconds < WRITE_SECONDS else "succeeded")
