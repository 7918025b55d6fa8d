"""Batches over HTTP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.driven import driven
from tests.servers.http.api import api, gates


@driven
async def test_results_come_in_call_order_each_for_itself(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        calls = [
            {"tool": "add", "arguments": {"a": 1, "b": 1}, "id": "first"},
            {"tool": "secret_tool"},
            {"tool": "add", "arguments": {"a": 2, "b": 2}, "depends_on": ["first", 1]},
            {"tool": "add", "arguments": {"a": "x"}},
        ]
        reply = await here.ask("ada", "POST", "/v1/batches", {"calls": calls})
        states = reply.json()["calls"]
        assert reply.status == 200
        assert [state["result"]["is_error"] for state in states] == [False, True, False, True]
        assert states[1]["result"]["error"]["error_code"] == "tool_not_found"
        assert states[2]["result"]["structured_content"] == {"sum": 4}


@driven
async def test_a_batch_that_is_not_waited_for_names_its_calls(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        gates["one"] = asyncio.Event()
        calls = [{"tool": "steps", "arguments": {"gate": "one"}}, {"tool": "pay", "arguments": {"amount": 1}}]
        reply = await here.ask("ada", "POST", "/v1/batches", {"calls": calls}, Prefer="respond-async")
        assert (reply.status, reply.json()["is_pending"]) == (202, True)
        gates["one"].set()
        first = reply.json()["calls"][0]["invocation_id"]
        assert (await here.ask("ada", "GET", f"/v1/calls/{first}", Prefer="wait=20")).json()["state"] == "succeeded"


@driven
async def test_a_failure_cancels_others_when_the_batch_says_so(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        gates["one"] = asyncio.Event()
        calls = [{"tool": "fail"}, {"tool": "steps", "arguments": {"gate": "one"}}]
        body = {"calls": calls, "sibling_failure_policy": "cancel_siblings"}
        states = (await here.ask("ada", "POST", "/v1/batches", body)).json()["calls"]
        assert states[1]["result"]["error"]["error_class"] == "sibling_canceled"


@driven
async def test_news_of_a_batch_come_as_events(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        calls = [{"tool": "add", "arguments": {"a": 1, "b": 1}}, {"tool": "pay", "arguments": {"amount": 1}}]
        events = (await here.ask("ada", "POST", "/v1/batches", {"calls": calls}, Accept="text/event-stream")).events()
        kinds = [event["event"] for event in events if event["event"] != "progress"]
        assert kinds == ["batch", "result", "waiting", "end"]
        assert json.loads(events[0]["data"])["calls"][0].startswith("inv_")


@driven
async def test_a_batch_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        nonsense = [
            [{"tool": "add", "depends_on": ["nobody"]}],
            [{"tool": "add", "id": "a", "depends_on": ["b"]}, {"tool": "add", "id": "b", "depends_on": ["a"]}],
            [{"tool": "add", "id": "a"}, {"tool": "add", "id": "a"}],
        ]
        for calls in nonsense:
            reply = await here.ask("ada", "POST", "/v1/batches", {"calls": calls})
            assert (reply.status, reply.json()["code"]) == (409, "batch_refused")
        wrong: tuple[dict[str, Any], ...] = (
            {"calls": []},
            {"calls": [{"tool": "add"}] * 201},
            {"calls": [{"name": "add"}]},
        )
        for body in wrong:
            assert (await here.ask("ada", "POST", "/v1/batches", body)).status == 400
        assert (await here.ask("ada", "GET", "/v1/invocations")).json()["items"] == []
