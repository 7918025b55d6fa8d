"""Hooks before a call: they may stop it, and change its input where they may see it."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.hook import HookOutput
from ferrule.model.result import Result
from ferrule.testing import memory_app
from tests.runtime.pipeline.hooks.hooked import NOTED, RAN, call_with_hooks, hook, login, run_story


def test_a_stop_before_the_tool_ends_the_call_and_says_that_the_turn_ends() -> None:
    """AT-155, AT-154"""
    result = call_with_hooks(hook(HookOutput(stop="enough", stop_code="quota")))
    assert result.error is not None and not RAN
    assert (result.error.error_class, result.error.error_code) == ("hook_blocked", "quota")
    assert (result.status, NOTED[0].status) == ("denied", "blocked")
    assert result.hook_stop == {"reason": "enough", "hook_id": "guard", "continue": False}
    assert NOTED[0].hooks[0].outputs[-1] == {"stop": {"reason": "enough", "continue": False}}
    assert NOTED[0].to_record()["hooks"][0]["stop"] == {"reason": "enough", "continue": False}


@pytest.mark.parametrize(
    ("update", "ran"),
    [
        (lambda told: {**told.observable_input, "user": "bob"}, ("bob", "hunter22")),
        (lambda told: {**told.observable_input, "password": "other"}, ("ann", "other")),
        (lambda told: {"password": "x", "user": told.observable_input["password"]}, None),
        (lambda told: {"password": "x", "user": "is " + told.observable_input["password"]}, None),
    ],
)
def test_a_mask_left_in_its_place_means_the_value_behind_it(update: Any, ran: Any) -> None:
    """AT-81, AT-84: a hook that changes something else does not destroy what it may not see; a moved mask is refused."""

    async def story() -> None:
        changing = hook(lambda told: HookOutput(updated_input=update(told)))
        async with memory_app(tools=[login], hooks=[changing]) as app:
            result = await app.surface().call("login", {"password": "hunter22", "user": "ann"})
            assert [ran] == RAN if ran is not None else not RAN
            if ran is None:
                assert isinstance(result, Result) and result.error is not None
                assert result.error.error_code == "input_mutation_failed"

    run_story(story)
