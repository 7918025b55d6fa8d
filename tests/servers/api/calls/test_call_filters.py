"""Calls on record found by what they were, by how they stand, by words and by time; hidden tools stay hidden."""

from __future__ import annotations

from pathlib import Path

from tests.driven import driven
from tests.servers.api.api import api


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
