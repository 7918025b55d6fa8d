"""What agents, roles and surfaces may reach, over HTTP: for who administers the workspace."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ferrule.access.keys import Access
from ferrule.access.tokens import KeyLimits
from ferrule.model.serving import GrantSettings, ServeSettings
from tests.driven import driven
from tests.servers.api.api import Api
from tests.servers.local_server import running_server


def manifest(folder: Path, name: str, tools: dict[str, str]) -> None:
    """An agent with its own tools: names, each with its description."""
    items = [
        {
            "id": tool,
            "name": tool,
            "description": text,
            "tags": ["shop"],
            "schema": {"type": "object", "properties": {}},
        }
        for tool, text in tools.items()
    ]
    value = {
        "apiVersion": "adl.inference-gateway.com/v1",
        "kind": "Agent",
        "metadata": {"name": name, "description": f"What {name} does", "version": "1.0.0"},
        "spec": {
            "capabilities": {"streaming": True, "pushNotifications": False, "stateTransitionHistory": False},
            "server": {"port": 8080},
            "language": {"go": {"module": f"example.com/{name}", "version": "1.24"}},
            "tools": items,
        },
    }
    (folder / "agents").mkdir(exist_ok=True)
    (folder / "agents" / f"{name}.yaml").write_text(json.dumps(value))


@asynccontextmanager
async def reach(folder: Path, policy: str = "", **settings: Any) -> AsyncIterator[Api]:
    """Two agents with tools of their own, and an operator."""
    manifest(folder, "packer", {"pack": "Pack a parcel", "weigh": "Weigh a parcel"})
    manifest(folder, "seller", {"sell": "Sell a book"})
    (folder / "policy.toml").write_text(policy)
    async with running_server(folder, settings=ServeSettings(auth=True, **settings)) as stand:
        access = Access(folder)
        owner = access.local_owner()
        access.add(owner, "pia", ["call"], (), KeyLimits(agent="packer"))
        access.add(owner, "sam", ["call"], ["sales"])
        secrets = {
            "oda": access.add(owner, "oda", ["admin"])[1],
            "oda of acme": access.add(owner, "oda", ["admin"], (), KeyLimits(tenant="acme"))[1],
            "ada": access.add(owner, "ada", ["call"])[1],
        }
        yield Api(stand, secrets)


async def got(here: Api, path: str) -> Any:
    reply = await here.ask("oda", "GET", path)
    assert reply.status == 200, reply.body
    return reply.json()


POLICY = """
[[rules]]
id = "no-weighing"
decision = "deny"
tool = "weigh"
reason = "the scale is broken"

[[rules]]
id = "small-parcels"
decision = "allow"
tool = "pack"
when = { kilos = { at_most = 5 } }

