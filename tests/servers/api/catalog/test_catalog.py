"""The catalog and the switches over HTTP: for who administers the workspace."""

from __future__ import annotations

from pathlib import Path

from tests.driven import driven
from tests.servers.api.api import api

PATHS = ("/v1/catalog", "/v1/catalog/tools", "/v1/catalog/tools/shop.add", "/v1/catalog/agents", "/v1/catalog/roles",
         "/v1/switches", "/v1/audit/heads", "/v1/audit/export")  # fmt: skip


@driven
async def test_operators_see_every_tool(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        state = (await here.ask("oda", "GET", "/v1/catalog")).json()
        assert (state["tools"], state["switched_off"]) == (7, [])
        names, address = [], "/v1/catalog/tools?limit=3&namespace=shop"
        while address:
            page = (await here.ask("oda", "GET", address)).json()
            names += [tool["name"] for tool in page["items"]]
            address = page["next"]
        assert names == sorted(["add", "fail", "greet", "pay", "report", "secret_tool", "steps"])
        tool = (await here.ask("oda", "GET", "/v1/catalog/tools/shop.add")).json()
        assert (tool["is_on"], tool["versions"][0]["version"]) == (True, "1.0.0")
        assert tool["versions"][0]["input_schema"]["required"] == ["a", "b"]
        assert (await here.ask("oda", "GET", "/v1/catalog/tools/nothing")).status == 404


@driven
async def test_an_off_switch_holds_at_once_and_ends_what_waits(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "pay", {"amount": 1})
        off = await here.ask("oda", "PUT", "/v1/switches/shop.pay", {"is_on": False, "reason": "stop"})
        assert off.json() == {"tool_id": "shop.pay", "is_on": False, "ended_calls": 1}
        assert (await here.ask("ada", "GET", f"/v1/calls/{call}")).json()["is_pending"] is False
        assert (await here.call("ada", "pay", {"amount": 1})).status == 404
        assert [one["tool_id"] for one in (await here.ask("oda", "GET", "/v1/switches")).json()["items"]] == [
            "shop.pay"
        ]
        await here.ask("oda", "PUT", "/v1/switches/shop.pay", {"is_on": True})
        assert (await here.call("ada", "pay", {"amount": 1})).status == 202
        assert (await here.ask("oda", "PUT", "/v1/switches/shop.nothing", {"is_on": False})).status == 404


@driven
async def test_what_is_about_the_workspace_is_for_nobody_of_one_tenant(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for path in PATHS:
            for who, code in (
                ("ada", "insufficient_scope"),
                ("amy", "insufficient_scope"),
                ("oda of acme", "tenant_only"),
            ):
                reply = await here.ask(who, "GET", path)
                assert (reply.status, reply.json()["code"]) == (403, code), (who, path)
            assert (await here.ask("", "GET", path)).status == 401
            assert (await here.ask("nobody", "GET", path)).status == 401
            assert (await here.ask("owner", "GET", path)).status == 200
        for who in ("ada", "amy", "oda of acme"):
            assert (await here.ask(who, "PUT", "/v1/switches/shop.add", {"is_on": False})).status == 403
            assert (await here.ask(who, "POST", "/v1/policy/reload")).status == 403
            assert (await here.ask(who, "POST", "/v1/audit/verify")).status == 403


@driven
async def test_a_changed_policy_can_be_read_at_once(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        before = (await here.ask("oda", "POST", "/v1/policy/reload")).json()["digest"]
        (tmp_path / "policy.toml").write_text('[[rules]]\nid = "no"\ndecision = "deny"\ntool = "add"\nreason = "no"\n')
        after = (await here.ask("oda", "POST", "/v1/policy/reload")).json()["digest"]
        assert before != after
        assert (await here.call("ada", "add", {"a": 1, "b": 2})).status == 404
