"""What was called, and the whole story of it, over HTTP."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import ferrule
from tests.driven import driven
from tests.servers.api.api import NOBODY, api
from tests.servers.local_server import running_server


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
    async with running_server(tmp_path, tools=[outer, inner], auth=True) as stand:
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
