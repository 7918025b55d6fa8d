"""Calls together: what overlaps, in which order results come, and who is stopped with whom: AT-159 to AT-178."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ferrule.contracts.executor import Context, ExecutionFailed, Output
from ferrule.model.result import Result
from ferrule.model.scheduling import ResourceLock, SchedulerPolicy
from ferrule.runtime.functions import ToolFailed, tool
from ferrule.runtime.pipeline.live import Cancel
from ferrule.runtime.policy.classifiers import ShellClassifier
from tests import ROOT
from tests.spec.gated_runs import GatedRuns, have_overlapped, list_calls_in_flight, wait_until
from tests.spec.running_app import RunningApp, make_tool, run_async, running_app

BASES = ROOT / "tests" / "definitions" / "rules" / "bases" / "agents"
SAFE: dict[str, Any] = {"is_concurrency_safe": True, "is_read_only": True, "is_destructive": False}
SEVEN = {
    "is_concurrency_safe", "is_read_only", "is_destructive", "is_open_world", "requires_exclusive_context",
    "context_modifier_policy", "resource_locks",
}  # fmt: skip
LOOK, ACT = make_tool("look", **SAFE), make_tool("act", is_destructive=False)
ROME = [("look", {"city": "a"}), ("look", {"city": "b"})]


def of(name: str, *cities: str) -> list[tuple[str, dict[str, str]]]:
    """Calls of one tool."""
    return [(name, {"city": city}) for city in cities]


async def many(on: RunningApp, calls: Any, **policy: Any) -> list[Result]:
    """The results of a batch."""
    batch = await on.surface.call_many(calls, **policy)
    assert all(isinstance(each, Result) for each in batch)
    return [each for each in batch if isinstance(each, Result)]


def list_endings(batch: Any) -> list[tuple[str, str | None, str | None]]:
    """Status, class and abort reason of each result."""
    return [(each.status, each.error and each.error.error_class, each.abort_reason) for each in batch]


# What overlaps


@run_async
async def test_at_159_the_facts_of_a_call_are_those_of_its_input() -> None:
    """AT-159: seven of them on the invocation; one tool, two inputs, two sets."""
    schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    facts = {"is_read_only": "classifier:shell", "is_concurrency_safe": "same_as:is_read_only"}
    run = make_tool("run", schema, tool_kind="shell_command", classifier_input="input.command", **facts)
    async with running_app(run, classifiers=[ShellClassifier()]) as on:
        reads = (await on.read_record(await on.call("run", {"command": "ls -l"})))["scheduler"]
        writes = (await on.read_record(await on.call("run", {"command": "rm x"})))["scheduler"]
        assert set(reads) >= SEVEN <= set(writes)
        assert (reads["is_read_only"], reads["is_concurrency_safe"]) == (True, True)
        assert (writes["is_read_only"], writes["is_concurrency_safe"]) == (False, False)


@run_async
async def test_at_159_locks_are_worked_out_from_the_input() -> None:
    """AT-159, AT-164: the key has the member of this very call."""
    async with running_app(make_tool("act", resource_locks=["town:{city}"])) as on:
        result = await on.call("act", {"city": "Bern"})
        facts = (await on.read_record(result))["scheduler"]
        assert set(facts) >= SEVEN
        assert facts["resource_locks"] == [{"key": "town:Bern", "mode": "exclusive"}]


@pytest.mark.parametrize("most", [1, 2, 3])
@run_async
async def test_at_160_safe_calls_run_together_up_to_a_limit(most: int) -> None:
    """AT-160: so many at once, and not one more."""
    names = ("a", "b", "c", "d", "e")
    bench = GatedRuns(*names)
    async with running_app(LOOK, default=bench.work, scheduler=SchedulerPolicy(max_parallel=most)) as on:
        calling = asyncio.create_task(many(on, of("look", *names)))
        await wait_until(lambda: len(bench.running) == most)
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(bench.running) == most
        for name in names:
            bench.open_gates(name)
            await wait_until(lambda name=name: f"-{name}" in bench.seen)  # type: ignore[misc]
            assert len(bench.running) <= most
        assert all(not result.is_error for result in await calling)


@run_async
async def test_at_161_what_is_not_known_to_be_safe_runs_alone() -> None:
    """AT-161, AT-41: of read, read, write, read the first two overlap, the write waits for both and holds the last back."""
    bench = GatedRuns("r1", "r2", "w")
    async with running_app(LOOK, ACT, default=bench.work) as on:
        calls = [*of("look", "r1", "r2"), *of("act", "w"), *of("look", "r3")]
        calling = asyncio.create_task(many(on, calls))
        await wait_until(lambda: bench.has_begun("r1", "r2"))
        bench.open_gates("r1", "r2")
        await wait_until(lambda: bench.has_begun("w"))
        for _ in range(20):
            await asyncio.sleep(0)
        assert bench.seen[-1] == "+w"
        bench.open_gates("w")
        await calling
        assert bench.seen[:2] == ["+r1", "+r2"]
        assert sorted(bench.seen[2:4]) == ["-r1", "-r2"]
        assert bench.seen[4:] == ["+w", "-w", "+r3", "-r3"]


@pytest.mark.parametrize("is_read_only", [True, False])
@pytest.mark.parametrize("is_concurrency_safe", [True, False])
@run_async
async def test_at_162_reading_is_no_proof_of_reading_together(is_concurrency_safe: bool, is_read_only: bool) -> None:
    """AT-162: overlap follows from the one fact, whatever the other is."""
    bench = GatedRuns("a", "b")
    facts: dict[str, Any] = {
        "is_concurrency_safe": is_concurrency_safe,
        "is_read_only": is_read_only,
        "is_destructive": False,
    }
    async with running_app(make_tool(**facts), default=bench.work) as on:
        calling = asyncio.create_task(many(on, of("search", "a", "b")))
        await wait_until(lambda: bench.running)
        if is_concurrency_safe:
            await wait_until(lambda: bench.has_begun("a", "b"))
        bench.open_gates()
        await calling
        assert have_overlapped(bench.seen, "a", "b") is is_concurrency_safe


@pytest.mark.parametrize(("classes", "is_together"), [(("read_only", "open_world"), True), (("read_only",), False)])
@run_async
async def test_at_163_the_policy_says_which_kinds_may_overlap(classes: Any, is_together: bool) -> None:
    """AT-163: safe calls that reach the open world take turns where it does not list that kind."""
    bench = GatedRuns("a", "b")
    policy = SchedulerPolicy(parallel_classes=classes)
    async with running_app(make_tool(**SAFE, is_open_world=True), default=bench.work, scheduler=policy) as on:
        calling = asyncio.create_task(many(on, of("search", "a", "b")))
        await wait_until(lambda: bench.has_begun("a"))
        if is_together:
            await wait_until(lambda: bench.has_begun("b"))
        bench.open_gates()
        await calling
        assert have_overlapped(bench.seen, "a", "b") is is_together


@pytest.mark.parametrize("home", ["definition", "policy"])
@run_async
async def test_at_164_a_shared_lock_keeps_calls_apart(home: str) -> None:
    """AT-164: two about one order never overlap, also from two surfaces; another order does."""
    locks: dict[str, Any] = {"resource_locks": ["order:{city}"]} if home == "definition" else {}
    policy = SchedulerPolicy(resource_locks=() if locks else (ResourceLock("order:{city}", "shop.*"),))
    bench = GatedRuns("same", "other")
    async with running_app(make_tool(**SAFE, **locks), default=bench.work, scheduler=policy) as on:
        second = on.app.surface(principal="bob")
        one = asyncio.create_task(on.surface.call("search", {"city": "same"}))
        two = asyncio.create_task(second.call("search", {"city": "same"}))
        third = asyncio.create_task(second.call("search", {"city": "other"}))
        await wait_until(lambda: bench.has_begun("same", "other"))
        assert bench.seen.count("+same") == 1
        bench.open_gates()
        await asyncio.gather(one, two, third)
        assert [step for step in bench.seen if step.endswith("same")] == ["+same", "-same"] * 2


@run_async
async def test_at_167_serial_is_one_at_a_time() -> None:
    """AT-167: of calls that could all run together."""
    bench = GatedRuns()
    async with running_app(LOOK, default=bench.work) as on:
        await many(on, of("look", *"abc"), ordering_policy="serial")
        assert bench.seen == ["+a", "-a", "+b", "-b", "+c", "-c"]


@run_async
async def test_aml_18_retrievals_run_side_by_side() -> None:
    """AML-18: what only retrieves has no side effects, so calls of it overlap without anybody saying so."""
    file = (BASES / "lookup-order.tool.md").read_text(encoding="utf-8")
    both = asyncio.Barrier(2)

    async def find(arguments: dict[str, Any]) -> dict[str, str]:
        await both.wait()  # nobody comes further alone
        return {"state": f"{arguments['number']} is on its way"}

    async with running_app(default=find, definitions={"tools/lookup-order.tool.md": file}) as on:
        facts = on.app.catalog.versions("lookup-order")[0].tool.facts
        assert (facts.is_read_only, facts.is_concurrency_safe) == (True, True)
        calls = [("lookup-order", {"number": number}) for number in ("A-1", "A-2")]
        batch = await many(on, calls)
        assert [result.structured_content["state"][:3] for result in batch] == ["A-1", "A-2"]


# The order of what is told


@tool(name="talk", read_only=True, concurrency_safe=True)
async def talk(city: str, context: Context) -> str:
    """Says something, and waits to be let go."""
    context.progress(f"half of {city}", percent=50)
    await GATES[city].wait()
    return city


GATES: dict[str, asyncio.Event] = {}


@run_async
async def test_at_165_progress_is_told_at_once_and_results_in_turn() -> None:
    """AT-165, AT-166: the second call's progress comes before the first one's result; its result after it."""
    GATES.update(a=asyncio.Event(), b=asyncio.Event())
    told: list[str] = []
    async with running_app(talk) as on:
        async for update in on.surface.stream_many(of("talk", "a", "b")):
            told.append(f"{update.index} {update.progress.message if update.progress else 'result'}")
            if len(told) == 2:
                GATES["b"].set()
                await wait_until(lambda: len(list_calls_in_flight(on.app)) == 1)
                GATES["a"].set()
    assert sorted(told[:2]) == ["0 half of a", "1 half of b"]
    assert told[2:] == ["0 result", "1 result"]


@pytest.mark.parametrize(
    ("policy", "order"),
    [
        ({}, [0, 1]),
        ({"ordering_policy": "allow_unordered"}, [0, 1]),
        ({"yield_policy": "unordered_streaming"}, [0, 1]),
        ({"ordering_policy": "allow_unordered", "yield_policy": "unordered_streaming"}, [1, 0]),
        ({"yield_policy": "all_ordered"}, [0, 1]),
    ],
)
@run_async
async def test_at_166_results_keep_the_order_of_calls(policy: dict[str, Any], order: list[int]) -> None:
    """AT-166: unless both policies permit another; what finished first is then told first."""
    bench = GatedRuns("a")
    async with running_app(LOOK, default=bench.work) as on:
        found = []

        async def listen() -> None:
            async for update in on.surface.stream_many(ROME, **policy):
                if update.result is not None:
                    found.append(update.index)

        listening = asyncio.create_task(listen())
        await wait_until(lambda: "-b" in bench.seen)
        if order == [1, 0]:
            await wait_until(lambda: found)
        bench.open_gates()
        await listening
        assert found == order


# Siblings


@tool(name="bad", read_only=True, concurrency_safe=True)
async def bad(city: str) -> str:
    """Fails when it is told to."""
    await GATES[city].wait()
    raise ToolFailed("no")


@run_async
async def test_at_170_others_do_not_mind_a_failure() -> None:
    """AT-170: with `ignore`, which is the default."""
    GATES["x"] = asyncio.Event()
    bench = GatedRuns("a")
    async with running_app(LOOK, bad, default=bench.work) as on:
        calling = asyncio.create_task(many(on, [*of("bad", "x"), *of("look", "a")]))
        await wait_until(lambda: bench.has_begun("a"))
        GATES["x"].set()
        await wait_until(lambda: len(list_calls_in_flight(on.app)) == 1)
        bench.open_gates()
        assert [result.status for result in await calling] == ["failed", "succeeded"]


@run_async
async def test_at_171_a_failure_cancels_the_siblings() -> None:
    """AT-171, AT-173, AT-213: running and queued ones end with a result of their own that names the cause."""
    GATES["x"] = asyncio.Event()
    bench = GatedRuns("a")
    async with running_app(LOOK, ACT, bad, default=bench.work) as on:
        calls = [*of("bad", "x"), *of("look", "a"), *of("act", "queued")]
        policy = {"sibling_failure_policy": "cancel_siblings"}
        calling = asyncio.create_task(many(on, calls, **policy))
        await wait_until(lambda: bench.has_begun("a"))
        GATES["x"].set()
        batch = await calling
        assert list_endings(batch) == [
            ("failed", "execution_failed", None),
            ("synthetic_error", "sibling_canceled", "sibling_error"),
            ("synthetic_error", "sibling_canceled", "sibling_error"),
        ]
        assert len(batch) == len(calls)
        assert bench.stopped == ["a"]
        assert not bench.has_begun("queued")
        for result in batch[1:]:
            assert result.synthetic
            assert result.error is not None
            assert batch[0].invocation_id in result.error.message
            assert result.error.retry.caused_by_sibling
            assert (await on.read_record(result))["status"] == "canceled"


@run_async
async def test_at_172_only_what_depends_on_it_is_canceled() -> None:
    """AT-172: three calls, one of them dependent on the one that fails, one on that."""
    GATES["x"] = asyncio.Event()
    bench = GatedRuns("free")
    async with running_app(LOOK, bad, default=bench.work) as on:
        calls = [
            {"id": "first", "name": "bad", "arguments": {"city": "x"}},
            {"id": "second", "name": "look", "arguments": {"city": "never"}, "depends_on": ["first"]},
            {"name": "look", "arguments": {"city": "neither"}, "depends_on": ["second"]},
            {"name": "look", "arguments": {"city": "free"}},
        ]
        calling = asyncio.create_task(many(on, calls, sibling_failure_policy="cancel_dependent"))
        await wait_until(lambda: bench.has_begun("free"))
        GATES["x"].set()
        await wait_until(lambda: len(list_calls_in_flight(on.app)) == 1)
        bench.open_gates()
        batch = await calling
        assert [result.status for result in batch] == ["failed", "synthetic_error", "synthetic_error", "succeeded"]
        assert bench.seen == ["+free", "-free"]


@run_async
async def test_at_172_what_depends_on_another_comes_after_it() -> None:
    """AT-172: where nothing fails."""
    bench = GatedRuns()
    async with running_app(LOOK, default=bench.work) as on:
        calls = [
            {"name": "look", "arguments": {"city": "late"}, "depends_on": ["early"]},
            {"id": "early", "name": "look", "arguments": {"city": "early"}},
        ]
        await many(on, calls)
        assert bench.seen == ["+early", "-early", "+late", "-late"]


# Interruptions and discarded turns


@run_async
async def test_at_168_an_interruption_cancels_what_may_be_canceled() -> None:
    """AT-168, AT-169, AT-47: the one that says `cancel` is stopped; the other goes on, and the next turn waits for it."""
    bench = GatedRuns("stops", "goes on")
    stops = make_tool("stops", **SAFE, interrupt_behavior="cancel")
    async with running_app(stops, LOOK, default=bench.work) as on:
        one = asyncio.create_task(on.surface.call("stops", {"city": "stops"}))
        two = asyncio.create_task(on.surface.call("look", {"city": "goes on"}))
        await wait_until(lambda: bench.has_begun("stops", "goes on"))
        told = on.surface.interrupt("the user typed something")
        stopped = await one
        assert isinstance(stopped, Result)
        assert told == [stopped.invocation_id]
        assert (stopped.status, stopped.abort_reason) == ("canceled", "user_interruption")
        following = asyncio.create_task(on.surface.call("look", {"city": "next"}))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not bench.has_begun("next")
        bench.open_gates("goes on")
        assert not (await two).is_error
        assert not (await following).is_error
        assert bench.seen[-3:] == ["-goes on", "+next", "-next"]


@run_async
async def test_at_168_a_policy_decides_for_all_tools() -> None:
    """AT-168: where it says what an interruption does."""
    bench = GatedRuns("a")
    async with running_app(LOOK, default=bench.work, scheduler=SchedulerPolicy(interrupt_behavior="cancel")) as on:
        calling = asyncio.create_task(on.surface.call("look", {"city": "a"}))
        await wait_until(lambda: bench.has_begun("a"))
        assert on.surface.interrupt() == list_calls_in_flight(on.app)
        assert (await calling).status == "canceled"


BEGUN: list[str] = []
"""What `stubborn` was called with."""


@tool(name="stubborn", destructive=False)
async def stubborn(city: str) -> str:
    """Does not hear that it should stop."""
    BEGUN.append(city)
    waiting = asyncio.ensure_future(GATES[city].wait())
    while not waiting.done():
        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError:
            continue
    return "too late"


@run_async
async def test_at_177_what_a_discarded_call_gives_is_recorded_and_not_delivered() -> None:
    """AT-177, AT-213, AT-176: the call ends at once as discarded; its late output changes nothing."""
    GATES["x"] = asyncio.Event()
    async with running_app(stubborn) as on:
        calling = asyncio.create_task(on.surface.call("stubborn", {"city": "x"}))
        await wait_until(lambda: list_calls_in_flight(on.app))
        await wait_until(lambda: "x" in BEGUN)
        on.surface.discard(list_calls_in_flight(on.app), "the model began its turn again")
        result = await calling
        assert isinstance(result, Result)
        assert list_endings([result]) == [("discarded", "streaming_fallback_discarded", "fallback")]
        assert (await on.read_record(result))["status"] == "canceled"
        GATES["x"].set()
        late: list[Any] = []
        while not late:
            await asyncio.sleep(0.005)
            late = [row for row in await on.app.store.news_of(result.invocation_id) if row.outcome == "late_result"]
        assert "too late" in repr(late[0].inputs())
        assert await on.app.result(result.invocation_id) == result


async def synthetic(on: RunningApp, bench: GatedRuns, kind: str) -> Result:
    """The result of a call that ended without its tool's word."""
    call = on.surface.call("look", {"city": "a"}, timeout_seconds=0.05 if kind == "timeout" else None)
    if kind == "sibling_error":
        calls = [*of("bad", "x"), *of("look", "a")]
        calling = asyncio.create_task(many(on, calls, sibling_failure_policy="cancel_siblings"))
        call.close()
        await wait_until(lambda: bench.has_begun("a"))
        GATES["x"].set()
        return (await calling)[1]
    waiting = asyncio.create_task(call)
    await wait_until(lambda: bench.has_begun("a"))
    [call_id] = list_calls_in_flight(on.app)
    match kind:
        case "user_interruption":
            await on.surface.cancel(call_id)
        case "fallback":
            on.surface.discard([call_id])
        case "runtime_shutdown":
            on.app.services.live.calls[call_id].ask_to_stop(Cancel("runtime_shutdown"))
    result = await waiting
    assert isinstance(result, Result)
    return result


