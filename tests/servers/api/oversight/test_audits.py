"""The audit over HTTP: proof, head, and exports that prove themselves."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ferrule.app.custody.check import verify_file
from ferrule.app.custody.erase import erase_call
from ferrule.app.custody.paths import ledger_paths
from ferrule.model.timestamps import iso
from ferrule.workspace.workspace import Workspace
from tests.driven import driven
from tests.servers.api.api import Api, api


@driven
async def test_the_ledger_is_proved(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        await here.call("ada", "add", {"a": 1, "b": 2})
        verdict = (await here.ask("oda", "POST", "/v1/audit/verify")).json()
        assert verdict["is_clean"] is True
        (head,) = (await here.ask("oda", "GET", "/v1/audit/heads")).json()["items"]
        assert (head["seq"], head["hash"]) == (verdict["last_seq"], verdict["head_hash"])


@driven
async def test_an_export_proves_itself(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "add", {"a": 41, "b": 2})
        export = tmp_path / "export.jsonl"
        for query in ("", "?payloads=true", "?from=2&to=4"):
            reply = await here.ask("oda", "GET", f"/v1/audit/export{query}")
            assert (reply.status, reply.headers["content-type"]) == (200, "application/x-ndjson")
            export.write_bytes(reply.body)
            assert verify_file(export, None).is_clean
        calls = (await here.ask("oda", "GET", "/v1/audit/export?what=calls")).body.splitlines()
        assert [json.loads(line)["invocation_id"] for line in calls] == [call]
        beyond = await here.ask("oda", "GET", "/v1/audit/export?from=100000")
        assert (beyond.status, beyond.json()["code"]) == (409, "cannot_be_exported")
        assert str(tmp_path) not in beyond.body.decode()
        for wrong in ("from=0", "payloads=yes", "payloads=1", "what=all", "first=1"):
            assert (await here.ask("oda", "GET", f"/v1/audit/export?{wrong}")).status == 400


async def checked(here: Api) -> dict[str, Any]:
    """What a check behind the requests gives."""
    begun = await here.ask("oda", "POST", "/v1/audit/check")
    assert begun.status == 202
    state: dict[str, Any] = begun.json()
    while state["is_running"]:
        await asyncio.sleep(0.005)
        state = (await here.ask("oda", "GET", "/v1/audit/check")).json()
    return state


def tampered(folder: Path, seq: int) -> None:
    """Change one row of the ledger, behind everybody's back."""
    with closing(sqlite3.connect(folder / ".ferrule/ledger.db")) as ledger:
        ledger.execute("UPDATE journal SET outcome = 'failed' WHERE seq = ?", (seq,))
        ledger.commit()


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
async def test_a_part_can_be_exported_by_time_tool_and_principal(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        call = await here.called("ada", "add", {"a": 1, "b": 2})
        other = await here.called("bob", "report", {"size": 10})
        await here.stand.app.store.flush()
        at = (await here.stand.app.store.rows_of(other))[0].at
        moment = quote(iso(at))

        async def ids(query: str) -> list[str]:
            reply = await here.ask("oda", "GET", f"/v1/audit/export?what=calls&{query}")
            assert reply.status == 200, reply.body
            return [json.loads(line)["invocation_id"] for line in reply.body.splitlines()]

        assert await ids(f"since={moment}") == [other]
        assert await ids(f"until={moment}") == [call]
        assert await ids("principal=ada") == [call]
        assert await ids("tool=shop.report") == [other]
        export = tmp_path / "part.jsonl"
        export.write_bytes((await here.ask("oda", "GET", f"/v1/audit/export?until={moment}")).body)
        assert verify_file(export, None).is_clean
        assert (await here.ask("oda", "GET", "/v1/audit/export?until=2001-01-01")).status == 409
        for wrong, status in (("since=yesterday", 400), ("since=2026-02-31", 400), ("tool=shop.add", 409)):
            assert (await here.ask("oda", "GET", f"/v1/audit/export?{wrong}")).status == status


@driven
async def test_the_audit_is_for_who_administers_everything(tmp_path: Path) -> None:
    async with api(tmp_path) as here:
        for who, code in (("ada", "insufficient_scope"), ("amy", "insufficient_scope"), ("oda of acme", "tenant_only")):
            for method, path in (("GET", "/v1/audit"), ("GET", "/v1/audit/check"), ("POST", "/v1/audit/check"),
                                 ("GET", "/v1/audit/links")):  # fmt: skip
                reply = await here.ask(who, method, path)
                assert (reply.status, reply.json()["code"]) == (403, code), (who, path)
