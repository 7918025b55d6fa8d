"""Being told to stop: at any moment, by anybody, and what is told and kept of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import ferrule
from ferrule.contracts.executor import Context
from ferrule.contracts.hook import HookOutput
from ferrule.errors import BatchError
from ferrule.ledger.audit.records import make_invocation_record
from ferrule.ledger.stores.memory.store import MemoryStore
from ferrule.model.result import Pending, Result
from ferrule.model.scheduling import SchedulerPolicy
from ferrule.model.story import Story
from ferrule.runtime.functions.threads import DEFAULT_SIZE
from ferrule.runtime.pipeline.live import Cancel
from ferrule.runtime.pipeline.pulse import surface_call
from tests.runtime.pipeline.slow_tools import (
    ALLOW,
    BEGUN,
    HELD,
    TOOLS,
    app_of_slow_tools,
    describe_end,
    list_news,
    start_call,
    wait_until,
)
from tests.spec.running_app import FunctionHook, run_async

CANCELED = ("canceled", "canceled", "user_interruption")
ASKS = ALLOW + '[[rules]]\nid = "ask"\ndecision = "ask"\ntool = "*.act"\n'


@pytest.mark.parametrize("tool", ["look", "watch", "act", "work"])
@run_async
async def test_a_tool_that_can_be_stopped_is(tool: str) -> None:
    """AT-206, AT-207, AT-208: asked, heard and ended are three facts."""
    async with app_of_slow_tools() as (app, surface):
        task, call = await start_call(app, surface.call(tool, {"seconds": 10}))
        told = await surface.cancel(call, "not needed any more")
        assert told is not None and (told.outcome, told.is_acknowledged, told.is_supported) == ("canceled", True, True)
        assert describe_end(await task) == CANCELED
        assert await list_news(app, call) == ["cancel_requested", "cancel_acknowledged"]
        late = await surface.cancel(call)
        assert late is not None and late.outcome == "cancel_failed"
        assert (await list_news(app, call))[2:] == ["cancel_requested", "cancel_failed"]


@pytest.mark.parametrize("tool", ["toil", "ignore"])
@run_async
async def test_a_tool_that_does_not_stop_gives_its_real_result(tool: str) -> None:
    """AT-205, AT-206, AT-207: requested without acknowledged; the outcome is `cancel_failed`; the result is delivered."""
    async with app_of_slow_tools() as (app, surface):
        task, call = await start_call(app, surface.call(tool))
        told = await surface.cancel(call, within=0.05)
        assert told is not None and (told.outcome, told.is_acknowledged) == ("requested", False)
        assert told.is_supported is (tool == "ignore")
        assert await list_news(app, call) == ["cancel_requested"]
        HELD.set()
        assert describe_end(await task) == ("succeeded", None, None)
        assert await list_news(app, call) == ["cancel_requested", "cancel_failed"]


@run_async
async def test_a_thread_that_listens_stops() -> None:
    """AT-206: it cannot be stopped, but it can stop."""
    async with app_of_slow_tools() as (app, surface):
        task, call = await start_call(app, surface.call("listen"))
        told = await surface.cancel(call)
        assert told is not None and told.outcome == "canceled"
        assert describe_end(await task) == CANCELED


@pytest.mark.parametrize("tool", ["trip", "stumble"])
@run_async
async def test_a_tool_that_fails_while_it_is_stopped_has_failed(tool: str) -> None:
    """AT-207: and the caller's task is as if nobody had ever cancelled it."""
    async with app_of_slow_tools() as (app, surface):
        task, call = await start_call(app, surface.call(tool))
        told = await surface.cancel(call)
        assert told is not None and told.outcome == "cancel_failed"
        assert describe_end(await task) == ("failed", "execution_failed", None)
        assert task.cancelling() == 0


@pytest.mark.parametrize("then", ["another request", "the caller leaves", "a timeout"])
@run_async
async def test_requests_to_stop_on_top_of_each_other(then: str) -> None:
    """AT-206: each is on record; the call ends once, with what really became of it."""
    async with app_of_slow_tools() as (app, surface):
        seconds = 0.2 if then == "a timeout" else None
        task, call = await start_call(app, surface.call("toil", timeout_seconds=seconds))
        await surface.cancel(call, within=0)
        if then == "another request":
            await surface.cancel(call, within=0)
        elif then == "the caller leaves":
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            assert describe_end(await task) == ("timed_out", "timeout", "timeout")
        HELD.set()
        outcome = await surface.result(call, wait=5)
        assert isinstance(outcome, Result) and outcome.status == ("timed_out" if then == "a timeout" else "succeeded")
        await wait_until(lambda: not app.services.live._spawned)
        requests = 2 if then == "another request" else 1
        expected = ["cancel_requested"] * requests + ["cancel_failed"] + ["late_result"] * (then == "a timeout")
        assert await list_news(app, call) == expected


