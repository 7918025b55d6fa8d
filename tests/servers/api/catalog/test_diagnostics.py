"""What is wrong with the definitions, over HTTP: findings at their line, no secrets, no files from elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

from tests.driven import driven
from tests.servers.api.api import api
from tests.servers.api.catalog.catalog_samples import TOOL, asked, write

SECRET = "sk-live-0123456789abcdef"


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
