"""The cache behind catalog pages: one for each app, sorted once for each catalog."""

from __future__ import annotations

import asyncio

import ferrule
from ferrule.servers.api.catalog import catalog_cache
from ferrule.servers.api.catalog.catalog_cache import find_catalog_cache
from ferrule.testing import memory_app
from tests.driven import driven


@ferrule.tool(read_only=True)
def look() -> str:
    """Look."""
    return "seen"


@driven
async def test_each_app_has_its_own_and_keeps_it() -> None:
    async with memory_app(tools=[look]) as one, memory_app(tools=[look]) as other:
        assert find_catalog_cache(one) is find_catalog_cache(one)
        assert find_catalog_cache(one) is not find_catalog_cache(other)


@driven
async def test_a_catalog_is_sorted_once_for_everybody_who_asks_at_the_same_time() -> None:
    async with memory_app(tools=[look]) as app:
        first, second = await asyncio.gather(
            find_catalog_cache(app).load_index(app), find_catalog_cache(app).load_index(app)
        )
        assert first is second is await find_catalog_cache(app).load_index(app)
        assert [shown.listed.tool.name for shown in first.tools] == ["look"]


@driven
async def test_histories_are_kept_up_to_a_bound() -> None:
    async with memory_app(tools=[look]) as app:
        case = find_catalog_cache(app)
        first = await case.load_history(app, "a")
        assert await case.load_history(app, "a") is first
        for number in range(catalog_cache._HISTORIES_KEPT):
            await case.load_history(app, f"tool {number}")
        assert len(case._histories) == catalog_cache._HISTORIES_KEPT
        assert await case.load_history(app, "a") is not first, "the oldest went first"
