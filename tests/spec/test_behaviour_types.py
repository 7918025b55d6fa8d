"""AML section 3: what the four types of tools mean for their calls, with a real system behind them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import ferrule
from ferrule.errors import InboxError
from ferrule.model.result import Pending, Result
from ferrule.model.upstreams import CacheUpstreams
from ferrule.settings import NetworkSettings, Settings
from tests.runtime.executors.human.human_tool import person
from tests.runtime.executors.rest.server import Seen, Wire, answer, json_answer, serving
from tests.spec.aml_app import rest_transport, running_aml_app, tool_file
from tests.spec.running_app import run_async

FINE = json_answer({"ok": True})
BERN = {"city": "Bern"}
KEEPING = Settings(network=NetworkSettings(allow=("127.0.0.1",)), cache=CacheUpstreams(ttl_seconds=60))
VERDICT = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["pay", "refuse"], "description": "What to do."}},
    "required": ["verdict"],
}


@run_async
async def test_aml_18_a_retrieval_may_be_answered_from_memory_where_the_settings_say_so() -> None:
    """AML-18, AML-19: the same question once; another one, an action, and everything without the setting, each time."""
    async with serving(FINE) as server:
        files = {
            **tool_file("look", rest_transport(server.url)),
            **tool_file("pay", rest_transport(server.url), kind="action"),
        }
        async with running_aml_app(files, settings=KEEPING) as running:
            for _ in range(2):
                assert (await running.call("look", BERN)).structured_content == {"ok": True}
            assert len(server.seen) == 1
            await running.call("look", {"city": "Rome"})
            assert len(server.seen) == 2
            for _ in range(2):
                await running.call("pay", BERN)
            assert len(server.seen) == 4
        async with running_aml_app(files) as running:
            for _ in range(2):
                await running.call("look", BERN)
        assert len(server.seen) == 6


@run_async
async def test_aml_18_retrievals_run_side_by_side() -> None:
    """AML-18: the server answers none of them before all are there."""
    together = asyncio.Barrier(3)

    async def waits(seen: Seen, wire: Wire) -> bytes:
        await together.wait()
        return FINE

    async with (
        serving(waits) as server,
        running_aml_app(tool_file("look", rest_transport(server.url))) as running,
    ):
        results = await asyncio.gather(*(running.call("look", {"city": city}) for city in ("Bern", "Rome", "Oslo")))
        assert [result.status for result in results] == ["succeeded"] * 3


@ferrule.tool("add-up")
def add_up(one: int, other: int) -> dict[str, int]:
    """Adds."""
    return {"sum": one + other}


@run_async
async def test_aml_20_a_function_without_a_transport_is_the_function_bound_to_it() -> None:
    """AML-20: it runs here; while nothing is bound to it, the refusal says so."""
    numbers: dict[str, Any] = {
        "type": "object",
        "properties": {"one": {"type": "integer"}, "other": {"type": "integer"}},
    }
    numbers["required"] = ["one", "other"]
    files = tool_file("add-up", None, kind="function", takes=numbers)
    async with running_aml_app(files, tools=[add_up]) as running:
        assert (await running.call("add-up", {"one": 2, "other": 3})).structured_content == {"sum": 5}
    async with running_aml_app(files) as running:
        result = await running.call("add-up", {"one": 2, "other": 3})
        assert result.error is not None
        assert result.error.error_class in ("setup_required", "capability_gap")


@run_async
async def test_aml_20_a_function_with_a_transport_is_called_there() -> None:
    """AML-20, AML-22: its transport counts like any other."""
    async with (
        serving(json_answer({"sum": 5})) as server,
        running_aml_app(tool_file("add-up", rest_transport(server.url), kind="function")) as running,
    ):
        assert (await running.call("add-up", BERN)).structured_content == {"sum": 5}
        assert [json.loads(seen.body) for seen in server.seen] == [BERN]


@run_async
async def test_aml_21_a_run_pauses_for_a_person_and_goes_on_with_the_answer() -> None:
    """AML-21: the desk behind the transport hears of it once; what fits no form is no answer."""
    async with serving(answer(201)) as server:
        files = tool_file("review", rest_transport(server.url, "POST /tasks"), kind="human", gives=VERDICT)
        async with running_aml_app(files) as running:
            pending = await running.surface.call("review", BERN)
            assert isinstance(pending, Pending)
            assert (await running.read_record(pending))["status"] not in ("succeeded", "failed")
            (task,) = server.seen
            assert json.loads(task.body)["input"] == BERN
            ben = person(running.app, "ben")
            with pytest.raises(InboxError):
                await ben.answer(pending.invocation_id, {"verdict": "perhaps"})
            result = (await ben.answer(pending.invocation_id, {"verdict": "pay"})).result
            assert isinstance(result, Result)
            assert result.structured_content == {"verdict": "pay"}
            assert len(server.seen) == 1


@run_async
async def test_aml_17_approvals_and_limits_of_the_file_hold_for_its_transport() -> None:
    """AML-17, AML-102, AML-103: nothing is sent before a person said yes, and nothing beyond the limit."""
    async with serving(FINE) as server:
        files = {
            **tool_file("pay", rest_transport(server.url), kind="action", approval_required=True),
            **tool_file("look", rest_transport(server.url), max_calls_per_run=1),
        }
        async with running_aml_app(files) as running:
            assert isinstance(await running.surface.call("pay", BERN), Pending)
            assert server.seen == []
            assert (await running.answer()).status == "succeeded"
            assert len(server.seen) == 1
            await running.call("look", BERN)
            refused = await running.call("look", BERN)
            assert (refused.error and refused.error.error_code) == "call_limit_reached"
            assert len(server.seen) == 2
