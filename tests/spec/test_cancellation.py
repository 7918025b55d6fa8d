"""Stopping calls: asked, heard and done are facts of their own, and nobody pretends: AT-194, AT-205 to AT-209, AT-277."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from msgspec import UNSET

from ferrule.contracts.executor import Context, ExecutionFailed, Support
from ferrule.model.persistence import ResultSettings
from ferrule.model.result import Pending, Result
from ferrule.model.scheduling import SchedulerPolicy
from ferrule.runtime.functions import tool
from tests.spec.gated_runs import GatedRuns, list_calls_in_flight, wait_until
from tests.spec.running_app import BERN, RunningApp, make_tool, run_async, running_app

REQUESTED, ACKNOWLEDGED, FAILED = (f"tool.invocation.cancel_{word}" for word in ("requested", "acknowledged", "failed"))
FLAGS = {
    "supports_progress", "supports_cancel", "supports_resume", "supports_retries", "supports_partial_results",
    "supports_background", "supports_artifacts", "supports_context_modifiers", "sandboxed", "supports_timeout",
    "supports_result_persistence", "supports_credential_delegation", "supports_offline",
}  # fmt: skip
LATCH: dict[str, threading.Event] = {}


@tool(name="thread", destructive=False)
def thread(city: str) -> str:
    """Runs in a thread, which nobody can stop."""
    LATCH["begun"].set()
    LATCH["go"].wait(10)
    return f"done with {city}"


@tool(name="stops", destructive=False)
async def stops(city: str) -> str:
    """Stops when it is told to."""
    await asyncio.Event().wait()
    return city


async def told(on: RunningApp, of: Any) -> list[str]:
    """The events about stopping a call, in order."""
    call_id = of if isinstance(of, str) else of.invocation_id
    return [
        event.event_type
        for event in await on.read_events()
        if event.invocation_id == call_id and event.event_type in (REQUESTED, ACKNOWLEDGED, FAILED)
    ]


async def running(on: RunningApp, name: str) -> tuple[asyncio.Task[Any], str]:
    """A call whose tool runs, and its id."""
    calling = asyncio.create_task(on.surface.call(name, BERN))
    await wait_until(lambda: any(live.stage == "running" for live in on.app.services.live.calls.values()))
    [call_id] = list_calls_in_flight(on.app)
    return calling, call_id


# What can be done at all


@pytest.mark.parametrize(("name", "can_cancel"), [("thread", False), ("stops", True), ("search", True)])
@run_async
async def test_at_194_what_a_runner_cannot_do_is_said(name: str, can_cancel: bool) -> None:
    """AT-194, AT-205: every flag of its profile is there, as yes or no; whether it can be stopped is one of them."""
    async with running_app(make_tool(), thread, stops) as on:
        profile = on.surface.session.find(name).support.to_record()
        assert set(profile) == FLAGS
        assert all(isinstance(flag, bool) for flag in profile.values())
        assert profile["supports_cancel"] is can_cancel
        if name != "search":  # functions can say how far they are, give parts, and go on in the background
            assert (
                profile["supports_progress"] and profile["supports_partial_results"] and profile["supports_background"]
            )
    assert not any(Support(timeout=False, result_persistence=False).to_record().values())


@run_async
async def test_at_205_a_tool_that_cannot_be_stopped_is_not_said_to_be() -> None:
    """AT-205, AT-194, AT-277, AT-206, AT-207: the answer says so, the call goes on, and its real result is delivered."""
    LATCH.update(go=threading.Event(), begun=threading.Event())
    async with running_app(thread) as on:
        calling, call_id = await running(on, "thread")
        await wait_until(LATCH["begun"].is_set)
        answer = await on.surface.cancel(call_id, "enough", within=0.05)
        assert answer is not None
        assert (answer.outcome, answer.is_supported, answer.is_acknowledged) == ("requested", False, False)
        assert "cannot be stopped" in answer.message
        LATCH["go"].set()
        result = await calling
        assert (result.status, result.text) == ("succeeded", "done with Bern")
        assert await told(on, result) == [REQUESTED, FAILED]
        [request] = (await on.read_full_record(result))["cancellation"]["requests"]
        assert (request["outcome"], request["reason"], request["by"]) == ("cancel_failed", "enough", "ada")
        assert "acknowledged_at" not in request
        assert request["requested_at"] <= request["settled_at"]


@run_async
async def test_at_277_what_is_not_there_is_refused_in_so_many_words() -> None:
    """AT-277, AT-194: a writer where there is no store to write to."""
    refused: list[str] = []

    @tool(name="writes", read_only=True)
    async def writes(context: Context) -> str:
        """Wants to keep a lot."""
        try:
            context.open_output("text/plain")
        except ExecutionFailed as failed:
            refused.append(failed.error_class)
            raise
        return "kept"

    async with running_app(writes, results=ResultSettings(store="none")) as on:
        result = await on.call("writes", {})
        assert refused == ["capability_gap"]
        assert result.error is not None
        assert result.error.error_class == "capability_gap"


@run_async
async def test_at_277_a_kind_that_nothing_runs_is_a_gap() -> None:
    """AT-277: it is not tried with something that might do."""
    async with running_app(make_tool("browse", tool_kind="browser_action"), default=UNSET) as on:
        result = await on.call("browse")
        assert result.error is not None
        assert result.error.error_class in ("capability_gap", "setup_required")
        assert not on.has_run


# Requests and what comes of them


@run_async
async def test_at_207_asked_heard_and_canceled_are_three_facts() -> None:
    """AT-207, AT-206, AT-208: each with its time; the reason is on the result."""
    async with running_app(stops) as on:
        calling, call_id = await running(on, "stops")
        answer = await on.surface.cancel(call_id, "the user pressed stop")
        assert answer is not None
        assert (answer.outcome, answer.is_acknowledged, answer.is_supported) == ("canceled", True, True)
        result = await calling
        assert (result.status, result.abort_reason) == ("canceled", "user_interruption")
        assert "the user pressed stop" in result.error.message
        assert await told(on, result) == [REQUESTED, ACKNOWLEDGED]
        [request] = (await on.read_full_record(result))["cancellation"]["requests"]
        assert request["outcome"] == "canceled"
        assert request["requested_at"] <= request["acknowledged_at"]


@run_async
async def test_at_206_a_request_that_comes_too_late_is_on_record() -> None:
    """AT-206: the call had ended; nothing of it changes."""
    async with running_app() as on:
        result = await on.call()
        answer = await on.surface.cancel(result.invocation_id)
        assert answer is not None
        assert (answer.outcome, answer.is_acknowledged) == ("cancel_failed", False)
        assert "ended already" in answer.message
        assert await told(on, result) == [REQUESTED, FAILED]
        assert await on.app.result(result.invocation_id) == result


@run_async
async def test_at_206_every_request_is_told() -> None:
    """AT-206: the second one too, although the first one counts."""
    LATCH.update(go=threading.Event(), begun=threading.Event())
    async with running_app(thread) as on:
        calling, call_id = await running(on, "thread")
        await on.surface.cancel(call_id, "once", within=0)
        await on.surface.cancel(call_id, "twice", within=0)
        LATCH["go"].set()
        result = await calling
        assert (await told(on, result)).count(REQUESTED) == 2
        reasons = [request["reason"] for request in (await on.read_full_record(result))["cancellation"]["requests"]]
        assert reasons == ["once", "twice"]


@run_async
async def test_at_206_what_is_not_yours_does_not_exist() -> None:
    """AT-206: a stranger's request says nothing about the call, and leaves nothing on its record."""
    async with running_app() as on:
        result = await on.call()
        assert await on.app.surface(principal="eve").cancel(result.invocation_id) is None
        assert await on.surface.cancel("inv_nothing") is None
        assert await told(on, result) == []


