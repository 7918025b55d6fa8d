"""Whom guardrails guard: what agent files name, what is missing, and runs that are blocked: AML-100, AML-104, AML-106."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ferrule.contracts.hook import Hook, HookInput
from ferrule.runtime.hooks.guardrail_records import FiredRuns
from tests.runtime.hooks.fake_provider import running_provider
from tests.runtime.hooks.guarding import build_input, hooks_of, output, settings
from tests.spec.running_app import run_async

BLOCKING = {"tool_calls": {"block_tools_on_input_fail": True}}


@pytest.fixture
def url() -> Iterator[str]:
    """A provider that scores 8, for all."""
    with running_provider(lambda body: b'{"score": 8}') as server:
        yield server.url


def over_http(url: str, **said: Any) -> Any:
    return settings(kind="http", url=url, secret_env="GUARD_SECRET", **said)


async def stopped(hooks: tuple[Hook, ...], call: HookInput) -> str | None:
    """The code with which the first of these hooks stops a call."""
    for hook in hooks:
        if hook.event == "pre_tool_use" and (said := await output(hook, call)).stop is not None:
            return said.stop_code
    return None


@run_async
async def _guarded(hooks: tuple[Hook, ...], expected: dict[str | None, bool]) -> None:
    for agent, is_guarded in expected.items():
        assert (await stopped(hooks, build_input(agent=agent)) is not None) == is_guarded, agent


@pytest.mark.parametrize("agents, expected", [
    ((), {None: True, "named": True, "silent": False, "empty": False, "unfiled": True}),
    (("silent",), {None: False, "named": True, "silent": True, "empty": False, "unfiled": False}),
    (("*",), {None: True, "named": True, "silent": True, "empty": True, "unfiled": True}),
])  # fmt: skip
def test_an_agents_own_list_decides(agents: tuple[str, ...], expected: dict[str | None, bool], url: str) -> None:
    """AML-106: the settings may add agents, and never take away what an agent's file names."""
    files: dict[str, Any] = {
        "named": {"tool_input": [{"ref": "watch"}]},
        "silent": None,
        "empty": {"tool_input": []},
    }
    _guarded(hooks_of(over_http(url, agents=agents), agents=files), expected)


@pytest.mark.parametrize("block", [
    {"tool_input": ["watch"]}, {"tool_input": [{"ref": "watch"}]}, {"tool_input": [{"id": "watch"}]}, ["watch"],
    [{"ref": "watch"}], {"tool_input": "watch"},
])  # fmt: skip
def test_every_way_to_name_one_counts(block: Any, url: str) -> None:
    """AML-100"""
    _guarded(hooks_of(over_http(url), agents={"desk": block}), {"desk": True})


@pytest.mark.parametrize("said, code", [
    ({}, None),
    ({"severity_threshold": 8}, "guardrail_blocked"),
    ({"severity_threshold": 9.5}, None),
    ({"on_fail": "log", "severity_threshold": 1}, "guardrail_blocked"),
    ({"severity_threshold": "5"}, "guardrail_missing"),
    ({"severity_threshold": True}, "guardrail_missing"),
    ({"severity_threshold": 11}, "guardrail_missing"),
    ({"on_fail": "redact"}, "guardrail_missing"),
    ({"on_fail": ["block"]}, "guardrail_missing"),
])  # fmt: skip
@run_async
async def test_an_agent_may_only_be_stricter(said: dict[str, Any], code: str | None) -> None:
    """AML-92 in spirit: the lower threshold and the stricter act count; what cannot be understood blocks."""
    with running_provider(lambda body: b'{"score": 8}') as server:
        hooks = hooks_of(
            over_http(server.url, severity_threshold=9), agents={"desk": {"tool_input": [{"ref": "watch", **said}]}}
        )
        assert await stopped(hooks, build_input(agent="desk")) == code


@run_async
async def test_an_agent_may_be_stricter_than_a_warning() -> None:
    block = {"tool_input": [{"ref": "watch", "on_fail": "block"}, {"ref": "watch"}]}
    with running_provider(lambda body: b'{"score": 8}') as server:
        hooks = hooks_of(over_http(server.url, on_fail="warn"), agents={"desk": block})
        assert await stopped(hooks, build_input(agent="desk")) == "guardrail_blocked"
        assert await stopped(hooks, build_input()) is None


