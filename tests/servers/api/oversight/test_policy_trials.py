"""The policy asked over HTTP about calls that are not made: one call, and the table of cases."""

from __future__ import annotations

from pathlib import Path

from tests.driven import driven
from tests.servers.api.api import POLICY, api
from tests.servers.api.oversight.policy_samples import MORE, explained, reloaded


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
