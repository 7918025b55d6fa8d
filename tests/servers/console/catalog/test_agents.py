"""The pages of agents and roles: what each may reach, and why."""

from __future__ import annotations

from pathlib import Path

from ferrule.servers.console.catalog.agents import address, reach_sentence
from tests.driven import driven
from tests.servers.api.catalog.test_reach import POLICY, manifest, reach
from tests.servers.console.browsing import signed_in, text_of


@driven
async def test_agents_are_listed_with_what_they_may_do(tmp_path: Path) -> None:
    async with reach(tmp_path, POLICY) as here:
        owner = await signed_in(here.stand)
        words = text_of(await owner.see("/agents"))
        assert "There are 2 agents." in words
        assert "packer" in words
        found = await owner.value("/agents")
        assert [(one["id"], one["keys"]) for one in found["items"]] == [("packer", 1), ("seller", 0)]
        assert [one["id"] for one in (await owner.value("/agents?q=sell"))["items"]] == ["seller"]
        assert "No roles yet." in text_of(await owner.see("/agents?kind=role"))


@driven
async def test_an_agent_has_a_page_of_its_own(tmp_path: Path) -> None:
    async with reach(tmp_path, POLICY) as here:
        owner = await signed_in(here.stand)
        page = await owner.see("/agents/packer")
        words = text_of(page)
        assert (
            "packer has 1 tool; 1 more is not available to it. 1 depends on the call and 1 is denied by the policy."
            in words
        )
        assert "small-parcels looks at each call" in words
        assert "the scale is broken" in words
        assert "pia" in words
        assert here.secrets["oda"].encode() not in page.body
        denied = await owner.value("/agents/packer?verdict=deny")
        assert [tool["tool_id"] for tool in denied["found"]["items"]] == ["packer.weigh"]
        assert "A key without an agent has" in text_of(await owner.see("/agents/none/-"))
        assert (await owner.see("/agents/nobody")).status == 404
        assert (await owner.see("/agents/odd/x")).status == 404


@driven
async def test_rules_about_a_principal_show_for_that_principal(tmp_path: Path) -> None:
    policy = '[[rules]]\nid = "ada-sells"\ndecision = "allow"\ntool = "sell"\nprincipal = "ada"\n'
    async with reach(tmp_path, policy) as here:
        owner = await signed_in(here.stand)
        anybody = await owner.value("/agents/seller")
        ada = await owner.value("/agents/seller?principal=ada")
        assert [page["found"]["items"][0]["verdict"] for page in (anybody, ada)] == ["ask", "allow"]


@driven
async def test_a_hundred_agents_are_paged_both_ways(tmp_path: Path) -> None:
    for number in range(20):
        manifest(tmp_path, f"agent-{number:02}", {f"tool_{number}_{one}": "Do it" for one in range(3)})
    async with reach(tmp_path) as here:
        owner = await signed_in(here.stand)
        first = await owner.value("/agents?view=matrix")
        assert [one["id"] for one in first["table"]["agents"]] == [f"agent-{number:02}" for number in range(8)]
        assert first["table"]["agents_total"] == 22
        second = await owner.value("/agents?view=matrix&agents_after=agent-07")
        assert second["table"]["agents"][0]["id"] == "agent-08"
        assert second["table"]["items"][0]["cells"][0]["verdict"] == "ask"
        page = await owner.see("/agents?view=matrix")
        assert b"agents_after=agent-07" in page.body
        some = await owner.value("/agents?view=matrix&q=tool_3_1&everything=1")
        assert [row["tool_id"] for row in some["table"]["items"]] == ["agent-03.tool_3_1"]


def test_words() -> None:
    tools = {"loaded": 2, "deferred": 3, "hidden": 0, "gone": 0}
    many = {"subject": {"id": "a", "tools": tools, "verdicts": None}}
    assert reach_sentence(many).startswith("a has 5 tools, 3 of them by search. There are too many to count")
    assert address("role", "a/b") == "/console/agents/role/a%2Fb"
