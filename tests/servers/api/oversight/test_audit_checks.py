"""Checks of the ledger behind the requests: they run, find a changed row where it is, and tell what was done to the ledger."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from ferrule.app.custody.erase import erase_call
from ferrule.app.custody.paths import ledger_paths
from ferrule.workspace.workspace import Workspace
from tests.driven import driven
from tests.servers.api.api import Api, api
from tests.servers.api.oversight.tampering import tampered


async def checked(here: Api) -> dict[str, Any]:
    """What a check behind the requests gives."""
    begun = await here.ask("oda", "POST", "/v1/audit/check")
    assert begun.status == 202
    state: dict[str, Any] = begun.json()
    while state["is_running"]:
        await asyncio.sleep(0.005)
        state = (await here.ask("oda", "GET", "/v1/audit/check")).json()
    return state


@driven
async def test_a_check_runs_behind_the_requests(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        await here.call("ada", "add", {"a": 1, "b": 2})
        before = (await here.ask("oda", "GET", "/v1/audit/check")).json()
        assert (before["is_running"], before["result"], before["checked_at"]) == (False, None, None)
        state = await checked(here)
        assert (state["result"]["is_clean"], state["problem"]) == (True, None)
        now = (await here.ask("oda", "GET", "/v1/audit")).json()
        assert now["check"]["checked_at"] == state["checked_at"]
        assert (now["first_seq"], now["last_seq"]) == (1, now["heads"][0]["seq"])
        assert (now["witness"], [mark["deed"] for mark in now["marks"]]) == (None, ["opened"])


@driven
async def test_a_changed_row_is_found_where_it_is(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "add", {"a": 1, "b": 2})
        await here.call("ada", "add", {"a": 3, "b": 4})
        await here.stand.app.store.flush()
        seq = (await here.stand.app.store.rows_of(call))[0].seq
        links = (await here.ask("oda", "GET", f"/v1/audit/links?around={seq}&count=1")).json()["items"]
        assert [(link["seq"], link["is_whole"]) for link in links] == [(seq - 1, True), (seq, True), (seq + 1, True)]
        tampered(tmp_path, seq)
        result = (await checked(here))["result"]
        assert result["is_clean"] is False
        first = result["findings"][0]
        assert (first["topic"], first["seq"], first["call"]) == ("hash", seq, call)
        links = (await here.ask("oda", "GET", f"/v1/audit/links?around={seq}&count=1")).json()["items"]
        assert [(link["seq"], link["is_whole"]) for link in links] == [(seq - 1, True), (seq, False), (seq + 1, True)]


@driven
async def test_what_was_done_to_the_ledger_is_told(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "add", {"a": 1, "b": 2})
        await here.stand.app.store.flush()
        assert (await here.ask("oda", "GET", "/v1/audit")).json()["marks_total"] == 1
    erase_call(ledger_paths(Workspace.open(tmp_path)), call, reason="she asked for it", by="oda")
    async with api(tmp_path) as here:
        mark = (await here.ask("oda", "GET", "/v1/audit")).json()["marks"][0]
        assert (mark["deed"], mark["by"]) == ("erased", "oda")
        assert mark["told"] == "payloads of 1 row of 1 call were destroyed: she asked for it"
        assert (await checked(here))["result"]["is_clean"] is True


@driven
async def test_the_audit_is_for_who_administers_everything(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for who, code in (("ada", "insufficient_scope"), ("amy", "insufficient_scope"), ("oda of acme", "tenant_only")):
            for method, path in (("GET", "/v1/audit"), ("GET", "/v1/audit/check"), ("POST", "/v1/audit/check"),
                                 ("GET", "/v1/audit/links")):  # fmt: skip
                reply = await here.ask(who, method, path)
                assert (reply.status, reply.json()["code"]) == (403, code), (who, path)
