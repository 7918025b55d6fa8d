"""What was called, and the whole story of it, over HTTP."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

import ferrule
from ferrule.servers.api.calls import tallies
from ferrule.servers.api.calls.tallies import width_for
from ferrule.servers.api.openapi import openapi
from tests.driven import driven
from tests.servers.api.api import NOBODY, api
from tests.servers.stand import serving


@driven
async def test_calls_are_listed_newest_first_in_pages(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        made = [await here.called("ada", "add", {"a": number, "b": 0}) for number in range(5)]
        parked = await here.called("ada", "pay", {"amount": 1})
        await here.called("bob", "add", {"a": 0, "b": 0})
        first = await here.ask("ada", "GET", "/v1/invocations?limit=4")
        await here.ask("amy", "POST", f"/v1/approvals/{parked}/approve")
        found = [call["invocation_id"] for call in first.json()["items"]]
        address = first.json()["next"]
        while address:
            page = (await here.ask("ada", "GET", address)).json()
            found += [call["invocation_id"] for call in page["items"]]
            address = page["next"]
        assert found == [parked, *reversed(made)]


@driven
async def test_calls_are_found_by_what_they_were(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        added = await here.called("ada", "add", {"a": 1, "b": 1})
        failed = await here.called("ada", "fail")
        other = await here.called("bob", "add", {"a": 1, "b": 1})

        async def found(who: str, query: str) -> list[str]:
            reply = await here.ask(who, "GET", f"/v1/invocations?{query}")
            return [call["invocation_id"] for call in reply.json()["items"]]

        assert await found("ada", "tool=add") == [added]
        assert await found("ada", "tool=shop.fail&status=failed") == [failed]
        assert await found("ada", "principal=bob") == []
        assert await found("oda", "principal=bob") == [other]
        assert await found("oda", "status=succeeded") == [other, added]
        assert await found("oda", "tenant=acme") == []
        assert await found("ada", f"cursor={10**15}") == [failed, added]


@driven
async def test_a_call_is_told_in_short_and_whole(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 3})
        open_still = await here.ask("ada", "GET", f"/v1/invocations/{call}")
        assert "etag" not in open_still.headers
        await here.ask("amy", "POST", f"/v1/approvals/{call}/approve", {"reason": "agreed"})
        brief = await here.ask("ada", "GET", f"/v1/invocations/{call}")
        assert (brief.json()["status"], brief.json()["decision"]) == ("succeeded", "allow by amy")
        story = await here.ask("ada", "GET", f"/v1/invocations/{call}/explain")
        told = story.json()
        assert told["answers"][0]["by"] == "amy"
        assert told["inputs"][0]["name"] == "model_input"
        assert told["rules"] == [], "rules that do not fit the call are about tools that are not the caller's business"
        whole = (await here.ask("oda", "GET", f"/v1/invocations/{call}/explain")).json()
        assert "hidden" in {rule["rule_ref"] for rule in whole["rules"]}
        assert told["phases"][0]["phase"] == "resolve_tool"
        for reply in (brief, story):
            path = f"/v1/invocations/{call}" + ("/explain" if reply is story else "")
            assert (await here.ask("ada", "GET", path, If_None_Match=reply.headers["etag"])).status == 304
        events = (await here.ask("ada", "GET", f"/v1/invocations/{call}/events")).json()["items"]
        assert events[0]["event_type"] == "tool.invocation.planned"


@driven
async def test_a_call_of_somebody_else_is_not_there(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "add", {"a": 1, "b": 1})
        for tail in ("", "/explain", "/events"):
            absent = await here.ask("bob", "GET", f"/v1/invocations/{NOBODY}{tail}", X_Request_Id="same")
            for who in ("bob", "ada of acme", "oda of acme"):
                reply = await here.ask(who, "GET", f"/v1/invocations/{call}{tail}", X_Request_Id="same")
                assert (reply.status, reply.body) == (404, absent.body.replace(NOBODY.encode(), call.encode()))
            assert (await here.ask("oda", "GET", f"/v1/invocations/{call}{tail}")).status == 200


@driven
async def test_queries_are_taken_strictly(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        wrong = ("limit=0", "limit=501", "limit=x", "limit=1.0", "limit=%31_0", "limit=", "limit=1&limit=1", "cursor=0",
                 "cursor=-1", "cursor=x", "status=fine", "tool=", "color=red", "tool=%FF", "&".join(["limit=1"] * 60),
                 "limit=%EF%BC%91")  # fmt: skip
        for query in wrong:
            reply = await here.ask("ada", "GET", f"/v1/invocations?{query}")
            assert reply.status == 400, query
            assert reply.json()["code"] in ("invalid_query", "unknown_parameter")


@driven
async def test_calls_are_found_by_standing_words_and_time(tmp_path: Path) -> None:
    """The numbers are long, so that no id of a call holds them by chance."""
    async with api(tmp_path) as here:
        added = await here.called("ada", "add", {"a": 410041, "b": 1})
        failed = await here.called("ada", "fail")
        parked = await here.called("ada", "pay", {"amount": 777000777})
        refused = await here.called("bob", "pay", {"amount": "much"})

        async def found(query: str, who: str = "oda") -> list[str]:
            reply = await here.ask(who, "GET", f"/v1/invocations?{query}")
            assert reply.status == 200, reply
            return [call["invocation_id"] for call in reply.json()["items"]]

        assert await found("standing=succeeded") == [added]
        assert await found("standing=failed") == [refused, failed], "what does not fit its schema has failed, too"
        assert await found("standing=failed&tool=fail") == [failed]
        assert await found("standing=waiting") == await found("status=awaiting_approval") == [parked]
        assert await found("standing=waiting&principal=bob") == await found("standing=unknown") == []
        assert await found("words=777000777") == [parked]
        assert await found("words=ADD%20410041") == [added]
        assert await found("words=much%20pay") == [refused]
        assert await found(f"words={failed}") == [failed]
        assert await found(f"words={failed}", "bob") == await found("words=777000777", "bob") == []
        assert await found("words=777000777", "ada") == [parked]
        briefs = (await here.ask("oda", "GET", "/v1/invocations")).json()["items"]
        middle = next(brief for brief in briefs if brief["invocation_id"] == failed)
        assert await found(f"after={middle['seq']}") == [refused, parked]
        later = next(brief for brief in briefs if brief["invocation_id"] == parked)["at"].replace("+", "%2B")
        assert await found(f"since={later}") == [refused, parked]
        assert await found("until=2020-01-01T00:00:00Z") == await found("since=2999-01-01") == []
        by_id = {brief["invocation_id"]: brief for brief in briefs}
        assert (by_id[added]["input"], by_id[added]["standing"]) == ('{"a": 410041, "b": 1}', "succeeded")
        assert by_id[parked]["standing"] == "waiting"
        for query in ("standing=fine", "since=yesterday", "until=", "after=0", "words="):
            assert (await here.ask("ada", "GET", f"/v1/invocations?{query}")).status == 400, query


@driven
async def test_searching_tells_nobody_of_a_hidden_tool(tmp_path: Path) -> None:
    """How a call of it really ended decides nothing about which searches find it: it is found like a call of no tool at all."""
    async with api(tmp_path) as here:
        hidden = await here.called("ada", "secret_tool")
        nothing = await here.called("ada", "no_such_tool")
        for query in ("", "standing=failed", "status=failed", "standing=refused", "status=blocked", "words=tool",
                      "words=shop", "tool=secret_tool", "tool=shop.secret_tool", "standing=running"):  # fmt: skip
            items = (await here.ask("ada", "GET", f"/v1/invocations?{query}")).json()["items"]
            found = [call["invocation_id"] for call in items]
            assert (hidden in found) == (nothing in found), query
        tally = (await here.ask("ada", "GET", "/v1/invocations/tally")).json()
        assert tally["ended"] == {"failed": 2}
        whole = (await here.ask("oda", "GET", "/v1/invocations?tool=secret_tool")).json()["items"]
        assert [call["invocation_id"] for call in whole] == [hidden]


@driven
async def test_calls_are_counted_for_those_who_may_see_them(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for _ in range(3):
            await here.called("ada", "add", {"a": 1, "b": 1})
        await here.called("ada", "fail")
        await here.called("ada", "pay", {"amount": 1})
        await here.called("bob", "add", {"a": 1, "b": 1})
        await here.called("ada of acme", "add", {"a": 1, "b": 1})

        async def tally(who: str, query: str = "") -> tuple[dict[str, int], dict[str, int]]:
            reply = (await here.ask(who, "GET", f"/v1/invocations/tally?{query}")).json()
            assert reply["is_complete"]
            over_time = [stretch["ended"] for stretch in reply["stretches"]]
            assert sum(sum(ended.values()) for ended in over_time) == sum(reply["ended"].values())
            return reply["ended"], reply["open"]

        assert await tally("oda") == ({"succeeded": 5, "failed": 1}, {"waiting": 1})
        assert await tally("ada") == ({"succeeded": 3, "failed": 1}, {"waiting": 1})
        assert await tally("bob") == ({"succeeded": 1}, {})
        assert await tally("oda of acme") == await tally("ada of acme") == ({"succeeded": 1}, {})
        assert await tally("oda", "tool=add") == ({"succeeded": 5}, {})
        assert await tally("oda", "principal=ada&tool=add") == ({"succeeded": 4}, {})
        assert await tally("oda", "until=2020-01-02T00:00:00Z") == ({}, {"waiting": 1})
        for query in ("standing=failed", "status=failed", "stretches=0", "since=x"):
            assert (await here.ask("oda", "GET", f"/v1/invocations/tally?{query}")).status == 400
    taken = {one["name"] for one in openapi()["paths"]["/v1/invocations/tally"]["get"]["parameters"]}
    assert not taken & {"standing", "status"}, "calls are counted by how they stand"


@driven
async def test_a_count_says_when_it_is_not_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "_MOST_ROWS", 3)
    monkeypatch.setattr(tallies, "_MOST_READ", 2)
    async with api(tmp_path) as here:
        for _ in range(5):
            await here.called("ada", "add", {"a": 1, "b": 1})
        for who, counted in (("oda", 3), ("ada", 2)):
            tally = (await here.ask(who, "GET", "/v1/invocations/tally")).json()
            assert not tally["is_complete"]
            assert tally["ended"] == {"succeeded": counted}
            assert tally["counted_since"] > tally["since"]


def test_stretches_of_time_are_round() -> None:
    hour = 3600 * 1_000_000
    assert width_for(24 * hour, 96) == hour // 4
    assert width_for(hour, 96) == hour // 60
    assert width_for(7 * 24 * hour, 96) == 2 * hour
    assert width_for(0, 96) == 1_000_000
    for span in (1, hour, 24 * hour * 1000):
        assert width_for(span, 10) * 10 >= span


@ferrule.tool(read_only=True)
async def outer() -> str:
    """Call another tool."""
    surface = surfaces[0]
    return str((await surface.call("inner")).structured_content)


@ferrule.tool(read_only=True)
def inner() -> str:
    """Be called."""
    return "in"


surfaces: list[Any] = []


@driven
async def test_a_call_names_its_parent_and_what_it_repeats(tmp_path: Path) -> None:
    async with serving(tmp_path, tools=[outer, inner], auth=True) as stand:
        owner = {"Authorization": f"Bearer {stand.owner()}"}
        surfaces[:] = [stand.app.surface(principal="ada")]
        first = (await surfaces[0].call("outer")).invocation_id
        again = (await surfaces[0].call("outer", retry_of=first)).invocation_id

        async def relatives(call: str) -> dict[str, Any]:
            found: dict[str, Any] = (await stand.ask("GET", f"/v1/invocations/{call}/relatives", headers=owner)).json()
            return found

        told = await relatives(first)
        assert [child["tool_name"] for child in told["children"]] == ["inner"]
        assert [call["invocation_id"] for call in told["retries"]] == [again]
        assert (told["parent"], told["retry_of"], told["is_complete"]) == (None, None, True)
        child = told["children"][0]["invocation_id"]
        assert (await relatives(child))["parent"] == first
        assert (await relatives(again))["retry_of"] == first
        story = (await stand.ask("GET", f"/v1/invocations/{child}/explain", headers=owner)).json()
        assert story["parent"] == first


@driven
async def test_the_rows_of_a_call_are_held_against_the_chain(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 3})
        await here.ask("amy", "POST", f"/v1/approvals/{call}/approve")
        other = await here.called("ada", "add", {"a": 1, "b": 1})
        chain = (await here.ask("ada", "GET", f"/v1/invocations/{call}/chain")).json()
        assert (chain["is_checked"], chain["is_intact"]) == (True, True)
        assert len(chain["rows"]) >= 3
        rows = chain["rows"]
        assert [row["seq"] for row in rows] == sorted(row["seq"] for row in rows)
        assert rows[1]["before"] == rows[0]["hash"]
        database = sqlite3.connect(tmp_path / ".ferrule/ledger.db")
        with database:
            database.execute("UPDATE journal SET outcome = 'denied' WHERE seq = ?", (rows[-1]["seq"],))
        database.close()
        changed = (await here.ask("oda", "GET", f"/v1/invocations/{call}/chain")).json()
        assert not changed["is_intact"]
        assert [row["is_intact"] for row in changed["rows"]] == [True] * (len(rows) - 1) + [False]
        untouched = (await here.ask("oda", "GET", f"/v1/invocations/{other}/chain")).json()
        assert untouched["is_intact"]
        assert changed["last_seq"] >= untouched["rows"][-1]["seq"]
        mine = await here.called("ada of acme", "add", {"a": 1, "b": 1})
        for who, whose in (("ada of acme", mine), ("oda of acme", mine), ("ada", call)):
            told = (await here.ask(who, "GET", f"/v1/invocations/{whose}/chain")).json()
            assert (told["is_checked"], told["last_seq"]) == (True, None), "how much others do is not its business"
        for who in ("bob", "oda of acme"):
            assert (await here.ask(who, "GET", f"/v1/invocations/{call}/chain")).status == 404
            assert (await here.ask(who, "GET", f"/v1/invocations/{call}/relatives")).status == 404
