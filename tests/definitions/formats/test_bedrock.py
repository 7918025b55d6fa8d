"""Tools for Bedrock's Converse stand in a wrapper, their schemas under `json`."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.definitions.formats.bedrock import FORMAT
from ferrule.definitions.formats.entries import UnreadableTool
from ferrule.model.diagnostic import Severity
from tests.definitions.formats.shop import tool, write_tools


def spec(**fields: Any) -> dict[str, Any]:
    return {"toolSpec": {"name": "x", "inputSchema": {"json": {"type": "object"}}, **fields}}


def test_a_wrapped_tool_is_read() -> None:
    said = FORMAT.read_definition(spec(description="Finds.", strict=True))
    assert (said.name, said.description, said.schema, said.hints) == (
        "x",
        "Finds.",
        {"type": "object"},
        {"strict": True},
    )
    assert FORMAT.claims(spec()) and not FORMAT.claims({"name": "x"})


def test_a_schema_that_is_empty_takes_anything() -> None:
    assert FORMAT.read_definition(spec(inputSchema={"json": None})).schema == {}


@pytest.mark.parametrize(
    ("definition", "path", "severity"),
    [
        ({"cachePoint": {}}, ("cachePoint",), Severity.INFO),
        ({"toolSpec": []}, ("toolSpec",), Severity.ERROR),
        (spec(inputSchema={}), ("toolSpec", "inputSchema"), Severity.ERROR),
    ],
)
def test_what_is_no_tool_is_told_with_its_place(
    definition: dict[str, Any], path: tuple[str, ...], severity: Severity
) -> None:
    with pytest.raises(UnreadableTool) as caught:
        FORMAT.read_definition(definition)
    finding = caught.value.build_finding((0,))
    assert (finding.path, finding.severity) == ((0, *path), severity)


def test_a_description_that_is_empty_is_not_written() -> None:
    listed = write_tools("bedrock", tool(description=""), tool("other"))["tools"]
    assert "description" not in listed[0]["toolSpec"]
    assert listed[1]["toolSpec"]["description"] == "Give money back."