@run_async
async def test_what_waits_its_turn_can_always_be_canceled() -> None:
    """AT-209: whatever its tool supports; whoever waits behind it gets its turn."""
    async with app_of_slow_tools() as (app, surface):
        first, _one = await start_call(app, surface.call("toil"))
        second, two = await start_call(app, surface.call("toil"), "queued")
        third, _three = await start_call(app, surface.call("act"), "queued")
        told = await surface.cancel(two)
        assert told is not None and told.outcome == "canceled"
        assert describe_end(await second) == CANCELED
        HELD.set()
        assert [(await task).status for task in (first, third)] == ["succeeded", "succeeded"]
        assert await list_news(app, two) == ["cancel_requested", "cancel_acknowledged"]


@run_async
async def test_what_waits_for_a_person_can_always_be_canceled() -> None:
    """AT-209: for an approval, and for an answer to a tool that asked."""
    async with app_of_slow_tools(policy=ASKS) as (app, surface):
        for tool in ("act", "ask"):
            pending = await surface.call(tool)
            assert isinstance(pending, Pending)
            told = await surface.cancel(pending.invocation_id, "never mind")
            assert told is not None and (told.outcome, told.state) == ("canceled", "canceled")
            assert describe_end(await surface.result(pending.invocation_id)) == CANCELED
            assert await list_news(app, pending.invocation_id) == ["cancel_requested", "cancel_acknowledged"]


@run_async
async def test_a_tool_that_would_ask_after_it_was_told_to_stop_is_canceled() -> None:
    """AT-209: nobody is asked for what nobody wants."""
    async with app_of_slow_tools() as (app, surface):
        task, call = await start_call(app, surface.call("doubt"))
        told = await surface.cancel(call)
        assert told is not None and told.outcome == "canceled" and describe_end(await task) == CANCELED


@pytest.mark.parametrize("tool", ["act", "work", "toil", "look", "stare"])
@run_async
async def test_nothing_begins_that_was_told_to_stop_before(tool: str) -> None:
    """AT-178, AT-209: canceled at every step on the way to its tool; once it is told `canceled`, nothing runs."""
    steps = running = 0
    while running < 3:
        stage = await _canceled_after(steps, tool)
        assert stage != "closing"
        running += stage == "running"
        steps += 1
    assert steps > running + 2


async def _canceled_after(steps: int, tool: str) -> str:
    """Where the call was then."""
    before = len(BEGUN)
    async with app_of_slow_tools(records_behind=False) as (app, surface):
        arguments: Any = {} if tool == "toil" else {"seconds": 0.2}
        running = await surface.begin(tool, arguments)
        for _ in range(steps):
            await asyncio.sleep(0)
        call = running.invocation_ids[0]
        live = app.services.live.calls[call]
        stage = live.stage
        if stage == "running" and tool in ("toil", "stare") and steps % 2:
            await wait_until(lambda: len(BEGUN) > before)
        live.ask_to_stop(Cancel())
        HELD.set()
        (outcome,) = await asyncio.wait_for(running.wait(), 3)
        is_thread = len(BEGUN) > before  # a thread that has begun is not called canceled, one that is never begins
        assert describe_end(outcome) == (("succeeded", None, None) if is_thread else CANCELED)
        assert (await app.store.rows_of(call))[-1].outcome == describe_end(outcome)[0]
        assert await list_news(app, call) == [
            "cancel_requested",
            "cancel_failed" if is_thread else "cancel_acknowledged",
        ]
        return stage


@pytest.mark.parametrize("tool", ["look", "watch", "stare", "act", "work", "toil", "ignore"])
@run_async
async def test_a_discarded_call_ends_at_once_whatever_its_tool_does(tool: str) -> None:
    """AT-176, AT-177, AT-208: what the tool gives later is recorded and not delivered."""
    async with app_of_slow_tools() as (app, surface):
        arguments: Any = {} if tool in ("toil", "ignore") else {"seconds": 0.2}
        task, call = await start_call(app, surface.call(tool, arguments))
        surface.discard([call], "another turn")
        outcome = await asyncio.wait_for(task, 0.15)
        assert describe_end(outcome) == ("discarded", "streaming_fallback_discarded", "fallback") and outcome.synthetic
        is_stopped = tool in ("look", "watch", "act", "work")
        assert await list_news(app, call) == [
            "cancel_requested",
            "cancel_acknowledged" if is_stopped else "cancel_failed",
        ]
        HELD.set()
        await wait_until(lambda: not app.services.live._spawned)
        assert (await list_news(app, call))[2:] == [] if is_stopped else ["late_result"]
        assert describe_end(await surface.result(call))[0] == "discarded"


