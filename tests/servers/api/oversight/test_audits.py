"""The audit over HTTP: proof, head, and exports that prove themselves."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

from ferrule.app.custody.check import verify_file
from ferrule.model.timestamps import iso
from tests.driven import driven
from tests.servers.api.api import api


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
