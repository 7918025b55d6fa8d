"""How the workspace does, over HTTP: what calls did, who is waited for, and the systems behind tools."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from ferrule.model.timestamps import parse_iso
from ferrule.servers.api.calls import activity
from tests.driven import driven
from tests.servers.api.api import api
from tests.servers.local_server import running_server

REST = """---
spec_version: "1.2"
tool_id: %s
version: "1.0.0"
status: active
meta: {name: Look, description: Looks something up., owner: shop, tags: [a]}
type: retrieval
interface:
  input: {type: object, properties: {}, additionalProperties: false}
  output: {type: object, properties: {}}
transport: {type: rest-api, base_url: "%s", endpoint: GET /thing, credentials: {scheme: none}}
use_guidance: {use_when: [always], avoid_when: [never], side_effects: None.}
---
"""


@driven
async def test_calls_are_counted_by_how_they_ended_and_when(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for number in range(3):
            await here.called("ada", "add", {"a": number, "b": 0})
        await here.called("ada", "fail")
        await here.called("ada", "add", {"a": "x"})
        state = (await here.ask("ada", "GET", "/v1/activity")).json()
        assert (state["calls"], state["calls_last_minute"], state["covers"]) == (5, 5, "own")
        assert (state["succeeded"], state["failed"], state["denied"], state["canceled"]) == (3, 2, 0, 0)
        assert state["failing"] == [{"tool": "add", "calls": 1}, {"tool": "fail", "calls": 1}]
        assert 0 < state["p50_ms"] <= state["p95_ms"] <= state["p99_ms"]
        assert len(state["minutes"]) == 60
        assert sum(minute["succeeded"] for minute in state["minutes"][-2:]) == 3
        assert state["is_complete"]
        times = [parse_iso(minute["at"]) for minute in state["minutes"]]
        assert {later - earlier for earlier, later in pairwise(times)} == {60_000_000}


@driven
async def test_everybody_counts_what_they_may_look_at(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        await here.called("ada", "add", {"a": 1, "b": 0})
        await here.called("bob", "add", {"a": 1, "b": 0})
        await here.called("ada of acme", "add", {"a": 1, "b": 0})
        found = {}
        for who in ("ada", "bob", "amy", "oda", "ada of acme", "oda of acme"):
            state = (await here.ask(who, "GET", "/v1/activity")).json()
            found[who] = (state["calls"], state["covers"])
        assert found == {
            "ada": (1, "own"),
            "bob": (1, "own"),
            "amy": (0, "own"),
            "oda": (3, "everybody"),
            "ada of acme": (1, "own"),
            "oda of acme": (1, "tenant"),
        }


@driven
async def test_waiting_for_a_person_is_told_and_counts_for_no_latency(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 1})
        await here.called("ada", "greet")
        for who, count in (("ada", 1), ("bob", 0), ("amy", 1), ("oda", 1), ("amy of acme", 0), ("oda of acme", 0)):
            waiting = (await here.ask(who, "GET", "/v1/activity")).json()["waiting"]
            assert waiting["calls"] == count, who
            assert (waiting["oldest_at"] is not None) == (waiting["first_expires_at"] is not None) == bool(count)
        await here.ask("amy", "POST", f"/v1/approvals/{call}/approve")
        state = (await here.ask("ada", "GET", "/v1/activity")).json()
        assert (state["waiting"]["calls"], state["waiting"]["answered"], state["succeeded"]) == (0, 1, 1)
        brief = (await here.ask("ada", "GET", f"/v1/invocations/{call}")).json()
        assert state["waiting"]["median_answer_ms"] > 0
        assert state["p99_ms"] <= brief["duration_ms"] - state["waiting"]["median_answer_ms"] * 0.9


@driven
async def test_upstreams_are_judged_by_what_calls_met(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    for name, url in (("look", "http://127.0.0.1:9"), ("quiet", "https://user:hush@books.example/v2")):
        (tmp_path / "tools" / f"{name}.tool.md").write_text(REST % (name, url))
    toml = '[network]\nallow = ["127.0.0.1:9"]\n'
    async with running_server(tmp_path, auth=True, toml=toml) as stand:
        owner = {"Authorization": f"Bearer {stand.owner()}"}

        async def upstreams() -> dict[str, dict[str, object]]:
            listed = (await stand.ask("GET", "/v1/upstreams", headers=owner)).json()
            return {item["name"]: item for item in listed["items"]}

        before = await upstreams()
        assert {name: item["health"] for name, item in before.items()} == {
            "127.0.0.1:9": "quiet",
            "books.example": "quiet",
        }
        await stand.ask("POST", "/v1/calls", {"tool": "look", "arguments": {}}, owner)
        after = await upstreams()
        assert [*after] == ["127.0.0.1:9", "books.example"]
        assert (after["127.0.0.1:9"]["health"], after["127.0.0.1:9"]["unreached"]) == ("failing", 1)
        assert (after["127.0.0.1:9"]["kind"], after["127.0.0.1:9"]["tools"]) == ("HTTP", 1)
        assert after["books.example"]["health"] == "quiet"


@driven
async def test_upstreams_are_for_who_administers_the_workspace(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for who, status in (("oda", 200), ("ada", 403), ("amy", 403), ("oda of acme", 403)):
            assert (await here.ask(who, "GET", "/v1/upstreams")).status == status, who


@driven
async def test_a_lock_that_cannot_be_trusted_is_told(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        assert (await here.ask("oda", "GET", "/v1/upstreams")).json()["lock"] == {
            "servers": 0,
            "tools": 0,
            "problem": None,
        }
        (tmp_path / "ferrule.lock").write_text("{")
        problem = (await here.ask("oda", "GET", "/v1/upstreams")).json()["lock"]["problem"]
        assert "damaged" in problem
        assert str(tmp_path) not in problem


@driven
async def test_a_first_look_at_a_busy_ledger_does_not_wait_for_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with api(tmp_path) as here:
        await here.called("ada", "add", {"a": 1, "b": 0})
        monkeypatch.setattr(activity, "_PATIENCE_SECONDS", 0)
        early = (await here.ask("ada", "GET", "/v1/activity")).json()
        assert (early["is_complete"], early["counted_until"], early["calls"]) == (False, None, 0)
        monkeypatch.setattr(activity, "_PATIENCE_SECONDS", 20)
        later = (await here.ask("ada", "GET", "/v1/activity")).json()
        assert (later["is_complete"], later["calls"]) == (True, 1)