@run_async
async def test_a_caller_who_leaves_stops_what_can_be_stopped_and_nothing_else() -> None:
    """AT-208: a thread goes on, and how it ended is on record."""
    async with app_of_slow_tools() as (app, surface):
        for tool, expected in (
            ("work", "canceled"),
            ("look", "canceled"),
            ("toil", "succeeded"),
            ("stare", "succeeded"),
        ):
            arguments: Any = {} if tool == "toil" else {"seconds": 10.0 if tool != "stare" else 0.2}
            task, call = await start_call(app, surface.call(tool, arguments))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            HELD.set()
            outcome = await surface.result(call, wait=5)
            assert isinstance(outcome, Result) and outcome.status == expected, tool
            HELD.clear()


@pytest.mark.parametrize("tool", ["depart", "wander"])
@run_async
async def test_a_call_in_the_background_can_be_canceled(tool: str) -> None:
    """AT-206: and until then it holds what it may hold."""
    async with app_of_slow_tools() as (app, surface):
        pending = await surface.call(tool, {"seconds": 10})
        assert isinstance(pending, Pending) and pending.state == "running"
        behind, _ = await start_call(app, surface.call("act"), "queued")  # alone in its lane, and the lane is not free
        told = await surface.cancel(pending.invocation_id)
        assert told is not None and told.outcome == "canceled"
        assert describe_end(await surface.result(pending.invocation_id)) == CANCELED
        assert describe_end(await behind)[0] == "succeeded"
        assert [row.kind for row in await app.store.rows_of(pending.invocation_id)] == ["started", "ended"]


@pytest.mark.parametrize("tool", ["depart", "wander"])
@run_async
async def test_a_caller_may_leave_while_its_call_goes_to_the_background(tool: str) -> None:
    """AT-178: at any step of it."""
    for steps in range(40):
        async with app_of_slow_tools() as (app, surface):
            task = asyncio.ensure_future(surface.call(tool, {"seconds": 0.002}))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            await wait_until(lambda: not app.services.live.calls and not app.services.live._spawned)
            rows = [row for row in await app.store.rows_before(None, 50) if row.call and row.kind != "news"]
            assert not rows or rows[0].outcome in ("succeeded", "canceled"), [row.outcome for row in rows]


@run_async
async def test_a_tool_that_waits_for_something_canceled_does_not_cancel_its_caller() -> None:
    """AT-105: nobody canceled the caller, so it gets a result."""
    async with app_of_slow_tools() as (_app, surface):
        for _ in range(2):
            assert describe_end(await surface.call("forsake")) == CANCELED


class _SlowToStart(MemoryStore):
    """Takes its time to write that a call runs."""

    def _append(self, future: Any, entry: Any, condition: Any) -> None:
        if entry.kind == "started":
            asyncio.get_running_loop().call_later(0.3, super()._append, future, entry, condition)
        else:
            super()._append(future, entry, condition)


@pytest.mark.parametrize("hooks", [(), (FunctionHook(lambda told: HookOutput(messages=("seen",)), "post_tool_use"),)])
@pytest.mark.parametrize("fate", ["ends", "its caller leaves", "is canceled", "goes to the background"])
@run_async
async def test_a_call_may_end_while_it_is_written_down_that_it_runs(fate: str, hooks: Any) -> None:
    """AT-178, AT-112: the row comes first, then the end, with everything that happened meanwhile."""
    async with app_of_slow_tools(store=_SlowToStart(), hooks=hooks) as (app, surface):
        tool = "wander" if fate == "goes to the background" else "watch"
        task, call = await start_call(app, surface.call(tool, {"seconds": 0.15}))
        live = app.services.live.calls[call]
        surfacing = asyncio.ensure_future(surface_call(live))
        if fate == "is canceled":
            live.ask_to_stop(Cancel())
        await wait_until(lambda: live.stage == "closing" or task.done())
        if fate == "its caller leaves":
            task.cancel()
        await asyncio.wait([task])
        await surfacing
        await wait_until(lambda: not app.services.live.calls)
        rows = await app.store.rows_of(call)
        assert [row.kind for row in rows] == ["started", "ended"]
        assert rows[-1].outcome == ("canceled" if fate == "is canceled" else "succeeded")
        has_run = fate != "is canceled"
        assert len([hook for row in rows for hook in row.segment().hooks]) == len(hooks) * has_run


