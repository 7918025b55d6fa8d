"""Hooks after a call: one kind on success, another on failure; what they withhold, nobody gets past them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ferrule.contracts.hook import HookInput, HookOutput
from ferrule.testing import memory_app
from tests.runtime.pipeline.hooks.hooked import (
    NOTED,
    RAN,
    call_with_hooks,
    count,
    fail,
    hook,
    look,
    never_answer,
    run_story,
)


@pytest.mark.parametrize("event", ["post_tool_use", "result_persistence"])
def test_a_stop_after_the_tool_withholds_what_it_gave(event: Any) -> None:
    """AT-155: it did run; the model gets the reason, the record the output."""
    result = call_with_hooks(hook(HookOutput(stop="enough"), event), tool=count)
    assert result.error is not None and RAN
    assert (result.error.error_class, result.status, NOTED[0].status) == ("hook_blocked", "failed", "failed")
    assert "enough" in result.text and "found" not in result.text
    assert "the tool did its work" in result.text, "nobody is told to make the call once more"
    assert result.structured_content is None and result.value == result.text
    assert result.native_output == {"found": 1}
    assert result.content == ({"type": "text", "text": '{"found":1}'},)
    assert result.hook_stop is not None and result.hook_stop["continue"] is False


def test_nothing_softens_a_stop_after_the_tool() -> None:
    """AT-155: hooks after it are not asked; one that failed before it changes nothing."""
    later = hook(HookOutput(updated_output="all of it"), "post_tool_use", name="later")
    result = call_with_hooks(
        hook(never_answer, "post_tool_use", name="late", timeout_seconds=0.02),
        hook(HookOutput(stop="enough"), "post_tool_use"),
        later,
    )
    assert result.error is not None and result.error.error_class == "hook_blocked"
    assert [run.hook_id for run in NOTED[0].hooks] == ["late", "guard"]


def test_a_stop_after_a_failure_stays_beside_it() -> None:
    """AT-155, AT-117: the failure is the result; that the turn should end is told with it."""
    result = call_with_hooks(hook(HookOutput(stop="enough"), "post_tool_use_failure"), tool=fail)
    assert result.error is not None and result.error.error_class == "execution_failed"
    assert result.hook_stop is not None and result.hook_stop["reason"] == "enough"


def test_a_caller_who_goes_away_gets_no_result_past_a_hook() -> None:
    """AT-155: hooks after the tool are heard to the end before the cancellation goes on its way."""

    async def story() -> None:
        asked, free = asyncio.Event(), asyncio.Event()

        async def judging(told: HookInput) -> HookOutput:
            asked.set()
            await free.wait()
            return HookOutput(stop="not for you")

        async with memory_app(tools=[look], hooks=[hook(judging, "post_tool_use")]) as app:
            calling = asyncio.create_task(app.surface().call("look"))
            await asked.wait()
            calling.cancel()
            await asyncio.sleep(0.01)
            free.set()
            with pytest.raises(asyncio.CancelledError):
                await calling
            await app.store.flush()
            rows = await app.store.rows_after(0, 100)
            statuses = [row.segment().status for row in rows if row.kind in ("call", "ended")]
            assert statuses == ["failed"]

    run_story(story)
