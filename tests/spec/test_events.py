"""Events: what is told, in which order, and that it is enough to know what happened: AT-252 to AT-275."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ferrule.contracts.executor import Context, ExecutionFailed
from ferrule.contracts.hook import HookOutput
from ferrule.ledger.history.replay import replay_events
from ferrule.model.event import STANDARD_EVENT_TYPES, TERMINAL_EVENT_TYPES
from ferrule.model.result import Pending
from ferrule.runtime.functions import tool
from ferrule.testing import RecordingSink
from tests.spec.gated_runs import GatedRuns, list_calls_in_flight, wait_until
from tests.spec.running_app import BERN, TRUSTED, FunctionHook, assert_required, make_tool, run_async, running_app

DENY = TRUSTED + '[[rules]]\nid = "never"\ndecision = "deny"\ntool = "search"\nwhen = { city = "Bern" }\n'
HOOKS = (
    FunctionHook(lambda told: HookOutput(updated_input={"city": "Basel"})),
    FunctionHook(lambda told: None, "post_tool_use"),
)
SCENARIOS: dict[str, dict[str, Any]] = {
    "success": {},
    "read-only": {"tools": (make_tool(is_read_only=True),)},
    "hooks": {"hooks": HOOKS},
    "unknown tool": {"name": "nothing"},
    "bad arguments": {"arguments": {}},
    "not loaded": {"tools": (make_tool(lifecycle="deferred"),)},
    "blocked": {"tools": (make_tool(lifecycle="disabled"),)},
    "denied": {"policy": DENY},
    "failed": {"default": ExecutionFailed("execution_failed", "no")},
    "timed out": {"default": ExecutionFailed("timeout", "no")},
    "canceled": {"default": ExecutionFailed("canceled", "no")},
    "approved": {"policy": "", "verdict": True},
    "edited": {"policy": "", "verdict": {"city": "Rome"}},
    "rejected": {"policy": "", "verdict": False},
    "waiting": {"policy": ""},
}
ENDS = {
    "success": "succeeded", "read-only": "succeeded", "hooks": "succeeded", "unknown tool": "failed",
    "bad arguments": "validation_failed", "not loaded": "validation_failed", "blocked": "failed", "denied": "failed",
    "failed": "failed", "timed out": "timed_out", "canceled": "canceled", "approved": "succeeded",
    "edited": "succeeded", "rejected": "failed",
}  # fmt: skip


async def played_out(case: str) -> tuple[Any, list[Any], dict[str, Any]]:
    """The outcome, the events and the record of one scenario."""
    parts = dict(SCENARIOS[case])
    name, arguments, verdict = parts.pop("name", "search"), parts.pop("arguments", BERN), parts.pop("verdict", None)
    async with running_app(*parts.pop("tools", ()), **parts) as on:
        outcome: Any = await on.surface.call(name, arguments, native_call_id="n1")
        if isinstance(outcome, Pending) and verdict is not None:
            outcome = await on.answer(verdict)
        return outcome, await on.read_events(outcome), await on.read_record(outcome)


@pytest.mark.parametrize("case", SCENARIOS)
@run_async
async def test_at_265_events_are_whole_and_belong_to_their_call(case: str) -> None:
    """AT-265, AT-267: five fields, ids of their own, invocation and tool on each."""
    outcome, events, record = await played_out(case)
    for event in events:
        told = event.to_record()
        assert_required("event", told)
        assert told["invocation_id"] == outcome.invocation_id
        assert told["tool_id"] == record["tool_id"]
    assert len({event.event_id for event in events}) == len(events)


@pytest.mark.parametrize("case", SCENARIOS)
@run_async
async def test_at_268_events_follow_the_states(case: str) -> None:
    """AT-268: their transitions, in order, are those of the record; times never go back."""
    _, events, record = await played_out(case)
    told = [move["to"] for event in events for move in event.data.get("transitions", ())]
    assert told == [move["to"] for move in record["status_transitions"]]
    times = [event.time for event in events]
    assert times == sorted(times)


@pytest.mark.parametrize("case", ENDS)
@run_async
async def test_at_269_one_end_and_one_result(case: str) -> None:
    """AT-269, AT-270, AT-113: of every call, early failures included; the result is told first, both name the same one."""
    outcome, events, _ = await played_out(case)
    types = [event.event_type for event in events]
    ends = [event for event in events if event.event_type in TERMINAL_EVENT_TYPES]
    assert [event.event_type for event in ends] == [f"tool.invocation.{ENDS[case]}"]
    assert types.count("tool.result.created") == 1
    assert types[-2:] == ["tool.result.created", ends[0].event_type]
    assert events[-2].data["result_id"] == events[-1].data["result_id"] == outcome.result_id
    assert types[0] == "tool.invocation.planned"
    if outcome.error is not None:
        assert events[-1].data["error_class"] == outcome.error.error_class


@run_async
async def test_at_269_a_waiting_call_has_no_end() -> None:
    """AT-269"""
    _, events, _ = await played_out("waiting")
    types = [event.event_type for event in events]
    assert "tool.permission.requested" in types
    assert not {*types} & {*TERMINAL_EVENT_TYPES, "tool.result.created"}


@tool(name="long", read_only=True)
async def long(context: Context) -> str:
    """Says how far it is, gives a part, and a lot in the end."""
    context.progress("half", percent=50)
    context.partial("a part")
    await asyncio.sleep(0)
    return "x" * 100_000


async def told_over_time() -> set[str]:
    """What is told of calls that queue, make progress, are yielded, stored, redacted and stopped."""
    withheld = make_tool("withheld", output_contract={"persistence_policy": {"strategy": "redact"}})
    bench = GatedRuns("Bern")
    async with running_app(make_tool("act"), withheld, long, default=bench.work) as on:
        calls = [("act", BERN), ("act", {"city": "Rome"}), ("long", {}), ("withheld", {"city": "Rome"})]
        calling = asyncio.create_task(on.surface.call_many(calls))
        await wait_until(lambda: len(list_calls_in_flight(on.app)) == 4)
        await on.surface.cancel(list_calls_in_flight(on.app)[1])
        bench.open_gates()
        await calling
        late = await on.call("act", {"city": "Rome"})
        await on.surface.cancel(late.invocation_id)
        return {event.event_type for event in await on.read_events()}


@run_async
async def test_at_266_every_class_is_told_somewhere() -> None:
    """AT-266: all 27, over calls, hooks, questions, surfaces, search and catalogs; and the project's own beside them."""
    told = await told_over_time()
    for case in SCENARIOS:
        told |= {event.event_type for event in (await played_out(case))[1]}
    async with running_app(make_tool(lifecycle="deferred")) as on:
        await on.surface.search("select:search")
        await on.app.disable("shop.search", by="olga")
        await on.surface.refresh()
        told |= {event.event_type for event in await on.read_events()}
    assert len(STANDARD_EVENT_TYPES) == 27
    assert not set(STANDARD_EVENT_TYPES) - told
    assert {
        "tool.invocation.cancel_requested", "tool.invocation.cancel_acknowledged", "tool.invocation.cancel_failed",
        "tool.input.mutated",
    } <= told  # fmt: skip


