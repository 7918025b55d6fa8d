"""Six events, seven outputs, and a hook whose allow counts: AT-116, AT-144 to AT-146, AT-153, AT-157."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ferrule.contracts.executor import Output
from ferrule.contracts.hook import HOOK_EVENTS, HookEvent, HookOutput
from ferrule.model.result import Pending
from ferrule.model.story_parts import hook_record
from ferrule.runtime.pipeline.results.outcome import map_output
from tests.spec.running_app import (
    BERN,
    TRUSTED,
    FunctionHook,
    RunningApp,
    assert_required,
    make_tool,
    run_async,
    running_app,
)

SIX = {
    "pre_tool_use", "post_tool_use", "post_tool_use_failure", "permission_request", "permission_decision",
    "result_persistence",
}  # fmt: skip
ASK = '[[rules]]\nid = "ask-first"\ndecision = "ask"\ntool = "*"\n'
AUTHORITY = 'authoritative_hooks = ["friend"]\n'


def one_of_each(seen: list[str]) -> tuple[FunctionHook, ...]:
    """A hook for every event that says when it ran."""

    def noting(event: HookEvent) -> FunctionHook:
        return FunctionHook(lambda told: seen.append(event), event, name=event)

    return tuple(map(noting, HOOK_EVENTS))


async def records(on: RunningApp, of: Any) -> list[dict[str, Any]]:
    """The records of the hooks that ran."""
    story = await on.read_story(of)
    return [hook_record(run, story.invocation_id, "shop.search", 0) for run in story.hooks]


@run_async
async def test_at_145_six_events_at_their_places() -> None:
    """AT-145, AT-144: before the decision, when asked, when decided, after mapping, when it is kept; or after a failure."""
    assert set(HOOK_EVENTS) == SIX
    seen: list[str] = []

    async def run(arguments: Any) -> str:
        seen.append("tool")
        return "done"

    async with running_app(default=run, policy=ASK, hooks=one_of_each(seen)) as on:
        await on.park()
        assert seen == ["pre_tool_use", "permission_decision", "permission_request"]
        seen.clear()
        result = await on.answer()
        assert seen == ["permission_decision", "tool", "post_tool_use", "result_persistence"]
        for record in await records(on, result):
            assert_required("hook", record)
            assert record["hook_event"] in SIX
            assert record["invocation_id"] == result.invocation_id
            assert record["started_at"] <= record["ended_at"]


@run_async
async def test_at_145_after_a_failure() -> None:
    """AT-145, AT-117"""
    seen: list[str] = []
    async with running_app(default=RuntimeError("no"), hooks=one_of_each(seen)) as on:
        await on.call()
        assert "post_tool_use_failure" in seen
        assert "post_tool_use" not in seen


# Seven outputs


async def said(output: HookOutput, event: HookEvent = "pre_tool_use") -> tuple[RunningApp, Any, dict[str, Any]]:
    """A running in which one hook gave an answer, the outcome, and the hook's record."""
    async with running_app(default={"found": 1}, hooks=(FunctionHook(lambda told: output, event, name="guard"),)) as on:
        outcome = await on.surface.call("search", BERN)
        [record] = await records(on, outcome)
        await on.app.store.flush()
        return on, outcome, record


def kinds(record: dict[str, Any]) -> set[str]:
    return {kind for output in record["outputs"] for kind in output}


@run_async
async def test_at_146_message() -> None:
    """AT-146: on record, and nothing else changes."""
    _, result, record = await said(HookOutput(messages=("looked at it",)))
    assert record["outputs"] == [{"message": "looked at it"}]
    assert result.structured_content == {"found": 1}


@run_async
async def test_at_146_progress() -> None:
    """AT-146, AT-202: progress of the call, with the hook's id."""
    on, result, record = await said(HookOutput(progress=({"message": "checking", "percent": 50},)))
    assert kinds(record) == {"progress"}
    [told] = (await on.read_full_record(result))["progress"]
    assert (told["message"], told["percent"], told["hook_id"]) == ("checking", 50, "guard")


@run_async
async def test_at_146_updated_input() -> None:
    """AT-146, AT-150: it runs with the changed input."""
    on, _, record = await said(HookOutput(updated_input={"city": "Rome"}))
    assert kinds(record) == {"updated_input"}
    assert [ran.arguments for ran in on.executor.ran] == [{"city": "Rome"}]


@run_async
async def test_at_146_permission_result() -> None:
    """AT-146, AT-154: a no."""
    on, result, record = await said(HookOutput(permission="deny", permission_reason="not today"))
    assert record["permission_result"]["behavior"] == "deny"
    assert (result.status, on.has_run) == ("denied", False)


