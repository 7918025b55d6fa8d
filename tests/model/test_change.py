"""One tool on two sides of a comparison: whether it changed, and what that is called."""

from __future__ import annotations

import pytest

from ferrule.model.change import ComparedTool, ToolChange
from ferrule.model.outline import ToolOutline


def part(content: str = "", digest: str = "", name: str = "search") -> ComparedTool:
    """One version of a tool, with the fingerprints that are compared."""
    return ComparedTool(ToolOutline("a.yaml", "aml", "default", name, name), content, digest, {}, None, {})


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        (part("c1", "d1"), part("c1", "d2"), True),
        (part("c1", "d1"), part("c2", "d1"), False),
        (part("", "d1"), part("c1", "d1"), True),
        (part("", "d1"), part("c1", "d2"), False),
    ],
)
def test_files_are_compared_and_what_was_compiled_where_a_side_has_none(
    old: ComparedTool, new: ComparedTool, is_same: bool
) -> None:
    assert old.says_the_same(new) is is_same
    assert ToolChange(old, new).word == ("unchanged" if is_same else "changed")


def test_a_tool_on_one_side_only_was_added_or_removed() -> None:
    assert ToolChange(None, part()).word == "added"
    assert ToolChange(part(), None).word == "removed"


def test_the_newer_side_speaks_for_a_tool() -> None:
    old, new = part(name="old"), part(name="new")
    assert ToolChange(old, new).part is new
    assert ToolChange(old, None).part is old