@run_async
async def test_at_273_events_are_enough_to_know_what_happened() -> None:
    """AT-273, AT-272: exported and read again, with kinds nobody knows among them; the same end, states and decisions."""
    for case in SCENARIOS:
        outcome, events, record = await played_out(case)
        records = json.loads(json.dumps([event.to_record() for event in events]))
        strange = {"event_type": "tool.dreamt", "invocation_id": outcome.invocation_id, "data": {"of": "sheep"}}
        found = replay_events([strange, *records])[outcome.invocation_id]
        assert found.status == record["status"]
        assert [to for _, to, _ in found.transitions] == [move["to"] for move in record["status_transitions"]]
        if not isinstance(outcome, Pending):
            assert (found.result_id, found.result_status) == (outcome.result_id, outcome.status)


@run_async
async def test_at_273_a_sink_gets_what_the_ledger_says() -> None:
    """AT-273, AT-265: the same events, in order, once."""
    sink = RecordingSink()
    async with running_app(sinks=[sink]) as on:
        await on.call()
        await on.call("nothing")
        expected = [event.event_id for event in await on.read_events()]
    assert [event.event_id for event in sink.events] == expected


@run_async
async def test_at_252_the_event_log_alone_tells_what_ran_and_why() -> None:
    """AT-252, AT-255: which tool and native id, whose call, under which decision and policy, with what outcome."""
    mapping = [{"source": "mcp", "server_id": "files", "tool_name": "grep"}]
    async with running_app(make_tool(external_mappings=mapping), policy=DENY, caller={"run_id": "run-7"}) as on:
        result = await on.call("search", {"city": "Rome"}, native_call_id="toolu_9")
        told = {event.event_type: event.data for event in await on.read_events(result)}
        planned, decided = told["tool.invocation.planned"], told["tool.permission.decided"]
        assert planned["native_call_id"] == "toolu_9"
        assert list(planned["external_mappings"]) == mapping
        assert (planned["principal"], planned["run_id"]) == ("ada", "run-7")
        assert planned["tool_digest"] and planned["catalog_digest"] and planned["policy_digest"]
        assert decided["behavior"] == "allow"
        assert decided["policy_refs"]
        assert told["tool.result.created"]["status"] == "succeeded"


@pytest.mark.parametrize("level", ["none", "standard", "full"])
@run_async
async def test_aml_107_levels_of_telling(level: str) -> None:
    """AML-107, AT-253: none tells nothing, standard names tools and outcomes, full adds arguments and results, masked."""
    contract = {"sensitive_fields": ["pin"]}
    schema = {"type": "object", "properties": {"city": {"type": "string"}, "pin": {"type": "string"}}}
    async with running_app(make_tool(schema=schema, input_contract=contract), default={"found": "Aare"}) as on:
        result = await on.call("search", {"city": "Thun", "pin": "pin-of-ann"})
        told = json.dumps([event.to_record() for event in await on.read_events(result, level)])
        assert ("shop.search" in told) is (level != "none")
        assert ("Thun" in told) is (level == "full")
        assert ("Aare" in told) is (level == "full")
        assert "pin-of-ann" not in told


@run_async
async def test_at_259_both_ids_of_a_call_are_kept() -> None:
    """AT-259: the caller's and ours, and they differ."""
    _, _, record = await played_out("success")
    assert record["native_call_id"] == "n1"
    assert record["invocation_id"] != "n1"


@run_async
async def test_events_of_a_refused_call_say_as_much_as_of_a_successful_one() -> None:
    """AT-270, AT-143: who, what, which rule, which error."""
    _, events, _ = await played_out("denied")
    told = {event.event_type: event.data for event in events}
    assert told["tool.permission.decided"]["rule_refs"] == ["never"]
    assert told["tool.invocation.failed"]["error_class"] == "permission_denied"
    assert told["tool.invocation.failed"]["status"] == "denied"
