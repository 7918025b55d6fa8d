"""The tools that come along agree with themselves: what they take can be checked, and what they may be told is their own."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.model.builtin_tools import BUILTIN_TOOLS, BuiltinTool
from ferrule.schema.validation.soundness import fits, schema_defects


@pytest.mark.parametrize("tool", BUILTIN_TOOLS.values(), ids=list(BUILTIN_TOOLS))
def test_every_argument_is_explained_and_no_other_is_taken(tool: BuiltinTool) -> None:
    assert schema_defects(tool.schema) == []
    properties = tool.schema["properties"]
    assert all(member["description"].endswith(".") for member in properties.values())
    assert tool.schema["required"] and set(tool.schema["required"]) <= set(properties)
    filled = dict.fromkeys(tool.schema["required"], "x")
    assert fits(tool.schema, filled)
    assert not fits(tool.schema, {**filled, "surprise": "x"})


@pytest.mark.parametrize(
    ("name", "arguments", "is_taken"),
    [
        ("read", {"file_path": "a", "offset": 1, "limit": 5}, True),
        ("read", {"file_path": "a", "offset": 0}, False),
        ("bash", {}, False),
        ("edit", {"file_path": "a", "old_string": "b"}, False),
        ("fetch", {"url": "https://a.example", "method": "HEAD", "headers": {"accept": "text/plain"}}, True),
        ("fetch", {"url": "https://a.example", "method": "POST"}, False),
        ("fetch", {"url": "https://a.example", "headers": {"accept": 1}}, False),
    ],
)
def test_arguments_are_held_against_the_schema(name: str, arguments: dict[str, Any], is_taken: bool) -> None:
    assert fits(BUILTIN_TOOLS[name].schema, arguments) is is_taken


def test_what_writes_or_runs_is_not_called_read_only() -> None:
    assert [name for name, tool in BUILTIN_TOOLS.items() if tool.is_read_only] == ["read"]
    assert {name for name, tool in BUILTIN_TOOLS.items() if tool.is_open_world} == {"bash", "fetch"}


def test_an_id_is_reserved_in_its_own_spelling_only() -> None:
    assert "read" in BUILTIN_TOOLS and "Read" not in BUILTIN_TOOLS
    assert all(tool.id == name and tool.config["enabled"] == "boolean" for name, tool in BUILTIN_TOOLS.items())