SYNTHETIC = {
    "user_interruption": ("canceled", "canceled"),
    "sibling_error": ("synthetic_error", "sibling_canceled"),
    "fallback": ("discarded", "streaming_fallback_discarded"),
    "timeout": ("timed_out", "timeout"),
    "runtime_shutdown": ("canceled", "canceled"),
}


@pytest.mark.parametrize("kind", SYNTHETIC)
@run_async
async def test_at_174_results_that_no_tool_gave_say_so(kind: str) -> None:
    """AT-174, AT-208: five reasons, each on the result, on the invocation and in the ledger; all of them marked."""
    GATES["x"] = asyncio.Event()
    bench = GatedRuns("a")
    async with running_app(LOOK, bad, default=bench.work) as on:
        result = await synthetic(on, bench, kind)
        assert (result.status, result.error and result.error.error_class) == SYNTHETIC[kind]
        record = result.to_record()
        assert (record["synthetic"], record["abort_reason"], record["is_error"]) == (True, kind, True)
        assert (await on.read_record(result))["abort_reason"] == kind
        assert await on.app.result(result.invocation_id) == result
        assert bench.stopped == ["a"]


@run_async
async def test_at_174_a_call_that_was_discarded_before_it_ran() -> None:
    """AT-174, AT-177: the fifth kind: it waited its turn, and no tool ever heard of it."""
    bench = GatedRuns("a")
    async with running_app(ACT, default=bench.work) as on:
        first = asyncio.create_task(on.surface.call("act", {"city": "a"}))
        await wait_until(lambda: bench.has_begun("a"))
        second = asyncio.create_task(on.surface.call("act", {"city": "b"}))
        await wait_until(lambda: len(list_calls_in_flight(on.app)) == 2)
        on.surface.discard(list_calls_in_flight(on.app)[1:])
        result = await second
        assert isinstance(result, Result)
        assert list_endings([result]) == [("discarded", "streaming_fallback_discarded", "fallback")]
        assert result.synthetic
        assert "started_at" not in await on.read_record(result)
        bench.open_gates()
        assert not (await first).is_error
        assert not bench.has_begun("b")


