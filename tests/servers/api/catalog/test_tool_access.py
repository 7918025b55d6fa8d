"""One tool over HTTP: who may use it and by which rule, and what became of it over time."""

from __future__ import annotations

from pathlib import Path

from ferrule.workspace.releases import publish
from ferrule.workspace.workspace import Workspace
from tests.driven import driven
from tests.servers.api.api import api
from tests.servers.api.catalog.catalog_samples import asked, write


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
        assert (anyone["kind"], anyone["access"], anyone["depends_on_input"]) == ("anyone", "depends", True)
        assert [(rule["rule_id"], rule["condition"], rule["is_always"]) for rule in anyone["rules"]] == [
            ("small", "amount is at most 20", False)
        ]
        assert [rule["rule_id"] for rule in pay["rules_about_some"]] == ["never-bob"]
        secret = (await asked(here, "access/shop.secret_tool"))["items"][0]
        assert (secret["access"], secret["rules"][0]["rule_id"]) == ("deny", "hidden")
        assert (await asked(here, "access/shop.add"))["items"][0]["access"] == "allow"
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
