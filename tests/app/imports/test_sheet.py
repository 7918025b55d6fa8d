"""A definition file taken apart: what it says, on which line, where a value ends, and which files are left alone."""

from __future__ import annotations

from typing import Any

import pytest

from ferrule.app.imports.sheet import Sheet, is_same, parse_sheet

TEXT = """---
tool_id: refund
meta:
  tags: [a, b]  # ours
  description: |
    First line.

    Last line.

  owner: accounts
---
# Purpose
"""


def sheet(text: str = TEXT) -> Sheet:
    found = parse_sheet(text)
    assert found is not None
    return found


def test_a_value_and_what_it_would_stand_in_have_a_line() -> None:
    assert sheet().line_of(("tool_id",)) == 2
    assert sheet().line_of(("meta", "owner")) == 10
    assert sheet().body_line() == 12


def test_a_value_ends_before_the_comment_and_the_blank_lines_after_it() -> None:
    one = sheet()
    for path, end in ((("meta", "tags"), "[a, b]"), (("meta", "description"), "Last line."), (("meta",), "accounts")):
        node = one.node(path)
        assert node is not None and one.text[: one.end_of(node)].endswith(end), path


def test_brackets_and_texts_on_lines_of_their_own_are_told_apart() -> None:
    one = sheet()
    tags, text = one.node(("meta", "tags")), one.node(("meta", "description"))
    assert tags is not None and text is not None
    assert one.is_flow(tags) and not one.is_flow(text)
    assert one.is_block_text(text) and not one.is_block_text(tags)


def test_a_byte_order_mark_is_kept_apart() -> None:
    assert (sheet("\ufeff" + TEXT).bom, sheet("\ufeff" + TEXT).text) == ("\ufeff", TEXT)


@pytest.mark.parametrize(
    "text", ["", "no front matter", "---\na: 1\na: 2\n---\n", "---\n[]\n---\n", TEXT + "\x85", TEXT + "\ud800"]
)
def test_what_cannot_be_read_without_a_complaint_is_not_taken_apart(text: str) -> None:
    assert parse_sheet(text) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        (1, 1.0, False),
        ({"a": 1}, {"a": True}, False),
    ],
)
def test_two_values_are_the_same_down_to_the_kinds_of_their_numbers(one: Any, other: Any, same: bool) -> None:
    assert is_same(one, other) is same
