"""What the policy decided, over HTTP: hits of its rules, and where a watched policy would differ."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.driven import driven
from tests.servers.api.api import POLICY, TOML, api
from tests.servers.api.oversight.policy_samples import MORE, reloaded


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
