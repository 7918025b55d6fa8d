"""The six moments at which hooks run, what each is told, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.contracts.hook import HOOK_EVENTS, HookEvent, HookInput, HookOutput
from ferrule.ledger.history.expand import expand_row
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.result import Pending, Result
from ferrule.model.story import Story
from ferrule.runtime.approval.inbox import Inbox
from ferrule.testing import memory_app
from tests.runtime.pipeline.hooks.hooked import RAN, act, count, fail, hook, look, run_story

BOB = Identity("bob", "desk", frozenset({APPROVE}))


class Seen:
    """Hooks of every event that remember what they were told."""

    def __init__(self) -> None:
        self.told: list[HookInput] = []
        self.hooks = [hook(self._remember, event, name=event) for event in HOOK_EVENTS]

    def _remember(self, told: HookInput) -> None:
        self.told.append(told)

    @property
    def events(self) -> list[HookEvent]:
        return [told.event for told in self.told]

    def of(self, event: HookEvent) -> HookInput:
        return next(told for told in self.told if told.event == event)


def test_hooks_fire_at_their_places_when_a_call_succeeds() -> None:
    """AT-145: before permission, when it is decided, after mapping."""

    async def story() -> None:
        seen = Seen()
        async with memory_app(tools=[look], hooks=seen.hooks) as app:
            result = await app.surface().call("look", {"city": "Thun"})
            assert not result.is_error
        assert seen.events == ["pre_tool_use", "permission_decision", "post_tool_use", "result_persistence"]
        persistence = seen.of("result_persistence").persistence
        assert persistence is not None and persistence["strategy"] == "inline"
        assert "post_tool_use_failure" not in seen.events
        before, decided, after = seen.told[:3]
        assert before.observable_input == {"city": "Thun"} and before.result is None
        assert decided.decision is not None and decided.decision["behavior"] == "allow"
        assert after.result is not None and after.result["content"][0]["text"] == "seen Thun"
        assert before.run_id and before.surface_id

    run_story(story)


def test_failure_hooks_fire_once_a_tool_has_failed_and_not_for_what_never_ran() -> None:
    """AT-145, AT-117"""

    async def story() -> None:
        seen = Seen()
        async with memory_app(tools=[fail, look], hooks=seen.hooks) as app:
            await app.surface().call("fail")
            assert "post_tool_use_failure" in seen.events and "post_tool_use" not in seen.events
            error = (seen.of("post_tool_use_failure").result or {})["error"]
            assert error["error_class"] == "execution_failed"
            seen.told.clear()
            await app.surface().call("look", {"city": 7})
            assert "post_tool_use_failure" not in seen.events

    run_story(story)


def test_a_question_is_told_once_and_its_answer_is_a_decision() -> None:
    """AT-145: decided (ask), requested; after the answer decided (allow), and not requested again."""

    async def story() -> None:
        seen = Seen()
        async with memory_app(tools=[act], hooks=seen.hooks) as app:
            waiting = await app.surface().call("act")
            assert isinstance(waiting, Pending)
            assert seen.events == ["pre_tool_use", "permission_decision", "permission_request"]
            request = seen.of("permission_request").request
            assert request is not None
            assert request["message"] and request["risk"] and request["expires_at"].endswith("Z")
            seen.told.clear()
            result = await _approved(app.inbox(BOB), waiting)
            assert not result.is_error and len(RAN) == 1
            assert seen.events[:2] == ["permission_decision", "post_tool_use"]
            decision = seen.of("permission_decision").decision
            assert decision is not None and (decision["behavior"], decision["by"]) == ("allow", "bob")

    run_story(story)


async def _approved(inbox: Inbox, waiting: Pending) -> Result:
    answered = await inbox.approve(waiting.invocation_id)
    assert isinstance(answered.result, Result), answered
    return answered.result


def test_a_denial_is_told_before_the_call_ends() -> None:
    """AT-145"""

    async def story() -> None:
        seen = Seen()
        policy = '[[rules]]\ndecision = "deny"\ntool = "act"\nwhen = { city = "Bern" }\n'
        async with memory_app(tools=[act], hooks=seen.hooks, policy=policy) as app:
            await app.surface().call("act", {"city": "Bern"})
        decision = seen.of("permission_decision").decision
        assert decision is not None and decision["behavior"] == "deny"
        assert not RAN

    run_story(story)


def test_hooks_of_one_event_run_in_the_order_they_were_registered() -> None:
    """AT-112, AT-145: plain and awaited ones alike."""

    async def story() -> None:
        order: list[str] = []

        def plain(name: str) -> Any:
            return hook(lambda told: order.append(name), name=name)

        def awaited(name: str) -> Any:
            async def run(told: HookInput) -> HookOutput:
                order.append(name)
                return HookOutput(messages=(name,))

            return hook(run, name=name)

        hooks = [plain("a"), awaited("b"), plain("c"), awaited("d")]
        async with memory_app(tools=[look], hooks=hooks) as app:
            result = await app.surface().call("look")
            story = Story(await app.store.rows_of(result.invocation_id))
        assert order == ["a", "b", "c", "d"] == [run.hook_id for run in story.hooks]

    run_story(story)


def test_every_run_leaves_a_record_and_events() -> None:
    """AT-144, AT-148"""

    async def story() -> None:
        said = HookOutput(messages=("hello",), permission="allow", progress=({"message": "half"},))
        async with memory_app(tools=[count], hooks=[hook(said)]) as app:
            result = await app.surface().call("count")
            await app.store.flush()
            rows = await app.store.rows_of(result.invocation_id)
        record = Story(rows).to_record()["hooks"][0]
        assert record["schema_version"] == "0.2.0"
        assert (record["hook_id"], record["hook_event"]) == ("guard", "pre_tool_use")
        assert (record["invocation_id"], record["tool_id"]) == (result.invocation_id, Story(rows).header.tool_id)
        assert record["matcher"] == {"tools": ["*"]}
        assert record["started_at"] <= record["ended_at"]
        assert [next(iter(output)) for output in record["outputs"]] == ["message", "progress", "permission_result"]
        assert record["permission_result"] == {"behavior": "allow", "reason": ""}
        kinds = [event.event_type for row in rows for event in expand_row(row, source="test")]
        assert kinds.index("tool.hook.pre.started") < kinds.index("tool.hook.pre.completed")
        assert kinds.index("tool.hook.pre.completed") < kinds.index("tool.permission.decided")

    run_story(story)


def test_by_whatever_name_a_tool_is_called_its_hooks_see_it() -> None:
    """AT-147: an alias or an id leads past no hook."""

    async def story() -> None:
        seen: list[str] = []
        named = hook(lambda told: seen.append(told.tool_name))
        named._tools = ("look",)
        async with memory_app(tools=[look], hooks=[named]) as app:
            surface = app.surface()
            tool_id = next(iter(surface.surface.entries))
            await surface.call(tool_id)
            await surface.call("look")
        assert seen == ["look", "look"]

    run_story(story)


@pytest.mark.parametrize("event", ["pre_tool_use", "permission_decision", "post_tool_use", "result_persistence"])
@pytest.mark.parametrize("is_awaited", [False, True])
def test_progress_of_a_hook_is_progress_of_its_call(event: HookEvent, is_awaited: bool) -> None:
    """AT-146: numbered and told like any other, with the hook's name."""

    async def story() -> None:
        said = HookOutput(progress=({"message": "one", "percent": 50}, {"message": "two"}))

        async def later(told: HookInput) -> HookOutput:
            return said

        async with memory_app(tools=[look], hooks=[hook(later if is_awaited else said, event)]) as app:
            result = await app.surface().call("look")
            assert not result.is_error
            await app.store.flush()
            rows = await app.store.rows_after(0, 100)
        told = [told for row in rows for told in expand_row(row, source="test", level="full")]
        progress = [one.data for one in told if one.event_type == "tool.invocation.progress"]
        assert [(one["message"], one["hook_id"], one["sequence"]) for one in progress] == [
            ("one", "guard", 1),
            ("two", "guard", 2),
        ]

    run_story(story)


def test_progress_that_cannot_be_is_a_failure_of_the_hook() -> None:
    """AT-158, AT-201"""

    async def story() -> None:
        hooks = [hook(HookOutput(progress=({"percent": 400},)))]
        async with memory_app(tools=[look], hooks=hooks) as app:
            result = await app.surface().call("look")
            assert isinstance(result, Result) and result.error is not None
            assert result.error.error_code == "hook_failed" and not RAN

    run_story(story)