@run_async
async def test_a_result_that_a_tool_gave_is_not_synthetic() -> None:
    """AT-174: neither a success nor a failure of the tool's own."""
    async with running_app(script={"shop.search": [ExecutionFailed("execution_failed", "no"), "done"]}) as on:
        for result in (await on.call(), await on.call()):
            assert not result.synthetic
            assert result.abort_reason is None


@run_async
async def test_at_176_states_of_the_queue_are_states_of_the_call() -> None:
    """AT-176: queued, running and, in a batch, yielded when the result is handed over; a discarded one is canceled."""
    bench = GatedRuns("a")
    async with running_app(ACT, default=bench.work) as on:
        calling = asyncio.create_task(many(on, of("act", "a", "b")))
        await wait_until(lambda: bench.has_begun("a"))
        await wait_until(lambda: len(list_calls_in_flight(on.app)) == 2)
        states = {
            live.call.inputs.require_arguments()["city"]: live.call.state
            for live in on.app.services.live.calls.values()
        }
        assert states == {"a": "running", "b": "queued"}
        bench.open_gates()
        first, second = await calling
        assert (await on.read_states(first))[-3:] == ["running", "yielded", "succeeded"]
        assert (await on.read_states(second))[-4:] == ["queued", "running", "yielded", "succeeded"]


