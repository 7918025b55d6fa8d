"""What tools change in the context of their surface, and that calls which overlap never race for it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ferrule.model.scheduling import SchedulerPolicy
from ferrule.runtime.pipeline.context_modifiers import apply_modifiers, find_problem
from tests.runtime.pipeline.slow_tools import app_of_slow_tools
from tests.spec.running_app import run_async


@pytest.mark.parametrize("policy", ["allow_serial_only", "defer_until_batch_complete"])
@run_async
async def test_changes_of_calls_that_overlap_never_race(policy: Any) -> None:
    """AT-118, AT-175: beside one another, or inside of calls that are."""
    async with app_of_slow_tools(scheduler=SchedulerPolicy(context_modifier_policy=policy)) as (_app, surface):
        for name in ("keep", "through"):
            for order in ((0.01, 0.02), (0.02, 0.01)):
                calls = [surface.call(name, {"value": number, "seconds": wait}) for number, wait in enumerate(order)]
                await asyncio.gather(*calls)
                assert surface.context == {}, (name, order)
        for value in (1, 2, 3):
            await surface.call("keep", {"value": value, "seconds": 0})
            assert surface.context == {"kept": value}
        await surface.call("through", {"value": 7, "seconds": 0})
        assert surface.context == {"kept": 7}


def test_changes_are_applied_in_order_and_share_nothing_with_the_tool() -> None:
    values: dict[str, Any] = {"a": 1, "b": 2}
    kept = {"deep": [1]}
    apply_modifiers(values, [{"set": {"c": kept}, "unset": ["a", "nothing"]}, {"set": {"b": 3}}, {"unset": ["b"]}])
    kept["deep"].append(2)
    assert values == {"c": {"deep": [1]}}


@pytest.mark.parametrize("modifier", [{"set": {"a": 1}}, {"unset": ["a"]}, {"set": {}, "unset": ()}])
def test_a_change_sets_or_unsets(modifier: Any) -> None:
    assert find_problem([modifier]) is None


@pytest.mark.parametrize(
    "modifier",
    [{}, None, [], {"sets": {}}, {"set": []}, {"unset": "a"}, {"set": {"a": object()}}, {"set": {"a": {1: 2j}}}],
)
def test_anything_else_is_refused_with_a_reason(modifier: Any) -> None:
    assert find_problem([{"set": {"a": 1}}, modifier])
