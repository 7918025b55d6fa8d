"""The page of one tool: what it does, who may use it, its calls, its changes and its switch."""

from __future__ import annotations

from pathlib import Path

from ferrule.workspace.releases import publish
from ferrule.workspace.workspace import Workspace
from tests.driven import driven
from tests.servers.api.catalog.catalog_samples import write
from tests.servers.console.browsing import signed_in, text_of
from tests.servers.console.catalog.catalog_samples import POLICY, TOOLS, names
from tests.servers.local_server import running_server


@driven
async def test_a_tool_page_tells_what_it_does_and_who_may(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY)
    write(tmp_path, "refund-order")
    async with running_server(tmp_path, tools=TOOLS, auth=True, toml='namespace = "shop"') as stand:
        owner = await signed_in(stand)
        page = await owner.value("/catalog/refund-order")
        assert page["input"]["tree"][0]["name"] == "order"
        facts = {fact["label"]: fact for fact in page["facts"]}
        assert (facts["Effect"]["says"], facts["Effect"]["is_inferred"]) == ("writes, undo not stated", True)
        assert (facts["Time limit"]["says"], facts["Secrets"]["says"]) == ("8.0 s", "oauth2, aws")
        assert [(row["name"], row["access"]) for row in page["access"]["rows"]] == [("anyone else", "ask")]
        shown = await owner.see("/catalog/refund-order")
        assert b"<em>settle</em>" in shown.body, "documentation is laid out"
        assert "tools/refund-order.tool.md:1" in text_of(shown)
        hidden_page = await owner.value("/catalog/shop.hidden")
        assert [rule["rule_id"] for rule in hidden_page["access"]["some"]] == ["no"]
        assert (await owner.see("/catalog/nothing")).status == 404


@driven
async def test_recent_calls_and_changes_are_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text('namespace = "shop"\n')
    write(tmp_path, "refund-order")
    publish(Workspace.open(tmp_path), by="ada", at="2026-01-31T12:00:00Z")
    path = write(
        tmp_path, "refund-order", version="2.0.0", more="\n      why:\n        type: string\n        description: W."
    )
    path.write_text(path.read_text().replace("required: [order]", "required: [order, why]"))
    publish(Workspace.open(tmp_path), by="bea", at="2026-02-28T12:00:00Z")
    async with running_server(tmp_path, tools=TOOLS, auth=True) as stand:
        owner = await signed_in(stand)
        shown = text_of(await owner.see("/catalog/refund-order"))
        assert "1.0.0 → 2.0.0 breaks callers" in shown
        assert "is new and required" in shown
        handle = stand.app.surface(principal="ada")
        await handle.call("add", {"a": 1, "b": 2})
        (call,) = (await owner.value("/catalog/shop.add"))["calls"]
        assert (call["principal"], call["status"]) == ("ada", "succeeded")


@driven
async def test_a_switch_takes_a_confirmed_form(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=TOOLS, auth=True, toml='namespace = "shop"') as stand:
        owner = await signed_in(stand)
        asked = await owner.see("/catalog/shop.pay?confirm=off")
        assert "Turn it off?" in text_of(asked)
        assert (await owner.value("/catalog/shop.pay"))["is_on"], "asking changes nothing"
        assert (await owner.send("/catalog/shop.pay", {"to": "off"}, proof="")).status == 403
        assert (await owner.send("/catalog/shop.pay", {"to": "sideways"})).status == 400
        done = await owner.send("/catalog/shop.pay", {"to": "off", "reason": "a fire"})
        assert (done.status, done.headers["location"]) == (303, "/console/catalog/shop.pay")
        page = await owner.value("/catalog/shop.pay")
        assert (page["is_on"], page["sentence"]) == (False, "The tool is turned off: every call is refused.")
        assert names(await owner.value("/catalog?switch=off")) == ["shop.pay"]
        assert (await owner.send("/catalog/shop.pay", {"to": "on"})).status == 303
        assert (await owner.value("/catalog/shop.pay"))["is_on"]
