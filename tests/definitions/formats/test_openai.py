"""Functions for OpenAI: wrapped, flat and in groups."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from ferrule.contracts.format import WriteOptions
from ferrule.definitions.formats.openai import CHAT, RESPONSES
from ferrule.model.native_definition import native_refs
from tests.definitions.formats.lists import CHAT_TOOL, FLAT


def list_tools(value: Any) -> list[Any]:
    return list(value)


def test_groups_of_functions_stay_groups() -> None:
    group = {
        "type": "namespace",
        "name": "crm",
        "description": "Customers.",
        "tools": [FLAT, {**FLAT, "name": "other"}],
    }
    reading = RESPONSES.read([group, {**FLAT, "name": "third"}], "", {})
    assert [native_refs(read.tool)[0].get("namespace") for read in reading.tools] == ["crm", "crm", None]
    assert reading.tools[1].path == (0, "tools", 1)
    assert RESPONSES.write([read.tool for read in reading.tools], WriteOptions()).value == [
        group,
        {**FLAT, "name": "third"},
    ]


def test_a_changed_tool_keeps_what_nobody_knows_of() -> None:
    (read,) = CHAT.read(CHAT_TOOL, "", {}).tools
    changed = msgspec.structs.replace(read.tool, description="Other words.")
    (written,) = list_tools(CHAT.write([changed], WriteOptions()).value)
    assert written["x-outer"] == {"a": 1}
    assert written["function"]["x-inner"] == 1
    assert written["function"]["description"] == "Other words."


def test_a_function_without_parameters_takes_none() -> None:
    for tool in (
        {"type": "function", "function": {"name": "x"}},
        {"type": "function", "function": {"name": "x", "parameters": None}},
    ):
        reading = CHAT.read([tool], "", {})
        assert json.loads(bytes(reading.tools[0].tool.input_schema)) == {"type": "object", "properties": {}}
        assert CHAT.write([reading.tools[0].tool], WriteOptions()).value == [tool]
