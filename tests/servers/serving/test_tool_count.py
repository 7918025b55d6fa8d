"""How many tools `ferrule serve` says it has."""

from __future__ import annotations

from pathlib import Path

import ferrule
from ferrule.servers.serving import count_tools
from tests.contracts.transports.fake_upstream import aml
from tests.driven import driven

TRANSPORT = "  type: rest-api\n  base_url: https://api.example.com\n  endpoint: GET /x\n  credentials: {scheme: none}\n"


@ferrule.tool(read_only=True)
def greet(name: str) -> str:
    """Greets somebody."""
    return name


async def told(folder: Path, *tools: object) -> str:
    async with ferrule.open(folder, tools=tools) as app:
        return count_tools(app)


@driven
async def test_tools_are_counted_by_where_they_come_from(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text("")
    (tmp_path / "look-up.tool.md").write_text(aml("look-up", TRANSPORT))
    assert await told(tmp_path) == "1 tool"
    assert await told(tmp_path, greet) == "2 tools (1 from definitions, 1 from functions)"


@driven
async def test_tools_that_nobody_can_call_are_told(tmp_path: Path) -> None:
    (tmp_path / "ferrule.toml").write_text("")
    (tmp_path / "look-up.tool.md").write_text(aml("look-up", TRANSPORT).replace("status: active", "status: disabled"))
    assert await told(tmp_path) == "1 tool, 1 of them not in use"