@pytest.mark.parametrize("block", [
    {"tool_input": [{"ref": "absent"}]}, {"tool_output": [{"ref": "absent"}]}, {"tool_output": ["watch"]}, ["absent"],
    {"tool_input": [{"on_fail": "block"}]}, {"tool_input": [7]}, {"tool_input": 7}, 7,
    {"tool_calls": {"block_tools_on_input_fail": "yes"}},
])  # fmt: skip
@run_async
async def test_a_guardrail_that_is_not_there_blocks_its_agent(block: Any) -> None:
    """AML-100 at run time: a declared protection is never skipped in silence. `watch` stands at the input alone."""
    with running_provider(lambda body: b'{"score": 0}') as server:
        hooks = hooks_of(over_http(server.url), agents={"desk": block, "other": {"tool_input": ["watch"]}})
        assert await stopped(hooks, build_input(agent="desk")) == "guardrail_missing"
        assert await stopped(hooks, build_input(agent="other")) is None
        assert await stopped(hooks, build_input()) is None


@run_async
async def test_the_message_says_what_to_configure() -> None:
    """AML-100"""
    (gate,) = hooks_of(agents={"desk": {"tool_output": [{"ref": "pii"}]}})
    said = await output(gate, build_input(agent="desk"))
    assert said.stop is not None
    for word in ("'desk'", "'pii'", '[[guardrails]] with id = "pii" and at = ["tool_output"]', "ferrule.toml"):
        assert word in said.stop


@pytest.mark.parametrize("block", [
    None, {}, {"input": [{"ref": "pii"}], "output": ["tone"]}, {"tool_calls": {"require_user_confirmation_for": ["pay"]}},
    {"tool_calls": {"block_tools_on_input_fail": False}}, {"tool_input": []}, {"tool_input": None},
])  # fmt: skip
def test_agents_that_ask_for_nothing_here_cost_nothing(block: Any) -> None:
    """What guards the agent's own conversation runs in the agent's runtime, not here."""
    assert hooks_of(agents={"desk": block}) == ()


@run_async
async def test_a_run_whose_input_guardrail_fired_calls_nothing_more() -> None:
    """AML-104: every tool, in this run, of agents that say so."""
    answers = [b'{"score": 9, "reason": "bad"}']
    with running_provider(lambda body: answers[0]) as server:
        files: dict[str, Any] = {
            "strict": {"tool_input": ["watch"], **BLOCKING},
            "other": {"tool_input": ["watch"], **BLOCKING},
            "lax": {"tool_input": ["watch"]},
        }
        hooks = hooks_of(over_http(server.url), agents=files)
        assert await stopped(hooks, build_input(agent="strict", run_id="r1")) == "guardrail_blocked"
        answers[0] = b'{"score": 0}'
        for _ in range(3):
            assert await stopped(hooks, build_input({"other": 1}, agent="strict", run_id="r1")) == "guardrail_fired"
        assert await stopped(hooks, build_input(agent="other", run_id="r1")) == "guardrail_fired"
        assert await stopped(hooks, build_input(agent="lax", run_id="r1")) is None
        assert await stopped(hooks, build_input(run_id="r1")) is None
        assert await stopped(hooks, build_input(agent="strict", run_id="r2")) is None


@pytest.mark.parametrize("on_fail, point, is_blocked", [
    ("block", "tool_input", True), ("warn", "tool_input", True), ("log", "tool_input", True),
    ("escalate", "tool_input", True), ("block", "tool_output", False),
])  # fmt: skip
@run_async
async def test_what_counts_as_fired_on_the_input(on_fail: str, point: str, is_blocked: bool) -> None:
    """AML-104: whatever is done about it, and only at the input."""
    fired = FiredRuns()
    with running_provider(lambda body: b'{"score": 9}') as server:
        *_, hook = hooks_of(
            over_http(server.url, on_fail=on_fail, at=[point]),
            agents={"desk": {point: ["watch"], **BLOCKING}}, fired=fired,
        )  # fmt: skip
        await output(
            hook, build_input(agent="desk", run_id="r1", result=None if point == "tool_input" else {"content": []})
        )
    assert (fired.find("r1") is not None) == is_blocked


@run_async
async def test_the_agents_own_runtime_may_say_that_its_guardrail_fired() -> None:
    """AML-104: the guardrail on what the user wrote runs elsewhere, and is told."""
    fired = FiredRuns()
    gate, late = hooks_of(agents={"desk": {"input": [{"ref": "pii-scan"}], **BLOCKING}}, fired=fired)
    assert (gate.event, late.event) == ("pre_tool_use", "permission_decision")
    assert await stopped((gate,), build_input(agent="desk", run_id="r1")) is None
    fired.mark("r1", "pii-scan", "a card number")
    said = await output(gate, build_input(agent="desk", run_id="r1"))
    assert said.stop_code == "guardrail_fired" and "'pii-scan'" in (said.stop or "")
    assert await stopped((gate,), build_input(agent="desk", run_id="r2")) is None
