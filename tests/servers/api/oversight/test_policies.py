"""The policy over HTTP: its rules as they win, how often they decided, and what they would say to a call."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.driven import driven
from tests.servers.api.api import POLICY, TOML, Api, api

MORE = """
[groups]
finance = ["amy", "bea"]

[[rules]]
id = "small"
decision = "allow"
tool = "pay"
when = { amount = { at_most = 10 } }

[[rules]]
id = "large"
decision = "ask"
tool = "shop.*"
facts = { is_read_only = false }
when = { amount = { above = 100 } }
approvers = ["group:finance"]
not_requester = true
expires = "4h"
reason = "finance looks at larger sums"
"""
PATHS = ("/v1/policy", "/v1/policy/rules", "/v1/policy/decisions", "/v1/policy/cases")


async def reloaded(here: Api, folder: Path, text: str) -> None:
    (folder / "policy.toml").write_text(text)
    await here.ask("oda", "POST", "/v1/policy/reload")


async def explained(here: Api, tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    body = {"tool": tool, "arguments": arguments, **more}
    found: dict[str, Any] = (await here.ask("oda", "POST", "/v1/policy/explain", body)).json()
    return found


@driven
async def test_rules_are_listed_as_they_win_in_plain_words(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        await reloaded(here, tmp_path, POLICY + MORE)
        rules = (await here.ask("oda", "GET", "/v1/policy/rules")).json()["items"]
        assert [(rule["place"], rule["id"]) for rule in rules] == [(1, "hidden"), (2, "large"), (3, "small")]
        large = rules[1]
        assert large["conditions"] == ["the tool is any shop.*", "it does not only read", "`amount` is above 100"]
        assert large["demands"] == [
            "answered by the group finance",
            "not by whoever it is made for",
            "within 4 h",
        ]
        assert (large["file"], large["line"], large["whose"]) == ("policy.toml", 17, "security policy")
        first = (await here.ask("oda", "GET", "/v1/policy/rules?limit=1&text=amount")).json()
        assert ([rule["id"] for rule in first["items"]], first["total"]) == (["large"], 2)
        second = (await here.ask("oda", "GET", first["next"])).json()
        assert ([rule["id"] for rule in second["items"]], second["next"]) == (["small"], None)
        denying = (await here.ask("oda", "GET", "/v1/policy/rules?decision=deny")).json()["items"]
        assert [rule["id"] for rule in denying] == ["hidden"]


@driven
async def test_a_policy_that_cannot_be_used_is_told_with_its_lines(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        state = (await here.ask("oda", "GET", "/v1/policy")).json()
        assert (state["is_usable"], state["problems"], state["rules"]["deny"]) == (True, [], 1)
        assert state["in_force_since"] is not None
        await reloaded(here, tmp_path, POLICY + '[[rules]]\nid = "odd"\ndecision = "perhaps"\ntools = "add"\n')
        state = (await here.ask("oda", "GET", "/v1/policy")).json()
        assert state["is_usable"] is False
        assert "policy.toml:10" in state["problem"]
        assert str(tmp_path) not in state["problem"]
        places = {(one["file"], one["line"], one["severity"]) for one in state["problems"]}
        assert places == {("policy.toml", 9, "error"), ("policy.toml", 10, "error")}
        meant = {line["text"] for one in state["problems"] for line in one["excerpt"] if line["is_meant"]}
        assert meant == {'decision = "perhaps"', 'tools = "add"'}
        assert (await explained(here, "add", {"a": 1, "b": 2}))["behavior"] == "deny"
        await reloaded(here, tmp_path, POLICY)
        assert (await here.ask("oda", "GET", "/v1/policy")).json()["is_usable"] is True


@driven
async def test_a_call_is_judged_without_being_made(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        await reloaded(here, tmp_path, POLICY + MORE)
        before = (await here.ask("oda", "GET", "/v1/audit/heads")).json()["items"][0]["seq"]
        small = await explained(here, "pay", {"amount": 5})
        assert (small["behavior"], small["rule"], small["requires"]) == ("allow", "small", ["tool"])
        large = await explained(here, "pay", {"amount": 500}, principal="ada")
        assert (large["behavior"], large["rule"]) == ("ask", "large")
        assert {rule["id"]: rule["is_matched"] for rule in large["rules"]} == {
            "hidden": False,
            "small": False,
            "large": True,
        }
        assert [rule["why"] for rule in large["rules"] if rule["id"] == "small"] == [
            "`when amount` does not hold for these arguments"
        ]
        assert (await explained(here, "pay", {"amount": 500}, is_interactive=False))["behavior"] == "deny"
        assert (await explained(here, "secret_tool", {}))["rule"] == "hidden"
        for wrong in ({"tool": "nothing"}, {"tool": "pay", "agent": "nobody"}, {"tool": "pay", "role": "none"}):
            reply = await here.ask("oda", "POST", "/v1/policy/explain", wrong)
            assert (reply.status, reply.json()["code"]) == (404, "cannot_be_judged")
        after = (await here.ask("oda", "GET", "/v1/audit/heads")).json()["items"][0]["seq"]
        assert after == before


@driven
async def test_hits_are_counted_from_the_ledger(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        await reloaded(here, tmp_path, POLICY + MORE)
        for amount in (1, 2, 500):
            await here.call("ada", "pay", {"amount": amount})
        await here.call("ada", "add", {"a": 1, "b": 2})
        await here.call("ada", "secret_tool")
        await here.stand.app.store.flush()
        found = (await here.ask("oda", "GET", "/v1/policy/decisions")).json()
        counted = {one["rule_id"]: one["day"] for one in found["items"] if one["reason"] == "rule"}
        assert counted == {"small": {"allow": 2}, "large": {"ask": 1}, "hidden": {"deny": 1}}
        assert found["day"] == found["week"] == {"allow": 3, "ask": 1, "deny": 1}
        assert (found["is_whole"], found["is_counting"], found["differences"]) == (True, False, [])
        await here.call("ada", "pay", {"amount": 3})
        await here.stand.app.store.flush()
        again = (await here.ask("oda", "GET", "/v1/policy/decisions")).json()
        assert {one["rule_id"]: one["week"] for one in again["items"]}["small"] == {"allow": 3}


@driven
async def test_a_watched_policy_tells_where_it_would_differ(tmp_path: Path) -> None:
    (tmp_path / "watched.toml").write_text('[[rules]]\nid = "no-sums"\ndecision = "deny"\ntool = "add"\n')
    async with api(tmp_path, toml=TOML + '[policy]\nshadow = "watched.toml"\n') as here:
        call = await here.called("ada", "add", {"a": 1, "b": 2})
        await here.call("ada", "report", {"size": 10})
        await here.stand.app.store.flush()
        state = (await here.ask("oda", "GET", "/v1/policy")).json()
        assert state["shadow"].startswith("watched.toml@")
        found = (await here.ask("oda", "GET", "/v1/policy/decisions")).json()
        (difference,) = found["differences"]
        assert (difference["invocation_id"], difference["behavior"]) == (call, "allow")
        assert (difference["shadow_behavior"], difference["shadow_rules"]) == ("deny", ["no-sums"])
        assert (found["differing_day"], found["differing_week"]) == (1, 1)


@driven
async def test_the_table_of_cases_is_run(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        none = (await here.ask("oda", "GET", "/v1/policy/cases")).json()
        assert (none["file"], none["cases"]) == (None, [])
        table = tmp_path / "policy.test.toml"
        table.write_text(
            '[[cases]]\ntool = "add"\narguments = { a = 1, b = 2 }\nexpect = "allow"\n'
            '[[cases]]\ntool = "secret_tool"\nexpect = "ask"\n'
        )
        found = (await here.ask("oda", "GET", "/v1/policy/cases")).json()
        assert (found["passed"], found["failed"]) == (1, 1)
        assert found["cases"][1]["failure"].startswith("expected ask, and it is deny")
        table.write_text("[[cases]]\ntool = 3\n")
        wrong = (await here.ask("oda", "GET", "/v1/policy/cases")).json()
        assert wrong["problem"].startswith("policy.test.toml:")


@driven
async def test_the_policy_is_for_who_administers_everything(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for who, code in (("ada", "insufficient_scope"), ("amy", "insufficient_scope"), ("oda of acme", "tenant_only")):
            for path in PATHS:
                reply = await here.ask(who, "GET", path)
                assert (reply.status, reply.json()["code"]) == (403, code), (who, path)
            reply = await here.ask(who, "POST", "/v1/policy/explain", {"tool": "add"})
            assert (reply.status, reply.json()["code"]) == (403, code)


@driven
async def test_a_long_ledger_is_counted_behind_the_request(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        surface = here.stand.app.surface(principal="ada")
        for number in range(2600):
            await surface.call("add", {"a": number, "b": 1})
        await here.stand.app.store.flush()
        found = (await here.ask("oda", "GET", "/v1/policy/decisions")).json()
        assert (found["is_counting"], found["is_whole"]) == (True, False)
        assert 0 < found["day"]["allow"] < 2600
        while found["is_counting"]:
            await asyncio.sleep(0.01)
            found = (await here.ask("oda", "GET", "/v1/policy/decisions")).json()
        assert (found["is_whole"], found["day"]["allow"]) == (True, 2600)
