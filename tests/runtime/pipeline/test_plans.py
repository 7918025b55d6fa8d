"""A tool's own plan records what the whole plan does; first steps of coroutines; calls that run without a place."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import ferrule
from ferrule.contracts.executor import Context, Output, Waiting
from ferrule.contracts.hook import HookInput, HookOutput
from ferrule.infra.tasks import rest_of
from ferrule.ledger.audit.records import make_invocation_record
from ferrule.model.journal import Payload, phase_times
from ferrule.model.result import Result
from ferrule.model.scheduling import Claim, SchedulerPolicy
from ferrule.model.story import Story
from ferrule.runtime.hooks.function import hook
from ferrule.runtime.scheduler.scheduler import Lane, Scheduler
from ferrule.testing import memory_app
from tests.runtime.pipeline.readers import at_once, breaks, soon
from tests.runtime.pipeline.replaced_phase import replace_phase

SAFE = Claim("look", "ann", is_concurrency_safe=True, is_read_only=True)
READ = Claim("look", "ann", is_concurrency_safe=False, is_read_only=True)
WRITE = Claim("write", "ann")


def lane_of(**policy: Any) -> Lane:
    return Scheduler(SchedulerPolicy(**policy)).get_lane("surface")


async def given_later(work: Callable[[], Awaitable[Any]]) -> Any:
    """A coroutine as the pipeline takes it up: its first step made, the rest awaited."""
    running: Any = work()
    try:
        waited = running.send(None)
    except StopIteration as ended:
        return ended.value
    return await rest_of(running, waited)


def test_the_rest_of_a_coroutine_is_awaited_like_the_whole() -> None:
    async def go() -> None:
        async def work() -> int:
            await asyncio.sleep(0)
            loop = asyncio.get_running_loop()
            future = loop.create_future()
            loop.call_later(0.001, future.set_result, 20)
            async with asyncio.timeout(5):
                return int(await future) + await asyncio.to_thread(lambda: 1)

        assert await given_later(work) == 21

    asyncio.run(go())


def test_what_is_thrown_into_the_rest_arrives_in_it() -> None:
    async def go() -> None:
        seen: list[str] = []

        async def work() -> str:
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                seen.append("told")
                await asyncio.sleep(0)
                return "kept"
            return "never"

        task = asyncio.create_task(given_later(work))
        await asyncio.sleep(0)
        task.cancel()
        assert await task == "kept" and seen == ["told"]

    asyncio.run(go())


def test_a_timeout_within_the_rest_ends_there() -> None:
    async def go() -> None:
        async def work() -> str:
            try:
                async with asyncio.timeout(0.001):
                    await asyncio.sleep(30)
            except TimeoutError:
                return "late"
            return "never"

        assert await given_later(work) == "late"

    asyncio.run(go())


def test_the_rest_that_is_thrown_away_is_closed() -> None:
    async def go() -> None:
        closed: list[bool] = []

        async def work() -> None:
            try:
                await asyncio.sleep(30)
            finally:
                closed.append(True)

        running = work()
        rest: Any = rest_of(running, running.send(None))
        rest.send(None)
        rest.close()
        assert closed == [True]

    asyncio.run(go())


def test_errors_of_the_rest_are_its_own() -> None:
    async def go() -> None:
        async def work() -> None:
            await asyncio.sleep(0)
            raise LookupError("gone")

        with pytest.raises(LookupError, match="gone"):
            await given_later(work)

    asyncio.run(go())


def test_one_that_runs_alone_slips_in_only_where_nobody_is_and_lets_nobody_in() -> None:
    """AT-161"""

    async def go() -> None:
        lane = lane_of(max_parallel=4)
        assert lane.may_slip_alone(READ) and not lane.may_slip(READ)
        assert not lane.may_slip_alone(WRITE) and not lane.may_slip_alone(SAFE)
        assert lane.slip_in_alone() and not lane.slip_in_alone() and not lane.slip_in()
        safe, write = lane.enter(SAFE), lane.enter(WRITE)
        assert (safe.state, write.state, lane.running) == ("waiting", "waiting", 1)
        lane.slip_out()
        assert (safe.state, write.state) == ("running", "waiting")
        assert not lane.slip_in_alone()
        lane.leave(safe)
        assert write.state == "running" and not lane.slip_in_alone()
        lane.leave(write)
        assert lane.is_idle and lane.slip_in()
        assert not lane.slip_in_alone()
        lane.slip_out()
        assert lane.slip_in_alone()
        place = lane.settle(READ)
        assert lane.enter(SAFE).state == "waiting"
        lane.leave(place)
        assert lane.running == 1

    asyncio.run(go())


def test_one_that_runs_alone_waits_behind_an_interruption() -> None:
    """AT-168"""
    lane = lane_of()
    running = lane.enter(SAFE)
    lane.add_barrier()
    assert not lane.slip_in_alone()
    lane.leave(running)
    assert lane.slip_in_alone()


@pytest.mark.parametrize("limit", ["max_parallel_per_tool", "max_parallel_per_principal"])
def test_where_tools_or_principals_are_counted_nobody_slips_in_alone(limit: str) -> None:
    assert not lane_of(**{limit: 5}).slip_in_alone()


def test_reads_that_may_not_overlap_never_do() -> None:
    """AT-161"""

    async def go() -> None:
        at_once_now = most = 0

        @ferrule.tool(read_only=True)
        async def count(number: int) -> int:
            """Count who is here."""
            nonlocal at_once_now, most
            at_once_now += 1
            most = max(most, at_once_now)
            if number % 3:
                await asyncio.sleep(0)
            at_once_now -= 1
            return number

        async with memory_app(tools=[count]) as app:
            surface = app.surface(principal="ann")
            results: Any = await asyncio.gather(*(surface.call("count", {"number": number}) for number in range(40)))
            assert [result.value for result in results] == list(range(40)) and most == 1
            batch: Any = await surface.call_many([("count", {"number": number}) for number in range(40)])
            assert [result.value for result in batch] == list(range(40)) and most == 1
            assert surface.session.lane.is_idle

    asyncio.run(go())


@ferrule.tool(read_only=True, concurrency_safe=True)
async def plain(a: int) -> int:
    """Answer at once."""
    return a


@ferrule.tool(read_only=True, concurrency_safe=True, inline=True)
def tells(a: int, context: Context) -> int:
    """Say something, then answer."""
    context.progress("looking")
    return a


@ferrule.tool(read_only=True)
async def asks(a: int) -> Any:
    """Ask another tool in its first step."""
    inner = await HANDLES[0].call("plain", {"a": a})
    return inner.value


@ferrule.tool(read_only=True)
async def large(a: int) -> str:
    """More than is shown."""
    return "x" * a


@ferrule.tool(read_only=True)
async def changes(a: int) -> Output:
    """Leave something for those after it."""
    return Output(a, context_modifiers=({"set": {"a": a}},))


async def take(state: bytes, answer: Any, context: Context) -> str:
    """Go on with the answer."""
    return f"{state.decode()} {answer}"


@ferrule.tool(read_only=True, resume=take)
async def waits(a: int) -> Waiting:
    """Ask somebody."""
    return Waiting(message="which one?", state=b"took")


@ferrule.tool(read_only=True, concurrency_safe=True, timeout_seconds=0.02)
async def hurries(a: float, context: Context) -> bool:
    """Take some time, of which there is little."""
    await asyncio.sleep(a)
    return context.deadline is not None


HANDLES: list[Any] = []
QUICK = (plain, tells, asks, large, changes, at_once, soon, breaks, waits, hurries)
_UNLIKE = re.compile(r"inv_[0-9a-f]+|[0-9-]+T[0-9:.]+Z")
LONG = (("native_call_id", "n1"),)
"""What makes a call take the whole plan."""


def test_a_tool_s_own_plan_and_the_whole_plan_leave_the_same_record() -> None:
    """AT-104, AT-107, AT-218: the same phases and states in the same order, the same payload, the same result."""

    async def go() -> None:
        async with memory_app(tools=QUICK) as app:
            surface = app.surface(principal="ann")
            HANDLES[:] = [surface]
            cases: list[tuple[str, dict[str, Any]]] = [
                ("plain", {"a": 3}), ("plain", {"a": "3"}), ("plain", {"a": "x"}), ("tells", {"a": 1}), ("asks", {"a": 2}),
                ("at_once", {"a": 1}), ("soon", {"a": 2}), ("breaks", {"when": "at once"}), ("breaks", {"when": "later"}),
                ("changes", {"a": 4}), ("large", {"a": 60_000}), ("waits", {"a": 1}),
                ("hurries", {"a": 5}), ("hurries", {"a": 0}), ("hurries", {"a": "5"}), ("hurries", {"a": "0"}),
            ]  # fmt: skip
            for name, arguments in cases:
                await surface.call(name, arguments)  # the first call of a tool prepares it, and takes the whole plan
                short: Any = await surface.call(name, arguments)
                whole: Any = await surface.call(name, arguments, **dict(LONG))  # type: ignore[arg-type]
                values = [_UNLIKE.sub("", repr(getattr(each, "value", None))) for each in (short, whole)]
                assert type(short) is type(whole) and values[0] == values[1], name
                assert await told(app, short) == await told(app, whole), name
            assert surface.session.lane.is_idle and not app.services.live.calls

    asyncio.run(go())


async def told(app: Any, result: Result) -> tuple[Any, ...]:
    """What the ledger has of a call, without what differs from call to call."""
    await app.store.flush()
    rows = [row for row in await app.store.rows_of(result.invocation_id) if row.kind != "news"]
    record = make_invocation_record(Story(rows))
    inputs = rows[-1].inputs() or Payload()
    return (
        [row.kind for row in rows],
        [phase for row in rows for phase, _ in phase_times(row.segment())],
        [move["to"] for move in record["status_transitions"] if move["to"] != "queued"],
        record["status"],
        (inputs.model_input, inputs.observable_input, inputs.permission_input, inputs.call_input),
        [decision.ruling.behavior for row in rows for decision in row.segment().decisions],
    )


@pytest.mark.parametrize("phase", ["execute", "map_result", "persist_result"])
def test_a_mistake_of_ours_in_a_tool_s_own_plan_is_an_ordinary_failure(
    monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    """AT-105, AT-245"""

    def crash(call: Any, services: Any) -> None:
        raise RuntimeError("a secret of ours")

    async def go() -> None:
        async with memory_app(tools=QUICK) as app:
            surface = app.surface(principal="ann")
            await surface.call("plain", {"a": 1})  # the first call of a tool prepares it, and takes the whole plan
            replace_phase(monkeypatch, phase, crash)
            result: Any = await surface.call("plain", {"a": 1})
            assert result.error.error_class == "execution_failed" and "secret" not in repr(result)
            assert surface.session.lane.is_idle
            assert (await told(app, result))[0] == ["call"]

    asyncio.run(go())


def test_a_call_whose_row_is_refused_is_not_told_as_a_success() -> None:
    """AT-241"""

    async def go() -> None:
        async with memory_app(tools=QUICK) as app:
            surface: Any = app.surface(principal="ann")
            await surface.call("plain", {"a": 1})
            app.store.refusal = "the disk is full"  # type: ignore[attr-defined]
            result = await surface.call("plain", {"a": 1})
            app.store.refusal = ""  # type: ignore[attr-defined]
            assert result.error.error_code == "outcome_not_recorded"
            assert surface.session.lane.is_idle

    asyncio.run(go())


def hooks_of(kind: str) -> list[Any]:
    """Hooks that answer at once, later, or change something."""

    @hook("pre_tool_use", name="before")
    def before(told: HookInput) -> HookOutput | None:
        match kind:
            case "changes":
                return HookOutput(updated_input={"a": 5})
            case "asks":
                return HookOutput(permission="ask")
            case "stops":
                return HookOutput(stop="not now")
            case "tells":
                return HookOutput(progress=({"message": "looking"},), messages=("looked",))
            case "fails":
                raise RuntimeError("broken")
            case "adds":
                return HookOutput(additional_context=({"type": "text", "text": "mind the gap"},))
        return None

    @hook("pre_tool_use", name="later")
    async def later(told: HookInput) -> None:
        await asyncio.sleep(0)

    @hook("post_tool_use", name="after")
    def after(told: HookInput) -> HookOutput | None:
        return HookOutput(updated_output=9) if kind == "replaces" else None

    @hook("post_tool_use_failure", name="failed")
    def failed(told: HookInput) -> None:
        return None

    return [before, *([later] if kind == "waits" else []), after, failed]


@pytest.mark.parametrize("kind", ["quiet", "waits", "changes", "asks", "stops", "tells", "fails", "adds", "replaces"])
@pytest.mark.parametrize("name", ["plain", "soon", "breaks"])
def test_hooks_mean_the_same_in_a_tool_s_own_plan_and_in_the_whole_plan(kind: str, name: str) -> None:
    """AT-144, AT-148, AT-150, AT-155, AT-158"""

    async def go() -> None:
        async with memory_app(tools=QUICK, hooks=hooks_of(kind)) as app:
            surface = app.surface(principal="ann")
            arguments = {"when": "at once"} if name == "breaks" else {"a": 3}
            for _ in range(2):  # the first call of a tool prepares it, and takes the whole plan
                short: Any = await surface.call(name, arguments)
            whole: Any = await surface.call(name, arguments, native_call_id="n1")
            assert type(short) is type(whole)
            assert await hooked(app, short) == await hooked(app, whole)
            if isinstance(short, Result):
                assert (short.status, short.value, short.content, short.additional_context) == (
                    whole.status, whole.value, whole.content, whole.additional_context,
                )  # fmt: skip
            assert surface.session.lane.is_idle and not app.services.live.calls

    asyncio.run(go())


async def hooked(app: Any, outcome: Any) -> tuple[Any, ...]:
    rows = [row for row in await app.store.rows_of(outcome.invocation_id) if row.kind != "news"]
    runs = [(run.hook_id, run.outputs) for row in rows for run in row.segment().hooks]
    return (await told(app, outcome), runs)