[[rules]]
id = "selling-is-fine"
decision = "allow"
tool = "sell"
"""


@driven
async def test_an_agent_is_told_tool_by_tool(tmp_path: Path) -> None:
    async with reach(tmp_path, POLICY) as here:
        packer = await got(here, "/v1/reach?kind=agent&id=packer")
        found = {tool["tool_id"]: (tool["verdict"], tool["loading"]) for tool in packer["items"]}
        assert found == {"packer.pack": ("depends", "loaded"), "packer.weigh": ("deny", "gone")}
        assert "no-weighing" in packer["items"][1]["why"]
        assert packer["subject"]["verdicts"] == {"allow": 0, "ask": 0, "depends": 1, "deny": 1, "blocked": 0}
        assert (packer["subject"]["keys"], packer["tokens"] > 0) == (1, True)
        seller = await got(here, "/v1/reach?id=seller")
        assert [tool["verdict"] for tool in seller["items"]] == ["allow"]
        assert (await got(here, "/v1/reach?id=packer&verdict=deny"))["total"] == 1
        page = await got(here, "/v1/reach?id=packer&limit=1")
        assert [tool["tool_id"] for tool in page["items"]] == ["packer.pack"]
        assert [tool["tool_id"] for tool in (await got(here, page["next"]))["items"]] == ["packer.weigh"]
        everybody = await got(here, "/v1/reach?kind=none")
        assert len(everybody["items"]) == 3
        assert (await here.ask("oda", "GET", "/v1/reach?id=nobody")).status == 404


@driven
async def test_a_switch_shows_at_once(tmp_path: Path) -> None:
    async with reach(tmp_path) as here:
        assert (await got(here, "/v1/reach?id=seller"))["items"][0]["verdict"] == "ask"
        await here.ask("oda", "PUT", "/v1/switches/seller.sell", {"is_on": False})
        tool = (await got(here, "/v1/reach?id=seller"))["items"][0]
        assert (tool["verdict"], tool["loading"]) == ("blocked", "gone")
        assert "switched off" in tool["why"]


@driven
async def test_agents_and_tools_make_a_table(tmp_path: Path) -> None:
    async with reach(tmp_path, POLICY) as here:
        table = await got(here, "/v1/reach/matrix")
        assert [agent["id"] for agent in table["agents"]] == ["packer", "seller"]
        rows = {row["tool_id"]: [cell and cell["verdict"] for cell in row["cells"]] for row in table["items"]}
        assert rows == {
            "packer.pack": ["depends", None],
            "packer.weigh": ["deny", None],
            "seller.sell": [None, "allow"],
        }
        first = await got(here, "/v1/reach/matrix?agents=1&limit=1")
        assert ([agent["id"] for agent in first["agents"]], first["agents_next"]) == (["packer"], "packer")
        assert ([row["tool_id"] for row in first["items"]], first["total"]) == (["packer.pack"], 2)
        rest = await got(here, "/v1/reach/matrix?agents=1&after=packer")
        assert [row["tool_id"] for row in rest["items"]] == ["seller.sell"]
        whole = await got(here, "/v1/reach/matrix?agents=1&everything=true&text=sell")
        assert [(row["tool_id"], row["cells"]) for row in whole["items"]] == [("seller.sell", [None])]


@driven
async def test_keys_are_told_without_their_secrets(tmp_path: Path) -> None:
    async with reach(tmp_path, grants=(GrantSettings(group="sales", agent="seller"),)) as here:
        (pia,) = (await got(here, "/v1/keys?agent=packer"))["items"]
        assert (pia["person"], pia["scopes"], pia["is_granted"]) == ("pia", ["call"], False)
        (sam,) = (await got(here, "/v1/keys?agent=seller"))["items"]
        assert (sam["person"], sam["agent"], sam["is_granted"]) == ("sam", "seller", True)
        whole = (await here.ask("oda", "GET", "/v1/keys")).body.decode()
        stored = json.loads((tmp_path / ".ferrule/keys/tokens.json").read_text())
        for token in stored["tokens"]:
            assert token["digest"] not in whole
        assert not any(secret in whole for secret in here.secrets.values())


@driven
async def test_subjects_are_listed_and_found(tmp_path: Path) -> None:
    async with reach(tmp_path) as here:
        page = await got(here, "/v1/reach/subjects?limit=1")
        assert (page["items"][0]["id"], page["total"]) == ("packer", 2)
        assert page["items"][0]["tools"] == {"loaded": 2, "deferred": 0, "hidden": 0, "gone": 0}
        assert [one["id"] for one in (await got(here, page["next"]))["items"]] == ["seller"]
        assert [one["id"] for one in (await got(here, "/v1/reach/subjects?text=SELL"))["items"]] == ["seller"]
        assert (await got(here, "/v1/reach/subjects?kind=role"))["items"] == []


@driven
async def test_reach_is_for_who_administers_everything(tmp_path: Path) -> None:
    async with reach(tmp_path) as here:
        for path in ("/v1/reach?id=packer", "/v1/reach/subjects", "/v1/reach/matrix", "/v1/keys"):
            for who, code in (("ada", "insufficient_scope"), ("oda of acme", "tenant_only")):
                reply = await here.ask(who, "GET", path)
                assert (reply.status, reply.json()["code"]) == (403, code)
