"""Findings about the definitions on the console: the line is marked."""

from __future__ import annotations

from pathlib import Path

from tests.driven import driven
from tests.servers.api.catalog.catalog_samples import write
from tests.servers.console.browsing import signed_in
from tests.servers.console.catalog.catalog_samples import TOOLS, names
from tests.servers.local_server import running_server


@driven
async def test_diagnostics_show_the_line_marked(tmp_path: Path) -> None:
    path = write(tmp_path, "refund-order")
    async with running_server(tmp_path, tools=TOOLS, auth=True, toml='namespace = "shop"') as stand:
        path.write_text(path.read_text().replace("  owner: accounts", "  owner: accounts\n  colour: <script>"))
        owner = await signed_in(stand)
        shown = await owner.see("/catalog?view=diagnostics")
        assert b"<u>colour</u>: &lt;script&gt;" in shown.body
        page = await owner.value("/catalog?view=diagnostics")
        assert page["files"][0]["file"] == "tools/refund-order.tool.md"
        assert page["files"][0]["tools"][0]["address"] == "/console/catalog/refund-order"
        tool = await owner.value("/catalog/refund-order")
        assert [found["rule"] for found in tool["findings"]["items"]] == ["AML-15"]
        assert names(await owner.value("/catalog?findings=warnings")) == ["refund-order"]
