"""What was called, and the whole story of it, over HTTP."""

from __future__ import annotations

from pathlib import Path

from tests.driven import driven
from tests.servers.http.api import NOBODY, api


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