# Context modifiers


def setting(number: int) -> Output:
    """What a tool gives that wants the context changed."""
    return Output({"n": number}, context_modifiers=({"set": {"last": number, f"by {number}": True}},))


async def run_modifiers(policy: str, *, is_together: bool) -> tuple[dict[str, Any], list[str]]:
    """The context after two calls, and what became of their wishes."""
    facts = SAFE if is_together else {"is_destructive": False}
    begun = asyncio.Barrier(2)

    async def give(arguments: dict[str, Any]) -> Output:
        if is_together:
            await begun.wait()  # both run
            if arguments["city"] == "1":
                await asyncio.sleep(0.02)  # the first call ends last
        return setting(int(arguments["city"]))

    async with running_app(make_tool(**facts), default=give) as on:
        batch = await many(on, of("search", "1", "2"), context_modifier_policy=policy)
        outcomes = [(await on.read_story(result)).notes["context_modifiers"]["outcome"] for result in batch]
        return on.surface.context, outcomes


@run_async
async def test_at_175_changes_of_concurrent_calls_never_race() -> None:
    """AT-175, AT-118: refused where forbidden or where they overlap; deferred ones are applied in call order."""
    both = {"last": 2, "by 1": True, "by 2": True}
    assert await run_modifiers("forbid", is_together=True) == ({}, ["refused", "refused"])
    assert await run_modifiers("allow_serial_only", is_together=True) == ({}, ["refused", "refused"])
    assert await run_modifiers("defer_until_batch_complete", is_together=True) == (both, ["deferred", "deferred"])
    assert await run_modifiers("allow_serial_only", is_together=False) == (both, ["applied", "applied"])
    assert await run_modifiers("forbid", is_together=False) == ({}, ["refused", "refused"])


@run_async
async def test_at_118_what_was_set_reaches_the_tools_after_it() -> None:
    """AT-118: through their context; the caller gets a copy."""
    found: list[Any] = []

    @tool(name="peek", read_only=True)
    async def peek(context: Context) -> str:
        """Looks at the context."""
        found.append(dict(context.values))
        return "seen"

    async with running_app(ACT, peek, script={"shop.act": setting(7)}) as on:
        await on.call("act")
        on.surface.context["last"] = "changed by the caller"
        await on.call("peek", {})
        assert found == [{"last": 7, "by 7": True}]


@run_async
async def test_at_118_a_failed_call_changes_nothing() -> None:
    """AT-118: the modifiers of what a call achieved before it failed are not applied."""
    failing = ExecutionFailed("partial_failure", "half of it", output=setting(1))
    async with running_app(default=failing) as on:
        await on.call()
        assert on.surface.context == {}
