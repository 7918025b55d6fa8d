"""Guardrails around whole calls: what the model gets, what runs, what waits, and what is on record: AML-103 to AML-107."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ferrule.app.app import App
from ferrule.contracts.executor import Output
from ferrule.contracts.hook import HookOutput
from ferrule.model.result import Pending, Result
from ferrule.runtime.hooks.guardrail_set import order_hooks
from ferrule.settings import NetworkSettings, Settings
from ferrule.testing import ScriptedApprover, memory_app
from tests.runtime.hooks.fake_provider import running_provider
from tests.runtime.hooks.guarding import ENV, hooks_of, program, settings
from tests.spec.running_app import (
    BERN,
    TRUSTED,
    FunctionHook,
    RecordingExecutor,
    RunningApp,
    make_tool,
    run_async,
    running_app,
)
from tests.spec.test_dialect_calls import CITY, shop

LEAK = "the card is 4111-1111"


@asynccontextmanager
async def guarded(
    answer: Callable[[dict[str, Any]], Any], *tools: Any, gives: Any = "done", **said: Any
) -> AsyncIterator[RunningApp]:
    """One tool behind one guardrail over HTTP that answers by a function of what it is told."""
    with running_provider(lambda body: msgspec.json.encode(answer(msgspec.json.decode(body)))) as server:
        hooks = hooks_of(settings(kind="http", url=server.url, secret_env="GUARD_SECRET", **said))
        async with running_app(*tools, default=gives, hooks=hooks) as on:
            yield on


def bad(told: dict[str, Any]) -> Any:
    return {"score": 9, "reason": f"{LEAK}, or Bern"}


def shown(result: Result) -> Any:
    """What the model gets."""
    content = result.content if result.model_facing_content is None else result.model_facing_content
    return content, result.structured_content, result.error


async def outcomes(on: RunningApp, of: Result | Pending) -> list[dict[str, Any]]:
    """What guardrails left on record."""
    runs = (await on.read_story(of)).hooks
    return [output["outcome"] for run in runs for output in run.outputs if "outcome" in output]


@run_async
async def test_a_blocked_input_never_runs() -> None:
    """AML-106: hook_blocked, with the guardrail's name, and nothing of the input."""
    async with guarded(bad) as on:
        result = await on.call()
        assert not on.has_run
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("hook_blocked", "guardrail_blocked")
        assert "'watch' scored 9" in result.error.message and "Bern" not in result.error.message
        (outcome,) = await outcomes(on, result)
        assert (outcome["guardrail"], outcome["score"], outcome["action"]) == ("watch", 9.0, "block")
        assert outcome["severity_threshold"] == 7.0


@run_async
async def test_a_blocked_output_never_reaches_the_model() -> None:
    """AML-106: it ran, and what it gave is withheld."""
    async with guarded(bad, at=["tool_output"], gives={"note": LEAK}) as on:
        result = await on.call()
        assert on.has_run and result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("hook_blocked", "guardrail_blocked")
        assert "4111" not in str(shown(result)) and "4111" not in result.error.message
        assert result.structured_content is None


@pytest.mark.parametrize("point", ["tool_input", "tool_output"])
@pytest.mark.parametrize("on_fail", ["warn", "log"])
@run_async
async def test_a_warning_stands_beside_the_output(point: str, on_fail: str) -> None:
    """AML-106: the call goes on; a warning is told to the model, a log entry is not."""
    async with guarded(bad, at=[point], on_fail=on_fail) as on:
        result = await on.call()
        assert result.error is None and on.has_run
        assert ("'watch' scored 9" in str(shown(result))) == (on_fail == "warn")
        assert [outcome["action"] for outcome in await outcomes(on, result)] == [on_fail]


@pytest.mark.parametrize("verdict", [True, False])
@run_async
async def test_an_escalated_input_waits_for_a_person(verdict: bool) -> None:
    """AML-106, AML-103: no call before somebody approved; a refusal is told to the model."""
    async with guarded(bad, on_fail="escalate") as on:
        pending = await on.park()
        assert not on.has_run and "'watch' scored 9" in str(await on.read_decisions(pending))
        result = await on.answer(verdict)
        assert on.has_run == verdict and (result.error is None) == verdict
        if not verdict:
            assert result.error is not None and result.error.error_class == "approval_rejected"


