"""The policy over HTTP: its rules as they win, what is wrong with it, and whom it is for."""

from __future__ import annotations

from pathlib import Path

from tests.driven import driven
from tests.servers.api.api import POLICY, api
from tests.servers.api.oversight.policy_samples import MORE, explained, reloaded

PATHS = ("/v1/policy", "/v1/policy/rules", "/v1/policy/decisions", "/v1/policy/cases")


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
async def test_the_policy_is_for_who_administers_everything(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for who, code in (("ada", "insufficient_scope"), ("amy", "insufficient_scope"), ("oda of acme", "tenant_only")):
            for path in PATHS:
                reply = await here.ask(who, "GET", path)
                assert (reply.status, reply.json()["code"]) == (403, code), (who, path)
            reply = await here.ask(who, "POST", "/v1/policy/explain", {"tool": "add"})
            assert (reply.status, reply.json()["code"]) == (403, code)
