"""The tool list of an MCP server carries what MCP has no words for."""

from __future__ import annotations

import json

from ferrule.contracts.format import WriteOptions
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.model.tool import raw
from tests.definitions.formats.shop import tool


def test_mcp_carries_what_it_has_no_words_for_and_gives_it_back() -> None:
    one = tool(
        dialect="aml", version="2.0.0", owner="us", tags=("a",), payload=raw({"transport": {"type": "rest-api"}})
    )
    writing = FORMATS.get("mcp").write([one], WriteOptions())
    back = FORMATS.get("mcp").read(json.loads(json.dumps(writing.value)), "elsewhere", {}).tools[0].tool
    assert back == one
    assert {loss.instead for loss in writing.losses} == {"extension"}
    assert "aml.transport" in {loss.field for loss in writing.losses}
