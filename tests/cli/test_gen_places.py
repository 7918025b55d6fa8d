"""Where the schema of a note stands: the line of the definition, as near as its document can tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule.cli.gen_places import place_notes
from ferrule.cli.workspace_tools import collect_tools
from ferrule.workspace.stubs import LooseType
from ferrule.workspace.workspace import Workspace


def line(root: Path, words: str) -> int:
    lines = (root / "tools/send-reply.tool.md").read_text().splitlines()
    return next(number for number, text in enumerate(lines, start=1) if text.strip().startswith(words))


@pytest.mark.parametrize(
    ("pointer", "side", "words"),
    [
        ("#/properties/subject", "input", "subject:"),
        ("#/properties/subject/nothing/more", "input", "subject:"),
        ("#/properties/subject", "", "subject:"),
        ("#", "input", "input:"),
    ],
)
def test_a_note_has_the_line_of_the_schema_or_of_what_it_would_stand_in(
    workspace: Path, pointer: str, side: str, words: str
) -> None:
    here = Workspace.open(workspace)
    entries = collect_tools(here).entries
    note = LooseType(tool_id="send-reply", pointer=pointer, message="looser", side=side)  # type: ignore[arg-type]
    (placed,) = place_notes(here, entries, [note])
    assert placed.place.endswith(f"send-reply.tool.md:{line(workspace, words)}")


def test_a_note_about_a_tool_that_was_not_chosen_is_left_out(workspace: Path) -> None:
    here = Workspace.open(workspace)
    note = LooseType(tool_id="nothing", pointer="#", message="looser", side="input")
    assert place_notes(here, collect_tools(here).entries, [note]) == []
