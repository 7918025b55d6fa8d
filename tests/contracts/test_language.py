"""A plan of stubs says where its files stand, and what lets a program do the work of its tools."""

from __future__ import annotations

import tomllib
from typing import Any

import msgspec
import pytest

from ferrule.contracts.language import Project, StubPlan, ToolPlan
from ferrule.contracts.type_tree import NamedType, TypeTree
from ferrule.model.upstreams import McpProgram


def tool(tool_id: str, **fields: Any) -> ToolPlan:
    """A tool that is ready to be written."""
    words = ("name", "stem", "type_name", "title", "description", "digest", "contract")
    usual: dict[str, Any] = dict.fromkeys(words, "x")
    return ToolPlan(
        **usual, tool_id=tool_id, input=TypeTree(NamedType("In"), ()), output=None, input_schema=msgspec.Raw(b"{}"),
        output_schema=None, **fields,
    )  # fmt: skip


def plan(*tools: ToolPlan, place: str = "") -> StubPlan:
    """A plan with these tools."""
    return StubPlan(kind="implementation", project=Project(name="desk", version="1"), tools=tools, place=place)


@pytest.mark.parametrize(
    ("place", "path"), [("", "./bin/serve"), (".", "./bin/serve"), ("stubs/go", "./stubs/go/bin/serve")]
)
def test_a_path_is_told_as_the_workspace_sees_it(place: str, path: str) -> None:
    assert plan(place=place).workspace_path("bin/serve") == path


def test_the_settings_of_a_program_are_read_as_they_are_meant() -> None:
    written = plan(tool("clerk.search"), tool('odd "ü"'), tool("read", builtin="read")).program_settings(
        'my "desk"', "./serve", "--fast"
    )
    programs = tomllib.loads(written)["mcp"]["programs"]
    assert programs == {'my "desk"': {"command": ["./serve", "--fast"], "tools": ["clerk.search", 'odd "ü"']}}
    assert msgspec.convert(programs['my "desk"'], McpProgram).runs("clerk.search")
