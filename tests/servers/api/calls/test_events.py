"""Calls as events: progress while it happens, streams that are taken up again, and streams that end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from ferrule.model.serving import LimitSettings
from tests.driven import driven
from tests.servers.api.api import api, gates

EVENTS = "text/event-stream"


@driven
async def test_progress_comes_while_the_call_runs(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        gates["one"] = asyncio.Event()
        stream = here.open("ada", "POST", "/v1/calls", {"tool": "steps", "arguments": {"gate": "one"}}, Accept=EVENTS)
        assert await stream.wait_for_status() == 200
        assert stream.headers["content-type"] == EVENTS
        first = await stream.read_event()
        assert first is not None
        assert first["event"] == "call"
        assert stream.headers["content-location"].endswith(json.loads(first["data"])["invocation_id"])
        messages = []
        while (event := await stream.read_event()) is not None:
            if event["event"] == "progress":
                messages.append(json.loads(event["data"]).get("message"))
            if messages[-1:] == ["half"]:
                gates["one"].set()
            last = event
        assert [message for message in messages if message] == ["begun", "half", "nearly"]
        assert (last["event"], last["id"]) == ("result", "end")
        assert json.loads(last["data"])["result"]["content"][0]["text"] == "done"


@driven
async def test_a_broken_stream_is_taken_up_where_it_broke(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        gates["one"] = asyncio.Event()
        stream = here.open("ada", "POST", "/v1/calls", {"tool": "steps", "arguments": {"gate": "one"}}, Accept=EVENTS)
        await stream.wait_for_status()
        first = await stream.read_event()
        assert first is not None
        path = json.loads(first["data"])["events"]
        seen = [event for _ in range(2) if (event := await stream.read_event()) is not None]
        await stream.leave()
        gates["one"].set()
        rest = (await here.ask("ada", "GET", path, Last_Event_ID=seen[-1]["id"])).events()
        whole = (await here.ask("ada", "GET", path)).events()
        assert [event["id"] for event in seen + rest] == [event["id"] for event in whole]
        assert len({event["id"] for event in whole}) == len(whole)
        assert rest[-1]["id"] == "end"
        assert (await here.ask("ada", "GET", path, Last_Event_ID="end")).status == 204


@driven
async def test_a_stream_goes_on_while_a_person_is_asked(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        stream = here.open("ada", "POST", "/v1/calls", {"tool": "pay", "arguments": {"amount": 3}}, Accept=EVENTS)
        await stream.wait_for_status()
        while (event := await stream.read_event()) is not None and event["event"] != "waiting":
            pass
        assert event is not None
        state = json.loads(event["data"])
        assert state["state"] == "awaiting_approval"
        await here.ask("amy", "POST", f"/v1/approvals/{state['invocation_id']}/approve")
        while (event := await stream.read_event()) is not None:
            last = event
        assert json.loads(last["data"])["result"]["content"][0]["text"] == "paid 3"


@driven
async def test_a_stream_is_no_longer_than_its_reader_wants_to_wait(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for wait in ("wait=0", "wait=1"):
            reply = await here.call("ada", "pay", {"amount": 3}, Accept=EVENTS, Prefer=wait)
            assert reply.headers["preference-applied"] == wait
            events = reply.events()
            assert (events[0]["event"], events[-1]["event"]) == ("call", "waiting")
        assert json.loads(events[-1]["data"])["state"] == "awaiting_approval"
        gates["one"] = asyncio.Event()
        running = (await here.call("ada", "steps", {"gate": "one"}, Accept=EVENTS, Prefer="wait=1")).events()[-1]
        assert (running["event"], json.loads(running["data"])["state"]) == ("waiting", "running")
        gates["one"].set()
        call = json.loads(running["data"])["invocation_id"]
        assert (await here.ask("ada", "GET", f"/v1/calls/{call}/events")).events()[-1]["event"] == "result"
        quick = (await here.call("ada", "add", {"a": 1, "b": 1}, Accept=EVENTS, Prefer="wait=20")).events()
        assert quick[-1]["event"] == "result"


@driven
async def test_refused_calls_are_told_as_events_too(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        body = {"tool": "secret_tool"}
        events = (await here.ask("ada", "POST", "/v1/calls", body, Accept=EVENTS)).events()
        assert events[-1]["event"] == "result"
        assert json.loads(events[-1]["data"])["result"]["error"]["error_code"] == "tool_not_found"


@driven
async def test_nobody_holds_more_streams_than_may_be(tmp_path: Path) -> None:
    async with api(tmp_path, limits=LimitSettings(streams=2)) as here:
        gates["one"] = asyncio.Event()
        call = await here.called("ada", "steps", {"gate": "one"}, Prefer="respond-async")
        path = f"/v1/calls/{call}/events"
        streams = [here.open("ada", "GET", path) for _ in range(2)]
        for stream in streams:
            await stream.wait_for_status()
            assert await stream.read_event() is not None
        third = await here.ask("ada", "GET", path)
        assert (third.status, third.json()["code"]) == (429, "too_many_streams")
        assert int(third.headers["retry-after"]) > 0
        body = {"tool": "add", "arguments": {"a": 1, "b": 2}}
        assert (await here.ask("ada", "POST", "/v1/calls", body, Accept=EVENTS)).status == 429
        await streams[0].leave()
        gates["one"].set()
        assert (await here.ask("ada", "GET", path)).status == 200
        await streams[1].leave()


@driven
async def test_streams_end_when_the_server_does(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        gates["one"] = asyncio.Event()
        call = await here.called("ada", "steps", {"gate": "one"}, Prefer="respond-async")
        stream = here.open("ada", "GET", f"/v1/calls/{call}/events")
        await stream.wait_for_status()
        assert await stream.read_event() is not None
        await here.stand.edge.aclose()
        while await stream.read_event() is not None:
            pass
        gates["one"].set()


@driven
async def test_a_number_that_cannot_be_an_event_is_refused(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "add", {"a": 1, "b": 2})
        for wrong in ("-1", "x", "1e9", "9" * 30):
            reply = await here.ask("ada", "GET", f"/v1/calls/{call}/events", Last_Event_ID=wrong)
            assert (reply.status, reply.json()["code"]) == (400, "invalid_header")
