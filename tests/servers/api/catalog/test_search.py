"""The whole catalog searched over HTTP, what is wrong with its definitions, who may use a tool and what became of it."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import pytest

from ferrule.workspace.releases import publish
from ferrule.workspace.workspace import Workspace
from tests.driven import driven
from tests.servers.api.api import Api, api

TOOL = """---
spec_version: "1.2"
tool_id: {id}
version: "{version}"
status: active
meta:
  name: {id}
  description: >
    {description}
    It is used by the people at the desk when a customer asks.
  owner: {owner}
  tags: [orders]
type: {type}
interface:
  input:
    type: object
    properties:
      order:
        type: string
        description: "Order number."{more}
    required: [order]
    additionalProperties: false
  output:
    type: object
    properties:
      done: {{type: boolean, description: "Whether it was done."}}
    required: [done]
    additionalProperties: false
transport:
  type: rest-api
  base_url: https://shop.example/v2
  endpoint: POST /orders
  timeout_ms: 8000
  credentials:
    scheme: oauth2
    provider: aws
    function_id: arn:aws:lambda:eu-west-1:210987654321:function:token
    scopes: [refunds.write]
use_guidance:
  use_when: [the order is delivered]
  avoid_when: [the order has not been paid]
  side_effects: "Money leaves the account."
---

# Purpose

