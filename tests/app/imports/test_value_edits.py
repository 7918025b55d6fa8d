"""Single values put into a file's text: no other line changes, comments stay, and what is tangled is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.app.imports.sheet import Sheet, parse_sheet
from ferrule.app.imports.value_edits import Tangled, ValueChange, apply_changes
from ferrule.model.value import MISSING, Path

MINE = """---
tool_id: refund  # ours
meta:
  owner: accounts   # the desk
  tags: [a, b]  # short
  extra: gone
transport: &t
  type: rest-api
copy: *t
---
Body.
"""


def sheet(text: str) -> Sheet:
    found = parse_sheet(text)
    assert found is not None
    return found


def change_text(path: Path, value: Any, source: str, wanted: dict[str, Any] | None = None) -> str:
    return apply_changes(sheet(MINE), [ValueChange(path, value)], sheet(source), wanted or {})


def lines_that_differ(text: str) -> list[str]:
    return [line for line in text.splitlines() if line not in MINE.splitlines()]


def test_a_value_is_put_in_its_place_and_the_comment_of_its_line_stays() -> None:
    text = change_text(("meta", "owner"), "finance", "---\nmeta:\n  owner: finance\n---\n")
    assert lines_that_differ(text) == ["  owner: finance   # the desk"]


def test_a_value_that_is_taken_away_takes_its_line_along_and_no_other() -> None:
    text = change_text(("meta", "extra"), MISSING, "---\nmeta: {}\n---\n")
    assert text == MINE.replace("  extra: gone\n", "")


def test_a_new_value_stands_as_it_is_written_in_its_source() -> None:
    text = change_text(("meta", "title"), "Pay back", '---\nmeta:\n  title: "Pay back"\n---\n')
    assert lines_that_differ(text) == ['  title: "Pay back"']
    again = sheet(text)
    assert again.value["meta"]["title"] == "Pay back" and again.body == "Body.\n"


def test_a_list_in_brackets_is_written_anew_as_a_whole() -> None:
    text = change_text(("meta", "tags", 1), "c", "---\nmeta:\n  tags: [a, c]\n---\n", {"meta": {"tags": ["a", "c"]}})
    assert sheet(text).value["meta"]["tags"] == ["a", "c"]
    assert "# short" in text


def test_what_comes_from_an_alias_is_refused() -> None:
    with pytest.raises(Tangled):
        change_text(("copy", "type"), "mcp", "---\ncopy:\n  type: mcp\n---\n")
