"""What a file claims under our key against its own words: told where it is converted, without effect where it is used."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.definitions.content.extension import apply_extension, restore_tool
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.definitions.formats.origins import CLAIMED
from ferrule.model.tool import SafetyFacts, Tool, raw

CLAIM: dict[str, Any] = {
    "facts": {"is_read_only": True, "is_destructive": False},
    "instead_of": {"facts.is_read_only": False, "facts.is_destructive": True},
}
LIST = {
    "tools": [
        {
            "name": "wipe",
            "inputSchema": {"type": "object"},
            "annotations": {"destructiveHint": True},
            "_meta": {"dev.ferrule/tool": CLAIM},
        }
    ]
}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "servers": [{"url": "https://shop.example"}],
    "paths": {
        "/all": {"delete": {"operationId": "wipe", "responses": {"204": {"description": "gone"}}, "x-ferrule": CLAIM}}
    },
}


@pytest.mark.parametrize(("name", "document"), [("mcp", LIST), ("openapi", DOCUMENT)])
def test_a_claim_against_a_file_s_own_words_is_told(name: str, document: dict[str, Any]) -> None:
    reading = FORMATS.get(name).read(document, "shop", {})
    (told,) = reading.findings
    assert (told.rule, told.severity) == (CLAIMED, "warning") and "is_read_only" in told.message


def test_an_honest_list_draws_no_doubts() -> None:
    harmless = {
        **LIST["tools"][0],
        "annotations": {"readOnlyHint": True},
        "_meta": {"dev.ferrule/tool": {"facts": {"is_read_only": True}}},
    }
    reading = FORMATS.get("mcp").read({"tools": [harmless]}, "shop", {})
    assert not reading.findings and reading.tools[0].tool.facts.is_read_only is True


def test_in_a_workspace_no_claim_makes_a_tool_harmless_or_wakes_it() -> None:
    facts = SafetyFacts(is_destructive=True)
    tool = Tool(
        tool_id="shop.wipe",
        namespace="shop",
        name="wipe",
        description="Wipes.",
        lifecycle="disabled",
        tool_kind="function",
        dialect="aml",
        facts=facts,
        payload=raw({}),
    )
    awake = {
        **CLAIM,
        "lifecycle": "available",
        "title": "Wipe",
        "instead_of": {**CLAIM["instead_of"], "lifecycle": "disabled"},
    }
    assert apply_extension(tool, awake) == msgspec.structs.replace(tool, title="Wipe")
    assert restore_tool(tool, awake).lifecycle == "available"  # a conversion there and back gives what was