@run_async
async def test_an_escalated_output_is_withheld_and_kept_for_a_person() -> None:
    """AML-106: nobody can be asked in the middle of an answer, so it ends; the record has what was withheld."""
    async with guarded(bad, at=["tool_output"], on_fail="escalate", gives={"note": LEAK}) as on:
        result = await on.call()
        assert result.error is not None and result.error.error_code == "guardrail_escalated"
        assert "4111" not in str(shown(result)) and result.native_output == {"note": LEAK}


@run_async
async def test_an_applied_transform_changes_what_runs_and_what_is_seen() -> None:
    """AML-106: by the rules for hooks: validated again, on record, the original kept."""

    def answer(told: dict[str, Any]) -> Any:
        if told["point"] == "tool_input":
            return {"input": {"city": "Basel"}, "changed": True}
        return {"output": {"note": "[gone]"}, "changed": True}

    async with guarded(
        answer, at=["tool_input", "tool_output"], type="transform", on_fail="apply", gives={"note": LEAK}
    ) as on:
        result = await on.call()
        assert on.executor.ran[0].arguments == {"city": "Basel"}
        assert result.structured_content == {"note": "[gone]"} and "4111" not in str(shown(result))
        assert result.input_mutations[0].changed_fields == ("city",)
        assert [outcome["action"] for outcome in await outcomes(on, result)] == ["apply", "apply"]


@run_async
async def test_a_transformed_input_that_does_not_fit_never_runs() -> None:
    async with guarded(lambda told: {"input": {"town": "Basel"}}, type="transform", on_fail="apply") as on:
        result = await on.call()
        assert not on.has_run and result.error is not None
        assert result.error.error_class == "schema_validation_failed"


@pytest.mark.parametrize("point", ["tool_input", "tool_output"])
@run_async
async def test_a_rejected_transform_ends_the_call(point: str) -> None:
    """AML-106"""
    key = "input" if point == "tool_input" else "output"
    async with guarded(
        lambda told: {key: {"city": "…"}}, at=[point], type="transform", on_fail="reject", gives=BERN
    ) as on:
        result = await on.call()
        assert result.error is not None and result.error.error_code == "guardrail_blocked"
        assert on.has_run == (point == "tool_output") and "Bern" not in str(shown(result))


@pytest.mark.parametrize(
    "kind, answer", [("annotate", {"annotations": ["checked"]}), ("enrich", {"context": "It rains."})]
)
@pytest.mark.parametrize("point", ["tool_input", "tool_output"])
@run_async
async def test_what_is_added_comes_with_its_origin(point: str, kind: str, answer: dict[str, Any]) -> None:
    """AML-106, AT-156: beside the tool's own output."""
    async with guarded(lambda told: answer, at=[point], type=kind) as on:
        result = await on.call()
        assert result.content == ({"type": "text", "text": "done"},)
        assert result.additional_context[0]["origin"] == {"hook_id": "guardrail:watch"}


@run_async
async def test_a_later_guardrail_sees_what_an_earlier_one_left() -> None:
    seen: list[Any] = []

    def answer(told: dict[str, Any]) -> Any:
        seen.append(told["output"])
        return {"text": "[clean]", "changed": True} if told["guardrail_id"] == "wash" else {"score": 0}

    with running_provider(lambda body: msgspec.json.encode(answer(msgspec.json.decode(body)))) as server:
        common: dict[str, Any] = {
            "kind": "http",
            "url": server.url,
            "secret_env": "GUARD_SECRET",
            "at": ["tool_output"],
        }
        hooks = hooks_of(
            settings(
                id="add",
                type="enrich",
                kind="function",
                function="tests.runtime.hooks.test_guardrail_set:adding",
                at=["tool_output"],
            ),
            settings(id="wash", type="transform", on_fail="apply", **common),
            settings(id="judge", **common),
        )
        async with running_app(default="dirty", hooks=hooks) as on:
            result = await on.call()
    assert seen == ["dirty", "[clean]"]
    assert "dirty" not in str(shown(result)) and "It rains." in str(shown(result))


