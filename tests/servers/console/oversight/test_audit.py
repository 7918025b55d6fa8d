"""The audit page: the check, what is wrong at its row, and exports."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import ferrule
from ferrule.app.custody.check import verify_file
from ferrule.servers.console.oversight.audit import format_size, write_sentence
from tests.driven import driven
from tests.servers.api.oversight.tampering import tampered
from tests.servers.console.browsing import Person, signed_in, text_of
from tests.servers.local_server import InProcessServer, running_server


@ferrule.tool(read_only=True)
def look(where: str = "here") -> str:
    """Look at something."""
    return f"seen {where}"


async def called(stand: InProcessServer, times: int) -> list[str]:
    surface = stand.app.surface(principal="ada")
    results = [await surface.call("look", {"where": str(number)}) for number in range(times)]
    await stand.app.store.flush()
    return [result.invocation_id for result in results]


async def verified(person: Person) -> dict[str, Any]:
    reply = await person.send("/audit/verify", {})
    assert (reply.status, reply.headers["location"]) == (303, "/console/audit")
    while True:
        found: dict[str, Any] = await person.value("/audit")
        if not found["ledger"]["check"]["is_running"]:
            return found
        await asyncio.sleep(0.005)


@driven
async def test_an_intact_ledger_is_said_to_be_so_everywhere(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=(look,), auth=True) as stand:
        await called(stand, 3)
        owner = await signed_in(stand)
        before = text_of(await owner.see("/audit"))
        assert "It has not been checked since this server started." in before
        assert "Audit not checked" in before
        found = await verified(owner)
        assert found["answer"]["kind"] == "ok"
        rows = found["ledger"]["check"]["result"]["rows"]
        page = text_of(await owner.see("/audit"))
        assert f"The ledger is intact: all {rows} rows were checked." in page
        assert "Audit intact" in page
        assert "Audit intact" in text_of(await owner.see("/policy"))


@driven
async def test_a_changed_row_is_shown_as_the_break(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=(look,), auth=True) as stand:
        call = (await called(stand, 5))[2]
        seq = (await stand.app.store.rows_of(call))[0].seq
        tampered(tmp_path, seq)
        owner = await signed_in(stand)
        found = await verified(owner)
        assert found["answer"]["kind"] == "bad"
        assert f"The first is row {seq}: it is not what was written" in found["answer"]["text"]
        assert [(link["seq"], link["is_whole"]) for link in found["chain"]["items"]] == [
            (seq - 2, True),
            (seq - 1, True),
            (seq, False),
            (seq + 1, True),
            (seq + 2, True),
        ]
        page = await owner.see("/audit")
        assert f"The chain at row {seq}" in text_of(page)
        assert f'href="/console/invocations/{call}"' in page.body.decode()
        assert "Audit broken" in text_of(page)


@driven
async def test_a_check_begins_from_our_own_pages_only(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=(look,), auth=True) as stand:
        owner = await signed_in(stand)
        assert (await owner.send("/audit/verify", {}, proof="")).status == 403
        assert (await owner.value("/audit"))["ledger"]["check"]["began_at"] is None
        part = await owner.send("/audit/verify", {}, hx_request="true")
        assert part.status == 200
        assert b"<html" not in part.body
        agent = await signed_in(stand, stand.read_token())
        assert (await agent.send("/audit/verify", {})).status == 403


@driven
async def test_exports_are_files_that_prove_themselves(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=(look,), auth=True) as stand:
        calls = await called(stand, 3)
        owner = await signed_in(stand)
        rows = await owner.see("/audit/export?what=rows&from=&to=&since=&until=&tool=&principal=")
        assert rows.headers["content-disposition"] == 'attachment; filename="ledger.jsonl"'
        file = tmp_path / "ledger.jsonl"
        file.write_bytes(rows.body)
        assert verify_file(file, None).is_clean
        records = await owner.see("/audit/export?what=calls&principal=ada&payloads=true")
        assert [json.loads(line)["invocation_id"] for line in records.body.splitlines()] == calls
        assert (await owner.see("/audit/export?from=99999")).status == 409
        agent = await signed_in(stand, stand.read_token())
        assert (await agent.see("/audit/export")).status == 403


@driven
async def test_a_row_can_be_looked_up(tmp_path: Path) -> None:
    async with running_server(tmp_path, tools=(look,), auth=True) as stand:
        await called(stand, 3)
        owner = await signed_in(stand)
        found = await owner.value("/audit?row=2")
        assert [link["seq"] for link in found["chain"]["items"]] == [1, 2, 3, 4]
        assert (await owner.value("/audit?row=x"))["chain"] is None
        assert "There is no row 999" in text_of(await owner.see("/audit?row=999"))
        assert (await owner.value(f"/audit?row={'9' * 5000}"))["chain"] is None


def test_words() -> None:
    check = {"is_running": False, "problem": None, "result": None}
    state = {"rows": 1, "heads": [{}], "check": check}
    assert write_sentence(state)["text"].startswith("The ledger has 1 row.")
    assert write_sentence({**state, "heads": []})["kind"] == "bad"
    assert [format_size(number) for number in (12, 3_400, 5_000_000)] == ["12 bytes", "3.4 kB", "5.0 MB"]
