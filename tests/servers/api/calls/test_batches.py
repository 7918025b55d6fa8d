"""Batches over HTTP."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from ferrule.model.serving import LimitSettings
from ferrule.servers.asgi import HttpRequest, HttpStream
from tests.driven import driven
from tests.servers.api.api import api, gates


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
async def test_news_of_a_batch_end_when_their_reader_has_waited_enough(tmp_path: Path) -> None:
    async with api(tmp_path, limits=LimitSettings(calls_at_once=1)) as here:
        gates["one"] = asyncio.Event()
        body = {"calls": [{"tool": "steps", "arguments": {"gate": "one"}}]}
        reply = await here.ask("ada", "POST", "/v1/batches", body, Accept="text/event-stream", Prefer="wait=0")
        first, *_, last = reply.events()
        assert (first["event"], last["event"]) == ("batch", "waiting")
        assert len(json.loads(last["data"])["states"]) == 1
        gates["one"].set()
        assert (await here.call("ada", "add", {"a": 1, "b": 1})).status == 200, "the place of the batch is free again"


@driven
async def test_a_batch_whose_stream_nobody_reads_gives_its_place_back(tmp_path: Path) -> None:
    async with api(tmp_path, limits=LimitSettings(calls_at_once=1)) as here:
        body = {"calls": [{"tool": "add", "arguments": {"a": 1, "b": 1}}]}
        said = here.headers(
            "ada", {"Accept": "text/event-stream", "Content-Type": "application/json", "Host": "localhost"}
        )

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": json.dumps(body).encode()}

        headers = [(name.lower().encode(), value.encode()) for name, value in said.items()]
        scope = {"type": "http", "method": "POST", "path": "/v1/batches", "headers": headers}
        unread = await here.stand.respond(HttpRequest(scope, receive))
        assert isinstance(unread, HttpStream)
        await unread.source.aclose()  # type: ignore[attr-defined]  # it is a generator
        assert (await here.call("ada", "add", {"a": 1, "b": 1})).status == 200


@driven
async def test_a_batch_that_can_never_pass_is_told_so(tmp_path: Path) -> None:
    async with api(tmp_path, limits=LimitSettings(calls_per_minute=3)) as here:
        call = {"tool": "add", "arguments": {"a": 1, "b": 1}}
        reply = await here.ask("ada", "POST", "/v1/batches", {"calls": [call] * 4})
        assert (reply.status, reply.json()["code"]) == (409, "batch_too_large")
        assert "retry-after" not in reply.headers
        assert (await here.ask("ada", "POST", "/v1/batches", {"calls": [call] * 3})).status == 200
        assert (await here.ask("ada", "POST", "/v1/batches", {"calls": [call] * 3})).status == 429


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
