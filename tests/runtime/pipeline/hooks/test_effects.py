"""What hooks do to a result: context, another output, a stop."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import ferrule
from ferrule.contracts.hook import HookInput, HookOutput
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.result import Pending, Result
from ferrule.runtime.pipeline.hooks import effects
from ferrule.runtime.pipeline.phases import map_result
from ferrule.runtime.pipeline.results import outcome
from ferrule.testing import memory_app
from tests.runtime.pipeline.hooks.hooked import (
    NOTED,
    RAN,
    act,
    call_with_hooks,
    count,
    fail,
    hook,
    login,
    look,
    never_answer,
    run_story,
)

NOTE = {"type": "text", "text": "the customer is a regular"}
BOB = Identity("bob", "desk", frozenset({APPROVE}))


@pytest.mark.parametrize("event", ["pre_tool_use", "permission_decision", "post_tool_use", "result_persistence"])
def test_context_stands_beside_the_output_with_its_hook_as_origin(event: Any) -> None:
    """AT-156: the tool's own content is unchanged; the model sees both."""
    result = call_with_hooks(hook(HookOutput(additional_context=(NOTE,)), event))
    block = {**NOTE, "origin": {"hook_id": "guard"}}
    assert result.additional_context == (block,)
    assert result.content == ({"type": "text", "text": "seen Bern"},)
    assert result.model_facing_content == (*result.content, block)
    assert result.text == "seen Bern"
    assert list(result.to_record()["additional_context"]) == [block]
    assert not result.is_error


def test_context_of_several_hooks_comes_in_their_order() -> None:
    """AT-156, AT-112"""
    hooks = [
        hook(HookOutput(additional_context=({"type": "text", "text": event},)), event, name=event)
        for event in ("pre_tool_use", "permission_decision", "post_tool_use", "result_persistence")
    ]
    result = call_with_hooks(*reversed(hooks))
    assert [block["text"] for block in result.additional_context] == [one.event for one in hooks]
    assert result.model_facing_content == (*result.content, *result.additional_context)


@pytest.mark.parametrize("said", [{"stop": "enough"}, {"permission": "deny"}])
def test_context_reaches_the_result_of_a_call_that_never_ran(said: Any) -> None:
    """AT-156"""
    result = call_with_hooks(hook(HookOutput(additional_context=(NOTE,), **said)))
    assert result.is_error and not RAN
    assert result.additional_context[0]["text"] == NOTE["text"]


def test_context_reaches_the_result_of_a_failed_call() -> None:
    """AT-156, AT-117"""
    result = call_with_hooks(hook(HookOutput(additional_context=(NOTE,)), "post_tool_use_failure"), tool=fail)
    assert result.is_error and result.additional_context[0]["text"] == NOTE["text"]


def test_context_from_before_a_question_is_there_after_the_answer() -> None:
    """AT-156: a call that waited has lost nothing; its record has it too."""

    async def story() -> None:
        async with memory_app(tools=[act], hooks=[hook(HookOutput(additional_context=(NOTE,)))]) as app:
            waiting = await app.surface().call("act")
            assert isinstance(waiting, Pending)
            result = (await app.inbox(BOB).approve(waiting.invocation_id)).result
            assert isinstance(result, Result)
            assert [block["text"] for block in result.additional_context] == [NOTE["text"]]
            again = await app.surface().call("act", idempotency_key="k")
            assert isinstance(again, Pending)

    run_story(story)


def test_an_updated_output_is_what_the_model_sees_and_the_original_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """AT-116, AT-157: the mapper runs twice; who changed it is on record."""
    runs: list[Any] = []

    def counted(output: Any) -> Any:
        runs.append(output)
        return original(output)

    original = outcome.map_output
    for module in (outcome, map_result, effects):
        monkeypatch.setattr(module, "map_output", counted, raising=False)
    result = call_with_hooks(hook(HookOutput(updated_output={"found": 0}), "post_tool_use"), tool=count)
    assert result.structured_content == {"found": 0}
    assert result.text == '{"found":0}'
    assert result.content == ({"type": "text", "text": '{"found":1}'},)
    assert result.native_output == {"found": 1}
    assert not result.is_error
    assert len(runs) == 2
    assert NOTED[0].notes["output_updates"] == ["guard"]
    assert NOTED[0].hooks[0].outputs == ({"updated_output": True},)


