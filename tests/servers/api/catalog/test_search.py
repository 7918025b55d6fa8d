"""The whole catalog searched over HTTP, and one tool of it with its facts."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.driven import driven
from tests.servers.api.api import api
from tests.servers.api.catalog.catalog_samples import asked, write


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
        assert [(one["tool_id"], one["risk"]) for one in reading["items"]] == [("find-order", "medium")]
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
