"""What the phases may use: the time by which things expire, and the events that some hook waits for."""

from __future__ import annotations

from msgspec.structs import replace

from ferrule.testing import FakeClock
from tests.spec.running_app import FunctionHook, run_async, running_app


@run_async
async def test_a_clock_that_is_set_back_gives_nothing_more_time() -> None:
    """The ledger's latest time counts then, so that no approval lives longer by it."""
    clock = FakeClock()
    async with running_app(clock=clock) as on:
        services = on.app.services
        await on.call()
        latest = services.store.high_water()
        assert services.wall() > latest
        clock.jump(-3600)
        assert services.now() < latest
        assert services.wall() == latest


@run_async
async def test_the_events_of_all_hooks_are_known_beforehand() -> None:
    hooks = (
        FunctionHook(print, "pre_tool_use"),
        FunctionHook(print, "post_tool_use"),
        FunctionHook(print, "post_tool_use"),
    )
    async with running_app() as on:
        assert on.app.services.hook_events == frozenset()
        assert replace(on.app.services, hooks=hooks).hook_events == {"pre_tool_use", "post_tool_use"}