To *settle* complaints.
"""
SECRET = "sk-live-0123456789abcdef"


def write(folder: Path, name: str, **said: str) -> Path:
    values = {
        "version": "1.0.0",
        "description": "Pays an order back.",
        "owner": "accounts",
        "type": "action",
        "more": "",
    }
    (folder / "tools").mkdir(exist_ok=True)
    path = folder / "tools" / f"{name}.tool.md"
    path.write_text(TOOL.format(**{**values, "id": name, **said}))
    return path


async def asked(here: Api, path: str) -> Any:
    reply = await here.ask("oda", "GET", f"/v1/catalog/{path}")
    assert reply.status == 200, reply.body
    return reply.json()


@driven
async def test_tools_are_found_by_words_and_by_what_they_are(tmp_path: Path) -> None:
    write(tmp_path, "refund-order")
    write(tmp_path, "find-order", description="Looks an order up.", type="retrieval", owner="desk")
    async with api(tmp_path) as here:
        whole = await asked(here, "search")
        assert (whole["total"], whole["matched"], len(whole["items"])) == (9, 9, 9)
        assert whole["counts"]["dialect"]["aml"] == 2
        assert next(one["tool_id"] for one in (await asked(here, "search?q=pays%20back"))["items"]) == "refund-order"
        assert [one["tool_id"] for one in (await asked(here, "search?q=refu"))["items"]] == ["refund-order"]
        assert next(one["tool_id"] for one in (await asked(here, "search?q=find-order"))["items"]) == "find-order"
        assert (await asked(here, "search?q=nothing%20like%20it%20zzz"))["matched"] == 0
        owned = await asked(here, "search?owner=accounts")
        assert [one["tool_id"] for one in owned["items"]] == ["refund-order"]
        assert owned["counts"]["owner"]["desk"] == 1, "a filter's own counts tell what else could be chosen"
        assert owned["counts"]["dialect"] == {"aml": 1}
        reading = await asked(here, "search?effect=reads&dialect=aml")
        assert [(one["tool_id"], one["risk"]) for one in reading["items"]] == [("find-order", "low")]
        assert (await here.ask("oda", "GET", "/v1/catalog/search?effect=eats")).status == 400


@driven
async def test_found_tools_come_in_pages(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        names: list[str] = []
        address = "/v1/catalog/search?limit=3"
        while address:
            page = (await here.ask("oda", "GET", address)).json()
            names += [tool["tool_id"] for tool in page["items"]]
            address = page["next"]
        assert len(names) == 7
        assert names == sorted(names)


@driven
async def test_switches_are_a_filter(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        await here.ask("oda", "PUT", "/v1/switches/shop.pay", {"is_on": False})
        off = await asked(here, "search?switch=off")
        assert [(one["tool_id"], one["is_on"]) for one in off["items"]] == [("shop.pay", False)]
        assert off["counts"]["switch"] == {"off": 1, "on": 6}


@driven
async def test_one_tool_has_its_facts_documentation_and_size(tmp_path: Path) -> None:
    write(tmp_path, "refund-order")
    async with api(tmp_path) as here:
        tool = (await asked(here, "tools/refund-order"))["versions"][0]
        facts = {fact["name"]: fact for fact in tool["facts"]}
        assert facts["is_read_only"]["is_inferred"] is False
        assert facts["is_destructive"]["is_inferred"] is True
        assert "cautious" in facts["is_destructive"]["why"]
        assert "settle" in "".join(tool["documentation"].values())
        assert (tool["timeout_seconds"], tool["runs_on"], tool["risk"]) == (8.0, "rest-api", "high")
        assert tool["size"]["tokens"] == math.ceil(tool["size"]["characters"] / 4.5) > 20


@driven
async def test_findings_are_told_at_their_line(tmp_path: Path) -> None:
    write(tmp_path, "refund-order")
    async with api(tmp_path) as here:
        path = write(tmp_path, "find-order", owner="desk")
        path.write_text(path.read_text().replace("status: active", "status: asleep"))
        page = await asked(here, "diagnostics")
        (found,) = [each for each in page["items"] if each["severity"] == "error"]
        assert (found["file"], found["line"], found["tools"]) == ("tools/find-order.tool.md", 5, ["find-order"])
        (marked,) = [line for line in found["source"] if line["start"] is not None]
        assert "asleep" in marked["text"][marked["start"] : marked["end"]]
        assert page["summary"]["errors"] == 1
        own = await asked(here, "diagnostics?tool_id=find-order")
        assert own["matched"] >= 1
        assert own["definitions"] == [
            {"tool_id": "find-order", "version": "1.0.0", "file": "tools/find-order.tool.md", "line": 1}
        ]
        assert (await asked(here, "diagnostics?tool_id=refund-order&severity=error"))["matched"] == 0
        path.write_text(path.read_text().replace("status: asleep", "status: active"))
        assert (await asked(here, "diagnostics"))["summary"]["errors"] == 0, "what changed is looked at again"


@driven
async def test_a_secret_in_a_definition_is_not_shown(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        path = write(tmp_path, "find-order")
        text = path.read_text().replace(
            "    scopes: [refunds.write]",
            f"    scopes: [refunds.write]\n    api_key: {SECRET}\n    token: >\n      {SECRET}",
        )
        path.write_text(text.replace("status: active", "status: asleep"))
        reply = await here.ask("oda", "GET", "/v1/catalog/diagnostics?limit=500")
        assert SECRET not in reply.body.decode()
        assert any("REDACTED" in line["text"] for each in reply.json()["items"] for line in each["source"])


@driven
async def test_files_outside_the_workspace_are_not_read_out(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    outside = tmp_path / "outside.tool.md"
    outside.write_text(TOOL.format(id="x", version="1", description="Kept elsewhere.", owner="o", type="eats", more=""))
    (folder / "tools").mkdir()
    os.symlink(outside, folder / "tools" / "x.tool.md")
    async with api(folder) as here:
        page = await asked(here, "diagnostics")
        assert page["items"]
        assert all(not each["source"] for each in page["items"] if each["file"].startswith("tools/"))
        for name in ("../outside.tool.md", "/etc/passwd", "ferrule.toml", ".ferrule/keys/owner.token"):
            assert (await asked(here, f"diagnostics?file={name}"))["items"] == []


@driven
async def test_who_may_use_a_tool_is_told_with_the_rule(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        (tmp_path / "policy.toml").write_text(
            '[[rules]]\nid = "small"\ndecision = "allow"\ntool = "pay"\nwhen = { amount = { at_most = 20 } }\n'
            '[[rules]]\nid = "never-bob"\ndecision = "deny"\ntool = "pay"\nprincipal = "bob"\nreason = "no"\n'
            '[[rules]]\nid = "hidden"\ndecision = "deny"\ntool = "secret_tool"\nreason = "not for agents"\n'
        )
        await here.ask("oda", "POST", "/v1/policy/reload")
        pay = await asked(here, "access/shop.pay")
        (anyone,) = pay["items"]
        assert (anyone["kind"], anyone["access"], anyone["depends_on_input"]) == ("anyone", "asks", True)
        assert [(rule["rule_id"], rule["condition"], rule["is_always"]) for rule in anyone["rules"]] == [
            ("small", "amount is at most 20", False)
        ]
        assert [rule["rule_id"] for rule in pay["rules_about_some"]] == ["never-bob"]
        secret = (await asked(here, "access/shop.secret_tool"))["items"][0]
        assert (secret["access"], secret["rules"][0]["rule_id"]) == ("denied", "hidden")
        assert (await asked(here, "access/shop.add"))["items"][0]["access"] == "allowed"
        assert (await here.ask("oda", "GET", "/v1/catalog/access/nothing")).status == 404


@driven
async def test_what_became_of_a_tool_is_told_with_what_breaks(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text('namespace = "shop"\n')
    write(tmp_path, "refund-order")
    publish(Workspace.open(tmp_path), by="ada", at="2026-01-31T12:00:00Z")
    more = "\n      reason:\n        type: string\n        description: Why."
    path = write(tmp_path, "refund-order", version="2.0.0", more=more)
    path.write_text(path.read_text().replace("required: [order]", "required: [order, reason]"))
    publish(Workspace.open(tmp_path), by="bea", at="2026-02-28T12:00:00Z", message="reasons")
    async with api(tmp_path) as here:
        changes = await asked(here, "changes/refund-order")
        assert changes["releases"] == 2
        newest, first = changes["items"]
        assert (newest["to"], newest["by"], newest["old_version"], newest["new_version"]) == (
            "release 2",
            "bea",
            "1.0.0",
            "2.0.0",
        )
        assert newest["is_breaking"]
        assert any("reason" in text for text in newest["breaking"])
        assert (newest["needed"], newest["made"]) == ("major", "major")
        assert (first["to"], first["change"]) == ("release 1", "added")
        assert (await asked(here, "changes/shop.add"))["items"] == []


@driven
async def test_the_catalog_is_for_who_administers_all_of_it(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for path in ("search", "diagnostics", "access/shop.add", "changes/shop.add"):
            for who, status in (("ada", 403), ("amy", 403), ("oda of acme", 403), ("", 401), ("owner", 200)):
                assert (await here.ask(who, "GET", f"/v1/catalog/{path}")).status == status, (who, path)


@driven
async def test_a_caller_looks_for_tools_on_its_own_surface(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        found = (await here.ask("ada", "GET", "/v1/tools?q=numbers")).json()["items"]
        assert [tool["name"] for tool in found] == ["add"]
        assert (await here.ask("ada", "GET", "/v1/tools?q=secret_tool")).json()["items"] == []


@pytest.mark.parametrize("cursor", ["-1", "x", "99999999999999999999"])
@driven
async def test_a_cursor_that_is_none_is_refused(tmp_path: Path, cursor: str) -> None:
    async with api(tmp_path) as here:
        for path in ("search", "diagnostics"):
            assert (await here.ask("oda", "GET", f"/v1/catalog/{path}?cursor={cursor}")).status == 400
