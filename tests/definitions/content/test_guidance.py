"""What models are told of a tool besides its name and schema: bounded, and cut off between lines."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ferrule.definitions.content.guidance import MOST_IN_DESCRIPTION, describe_tool, format_guidance, take_fitting_lines
from ferrule.model.tool import Tool, raw


def tool(payload: Any) -> Tool:
    return Tool(
        tool_id="t",
        namespace="n",
        name="t",
        description="Finds.",
        lifecycle="available",
        tool_kind="function",
        dialect="aml",
        payload=payload if isinstance(payload, msgspec.Raw) else raw({"use_guidance": payload}),
    )


def test_guidance_is_said_line_by_line_under_headings() -> None:
    said = {"side_effects": "Sends\n a mail.", "use_when": ["it is late", " ", 5], "avoid_when": []}
    assert format_guidance(tool(said)) == ["Use it when:", "- it is late", "Side effects:", "- Sends a mail."]


@pytest.mark.parametrize(
    "payload", ["never", None, [], {"use_when": 5}, msgspec.Raw(b'{"use_guidance"'), msgspec.Raw(b"{}")]
)
def test_what_is_no_guidance_is_passed_over(payload: Any) -> None:
    assert format_guidance(tool(payload)) == []
    assert describe_tool(tool(payload)) == "Finds."


def test_it_stands_behind_the_description_and_is_never_cut_inside_a_line() -> None:
    text = describe_tool(tool({"use_when": ["x" * 900, "y" * 900, "z" * 900]}))
    assert text.startswith("Finds.\n\nUse it when:\n- xxx")
    assert len(text) <= len("Finds.\n\n") + MOST_IN_DESCRIPTION
    assert text.endswith("- " + "y" * 900)


def test_lines_are_taken_while_there_is_room() -> None:
    assert take_fitting_lines(["ab", "c", "d"], 5) == ["ab", "c"]
    assert take_fitting_lines(["ab"], 2) == []
    assert take_fitting_lines([], 0) == []
