"""Tools for Anthropic carry examples of arguments, as far as they may be shown."""

from __future__ import annotations

from ferrule.model.tool import raw
from tests.definitions.formats.shop import SCHEMA, tool, write_tools


def test_examples_that_fit_are_shown_to_claude() -> None:
    examples = [{"order": "A-1"}, {"order": 5}, "nonsense", {"order": "A-2", "trace": "x"}, {"order": "A-1"}]
    contract = {"examples": examples, "internal_only_fields": ["trace"]}
    one = tool(payload=raw({"input_contract": contract}))
    assert write_tools("anthropic", one)[0]["input_examples"] == [{"order": "A-1"}]
    by_schema = tool(input_schema=raw({**SCHEMA, "examples": [{"order": "B-1"}]}))
    assert write_tools("anthropic", by_schema)[0]["input_examples"] == [{"order": "B-1"}]
    assert "input_examples" not in write_tools("anthropic", tool())[0]