@run_async
async def test_at_209_a_queued_call_can_be_canceled() -> None:
    """AT-209: whatever its tool can do: it has not begun."""
    bench = GatedRuns("Bern")
    async with running_app(make_tool("act"), thread, default=bench.work) as on:
        first = asyncio.create_task(on.surface.call("act", BERN))
        await wait_until(lambda: bench.has_begun("Bern"))
        second = asyncio.create_task(on.surface.call("thread", BERN))
        await wait_until(lambda: len(list_calls_in_flight(on.app)) == 2)
        queued = list_calls_in_flight(on.app)[1]
        await wait_until(lambda: on.app.services.live.calls[queued].stage == "queued")
        answer = await on.surface.cancel(queued)
        assert answer is not None
        assert (answer.outcome, answer.is_supported) == ("canceled", True)
        result = await second
        assert isinstance(result, Result)
        assert (result.status, result.abort_reason) == ("canceled", "user_interruption")
        assert "started_at" not in await on.read_record(result)
        assert await told(on, result) == [REQUESTED, ACKNOWLEDGED]
        bench.open_gates()
        assert not (await first).is_error


@run_async
async def test_at_209_a_call_that_waits_for_a_person_can_be_canceled() -> None:
    """AT-209, AT-208: it ends as canceled, and can no longer be approved."""
    ask = '[[rules]]\ndecision = "ask"\ntool = "*"\n'
    async with running_app(thread, policy=ask) as on:
        waiting = await on.surface.call("thread", BERN)
        assert isinstance(waiting, Pending)
        answer = await on.surface.cancel(waiting.invocation_id, "never mind")
        assert answer is not None
        assert (answer.outcome, answer.is_acknowledged, answer.state) == ("canceled", True, "canceled")
        result = await on.app.result(waiting.invocation_id)
        assert isinstance(result, Result)
        assert (result.status, result.abort_reason) == ("canceled", "user_interruption")
        assert await told(on, result) == [REQUESTED, ACKNOWLEDGED]
        assert (await on.read_states(result))[-2:] == ["awaiting_approval", "canceled"]
        assert not await on.app.store.open_calls()


@run_async
async def test_at_208_a_call_whose_turn_does_not_come_has_a_reason() -> None:
    """AT-208, AT-210: its deadline passed while it waited."""
    bench = GatedRuns("Bern")
    async with running_app(make_tool("act"), default=bench.work, scheduler=SchedulerPolicy(max_parallel=1)) as on:
        first = asyncio.create_task(on.surface.call("act", BERN))
        await wait_until(lambda: bench.has_begun("Bern"))
        result = await on.call("act", {"city": "Rome"}, timeout_seconds=0.05)
        assert (result.status, result.abort_reason, result.synthetic) == ("timed_out", "timeout", True)
        bench.open_gates()
        await first


@run_async
async def test_at_208_closing_the_app_ends_what_runs() -> None:
    """AT-208: with the reason `runtime_shutdown`; each call has its result."""
    async with running_app(stops) as on:
        calling, call_id = await running(on, "stops")
    result = await calling
    assert (result.status, result.abort_reason) == ("canceled", "runtime_shutdown")
    assert result.invocation_id == call_id
