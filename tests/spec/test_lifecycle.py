"""What the lifecycle of a tool means for its calls, and what is kept of every call: the `run` lines of AT-11 to AT-103."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.contracts.executor import ExecutionFailed
from ferrule.ledger.audit.records import make_invocation_record
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.lifecycle import STATES
from ferrule.model.result import Pending
from ferrule.model.story import Story
from ferrule.model.tool import LIFECYCLES, Tool
from ferrule.runtime.approval.key import ApprovalKey
from ferrule.runtime.functions import tool
from ferrule.testing import FakeClock, ScriptedApprover
from tests.runtime.surface.surfaces import FakeReadiness
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

ASK = '[[rules]]\nid = "ask-first"\ndecision = "ask"\ntool = "*"\n'
DENY = TRUSTED + '[[rules]]\nid = "never"\ndecision = "deny"\ntool = "*"\nwhen = { city = "Bern" }\n'


def held(scene: RunningApp, name: str) -> tuple[str, dict[str, Any]]:
    """The list of the surface record that holds a tool back, and its entry."""
    record = scene.surface.surface.to_record()
    for listed in ("blocked_tools", "excluded_tools"):
        for entry in record[listed]:
            if entry["name"] == name:
                return listed, entry
    raise AssertionError(f"{name} is not held back")


def list_shown(scene: RunningApp) -> set[str]:
    """The tools a model is shown with their schemas."""
    return {each.name for each in scene.surface.tools().tools}


# The lifecycle of a tool


@run_async
async def test_at_11_a_draft_is_never_callable() -> None:
    """AT-11: excluded with a reason, and a call of it ends without running anything."""
    async with running_app(make_tool(lifecycle="draft")) as on:
        listed, entry = held(on, "search")
        assert listed == "excluded_tools"
        assert entry["reason"]
        assert (await on.call()).is_error
        assert not on.has_run


@run_async
async def test_at_12_which_lifecycles_can_be_called() -> None:
    """AT-12: available and, for those who know its name, deprecated."""
    tools = [make_tool(word, lifecycle=word) for word in LIFECYCLES]
    async with running_app(*tools, readiness=FakeReadiness(is_set_up=False)) as on:
        callable_ = {word for word in LIFECYCLES if not (await on.call(word)).is_error}
        assert callable_ == {"available", "deprecated"}
        assert {ran.tool_id for ran in on.executor.ran} == {"shop.available", "shop.deprecated"}


@run_async
async def test_at_13_a_disabled_tool_appears_with_its_reason() -> None:
    """AT-13: listed as held back, machine-readable; a call ends as an error result."""
    async with running_app(make_tool(lifecycle="disabled")) as on:
        assert held(on, "search")[1]["reason"] == "feature_disabled"
        result = await on.call()
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("capability_gap", "feature_disabled")
        assert (await on.read_record(result))["status"] == "blocked"
        assert not on.has_run


@pytest.mark.parametrize(
    ("needs", "error_class"),
    [
        (make_tool(lifecycle="requires_setup"), "setup_required"),
        (make_tool(interface={"requires_setup": True}), "setup_required"),
        (make_tool(interface={"required_credentials": ["STORE_TOKEN"]}), "credential_missing"),
        (
            make_tool(lifecycle="requires_setup", interface={"required_credentials": ["STORE_TOKEN"]}),
            "credential_missing",
        ),
    ],
)
@run_async
async def test_at_14_a_tool_that_needs_setup_is_not_attempted(needs: Tool, error_class: str) -> None:
    """AT-14, AT-36: setup_required, or credential_missing where that is the cause; the executor is not reached."""
    readiness = FakeReadiness(missing=["STORE_TOKEN"], is_set_up=False)
    async with running_app(needs, readiness=readiness) as on:
        result = await on.call()
        assert result.error is not None
        assert result.error.error_class == error_class
        assert result.error.recoverability == "complete_setup"
        assert (await on.read_record(result))["status"] == "blocked"
        assert not on.has_run


@run_async
async def test_at_14_an_executor_that_would_take_it_is_no_setup() -> None:
    """AT-14: nobody bound a function to it, so it waits, although something here could run it."""
    async with running_app(make_tool(lifecycle="requires_setup")) as on:
        result = await on.call()
        assert result.error is not None
        assert result.error.error_class == "setup_required"
        assert not on.has_run


@run_async
async def test_at_15_a_deferred_tool_is_found_and_its_schema_is_not_shown() -> None:
    """AT-15"""
    async with running_app(make_tool(lifecycle="deferred")) as on:
        assert "search" not in list_shown(on)
        assert "city" not in repr(on.surface.tools())
        assert "search" in {each.name for each in on.surface.tools().deferred}
        assert (await on.surface.search("does search")).matches[0] == "shop.search"


@run_async
async def test_at_16_a_deprecated_tool_works_and_is_not_offered() -> None:
    """AT-16: not shown, last in a search, called by its name it works, and the call is flagged."""
    old, new = make_tool("find", lifecycle="deprecated"), make_tool("find_again", description="Does find.")
    async with running_app(old, new, caller={"defer_above": 0}) as on:
        assert "find" not in {*list_shown(on), *(each.name for each in on.surface.tools().deferred)}
        assert (await on.surface.search("find")).matches[0] == "shop.find_again"
    async with running_app(old, new) as on:
        assert list_shown(on) == {"find_again"}
        result = await on.call("find")
        assert not result.is_error
        planned = (await on.read_events(result))[0]
        assert planned.data["lifecycle"] == "deprecated"


@run_async
async def test_at_17_a_retired_tool_is_an_identity_only() -> None:
    """AT-17: never called, never found; what mentions its id still resolves."""
    async with running_app(make_tool(lifecycle="retired"), make_tool("other")) as on:
        result = await on.call()
        assert result.is_error
        assert not on.has_run
        assert (await on.surface.search("select:search")).missing_names == ("search",)
        assert "shop.search" not in (await on.surface.search("search")).matches
        mentioned = (await on.read_record(result))["tool_id"]
        assert on.app.catalog.versions(mentioned)[0].tool.description == "Does search."


# The record of a call

BAD = {"city": 7}
ENDINGS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "unknown tool": ("nothing", BERN, {}),
    "bad arguments": ("search", BAD, {}),
    "arguments that are no JSON": ("search", b"{", {}),
    "arguments that cannot be written": ("search", {"city": object()}, {}),
    "not loaded": ("search", BERN, {"tools": (make_tool(lifecycle="deferred"),)}),
    "draft": ("search", BERN, {"tools": (make_tool(lifecycle="draft"),)}),
    "denied": ("search", BERN, {"policy": DENY}),
    "failing": ("search", BERN, {"default": ExecutionFailed("execution_failed", "no")}),
    "crashing": ("search", BERN, {"default": RuntimeError("no")}),
    "succeeding": ("search", BERN, {}),
}


def ending_of(name: str) -> tuple[str, Any, dict[str, Any]]:
    """The call and the app of one ending."""
    called, arguments, parts = ENDINGS[name]
    return called, arguments, dict(parts)


@pytest.mark.parametrize("ending", ENDINGS)
@run_async
async def test_at_90_every_call_has_a_record(ending: str) -> None:
    """AT-90, AT-74, AT-211: however early it fails, with the five fields; the result too. It names its surface."""
    name, arguments, parts = ending_of(ending)
    async with running_app(*parts.pop("tools", ()), **parts) as on:
        result = await on.call(name, arguments)
        record = await on.read_record(result)
        assert_required("invocation", record)
        assert_required("result", result.to_record())
        assert record["surface_id"] == on.surface.surface.surface_id
        assert record["status"] in STATES
        assert record["ended_at"] >= record["created_at"]


@run_async
async def test_at_91_an_unknown_name_becomes_a_tool_id() -> None:
    """AT-91"""
    async with running_app() as on:
        assert (await on.read_record(await on.call("nothing")))["tool_id"] == "unknown:nothing"


@run_async
async def test_at_95_a_trivial_tool_takes_the_short_path() -> None:
    """AT-95: no hooks, no question, no queue: no such states."""
    async with running_app() as on:
        assert await on.read_states(await on.call()) == [
            "planned", "selected", "arguments_ready", "running", "succeeded",
        ]  # fmt: skip


@run_async
async def test_at_97_a_long_call_keeps_every_change_in_order() -> None:
    """AT-97, AT-96: hooks before and after, a question, an answer; times never go back."""
    hooks = (FunctionHook(lambda told: None), FunctionHook(lambda told: None, "post_tool_use"))
    async with running_app(policy=ASK, hooks=hooks, clock=FakeClock()) as on:
        waiting = await on.park()
        assert (await on.read_record(waiting))["status"] == "awaiting_approval"
        result = await on.answer()
        moves = (await on.read_record(result))["status_transitions"]
        assert [move["to"] for move in moves] == [
            "planned", "selected", "arguments_ready", "pre_hooks_running", "awaiting_approval", "approved", "running",
            "post_hooks_running", "succeeded",
        ]  # fmt: skip
        assert [move["from"] for move in moves] == [None, *(move["to"] for move in moves[:-1])]
        times = [move["at"] for move in moves]
        assert times == sorted(times)


@run_async
async def test_at_98_what_identifies_a_call_stays() -> None:
    """AT-98: from the first record to the last."""
    async with running_app(policy=ASK) as on:
        waiting = await on.park(native_call_id="toolu_7")
        first = await on.read_record(waiting)
        last = await on.read_record(await on.answer())
        for field in ("invocation_id", "tool_id", "native_call_id", "created_at", "actor_ref", "surface_id"):
            assert first[field] == last[field]
        for field in ("runtime_refs", "policy_refs", "evidence_refs", "permission_decision_refs"):
            assert last[field][: len(first[field])] == first[field]
        assert first["native_call_id"] == "toolu_7"


@run_async
async def test_at_99_a_call_that_never_ran_never_started() -> None:
    """AT-99"""
    async with running_app(policy=DENY) as on:
        denied = await on.read_record(await on.call())
        ran = await on.read_record(await on.call("search", {"city": "Rome"}))
        assert "started_at" not in denied
        assert denied["ended_at"]
        assert ran["created_at"] <= ran["started_at"] <= ran["ended_at"]


@run_async
async def test_at_100_a_waiting_call_keeps_its_id_over_a_restart() -> None:
    """AT-100: another app on the same ledger answers it."""
    store, key = MemoryStore(), ApprovalKey.generate()
    async with running_app(policy=ASK, store=store, key=key) as on:
        waiting = await on.park()
        assert not on.has_run
    async with running_app(policy=ASK, store=store, key=key) as on:
        result = await on.answer()
        assert result.invocation_id == waiting.invocation_id
        assert [ran.arguments for ran in on.executor.ran] == [BERN]


@run_async
async def test_at_100_a_waiting_call_keeps_its_id_on_disk(tmp_path: Path) -> None:
    """AT-100: the same with a ledger on disk, and the workspace opened twice."""
    sent: list[str] = []

    @tool
    def send(city: str) -> str:
        """Sends something."""
        sent.append(city)
        return "sent"

    (tmp_path / "ferrule.toml").write_text('namespace = "shop"\n', encoding="utf-8")
    async with ferrule.open(tmp_path, tools=[send], tends=False) as app:
        waiting = await app.surface().call("send", BERN)
        assert isinstance(waiting, Pending)
    assert not sent
    async with ferrule.open(tmp_path, tools=[send], tends=False) as app:
        [result] = await ScriptedApprover(app).work()
        assert result is not None
        assert result.invocation_id == waiting.invocation_id
        record = make_invocation_record(Story(await app.store.rows_of(waiting.invocation_id)))
        assert record["status"] == "succeeded"
    assert sent == ["Bern"]


@run_async
async def test_at_101_a_call_stays_visible_whatever_became_of_its_payload() -> None:
    """AT-101: masked and denied calls are in the history like others."""
    contract = {"sensitive_fields": ["city"]}
    async with running_app(make_tool(input_contract=contract), policy=DENY) as on:
        denied, masked = await on.call(), await on.call("search", {"city": "Rome"})
        told = [row.call for row in await on.app.store.rows_before(None, kinds=("call", "ended"))]
        assert {denied.invocation_id, masked.invocation_id} == set(told)
        assert "Rome" not in repr(await on.read_record(masked))
        assert (await on.read_record(masked))["status"] == "succeeded"


@pytest.mark.parametrize("ending", [name for name in ENDINGS if name not in ("failing", "crashing", "succeeding")])
@run_async
async def test_at_102_what_was_stopped_early_never_ran(ending: str) -> None:
    """AT-102: schema_parse_failed, validation_failed, denied and blocked calls never reached the executor."""
    name, arguments, parts = ending_of(ending)
    async with running_app(*parts.pop("tools", ()), **parts) as on:
        record = await on.read_record(await on.call(name, arguments))
        assert record["status"] in ("schema_parse_failed", "validation_failed", "denied", "blocked", "failed")
        assert "running" not in [move["to"] for move in record["status_transitions"]]
        assert not on.has_run


@run_async
async def test_at_103_a_retry_is_a_new_call_that_names_the_old() -> None:
    """AT-103: and the old record does not change."""
    async with running_app(script={"shop.search": [ExecutionFailed("rate_limited", "later"), "done"]}) as on:
        first = await on.call()
        before = await on.read_record(first)
        second = await on.call(retry_of=first.invocation_id)
        assert second.invocation_id != first.invocation_id
        assert (await on.read_record(second))["retry_of"] == first.invocation_id
        assert await on.read_record(first) == before