def test_updates_of_the_output_chain_and_keep_what_the_tool_gave() -> None:
    """AT-157: the second hook sees what the first one left."""
    seen: list[Any] = []

    def second(told: HookInput) -> HookOutput:
        seen.append((told.result or {})["model_facing_content"])
        return HookOutput(updated_output="c", additional_context=(NOTE,))

    result = call_with_hooks(
        hook(HookOutput(updated_output="b"), "post_tool_use", name="one"), hook(second, "post_tool_use", name="two")
    )
    assert seen == [[{"type": "text", "text": "b"}]]
    assert (result.text, result.content[0]["text"]) == ("c", "seen Bern")
    assert result.additional_context[0]["origin"] == {"hook_id": "two"}
    assert NOTED[0].notes["output_updates"] == ["one", "two"]


def test_an_updated_output_that_breaks_the_promise_of_the_tool_is_not_passed_on() -> None:
    """AT-157, AT-87: neither is the original, which a hook did not want to be seen."""
    result = call_with_hooks(hook(HookOutput(updated_output="s3cret"), "post_tool_use"), tool=count)
    assert result.error is not None and result.error.error_code == "result_mapping_failed"
    assert result.structured_content is None
    assert "found" not in result.text and "s3cret" not in result.text
    assert result.native_output == {"found": 1}


@ferrule.tool(read_only=True)
async def anything() -> Any:
    """Promises nothing about its output."""
    return "as it was"


@pytest.mark.parametrize("updated", [None, "", [], {}, 0, False])
def test_an_output_may_become_anything(updated: Any) -> None:
    """AT-157: also nothing."""
    result = call_with_hooks(hook(HookOutput(updated_output=updated), "post_tool_use"), tool=anything)
    assert not result.is_error and result.text != "as it was"
    assert result.content[0]["text"] == "as it was"


@pytest.mark.parametrize("event", ["permission_decision", "permission_request"])
def test_a_stop_around_permission_ends_the_call(event: Any) -> None:
    """AT-155, AT-145"""
    result = call_with_hooks(hook(HookOutput(stop="enough"), event), tool=act)
    assert result.error is not None and not RAN
    assert (result.error.error_class, result.status, NOTED[0].status) == ("hook_blocked", "denied", "blocked")


def test_a_broken_persistence_hook_keeps_the_output() -> None:
    """AT-158"""
    result = call_with_hooks(hook(never_answer, "result_persistence", timeout_seconds=0.02))
    assert (result.status, result.text) == ("partial_succeeded", "seen Bern")
    assert result.error is not None and result.error.error_code == "post_hook_failed"


def test_what_is_masked_stays_masked_for_hooks() -> None:
    """AT-84, AT-77: neither what a hook is told of input and result nor what is kept of its answer has a secret."""
    seen: list[str] = []

    def telling(told: HookInput) -> HookOutput:
        seen.append(repr(told))
        return HookOutput(messages=("hunter22 it was",), additional_context=({"type": "text", "text": "hunter22"},))

    async def story() -> None:
        hooks = [hook(telling, "pre_tool_use", name="a"), hook(telling, "post_tool_use", name="b")]
        async with memory_app(tools=[login], hooks=hooks) as app:
            result = await app.surface().call("login", {"password": "hunter22"})
            assert RAN == [("ann", "hunter22")]
            assert isinstance(result, Result)
            await app.store.flush()
            rows = await app.store.rows_of(result.invocation_id)
            assert "hunter22" not in repr(seen) + repr(rows) + repr(result.additional_context)

    run_story(story)


def test_hooks_are_asked_again_in_every_task() -> None:
    """Many calls at once keep their own context and stops apart."""

    async def story() -> None:
        async def say(told: HookInput) -> HookOutput:
            await asyncio.sleep(0)
            return HookOutput(additional_context=({"type": "text", "text": told.observable_input["city"]},))

        async with memory_app(tools=[look], hooks=[hook(say), hook(say, "post_tool_use")]) as app:
            surface = app.surface()
            given = await asyncio.gather(*(surface.call("look", {"city": str(n)}) for n in range(20)))
            for number, result in enumerate(given):
                assert isinstance(result, Result)
                assert [block["text"] for block in result.additional_context] == [str(number)] * 2

    run_story(story)
