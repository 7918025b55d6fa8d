"""What a call says while it runs: numbered, replayable, in its bounds, and never after its end: AT-197 to AT-204, AT-218."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferrule.contracts.executor import Context
from ferrule.model.approval import APPROVE, Identity
from ferrule.model.progress import BadProgress, ProgressStatus, progress_of
from ferrule.model.result import Pending, Result
from ferrule.runtime.functions import tool
from ferrule.testing import FakeClock, ScriptedApprover
from tests.spec.gated_runs import list_calls_in_flight, wait_until
from tests.spec.running_app import assert_required, run_async, running_app

STATUSES = {
    "queued", "started", "running", "waiting_for_permission", "waiting_for_input", "backgrounded", "partial_result",
    "completed", "failed", "canceled",
}  # fmt: skip
GATE: dict[str, asyncio.Event] = {}


@tool(name="steps", read_only=True)
async def steps(count: int, context: Context) -> str:
    """Says how far it is."""
    for number in range(count):
        context.progress(f"step {number}", percent=100 * number / count, current_step=number, total_steps=count)
        await asyncio.sleep(0)
    return "done"


@tool(name="held", destructive=False)
async def held(context: Context) -> str:
    """Says three things, and the rest when it is let go."""
    for number in range(3):
        context.progress(f"early {number}")
    await GATE["go"].wait()
    for number in range(3):
        context.progress(f"late {number}")
    return "done"


@run_async
async def test_at_197_records_of_progress_are_whole() -> None:
    """AT-197: six fields each, in the record of the call and in its events."""
    async with running_app(steps) as on:
        result = await on.call("steps", {"count": 4})
        records = (await on.read_full_record(result))["progress"]
        assert len(records) == 4
        for record in records:
            assert_required("progress", record)
            assert isinstance(record["sequence"], int)
            assert record["invocation_id"] == result.invocation_id
            assert isinstance(record["current_step"], str)
        assert len({record["progress_id"] for record in records}) == 4
        news = [row for row in await on.app.store.news_of(result.invocation_id) if row.outcome == "progress"]
        assert news
        told = [event for event in await on.read_events() if event.event_type == "tool.invocation.progress"]
        assert [event.data["sequence"] for event in told] == [record["sequence"] for record in records]


@run_async
async def test_at_198_numbers_only_go_up() -> None:
    """AT-198: threads that speak at the same time share one row of numbers, without a gap."""

    @tool(name="crowd", read_only=True)
    async def crowd(context: Context) -> str:
        """Eight threads speak."""

        def speak(name: int) -> None:
            for number in range(25):
                context.progress(f"{name} {number}")

        threads = [threading.Thread(target=speak, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            await asyncio.to_thread(thread.join)
        return "done"

    async with running_app(crowd) as on:
        result = await on.call("crowd", {})
        records = (await on.read_full_record(result))["progress"]
        assert [record["sequence"] for record in records] == list(range(1, 201))
        for name in range(8):
            said = [record["message"] for record in records if record["message"].split()[0] == str(name)]
            assert said == [f"{name} {number}" for number in range(25)]


@run_async
async def test_at_198_a_call_that_goes_on_counts_on() -> None:
    """AT-198: numbers are not used again after it waited for somebody, whatever was said before."""

    @tool(name="asks", destructive=False)
    async def asks(context: Context) -> Any:
        """Asks in the middle."""
        context.progress("before")
        return context.needs_input("Which account?")

    @asks.resume
    async def goes_on(state: bytes, answer: Any, context: Context) -> str:
        context.progress("after")
        return f"used {answer}"

    async with running_app(asks) as on:
        waiting = await on.park("asks", {})
        assert waiting.state == "needs_input"
        await on.app.inbox(Identity("bob", "desk", frozenset({APPROVE}))).answer(waiting.invocation_id, "savings")
        result = await on.app.result(waiting.invocation_id, wait=5)
        assert isinstance(result, Result)
        assert result.text == "used savings"
        records = (await on.read_full_record(result))["progress"]
        said = {record["message"]: record["sequence"] for record in records}
        assert said["before"] < said["after"]
        numbers = [record["sequence"] for record in records]
        assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("after", range(4))
@run_async
async def test_at_199_whoever_comes_back_gets_the_rest(after: int) -> None:
    """AT-199: in order, from any number on, while the call runs and when it is over."""
    GATE["go"] = asyncio.Event()
    async with running_app(held) as on:
        calling = asyncio.create_task(on.surface.call("held", {}))
        await wait_until(lambda: list_calls_in_flight(on.app))
        [call_id] = list_calls_in_flight(on.app)
        first: list[int] = []
        async for said in on.surface.follow(call_id):
            first.append(said.sequence)
            if len(first) == 2:
                break  # the connection is lost
        assert first == [1, 2]

        async def follow() -> list[int]:
            return [said.sequence async for said in on.surface.follow(call_id, after)]

        again = asyncio.create_task(follow())
        await asyncio.sleep(0)
        GATE["go"].set()
        await calling
        assert await again == list(range(after + 1, 7))
        assert await follow() == list(range(after + 1, 7))


@run_async
async def test_at_199_nobody_else_follows() -> None:
    """AT-199: the progress of a call is its principal's."""
    async with running_app(steps) as on:
        result = await on.call("steps", {"count": 2})
        other = on.app.surface(principal="eve")
        assert [said async for said in other.follow(result.invocation_id)] == []


