"""The runner: calls that skip what is idle, calls made twice, and calls whose ledger fails them."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

import ferrule
from ferrule.app.surface import CallUnderWay
from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.contracts.hook import HookOutput
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.approval import ADMIN, APPROVE, Identity
from ferrule.model.lifecycle import PHASES
from ferrule.model.result import Pending, Result
from ferrule.runtime.pipeline.live import Cancel
from ferrule.testing import memory_app
from tests.driven import driven
from tests.runtime.surface.surfaces import make_agent_record, make_view
from tests.spec.running_app import BERN, FunctionHook, RunningApp, make_tool, run_async, running_app

BOB = Identity("bob", "desk", frozenset({APPROVE, ADMIN}))


async def ids_in_ledger(on: RunningApp) -> list[str]:
    return [row.call for row in await on.app.store.rows_before(None, 50, kinds=("call", "ended"))]


# Calls that skip what is idle


async def twice(**parts: Any) -> list[tuple[Any, ...]]:
    """What is on record of two calls of a tool that only reads: the first one prepares it, the second may skip."""
    parts = {"tools": (make_tool(is_read_only=True),), **parts}
    async with running_app(*parts.pop("tools"), **parts) as on:
        found = []
        for _ in range(2):
            result = await on.call()
            story = await on.read_story(result)
            decisions = [each["reason"]["message"] for each in await on.read_decisions(result)]
            error = result.error.error_code if result.error is not None else None
            phases = await on.read_phases(result)
            found.append((result.status, error, await on.read_states(result), phases, decisions, story.hooks))
        return found


@pytest.mark.parametrize("ending", ["succeeds", "fails", "crashes", "breaks its schema"])
@run_async
async def test_a_quick_call_leaves_the_record_of_any_other(ending: str) -> None:
    """AT-104, AT-126: the same states, phases and decision, whether idle phases were passed over or not."""
    default: Any = {"fails": ExecutionFailed("rate_limited", "later"), "crashes": RuntimeError("no")}.get(ending, "x")
    promised: dict[str, Any] = {"output_schema": {"type": "object"}} if ending == "breaks its schema" else {}
    tools = (make_tool(is_read_only=True, **promised),)
    first, second = await twice(tools=tools, default=default)
    assert first == second
    if ending == "succeeds":
        assert second[3] == list(PHASES)


@run_async
async def test_hooks_see_every_call() -> None:
    """AT-147: also the second of a tool for which nothing else is to be done."""
    hooks = (
        FunctionHook(lambda told: HookOutput(messages=("seen",))),
        FunctionHook(lambda told: None, "post_tool_use"),
    )
    await twice(hooks=hooks)
    assert [len(hook.seen) for hook in hooks] == [2, 2]


# Calls made twice


@run_async
async def test_a_duplicate_gets_the_first_answer() -> None:
    """AT-178: one key, one effect: while it waits, and after it ended."""
    async with running_app(policy="") as on:
        first = await on.surface.call("search", BERN, idempotency_key="k1")
        again = await on.surface.call("search", BERN, idempotency_key="k1")
        assert isinstance(again, Pending)
        assert again.invocation_id == first.invocation_id
        result = await on.answer()
        assert await on.surface.call("search", BERN, idempotency_key="k1") == result
        assert len(on.executor.ran) == 1
        other = await on.surface.call("search", {"city": "Rome"}, idempotency_key="k1")
        assert isinstance(other, Result)
        assert other.error is not None
        assert other.error.error_code == "idempotency_conflict"


# Calls whose ledger fails them


@run_async
async def test_an_action_does_not_run_without_a_record() -> None:
    """AT-102: the ledger cannot be written, so nothing runs, and the caller is told why."""
    store = MemoryStore()
    async with running_app(store=store) as on:
        store.refusal = "the disk is full"
        result = await on.call()
        assert result.error is not None
        assert result.error.error_class == "dependency_unavailable"
        assert not on.has_run
        store.refusal = ""
        assert not (await on.call()).is_error


@run_async
async def test_a_surface_that_cannot_be_made_again_ends_the_call() -> None:
    """AT-105: its agent left the catalog: no exception, one recorded refusal."""
    tool = make_tool()
    async with running_app(
        catalog=make_view(tool, records=[make_agent_record(tool)]), tools=(), caller={"agent": "helper"}
    ) as on:
        assert not (await on.call()).is_error
        on.app.adopt(make_view(tool))
        result = await on.call(native_call_id="n1")
        assert result.error is not None
        assert (result.error.error_class, result.error.error_code) == ("policy_blocked", "surface_gone")
        assert result.native_call_id == "n1"
        assert result.invocation_id in await ids_in_ledger(on)
        assert len(on.executor.ran) == 1


@run_async
async def test_arguments_that_are_no_json_keep_the_callers_id() -> None:
    """AT-214"""
    async with running_app() as on:
        result = await on.call("search", {"city": object()}, native_call_id="n1")
        assert (result.native_call_id, (await on.read_record(result))["native_call_id"]) == ("n1", "n1")


@run_async
async def test_a_question_that_cannot_be_recorded_is_not_asked() -> None:
    """AT-128: no record, no waiting."""
    store = MemoryStore()
    async with running_app(store=store, policy="") as on:
        store.refusal = "the disk is full"
        result = await on.call()
        assert result.error is not None
        assert result.error.error_class == "dependency_unavailable"
        store.refusal = ""
        assert not await on.app.inbox(BOB).pending()


# Calls that were told to stop before their task began


@ferrule.tool(read_only=True, concurrency_safe=True)
async def watch(context: Context) -> str:
    """Run in a task of its own."""
    RAN.append("watch")
    return "seen"


@ferrule.tool(read_only=True, concurrency_safe=True)
async def look() -> str:
    """Run in the task of its call."""
    RAN.append("look")
    return "seen"


RAN: list[str] = []


@pytest.mark.parametrize("name", ["watch", "look"])
@driven
async def test_a_call_that_is_told_to_stop_before_its_task_begins_does_not_run(
    name: str, recwarn: pytest.WarningsRecorder
) -> None:
    """AT-206: a server starts calls outside of tasks; what was started so is canceled like any other, and nothing leaks."""
    RAN.clear()
    async with memory_app(tools=[watch, look]) as app:
        surface = app.surface(principal="ann")
        await surface.call(name)
        started: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def start() -> None:
            under_way = surface.start(name, listener=lambda said: None)
            assert isinstance(under_way, CallUnderWay)
            app.services.live.calls[under_way.invocation_id].ask_to_stop(Cancel(reason="not needed"))
            started.set_result(under_way)

        asyncio.get_running_loop().call_soon(start)
        result = await (await started)
        assert isinstance(result, Result) and result.status == "canceled"
        assert [name] == RAN, "the second call ran"
        assert surface.session.lane.is_idle and not app.services.live.calls
    gc.collect()
    assert not [str(each.message) for each in recwarn if "never awaited" in str(each.message)]
