"""One surface in use: tools are prepared once, and names that lead nowhere are refused."""

from __future__ import annotations

import asyncio

import pytest

import ferrule
from ferrule.errors import SurfaceError
from ferrule.model.result import Result
from ferrule.testing import memory_app
from tests.spec.running_app import make_tool, run_async, running_app


@run_async
async def test_a_tool_that_was_switched_off_is_not_run_from_memory() -> None:
    """AT-71: a prepared tool is not run past a switch, a policy or another catalog."""
    async with running_app(make_tool(is_read_only=True)) as on:
        await on.call()
        await on.app.disable("shop.search", by="olga")
        assert (await on.call()).is_error
        assert len(on.executor.ran) == 1
        await on.app.enable("shop.search", by="olga")
        assert not (await on.call()).is_error


@ferrule.tool(read_only=True)
async def refund(amount: int) -> int:
    """Refunds an amount."""
    return amount


def test_odd_names_of_tools_callers_and_keys_are_told_apart_from_mistakes_of_ours() -> None:
    """AT-90, AT-91: half a character in a name is an unknown tool, in a caller an error, in a key a key."""

    async def story() -> None:
        async with memory_app(tools=[refund]) as app:
            surface = app.surface()
            unknown = await surface.call("\ud800" + "x" * 10_000, {})
            assert isinstance(unknown, Result) and unknown.error is not None
            assert unknown.error.error_class == "unknown_tool"
            (row,) = await app.store.rows_of(unknown.invocation_id)
            assert row.tool.startswith("unknown:") and len(row.tool) < 300
            keyed = await surface.call("refund", {"amount": 1}, idempotency_key="\ud800")
            assert isinstance(keyed, Result) and keyed.value == 1
            with pytest.raises(SurfaceError, match="cannot name a caller"):
                app.surface(principal="\ud800")

    asyncio.run(story())
