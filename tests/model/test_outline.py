"""A library finds what files define by the names other files use, and picks one of several versions."""

from __future__ import annotations

import msgspec
import pytest

from ferrule.model.outline import (
    AgentOutline,
    BrokenOutline,
    Library,
    Outline,
    RecordOutline,
    RoleOutline,
    ToolOutline,
    newest,
)


def tool(version: str | None = None, status: str | None = "active", dialect: str = "aml") -> ToolOutline:
    """A version of the tool `search`."""
    return ToolOutline("a.yaml", dialect, "default", "search", "search", version=version, status=status)


@pytest.mark.parametrize(
    ("tools", "chosen"),
    [
        ([tool("1.9.0"), tool("1.10.0")], 1),
        ([tool("1.0.0"), tool("2.0.0", "draft")], 0),
        ([tool("2.0.0-rc.1"), tool("1.0.0", "deprecated"), tool("2.0.0")], 2),
        ([tool("no version"), tool("0.0.1")], 1),
        ([tool("1.0.0"), tool("1.0.0")], 0),
        ([tool("1.0.0", "draft"), tool("2.0.0", "retired")], 1),
    ],
)
def test_the_newest_usable_version_is_meant(tools: list[ToolOutline], chosen: int) -> None:
    assert newest(tools) is tools[chosen]


def test_of_no_tools_none_is_the_newest() -> None:
    assert newest([]) is None


def test_a_reference_of_an_agent_means_tools_of_its_dialect() -> None:
    library = Library((tool("9.0.0", dialect="oxp"), tool("1.0.0")))
    found = library.aml_tool("search")
    assert found is not None and found.version == "1.0.0"
    assert library.aml_tool("absent") is None
    assert len(library.tools["search"]) == 2


def test_the_first_of_one_name_counts() -> None:
    agents = [AgentOutline(file, "clerk", {}) for file in ("a", "b")]
    roles = [RoleOutline(file, "reader", {}) for file in ("a", "b")]
    records = [RecordOutline(file, "surface", "desk") for file in ("a", "b")]
    library = Library((*agents, *roles, *records, RecordOutline("c", "interface", "desk")))
    assert library.agents["clerk"].file == library.roles["reader"].file == "a"
    assert library.records["surface", "desk"].file == "a" and library.records["interface", "desk"].file == "c"


def test_what_has_no_name_or_was_not_parsed_is_not_found() -> None:
    library = Library((AgentOutline("a", None, {}), RoleOutline("b", None, {}), BrokenOutline("c", "tool", "search")))
    assert not library.agents and not library.roles and not library.tools
    assert library.broken == {("tool", "search")}


@pytest.mark.parametrize(
    "outline",
    [
        tool("1.0.0"),
        AgentOutline("a", None, {"x": 1}),
        RecordOutline("a", "surface", "d"),
        BrokenOutline("a", "tool", "b"),
    ],
)
def test_an_outline_comes_out_of_the_cache_as_it_went_in(outline: Outline) -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(outline), type=Outline) == outline
