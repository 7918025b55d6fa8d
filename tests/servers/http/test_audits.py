"""The audit over HTTP: proof, head, and exports that prove themselves."""

from __future__ import annotations

import json
from pathlib import Path

from ferrule.custody.check import verify_file
from tests.driven import driven
from tests.servers.http.api import api


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