# Batches


@pytest.mark.parametrize("steps", range(12))
@run_async
async def test_a_batch_may_be_abandoned_at_any_step(steps: int) -> None:
    """AT-90, AT-173, AT-178: every call of it is on record, and nothing is left in the way of others."""
    async with app_of_slow_tools() as (app, surface):
        first = {"name": "act", "arguments": {"seconds": 0.01}, "id": "first"}
        calls: list[Any] = [
            first,
            ("look", {}),
            {"name": "act", "depends_on": ["first"]},
            ("toil", {}),
            ("nothing", {}),
        ]
        task = asyncio.ensure_future(surface.call_many(calls, max_parallel=3))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        HELD.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert describe_end(await asyncio.wait_for(surface.call("act"), 2))[0] == "succeeded"
        await wait_until(lambda: not app.services.live.calls)
        ends = await app.store.rows_before(None, 50, kinds=("call", "ended"))
        assert len(ends) == (6 if steps else 1)


@run_async
async def test_a_call_that_waits_for_another_of_its_batch_can_be_canceled() -> None:
    """AT-209: at once, not when the other has ended."""
    async with app_of_slow_tools() as (app, surface):
        running = await surface.begin_many(["toil", {"name": "act", "depends_on": ["0"]}])
        await under_way_in(app, running.invocation_ids[0])
        told = await surface.cancel(running.invocation_ids[1])
        assert told is not None and told.outcome == "canceled"
        HELD.set()
        assert [describe_end(each) for each in await running.wait()] == [("succeeded", None, None), CANCELED]


async def under_way_in(app: Any, call: str) -> None:
    await wait_until(lambda: app.services.live.calls[call].stage == "running")


@run_async
async def test_siblings_of_a_failure_end_in_every_stage() -> None:
    """AT-171, AT-173, AT-208: not begun, waiting for a person, for their turn, for another, or running; all are told, and
    none is in the way afterwards."""
    async with app_of_slow_tools(policy=ASKS.replace("act", "put")) as (_app, surface):
        calls: list[Any] = [
            {"name": "fail", "arguments": {"seconds": 0.03}, "id": "f"},
            ("look", {"seconds": 10}),
            ("act", {"seconds": 10}),
            {"name": "act", "depends_on": ["f"]},
            ("put", {"value": 1}),
        ]
        batch = await surface.call_many(calls, sibling_failure_policy="cancel_siblings", wait=5)
        sibling = ("synthetic_error", "sibling_canceled", "sibling_error")
        assert [describe_end(each) for each in batch] == [("failed", "execution_failed", None), *[sibling] * 4]
        batch = await surface.call_many([("nothing", {}), ("act", {})], sibling_failure_policy="cancel_siblings")
        assert describe_end(batch[1]) == sibling
        assert describe_end(await asyncio.wait_for(surface.call("act"), 2))[0] == "succeeded"


@run_async
async def test_a_batch_has_its_own_number_of_calls_at_once() -> None:
    """AT-160: fewer than its lane, where it says so."""
    async with app_of_slow_tools() as (_app, surface):
        running = await surface.begin_many([("look", {"seconds": 0.02})] * 6, max_parallel=2)
        most = 0
        while running.list_unfinished():
            most = max(most, sum(state == "executing" for state in running.queue_states()))
            await asyncio.sleep(0)
        assert most == 2 and not (await running.wait()).is_error


# Calls inside of calls


@run_async
async def test_a_tool_that_slipped_in_may_make_a_batch() -> None:
    """AT-161: its calls are inside its own, and the lane is free after it."""
    async with app_of_slow_tools() as (_app, surface):
        for _ in range(3):
            result = await asyncio.wait_for(surface.call("both"), 2)
            assert isinstance(result, Result) and result.value == ["succeeded", "succeeded"]
            assert describe_end(await asyncio.wait_for(surface.call("act"), 2))[0] == "succeeded"


# Progress before and after