@pytest.mark.parametrize("event", ["pre_tool_use", "post_tool_use"])
@run_async
async def test_nothing_a_hook_slips_in_passes_unjudged(event: str) -> None:
    """Guardrails come after all hooks, wherever those were registered."""
    with running_provider(lambda body: msgspec.json.encode({"score": 9 if b"smuggled" in body else 0})) as server:
        guardrails = hooks_of(
            settings(kind="http", url=server.url, secret_env="GUARD_SECRET", at=["tool_input", "tool_output"])
        )
        changed = {"city": "smuggled"}
        said = HookOutput(updated_input=changed) if event == "pre_tool_use" else HookOutput(updated_output=changed)
        hooks = order_hooks((FunctionHook(lambda told: said, event),), guardrails)
        async with running_app(hooks=hooks) as on:
            result = await on.call()
            assert result.error is not None and result.error.error_code == "guardrail_blocked"
            assert "smuggled" not in str(shown(result)) and on.has_run == (event == "post_tool_use")


def adding(told: dict[str, Any]) -> dict[str, Any]:
    return {"context": "It rains."}


@run_async
async def test_blocks_beside_a_value_are_judged_too() -> None:
    """What the model sees is what is judged, wherever a tool put it."""
    seen: list[Any] = []

    def answer(told: dict[str, Any]) -> Any:
        seen.append(told["output"])
        return {"score": 9 if "4111" in str(told["output"]) else 0}

    gives = Output({"ok": True}, content=({"type": "text", "text": LEAK},))
    async with guarded(answer, at=["tool_output"], gives=gives) as on:
        result = await on.call()
        assert seen[0]["structured_content"] == {"ok": True} and seen[0]["content"][0]["text"] == LEAK
        assert result.error is not None and "4111" not in str(shown(result))


@pytest.mark.parametrize("severity, is_closed", [(10, True), (0, False)])
@pytest.mark.parametrize("point", ["tool_input", "tool_output"])
@run_async
async def test_a_program_that_dies_fails_as_set(point: str, severity: float, is_closed: bool) -> None:
    """AML-106: a synthetic severity, 10 closed, 0 open; on record either way."""
    hooks = hooks_of(settings(at=[point], kind="command", command=("/bin/false",), error_severity=severity))
    async with running_app(hooks=hooks) as on:
        result = await on.call()
        assert (result.error is not None) == is_closed
        (outcome,) = await outcomes(on, result)
        assert outcome["score"] == severity and "exit code 1" in outcome["error"]


def test_a_program_guards_a_call(tmp_path: Path) -> None:
    """AML-106: a real process."""
    command = program(tmp_path, 'say({"score": 8 if told["input"]["city"] == "Bern" else 0})')

    @run_async
    async def run() -> None:
        async with running_app(hooks=hooks_of(settings(kind="command", command=command))) as on:
            assert (await on.call()).error is not None
            assert (await on.call(arguments={"city": "Basel"})).error is None

    run()