@run_async
async def test_at_146_additional_context() -> None:
    """AT-146, AT-156: beside the output, with its origin."""
    note = {"type": "text", "text": "a regular"}
    _, result, record = await said(HookOutput(additional_context=(note,)))
    assert kinds(record) == {"additional_context"}
    assert [(block["text"], "guard" in str(block["origin"])) for block in result.additional_context] == [
        ("a regular", True)
    ]
    assert result.structured_content == {"found": 1}


@run_async
async def test_at_146_stop() -> None:
    """AT-146, AT-155: nothing runs, and the turn should end."""
    on, result, record = await said(HookOutput(stop="enough"))
    assert "enough" in str(record["stop"])
    assert (result.error.error_class, on.has_run) == ("hook_blocked", False)
    assert result.hook_stop["continue"] is False


@run_async
async def test_at_157_an_updated_output_stands_beside_the_original() -> None:
    """AT-146, AT-157, AT-116: the model sees the one, the record has both, and the change is noted."""
    on, result, record = await said(HookOutput(updated_output={"found": "something"}), "post_tool_use")
    assert kinds(record) == {"updated_output"}
    assert '"something"' in result.text
    assert result.native_output == {"found": 1}
    assert result.content[0]["text"] == '{"found":1}'
    stored = await on.app.result(result.invocation_id)
    assert stored == result


@pytest.mark.parametrize(("hooks", "times"), [(1, 2), (0, 1)])
@run_async
async def test_at_116_a_hook_that_changes_the_output_has_it_mapped_once_more(
    hooks: int, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AT-116, AT-115: twice in all, and once without such a hook; never again when the result is asked for."""
    counted: list[Any] = []

    def counting(output: Output) -> Any:
        counted.append(output.value)
        return map_output(output)

    for module in ("hooks.effects", "phases.map_result"):
        monkeypatch.setattr(f"ferrule.runtime.pipeline.{module}.map_output", counting)
    hook = FunctionHook(lambda told: HookOutput(updated_output={"found": "more"}), "post_tool_use")
    async with running_app(default={"found": 1}, hooks=(hook,) * hooks) as on:
        result = await on.call()
        assert await on.app.result(result.invocation_id) == result
        assert len(counted) == times
        assert counted[0] == {"found": 1}


# A hook whose allow counts


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (AUTHORITY, "succeeded"),
        ("", "parked"),
        (AUTHORITY + ASK, "parked"),
        (AUTHORITY + ASK.replace('"ask"', '"deny"'), "denied"),
    ],
)
@run_async
async def test_at_153_only_a_policy_makes_a_hooks_allow_count(policy: str, expected: str) -> None:
    """AT-153, AT-152: where it says so and no rule objects; the decision says whose word it was."""
    friend = FunctionHook(lambda told: HookOutput(permission="allow", permission_reason="trust me"), name="friend")
    async with running_app(policy=policy, hooks=(friend,)) as on:
        outcome = await on.surface.call("search", BERN)
        assert ("parked" if isinstance(outcome, Pending) else outcome.status) == expected
        assert on.has_run is (expected == "succeeded")
        decision = (await on.read_decisions(outcome))[-1]
        if expected == "succeeded":
            assert (decision["behavior"], decision["reason"]["type"]) == ("allow", "hook")
            assert decision["policy_refs"]
        else:
            assert decision["reason"]["type"] != "hook" or decision["behavior"] != "allow"


@run_async
async def test_at_153_another_hook_has_no_share_in_it() -> None:
    """AT-153: authority is given by name."""
    stranger = FunctionHook(lambda told: HookOutput(permission="allow"), name="stranger")
    async with running_app(policy=AUTHORITY, hooks=(stranger,)) as on:
        assert isinstance(await on.surface.call("search", BERN), Pending)


@run_async
async def test_at_145_hooks_in_two_forms_are_the_same() -> None:
    """AT-145: one that answers at once, and one that has to be awaited."""

    async def later(told: Any) -> HookOutput:
        await asyncio.sleep(0)
        return HookOutput(messages=("later",))

    hooks = (FunctionHook(lambda told: HookOutput(messages=("now",)), name="a"), FunctionHook(later, name="b"))
    async with running_app(make_tool(), hooks=hooks, policy=TRUSTED) as on:
        found = [record["outputs"] for record in await records(on, await on.call())]
        assert found == [[{"message": "now"}], [{"message": "later"}]]
