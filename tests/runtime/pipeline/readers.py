"""Tools that only read, and answer or fail in their first step or later."""

from __future__ import annotations

import asyncio

import ferrule


@ferrule.tool(read_only=True)
async def at_once(a: int) -> int:
    """Answer without waiting."""
    return a


@ferrule.tool(read_only=True)
async def soon(a: int) -> int:
    """Answer after a while."""
    await asyncio.sleep(0.001)
    return a


@ferrule.tool(read_only=True)
async def breaks(when: str) -> int:
    """Fail at once or later."""
    if when == "later":
        await asyncio.sleep(0)
    raise ferrule.ToolFailed("no such luck")
