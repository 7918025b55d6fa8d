"""Hooks in this process: what they see, what they may do, and what is kept of them: AT-147 to AT-158."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from ferrule.contracts.executor import ExecutionFailed
from ferrule.contracts.hook import HookOutput
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.result import Pending
from ferrule.testing import FakeClock
from tests.spec.running_app import BERN, TRUSTED, FunctionHook, make_tool, run_async, running_app

ALLOW = FunctionHook(lambda told: HookOutput(permission="allow", permission_reason="trust me"), name="friend")


def raising(told: Any) -> Any:
    raise RuntimeError("a secret of the hook")


@run_async
async def test_at_147_a_matcher_limits_what_a_hook_sees() -> None:
    """AT-147"""
    hook = FunctionHook(lambda told: None, tool="find")
    async with running_app(make_tool("search"), make_tool("find"), hooks=(hook,)) as on:
        await on.call("search")
        assert not hook.seen
        await on.call("find")
        assert [told.tool_name for told in hook.seen] == ["find"]


@run_async
async def test_at_148_every_run_of_a_hook_is_kept() -> None:
    """AT-148: event, times and outputs, linked from the invocation."""
    hooks = (
        FunctionHook(lambda told: HookOutput(messages=("seen",)), name="before"),
        FunctionHook(lambda told: HookOutput(messages=("done",)), "post_tool_use", name="after"),
    )
    async with running_app(hooks=hooks) as on:
        result = await on.call()
        runs = (await on.read_story(result)).hooks
        assert [(run.hook_id, run.hook_event) for run in runs] == [
            ("before", "pre_tool_use"),
            ("after", "post_tool_use"),
        ]
        assert all(run.ended >= run.started for run in runs)
        assert "seen" in repr(runs[0].outputs)
        assert "done" in repr(runs[1].outputs)
        assert (await on.read_record(result))["hook_refs"] == ["before", "after"]


@run_async
async def test_at_150_a_replacement_leaves_a_record() -> None:
    """AT-150, AT-149: its changed fields are the difference."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}, "near": {"type": "boolean"}}}
    hook = FunctionHook(lambda told: HookOutput(updated_input={"city": "Basel", "near": True}), name="mover")
    async with running_app(make_tool(schema=schema), hooks=(hook,)) as on:
        result = await on.call()
        [mutation] = (await on.read_story(result)).mutations
        assert (mutation.source_type, mutation.source_ref) == ("hook", "mover")
        assert sorted(mutation.changed_fields) == ["city", "near"]
        record = await on.read_record(result)
        assert record[mutation.from_input] == BERN
        assert record[mutation.to_input] == {"city": "Basel", "near": True}


@pytest.mark.parametrize(("policy", "expected"), [("deny", "denied"), ("ask", "parked"), ("allow", "succeeded")])
@run_async
async def test_at_152_a_hooks_yes_weighs_nothing(policy: str, expected: str) -> None:
    """AT-152: rules and people still decide."""
    written = f'[[rules]]\ndecision = "{policy}"\ntool = "search"\nwhen = {{ city = "Bern" }}\n'
    hook = FunctionHook(ALLOW._run, name="friend")
    async with running_app(policy=written, hooks=(hook,)) as on:
        outcome = await on.surface.call("search", BERN)
        assert ("parked" if isinstance(outcome, Pending) else outcome.status) == expected
        assert on.has_run is (expected == "succeeded")


@run_async
async def test_at_154_a_hooks_no_is_final() -> None:
    """AT-154, AT-155: deny gives permission_denied, stop gives hook_blocked; neither runs, and there is a result."""
    deny = FunctionHook(lambda told: HookOutput(permission="deny", permission_reason="not this one"), name="guard")
    async with running_app(hooks=(deny,)) as on:
        result = await on.call()
        assert result.error is not None
        assert (result.error.error_class, result.status) == ("permission_denied", "denied")
        [decision] = await on.read_decisions(result)
        assert (decision["behavior"], decision["reason"]["type"]) == ("deny", "hook")
        assert not on.has_run
    stop = FunctionHook(lambda told: HookOutput(stop="enough"), name="guard")
    async with running_app(hooks=(stop,)) as on:
        result = await on.call()
        assert result.error is not None
        assert (result.error.error_class, result.status) == ("hook_blocked", "denied")
        assert "enough" in result.error.message
        assert (await on.read_record(result))["status"] == "blocked"
        assert not on.has_run