@pytest.mark.parametrize("seconds", [1.2, 10])
@run_async
async def test_at_200_a_long_call_is_said_to_run_still(seconds: float) -> None:
    """AT-200: by the runtime, with the time it has taken, where the tool says nothing for a second."""
    GATE["go"] = asyncio.Event()
    clock = FakeClock()

    @tool(name="silent", destructive=False)
    async def silent() -> str:
        """Says nothing."""
        await GATE["go"].wait()
        return "done"

    async with running_app(silent, clock=clock) as on:
        calling = asyncio.create_task(on.surface.call("silent", {}))
        await wait_until(lambda: list_calls_in_flight(on.app))
        [call_id] = list_calls_in_flight(on.app)
        clock.advance(seconds)
        async for said in on.surface.follow(call_id):
            assert said.status == "running"
            assert said.elapsed_ms is not None
            assert said.elapsed_ms >= seconds * 1000
            break
        GATE["go"].set()
        assert not (await calling).is_error


@given(st.one_of(st.floats(), st.integers(), st.text(max_size=3), st.booleans()))
def test_at_201_percent_is_between_0_and_100(percent: Any) -> None:
    """AT-201: whatever else is refused."""
    is_good = isinstance(percent, int | float) and 0 <= percent <= 100 and percent is not True and percent is not False
    try:
        record = progress_of("inv_1", 1, 0, 0, {"percent": percent}).to_record()
    except BadProgress:
        assert not is_good
    else:
        assert is_good
        assert 0 <= record["percent"] <= 100


@pytest.mark.parametrize("percent", [101, -1, 1e9])
@run_async
async def test_at_201_a_tool_learns_that_it_said_something_impossible(percent: float) -> None:
    """AT-201: where it said it; nothing of it is told to anybody."""
    refused: list[str] = []

    @tool(name="boasts", read_only=True)
    async def boasts(context: Context) -> str:
        """Says too much."""
        try:
            context.progress("almost", percent=percent)
        except BadProgress as error:
            refused.append(str(error))
        return "done"

    async with running_app(boasts) as on:
        result = await on.call("boasts", {})
        assert not result.is_error
        assert "percent" in refused[0]
        assert "progress" not in await on.read_full_record(result)


def test_at_202_the_ten_statuses() -> None:
    """AT-202: these and no other."""
    assert set(get_args(ProgressStatus)) == STATUSES
    for status in STATUSES:
        assert progress_of("inv_1", 1, 0, 0, {"status": status}).to_record()["status"] == status
    with pytest.raises(BadProgress):
        progress_of("inv_1", 1, 0, 0, {"status": "dreaming"})


@run_async
async def test_at_202_a_call_that_waits_says_for_what() -> None:
    """AT-202, AT-198: for permission, then, from the middle of its run, for input; numbers go on."""

    @tool(name="asks")
    async def asks(context: Context) -> Any:
        """Asks in the middle."""
        context.progress("begun")
        return context.needs_input("Which account?")

    @asks.resume
    async def goes_on(state: bytes, answer: Any, context: Context) -> str:
        context.progress("after")
        return f"used {answer}"

    async with running_app(asks, policy="") as on:
        waiting = await on.park("asks", {})
        [said] = (await on.read_full_record(waiting))["progress"]
        assert (said["status"], said["sequence"]) == ("waiting_for_permission", 1)
        await ScriptedApprover(on.app).work()
        inbox = on.app.inbox(Identity("bob", "desk", frozenset({APPROVE})))
        await inbox.answer(waiting.invocation_id, "savings")
        result = await on.app.result(waiting.invocation_id, wait=5)
        assert isinstance(result, Result)
        told = [(each["sequence"], each["status"]) for each in (await on.read_full_record(result))["progress"]]
        assert told == [(1, "waiting_for_permission"), (2, "running"), (3, "waiting_for_input"), (4, "running")]


