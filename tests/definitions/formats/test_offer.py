"""What a model is offered of some tools: legal names, one version of each, and nothing that cannot be said."""

from __future__ import annotations

import pytest

from ferrule.contracts.format import WriteOptions
from ferrule.definitions.formats.builtin import FORMATS
from ferrule.model.tool import ResourceExposure, raw
from tests.definitions.formats.shop import tool

NAMES = [name for name in FORMATS.names() if name != "openapi"]


@pytest.mark.parametrize("name", NAMES)
def test_one_bad_tool_takes_none_of_the_others_with_it(name: str) -> None:
    form = FORMATS.get(name)
    old, new = tool("old", version="1.0.0"), tool("old", version="1.10.0", description="Newer.")
    page = tool("page", exposed_as=ResourceExposure(uri="shop://page"))
    writing = form.write([old, new, page, tool("fine")], WriteOptions())
    assert [read.tool.description for read in form.read(writing.value, "", {}).tools] == ["Newer.", "Give money back."]
    assert {finding.path for finding in writing.left_out} == {("shop.old",), ("shop.page",)}
    assert all("is left out" in finding.message for finding in writing.left_out)


def test_a_schema_that_cannot_be_said_leaves_out_its_tool_alone() -> None:
    endless = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}
    bad = tool("bad", input_schema=raw(endless))
    for name in ("anthropic", "openai", "gemini", "ollama"):
        writing = FORMATS.get(name).write([bad, tool("fine")], WriteOptions(is_strict=True))
        reading = FORMATS.get(name).read(writing.value, "", {})
        assert len(reading.tools) + len(writing.left_out) == 2
        assert "fine" in {read.tool.name for read in reading.tools}


def test_at_261_a_name_that_is_forbidden_is_changed_and_leads_back() -> None:
    name = "orders.of.customers/" + "x" * 70
    form = FORMATS.get("openai")
    writing = form.write([tool(name)], WriteOptions())
    (changed,) = writing.names
    assert len(changed) == 64
    assert form.read(writing.value, "", writing.names).tools[0].tool.name == name
    assert [loss.put for loss in writing.losses if loss.field == "name"] == [changed]
