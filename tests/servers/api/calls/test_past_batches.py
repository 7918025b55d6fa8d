"""Looking back at batches over HTTP, and at what is under way of one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ferrule.servers.api.calls import past_batches
from tests.driven import driven
from tests.servers.api.api import Api, api, gates

GONE = "bat_00000000000000000000dead"


def adding(count: int) -> list[dict[str, Any]]:
    return [{"tool": "add", "arguments": {"a": number, "b": 0}} for number in range(count)]


async def made(here: Api, who: str, calls: list[dict[str, Any]], **more: Any) -> str:
    return str((await here.ask(who, "POST", "/v1/batches", {"calls": calls, **more})).json()["batch_id"])


async def until_running(here: Api, who: str, batch_id: str, count: int) -> dict[str, Any]:
    """A batch as soon as so many of its calls run."""
    while True:
        batch: dict[str, Any] = (await here.ask(who, "GET", f"/v1/batches/{batch_id}")).json()
        if sum(call["call"]["status"] == "running" for call in batch["calls"]) >= count:
            return batch
        await asyncio.sleep(0.01)


@driven
async def test_batches_are_listed_newest_first_in_pages(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        batches = [await made(here, "ada", adding(3)) for _ in range(5)]
        await here.called("ada", "add", {"a": 1, "b": 1})
        await made(here, "bob", adding(2))
        first = (await here.ask("ada", "GET", "/v1/batches?limit=2")).json()
        found, address = [one["batch_id"] for one in first["items"]], first["next"]
        assert [(one["size"], one["known"], one["is_over"]) for one in first["items"]] == [(3, 3, True)] * 2
        assert first["items"][0]["standings"] == {"succeeded": 3}
        assert first["items"][0]["tools"] == {"add": 3}
        while address:
            page = (await here.ask("ada", "GET", address)).json()
            found += [one["batch_id"] for one in page["items"]]
            address = page["next"]
        assert found == batches[::-1]
        assert len((await here.ask("oda", "GET", "/v1/batches")).json()["items"]) == 6


@driven
async def test_a_batch_that_goes_on_over_a_page_is_told_once(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        gates["one"] = asyncio.Event()
        slow = [*adding(2), {"tool": "steps", "arguments": {"gate": "one"}}]
        reply = await here.ask("ada", "POST", "/v1/batches", {"calls": slow}, Prefer="respond-async")
        long = reply.json()["batch_id"]
        await until_running(here, "ada", long, 1)
        quick = await made(here, "bob", adding(2))
        gates["one"].set()
        call = reply.json()["calls"][2]["invocation_id"]
        await here.ask("ada", "GET", f"/v1/calls/{call}", Prefer="wait=20")
        first = (await here.ask("oda", "GET", "/v1/batches?limit=1")).json()
        second = (await here.ask("oda", "GET", first["next"])).json()
        assert [one["batch_id"] for page in (first, second) for one in page["items"]].count(long) == 1
        assert {one["batch_id"] for page in (first, second) for one in page["items"]} == {long, quick}


@driven
async def test_one_batch_is_told_with_its_calls_in_order(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        calls = [
            {"tool": "add", "arguments": {"a": 1, "b": 1}, "id": "first"},
            {"tool": "pay", "arguments": {"amount": 5}},
            {"tool": "add", "arguments": {"a": 2, "b": 2}, "depends_on": ["first"]},
        ]
        batch_id = await made(here, "ada", calls, sibling_failure_policy="cancel_dependent")
        batch = (await here.ask("ada", "GET", f"/v1/batches/{batch_id}")).json()
        ids = [call["call"]["invocation_id"] for call in batch["calls"]]
        assert [call["index"] for call in batch["calls"]] == [0, 1, 2]
        assert [call["call"]["standing"] for call in batch["calls"]] == ["succeeded", "waiting", "succeeded"]
        assert batch["calls"][2]["depends_on"] == [ids[0]]
        assert [call["is_read_only"] for call in batch["calls"]] == [True, False, True]
        assert batch["calls"][0]["states"][-1]["state"] == "succeeded"
        assert batch["sibling_failure_policy"] == "cancel_dependent"
        assert not batch["brief"]["is_over"]
        await here.ask("amy", "POST", f"/v1/approvals/{ids[1]}/reject", {"reason": "no"})
        over = await here.ask("ada", "GET", f"/v1/batches/{batch_id}")
        assert over.json()["brief"]["standings"] == {"succeeded": 2, "refused": 1}
        assert over.json()["brief"]["duration_ms"] > 0


@driven
async def test_a_batch_of_somebody_else_is_not_there(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        batch_id = await made(here, "ada", adding(2))
        for method, tail in (("GET", ""), ("POST", "/cancel")):
            absent = await here.ask("bob", method, f"/v1/batches/{GONE}{tail}", X_Request_Id="same")
            assert absent.status == 404
            for who in ("bob", "ada of acme", "oda of acme"):
                reply = await here.ask(who, method, f"/v1/batches/{batch_id}{tail}", X_Request_Id="same")
                assert (reply.status, reply.body) == (404, absent.body.replace(GONE.encode(), batch_id.encode()))
            assert (await here.ask("oda", method, f"/v1/batches/{batch_id}{tail}")).status == 200
        for odd in ("bat_", "bat_xyz", "inv_00", "%00", "bat_" + "f" * 24):
            assert (await here.ask("ada", "GET", f"/v1/batches/{odd}")).status in (400, 404)


@driven
async def test_a_hidden_tool_is_hidden_in_a_batch_too(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        batch_id = await made(here, "ada", [{"tool": "secret_tool"}, {"tool": "no_such_tool"}])
        batch = (await here.ask("ada", "GET", f"/v1/batches/{batch_id}")).json()
        hidden, nothing = batch["calls"]
        assert batch["brief"]["standings"] == {"failed": 2}
        for name in ("is_read_only", "queued_ms", "locks", "error_class", "message", "abort_reason", "cause"):
            assert hidden[name] == nothing[name], name
        assert [state["state"] for state in hidden["states"]] == [state["state"] for state in nothing["states"]]
        for name in ("status", "standing", "decision", "rules", "error_code", "duration_ms"):
            assert hidden["call"][name] == nothing["call"][name], name


@driven
async def test_a_sibling_that_was_canceled_names_the_cause(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        gates["one"] = asyncio.Event()
        calls: list[dict[str, Any]] = [{"tool": "fail"}, {"tool": "steps", "arguments": {"gate": "one"}}]
        batch_id = await made(here, "ada", calls, sibling_failure_policy="cancel_siblings")
        failed, canceled = (await here.ask("ada", "GET", f"/v1/batches/{batch_id}")).json()["calls"]
        assert failed["call"]["standing"] == "failed"
        assert (canceled["call"]["standing"], canceled["abort_reason"]) == ("canceled", "sibling_error")
        assert canceled["cause"] == failed["call"]["invocation_id"]


@driven
async def test_what_has_not_begun_is_ended_and_what_runs_goes_on(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        gates["one"] = asyncio.Event()
        calls = [
            {"tool": "steps", "arguments": {"gate": "one"}},
            {"tool": "pay", "arguments": {"amount": 1}},
            {"tool": "add", "arguments": {"a": 1, "b": 1}, "depends_on": [0]},
        ]
        reply = await here.ask("ada", "POST", "/v1/batches", {"calls": calls}, Prefer="respond-async")
        ids = [call["invocation_id"] for call in reply.json()["calls"]]
        batch_id = reply.json()["batch_id"]
        batch = await until_running(here, "ada", batch_id, 1)
        while batch["calls"][1]["call"]["standing"] != "waiting":
            batch = (await here.ask("ada", "GET", f"/v1/batches/{batch_id}")).json()
        assert batch["brief"]["known"] == 3, "what waits for another call has no row, and is known all the same"
        assert not batch["calls"][2]["is_on_record"]
        assert (await here.ask("ada", "GET", "/v1/batches")).json()["items"][0]["known"] == 3
        done = (await here.ask("ada", "POST", f"/v1/batches/{batch_id}/cancel", {"reason": "never mind"})).json()
        assert (done["canceled"], done["going_on"]) == ([ids[1], ids[2]], [ids[0]])
        gates["one"].set()
        first = await here.ask("ada", "GET", f"/v1/calls/{ids[0]}", Prefer="wait=20")
        assert first.json()["state"] == "succeeded"
        over = (await here.ask("ada", "GET", f"/v1/batches/{batch_id}")).json()
        assert [call["call"]["standing"] for call in over["calls"]] == ["succeeded", "canceled", "canceled"]


@driven
async def test_a_page_of_batches_looks_only_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past_batches, "_LIST_ROWS", 4)
    async with api(tmp_path) as here:
        batch_id = await made(here, "ada", adding(1))
        for _ in range(8):
            await here.called("ada", "add", {"a": 1, "b": 1})
        page = (await here.ask("ada", "GET", "/v1/batches")).json()
        assert page["items"] == []
        found: list[str] = []
        while page["next"]:
            page = (await here.ask("ada", "GET", page["next"])).json()
            found += [one["batch_id"] for one in page["items"]]
        assert found == [batch_id]