@run_async
async def test_at_202_a_call_in_the_background_says_so() -> None:
    """AT-202, AT-251: with the task's id; its caller is let go, and the result is there later."""
    GATE["go"] = asyncio.Event()

    @tool(name="render", destructive=False)
    async def render(context: Context) -> str:
        """Goes on by itself."""
        context.to_background("task-7", "rendering the film")
        await GATE["go"].wait()
        return "rendered"

    async with running_app(render) as on:
        outcome = await on.surface.call("render", {})
        assert isinstance(outcome, Pending)
        assert (outcome.state, outcome.message) == ("running", "rendering the film")
        GATE["go"].set()
        result = await on.surface.result(outcome.invocation_id, wait=5)
        assert isinstance(result, Result)
        assert result.text == "rendered"
        record = await on.read_full_record(result)
        [said] = [said for said in record["progress"] if said["status"] == "backgrounded"]
        assert said["task_id"] == "task-7"
        assert (await on.read_states(result))[-3:] == ["yielded", "running", "succeeded"]


@run_async
async def test_at_204_nothing_is_said_after_the_end(caplog: pytest.LogCaptureFixture) -> None:
    """AT-204: what comes late is dropped, and the log knows."""
    kept: list[Context] = []

    @tool(name="leaves", read_only=True)
    async def leaves(context: Context) -> str:
        """Keeps its context."""
        kept.append(context)
        context.progress("in time")
        return "done"

    async with running_app(leaves) as on:
        result = await on.call("leaves", {})
        with caplog.at_level(logging.INFO, logger="ferrule"):
            kept[0].progress("too late")
        records = (await on.read_full_record(result))["progress"]
        assert [record["message"] for record in records] == ["in time"]
        assert result.invocation_id in caplog.text


@run_async
async def test_at_218_parts_of_a_result_are_no_result() -> None:
    """AT-218: three parts, the state that says so, then one end with the whole."""

    @tool(name="lines", read_only=True)
    async def lines(context: Context) -> list[str]:
        """Gives its lines as they come."""
        found = []
        for number in range(3):
            found.append(f"line {number}")
            context.partial(found[-1])
            await asyncio.sleep(0)
        return found

    async with running_app(lines) as on:
        told = []
        async for update in on.surface.stream_many([("lines", {})]):
            told.append(update.progress.extra["content"][0]["text"] if update.progress else update.result)
        *parts, result = told
        assert parts == ["line 0", "line 1", "line 2"]
        assert isinstance(result, Result)
        assert result.structured_content == parts
        states = await on.read_states(result)
        assert "partial_result" in states
        assert states[-1] == "succeeded"
        events = [event.event_type for event in await on.read_events()]
        assert "tool.invocation.partial_result" in events
        assert events.count("tool.result.created") == 1
        records = (await on.read_full_record(result))["progress"]
        assert {record["status"] for record in records} == {"partial_result"}
        for record, part in zip(records, parts, strict=True):
            [ref] = record["partial_result_refs"]
            [found] = [each for each in records if each["progress_id"] == ref]
            assert found["content"] == [{"type": "text", "text": part}]


@run_async
async def test_progress_is_json_whatever_a_tool_says() -> None:
    """AT-197: what it adds of its own is carried with it."""

    @tool(name="odd", read_only=True)
    async def odd(context: Context) -> str:
        """Says what nobody planned for."""
        context.progress("x", queue_depth=7, sequence=99, invocation_id="inv_other")
        return "done"

    async with running_app(odd) as on:
        result = await on.call("odd", {})
        [record] = (await on.read_full_record(result))["progress"]
        assert (record["queue_depth"], record["sequence"]) == (7, 1)
        assert record["invocation_id"] == result.invocation_id
        assert msgspec.json.decode(msgspec.json.encode(record)) == record