@run_async
async def test_a_part_of_a_result_is_a_state_of_its_call() -> None:
    """AT-218, AT-176: and a call that gives parts for long can be asked for from elsewhere."""
    async with app_of_slow_tools() as (app, surface):
        result = await surface.call("trickle", {"seconds": 0})
        assert "partial_result" in await states(app, result.invocation_id)
        task, call = await start_call(app, surface.call("trickle", {"seconds": 0.5}))
        await wait_until(lambda: app.services.live.calls[call].call.recorded is not None)
        seen = await surface.result(call)
        assert isinstance(seen, Pending) and seen.state == "running"
        assert describe_end(await task)[0] == "succeeded"
        assert (await states(app, call)).count("partial_result") == 1


async def states(app: Any, call: str) -> list[str]:
    return [move["to"] for move in make_invocation_record(Story(await app.store.rows_of(call)))["status_transitions"]]


@pytest.mark.parametrize("name", [None, 5, b"act"])
@run_async
async def test_a_name_that_is_no_text_leads_nowhere(name: Any) -> None:
    """AT-90, AT-105: by itself it is an unknown tool like any other; in a batch it makes no sense."""
    async with app_of_slow_tools() as (_, surface):
        assert describe_end(await surface.call(name)) == ("failed", "unknown_tool", None)
        with pytest.raises(BatchError):
            await surface.call_many([(name, {})])


# More threads wanted than there are


@pytest.mark.parametrize("fate", ["canceled", "timed_out", "discarded", "left"])
@run_async
async def test_what_still_waits_for_a_thread_never_begins_after_its_end(fate: str) -> None:
    """AT-178, AT-207, AT-209: it has not begun, so it can be stopped, and nothing happens after that was told."""
    ran: list[int] = []

    @ferrule.tool(destructive=False, concurrency_safe=True)
    def strike(number: int) -> int:
        """Hold a thread until it is let go."""
        ran.append(number)
        HELD.wait(10)
        return number

    policy = SchedulerPolicy(max_parallel=DEFAULT_SIZE + 8)
    async with app_of_slow_tools(tools=(strike,), scheduler=policy) as (app, surface):
        holding = [asyncio.ensure_future(surface.call("strike", {"number": each})) for each in range(DEFAULT_SIZE)]
        await wait_until(lambda: len(ran) == DEFAULT_SIZE)
        limit = 0.05 if fate == "timed_out" else None
        task, call = await start_call(app, surface.call("strike", {"number": -1}, timeout_seconds=limit))
        if fate == "canceled":
            told = await surface.cancel(call)
            assert told is not None and told.outcome == "canceled"
        elif fate == "discarded":
            surface.discard([call])
        elif fate == "left":
            task.cancel()
        await asyncio.wait([task])
        HELD.set()
        await asyncio.gather(*holding)
        outcome = await surface.result(call, wait=2)
        assert describe_end(outcome)[0] == ("canceled" if fate == "left" else fate)
        assert -1 not in ran


# Calls out of threads


@pytest.mark.parametrize("is_safe", [True, False])
@pytest.mark.parametrize("fate", ["ends", "is canceled", "times out"])
@run_async
async def test_a_thread_may_call_other_tools(is_safe: bool, fate: str) -> None:
    """AT-161, AT-178: inside its own call, so that it does not wait for itself; what it calls has its own end."""
    loop = asyncio.get_running_loop()

    @ferrule.tool(destructive=False, concurrency_safe=is_safe)
    def command(context: Context) -> list[str]:
        """Have others do the work."""
        seconds = 0.0 if fate == "ends" else 0.2
        asked = [context.session.call(name, {"seconds": seconds}) for name in ("act", "look", "act")]
        given = [asyncio.run_coroutine_threadsafe(each, loop) for each in asked]
        return [each.result(5).status for each in given]

    async with app_of_slow_tools(tools=(*TOOLS, command)) as (app, surface):
        limit = 0.1 if fate == "times out" else None
        running = await surface.begin("command", timeout_seconds=limit)
        if fate == "is canceled":
            await wait_until(lambda: len(app.services.live.calls) > 1)
            await surface.cancel(running.invocation_ids[0], within=0)
        behind = asyncio.ensure_future(surface.call("act"))
        (outcome,) = await running.wait()
        assert describe_end(outcome)[0] == ("timed_out" if fate == "times out" else "succeeded")
        await behind
        await wait_until(lambda: not app.services.live.calls and not app.services.live._spawned)
        ends = await app.store.rows_before(None, 20, kinds=("call", "ended"))
        assert len(ends) == 5 and {row.outcome for row in ends} <= {"succeeded", "timed_out"}