@run_async
async def test_sensitive_arguments_are_not_shown_and_stay_what_they_are() -> None:
    """Guardrails see what hooks see: masks. A mask left in its place means the value behind it."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}, "pin": {"type": "string"}}}
    seen: list[Any] = []

    def answer(told: dict[str, Any]) -> Any:
        seen.append(told["input"])
        return {"input": {**told["input"], "city": "Basel"}}

    tool = make_tool(schema=schema, input_contract={"sensitive_fields": ["pin"]})
    async with guarded(answer, tool, type="transform", on_fail="apply") as on:
        result = await on.call(arguments={"city": "Bern", "pin": "1234"})
        assert result.error is None, result.error
        assert seen == [{"city": "Bern", "pin": "[REDACTED]"}]
        assert on.executor.ran[0].arguments == {"city": "Basel", "pin": "1234"}


# Agents


@asynccontextmanager
async def desk(more: str, answer: Callable[[dict[str, Any]], Any], **shop_says: str) -> AsyncIterator[App]:
    """The agent `desk` with two tools; `more` is what its file says about guardrails."""
    with running_provider(lambda body: msgspec.json.encode(answer(msgspec.json.decode(body)))) as server:
        guardrail = settings(kind="http", url=server.url, secret_env="GUARD_SECRET")
        async with memory_app(
            definitions=shop(more=more, **shop_says),
            executors=[RecordingExecutor(default={})],
            policy=TRUSTED,
            settings=Settings(guardrails=(guardrail,), network=NetworkSettings(allow=("127.0.0.1",))),
            environment=ENV,
        ) as app:
            yield app


async def code(surface: Any, name: str = "look") -> str | None:
    outcome = await surface.call(name, CITY)
    assert isinstance(outcome, Result), outcome
    return outcome.error.error_code if outcome.error is not None else None


@run_async
async def test_an_agent_file_says_which_guardrails_guard_it() -> None:
    """AML-100, AML-106"""
    async with desk("guardrails: {tool_input: [{ref: watch}]}", bad) as app:
        assert await code(app.surface(agent="desk")) == "guardrail_blocked"
    async with desk("", bad) as app:
        assert await code(app.surface(agent="desk")) is None
        assert await code(app.surface()) == "guardrail_blocked"


@run_async
async def test_a_named_guardrail_that_is_not_configured_blocks_the_agent_alone() -> None:
    """AML-100: at run time a declared protection that is not there is never skipped."""
    async with desk("guardrails: {tool_output: [{ref: pii-scan}]}", lambda told: {"score": 0}) as app:
        outcome = await app.surface(agent="desk").call("look", CITY)
        assert isinstance(outcome, Result) and outcome.error is not None and outcome.error.message is not None
        assert outcome.error.error_code == "guardrail_missing" and outcome.error.error_class == "hook_blocked"
        assert "'pii-scan'" in outcome.error.message and "ferrule.toml" in outcome.error.message
        assert await code(app.surface()) is None


@run_async
async def test_a_fired_input_guardrail_blocks_every_tool_of_the_run() -> None:
    """AML-104: on every surface that shares the run, of every tool; another run goes on."""
    more = "guardrails: {tool_input: [{ref: watch}], tool_calls: {block_tools_on_input_fail: true}}"
    answers = [{"score": 9}]
    async with desk(more, lambda told: answers[0]) as app:
        one, other = app.surface(agent="desk", run_id="r1"), app.surface(agent="desk", run_id="r1")
        assert await code(one) == "guardrail_blocked"
        answers[0] = {"score": 0}
        assert [await code(one), await code(other, "pay"), await code(one, "pay")] == ["guardrail_fired"] * 3
        assert await code(app.surface(agent="desk", run_id="r2")) is None


@run_async
async def test_a_call_that_waited_is_blocked_with_its_run() -> None:
    """AML-104: also one that a person approved in the meantime."""
    more = "guardrails: {tool_calls: {block_tools_on_input_fail: true}}"
    async with desk(more, bad, tool="approval_required: true\n", agent="", role="") as app:
        surface = app.surface(agent="desk", run_id="r1")
        pending = await surface.call("pay", CITY)
        assert isinstance(pending, Pending)
        app.guardrail_fired("r1", "pii-scan", "told from outside")
        (result,) = await ScriptedApprover(app, True).work()
        assert isinstance(result, Result) and result.error is not None
        assert result.error.error_code == "guardrail_fired"


@run_async
async def test_without_the_word_of_its_file_an_agent_goes_on() -> None:
    """AML-104: false is the default."""
    answers = [{"score": 9}]
    async with desk("guardrails: {tool_input: [watch]}", lambda told: answers[0]) as app:
        surface = app.surface(agent="desk", run_id="r1")
        assert await code(surface) == "guardrail_blocked"
        answers[0] = {"score": 0}
        assert await code(surface) is None


@run_async
async def test_the_level_decides_what_events_tell_of_a_guardrail() -> None:
    """AML-107: that it ran, at the standard level; what it made of the call, at the full one. Never what it read."""
    async with guarded(bad) as on:
        result = await on.call()
        for level in ("standard", "full"):
            told = str([event.data for event in await on.read_events(result, level) if "hook" in event.event_type])
            assert "guardrail:watch" in told and "Bern" not in told and "4111" not in told
            assert ("'score': 9" in told) == (level == "full")
        assert await on.read_events(result, "none") == []
