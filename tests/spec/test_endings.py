"""Every way a call may end, phase by phase, as section 6 of the digest has it: class, result status, last state; one end each.

Causes are real where there are any: limits, people, hooks, siblings, discarded turns, sizes. What only an executor can know
comes from one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from msgspec import UNSET

from ferrule.contracts.executor import ExecutionFailed, Output
from ferrule.contracts.hook import HookOutput
from ferrule.model.failure import ERROR_CLASSES
from ferrule.model.lifecycle import PHASES, TERMINAL
from ferrule.model.result import Result
from ferrule.model.scheduling import SchedulerPolicy
from ferrule.runtime.functions import ToolFailed, tool
from ferrule.testing import FakeClock
from tests.journeys.promises import check_lives
from tests.runtime.surface.surfaces import FakeReadiness
from tests.spec.gated_runs import GatedRuns, list_calls_in_flight, wait_until
from tests.spec.running_app import BERN, TRUSTED, FunctionHook, RunningApp, make_tool, run_async, running_app

DENY = TRUSTED + '[[rules]]\nid = "no"\ndecision = "deny"\ntool = "*"\nwhen = { city = "Bern" }\n'
ASK = '[[rules]]\nid = "ask"\ndecision = "ask"\ntool = "*"\nexpires = "1h"\n'
OFF = 'mode = "locked"\n'
CLOSING = ["persist_result", "emit_terminal"]


class Ending(NamedTuple):
    """How a call ends, and what brings it about."""

    phase: str
    outcome: tuple[str, str, str]
    """Error class, result status, last state."""
    parts: Mapping[str, Any] = MappingProxyType({})
    name: str = "search"
    arguments: Any = BERN
    happens: Callable[[RunningApp], Awaitable[Any]] | None = None
    """What is done in the place of a plain call."""


def checking(kind: Any) -> Any:
    """A tool whose check fails with a class of its own."""

    @tool(name="search")
    def search(city: str) -> str:
        """Searches."""
        return city

    @search.check
    def refuse(city: str) -> str | None:
        raise ToolFailed("not here", error_class=kind)

    return search


async def rejected(on: RunningApp) -> Any:
    await on.park()
    return await on.answer(False)


async def unanswered(on: RunningApp) -> Any:
    pending = await on.park()
    clock: Any = on.app._parts.clock
    clock.advance(3601)
    await on.app.calls.sweep()
    return await on.app.result(pending.invocation_id)


async def queued(on: RunningApp, stop: Callable[[RunningApp, str], Any]) -> Any:
    """A call that waits its turn behind another, and is stopped there."""
    bench = GatedRuns("first")
    on.executor._default = bench.work
    first = asyncio.ensure_future(on.surface.call("search", {"city": "first"}))
    await wait_until(lambda: bench.has_begun("first"))
    second = asyncio.ensure_future(on.surface.call("search", BERN))
    await wait_until(lambda: len(list_calls_in_flight(on.app)) == 2)
    stopped = stop(on, list_calls_in_flight(on.app)[1])
    if stopped is not None:
        await stopped
    outcome = await second
    bench.open_gates()
    await first
    return outcome


async def canceled_in_the_queue(on: RunningApp) -> Any:
    return await queued(on, lambda scene, call: scene.surface.cancel(call))


async def discarded_in_the_queue(on: RunningApp) -> Any:
    return await queued(on, lambda scene, call: scene.surface.discard([call]))


async def late_in_the_queue(on: RunningApp) -> Any:
    bench = GatedRuns("first")
    on.executor._default = bench.work
    first = asyncio.ensure_future(on.surface.call("search", {"city": "first"}))
    await wait_until(lambda: bench.has_begun("first"))
    outcome = await on.surface.call("search", BERN, timeout_seconds=0.01)
    bench.open_gates()
    await first
    return outcome


async def turned_away(on: RunningApp) -> Any:
    bench = GatedRuns("first", "second")
    on.executor._default = bench.work
    calls = [asyncio.ensure_future(on.surface.call("search", {"city": name})) for name in ("first", "second")]
    await wait_until(lambda: len(list_calls_in_flight(on.app)) == 2)
    outcome = await on.surface.call("search", BERN)
    bench.open_gates()
    await asyncio.gather(*calls)
    return outcome


async def left_with_its_sibling(on: RunningApp) -> Any:
    batch = await on.surface.call_many([("nothing", {}), ("search", BERN)], sibling_failure_policy="cancel_siblings")
    return batch[1]


async def running(on: RunningApp, stop: Callable[[RunningApp, str], Any]) -> Any:
    bench = GatedRuns("Bern")
    on.executor._default = bench.work
    task = asyncio.ensure_future(on.surface.call("search", BERN))
    await wait_until(lambda: bench.has_begun("Bern"))
    stopped = stop(on, list_calls_in_flight(on.app)[0])
    if stopped is not None:
        await stopped
    return await task


async def canceled_while_it_runs(on: RunningApp) -> Any:
    return await running(on, lambda scene, call: scene.surface.cancel(call))


async def discarded_while_it_runs(on: RunningApp) -> Any:
    return await running(on, lambda scene, call: scene.surface.discard([call]))


async def too_slow(on: RunningApp) -> Any:
    on.executor._default = GatedRuns("Bern").work
    return await on.surface.call("search", BERN, timeout_seconds=0.02)


def says(**said: Any) -> FunctionHook:
    return FunctionHook(lambda told: HookOutput(**said))


def keeps(**policy: Any) -> dict[str, Any]:
    return {"tools": (make_tool(output_contract=policy),)}


def make_ending(kind: Any, status: str = "failed", state: str = "failed", **more: Any) -> Ending:
    return Ending("execute", (kind, status, state), {"default": ExecutionFailed(kind, "it went wrong", **more)})


ENDINGS: dict[str, Ending] = {
    # 1
    "no such tool": Ending("resolve_tool", ("unknown_tool", "failed", "failed"), name="nothing"),
    "blocked by policy": Ending("resolve_tool", ("policy_blocked", "denied", "blocked"), {"policy": OFF}),
    "no credentials": Ending(
        "resolve_tool",
        ("credential_missing", "failed", "blocked"),
        {
            "tools": (make_tool(interface={"required_credentials": ["KEY"]}),),
            "readiness": FakeReadiness(missing=["KEY"]),
        },
    ),
    "not set up": Ending(
        "resolve_tool",
        ("setup_required", "failed", "blocked"),
        {"tools": (make_tool(lifecycle="requires_setup"),), "readiness": FakeReadiness(is_set_up=False)},
    ),
    # 2, 3
    "wrong arguments": Ending(
        "parse_schema", ("schema_validation_failed", "failed", "schema_parse_failed"), arguments={"city": 1}
    ),
    "not loaded": Ending(
        "check_schema_loaded",
        ("schema_not_loaded", "failed", "schema_parse_failed"),
        {"tools": (make_tool(lifecycle="deferred"),)},
    ),
    # 4
    "bad values": Ending(
        "validate_values",
        ("invalid_arguments", "failed", "validation_failed"),
        {"tools": (checking("invalid_arguments"),), "default": UNSET},
    ),
    "out of bounds": Ending(
        "validate_values",
        ("sandbox_violation", "failed", "validation_failed"),
        {"tools": (checking("sandbox_violation"),), "default": UNSET},
    ),
    **{
        f"{kind} found by a check": Ending(
            "validate_values", (kind, "failed", "blocked"), {"tools": (checking(kind),), "default": UNSET}
        )
        for kind in ("setup_required", "credential_missing", "capability_gap")
    },
    # 6
    "stopped by a hook": Ending(
        "pre_hooks", ("hook_blocked", "denied", "blocked"), {"hooks": (says(stop="not today"),)}
    ),
    "a broken hook": Ending(
        "pre_hooks", ("hook_blocked", "failed", "blocked"), {"hooks": (FunctionHook(lambda told: 1 / 0),)}
    ),
    "a hook that breaks the input": Ending(
        "pre_hooks",
        ("schema_validation_failed", "failed", "validation_failed"),
        {"hooks": (says(updated_input={"city": 1}),)},
    ),
    # 7
    "denied": Ending("permission", ("permission_denied", "denied", "denied"), {"policy": DENY}),
    "rejected": Ending("permission", ("approval_rejected", "rejected", "denied"), {"policy": ASK}, happens=rejected),
    "unanswered": Ending(
        "permission", ("timeout", "timed_out", "timed_out"), {"policy": ASK, "clock": FakeClock()}, happens=unanswered
    ),
    # 8
    "canceled in the queue": Ending("schedule", ("canceled", "canceled", "canceled"), happens=canceled_in_the_queue),
    "discarded in the queue": Ending(
        "schedule", ("streaming_fallback_discarded", "discarded", "canceled"), happens=discarded_in_the_queue
    ),
    "late in the queue": Ending("schedule", ("timeout", "timed_out", "timed_out"), happens=late_in_the_queue),
    "left with its sibling": Ending(
        "schedule", ("sibling_canceled", "synthetic_error", "canceled"), happens=left_with_its_sibling
    ),
    "turned away": Ending(
        "schedule",
        ("rate_limited", "failed", "failed"),
        {"scheduler": SchedulerPolicy(max_queued=1)},
        happens=turned_away,
    ),
    # 9
    "failed": make_ending("execution_failed"),
    "unavailable": make_ending("dependency_unavailable"),
    "too often": make_ending("rate_limited", retry_after=3.0),
    "outside its sandbox": make_ending("sandbox_violation"),
    "without its key": make_ending("credential_missing"),
    "partly done": make_ending("partial_failure", "partial_succeeded", "succeeded", output=Output({"half": 1})),
    "too slow": Ending("execute", ("timeout", "timed_out", "timed_out"), happens=too_slow),
    "canceled": Ending("execute", ("canceled", "canceled", "canceled"), happens=canceled_while_it_runs),
    "discarded": Ending(
        "execute", ("streaming_fallback_discarded", "discarded", "canceled"), happens=discarded_while_it_runs
    ),
    # 10
    "not what its schema says": Ending(
        "map_result",
        ("execution_failed", "failed", "failed"),
        {"tools": (make_tool(output_schema={"type": "object"}),)},
    ),
    # 11
    "a broken post hook": Ending(
        "post_hooks",
        ("partial_failure", "partial_succeeded", "succeeded"),
        {"hooks": (FunctionHook(lambda told: 1 / 0, "post_tool_use"),)},
    ),
    "withheld by a post hook": Ending(
        "post_hooks",
        ("hook_blocked", "failed", "failed"),
        {"hooks": (FunctionHook(lambda told: HookOutput(stop="not this"), "post_tool_use"),)},
    ),
    # 12
    "too large": Ending(
        "persist_result",
        ("result_too_large", "too_large", "failed"),
        keeps(persistence_policy={"strategy": "drop_with_reason"}, max_inline_chars=2),
    ),
    "withheld": Ending(
        "persist_result",
        ("result_redacted", "redacted", "succeeded"),
        keeps(persistence_policy={"strategy": "redact"}),
    ),
}


@pytest.mark.parametrize("case", ENDINGS)
@run_async
async def test_at_105_every_ending_is_the_digests(case: str) -> None:
    """AT-104, AT-105, AT-102, AT-178, AT-214, AT-239, AT-240: class, status and state; one result, on record, as told."""
    ending = ENDINGS[case]
    parts = dict(ending.parts)
    async with running_app(*parts.pop("tools", ()), **parts) as on:
        if ending.happens is None:
            outcome: Any = await on.surface.call(ending.name, ending.arguments)
        else:
            outcome = await ending.happens(on)
        assert isinstance(outcome, Result) and outcome.error is not None
        record = await on.read_record(outcome)
        assert (outcome.error.error_class, outcome.status, record["status"]) == ending.outcome
        assert outcome.is_error and outcome.error.message
        await on.app.store.flush()
        check_lives(await on.app.store.rows_after(0, 10_000))
        assert len([move for move in record["status_transitions"] if move["to"] in TERMINAL]) == 1
        told_again = await on.app.result(outcome.invocation_id)
        assert isinstance(told_again, Result) and (told_again.status, told_again.error) == (
            outcome.status,
            outcome.error,
        )
        has_run = PHASES.index(ending.phase) >= PHASES.index("execute")
        assert (record.get("started_at") is not None) == has_run
        trace = await on.read_phases(outcome)
        assert trace[-2:] == CLOSING
        if not has_run:
            assert trace[:-2] == list(PHASES[: len(trace) - 2]), "phases run in order, and none after the failure"
        stopped = outcome.status in ("canceled", "synthetic_error", "discarded") or "late" in case or case == "too slow"
        assert (outcome.abort_reason is not None) == stopped == outcome.synthetic


def test_at_239_all_classes_but_those_of_mistakes_are_in_the_table() -> None:
    """AT-239: each of the 22 classes has a row."""
    reached = {ending.outcome[0] for ending in ENDINGS.values()}
    assert reached == set(ERROR_CLASSES)