@run_async
async def test_at_154_a_hook_may_ask() -> None:
    """AT-154, AT-128: where rules would allow, a hook's ask parks the call."""
    hook = FunctionHook(lambda told: HookOutput(permission="ask", permission_reason="unusual"), name="guard")
    async with running_app(hooks=(hook,), policy=TRUSTED) as on:
        waiting = await on.park()
        assert not on.has_run
        assert (await on.read_decisions(waiting))[-1]["behavior"] == "ask"
        result = await on.answer(name="bob")
        assert not result.is_error
        assert [made.get("decided_by") for made in await on.read_decisions(result)] == [None, "bob"]


@run_async
async def test_at_154_an_answer_to_a_hooks_question_is_checked_like_any_other() -> None:
    """AT-154, AT-141: when it has expired the call does not run, although no rule would ask."""
    hook = FunctionHook(lambda told: HookOutput(permission="ask"), name="guard")
    clock = FakeClock()
    async with running_app(hooks=(hook,), policy=TRUSTED, clock=clock) as on:
        waiting = await on.park()
        inbox = on.app.inbox(Identity("bob", "desk", frozenset({APPROVE})))
        await inbox.approve(waiting.invocation_id, resume=False)
        clock.advance(48 * 3600)
        await on.app.calls.resume(waiting.invocation_id)
        assert not on.has_run


@pytest.mark.parametrize("later", ["allow", "ask"])
@run_async
async def test_at_154_a_later_hook_does_not_soften_a_no(later: Literal["allow", "ask"]) -> None:
    """AT-154: the strictest word of all hooks counts."""
    hooks = (
        FunctionHook(lambda told: HookOutput(permission="deny", permission_reason="never"), name="first"),
        FunctionHook(lambda told: HookOutput(permission=later), name="second"),
    )
    async with running_app(hooks=hooks) as on:
        result = await on.call()
        assert result.status == "denied"
        assert result.error is not None
        assert "never" in result.error.message


@run_async
async def test_at_156_context_of_a_hook_is_not_the_tools_output() -> None:
    """AT-156: it is kept with its hook as origin; the tool's output is unchanged."""
    note = {"type": "text", "text": "the customer is a regular"}
    hook = FunctionHook(lambda told: HookOutput(additional_context=(note,)), name="notes")
    async with running_app(hooks=(hook,), default={"found": 1}) as on:
        result = await on.call()
        assert result.structured_content == {"found": 1}
        assert "regular" not in result.text
        [run] = (await on.read_story(result)).hooks
        assert run.hook_id == "notes"
        assert "regular" in repr(run.outputs)


@run_async
async def test_at_158_a_broken_hook_before_blocks_and_after_spoils_nothing() -> None:
    """AT-158: before: nothing runs. After: the output is there, and the failure is told."""
    async with running_app(hooks=(FunctionHook(raising, name="guard"),)) as on:
        result = await on.call()
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("hook_blocked", "hook_failed")
        assert not on.has_run
        assert "secret" not in repr(result)
    async with running_app(hooks=(FunctionHook(raising, "post_tool_use", name="late"),), default={"found": 1}) as on:
        result = await on.call()
        assert (result.status, result.structured_content) == ("partial_succeeded", {"found": 1})
        assert result.error is not None
        assert result.error.error_class == "partial_failure"
        assert (await on.read_record(result))["status"] == "succeeded"


@run_async
async def test_a_broken_failure_hook_does_not_hide_the_failure() -> None:
    """AT-158, AT-117: the tool's own failure is the result."""
    hooks = (FunctionHook(raising, "post_tool_use_failure"),)
    async with running_app(hooks=hooks, default=ExecutionFailed("rate_limited", "slow down", retry_after=2)) as on:
        result = await on.call()
        assert result.error is not None
        assert result.error.error_class == "rate_limited"
