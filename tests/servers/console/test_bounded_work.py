"""What must not stall or fool the console: texts that take long to read, made by whoever may call or write a tool."""

from __future__ import annotations

from functools import partial

import pytest

from ferrule.schema.tree import schema_tree
from ferrule.servers.console.inbox.inbox_words import diff
from ferrule.servers.console.markdown import render_markdown
from ferrule.workspace.excerpts import mask_lines
from tests.cpu_time import least_cpu_seconds

MOST_SECONDS = 0.4


@pytest.mark.parametrize(
    "text",
    ["# a" + " " * 19_000 + "b", "# " + "# " * 9_000 + "x", "#" + " " * 19_990, "# " + "a#" * 9_000 + "x"],
    ids=["spaces", "marks", "nothing", "both"],
)
def test_headings_take_no_longer_than_their_length(text: str) -> None:
    seconds, _ = least_cpu_seconds(lambda: render_markdown(text))
    assert seconds < MOST_SECONDS


def test_a_heading_loses_the_marks_at_its_end() -> None:
    assert render_markdown("## Words # of it ##  ") == "<h3>Words # of it</h3>"


def test_comparing_inputs_whose_lines_repeat_is_bounded() -> None:
    before = [number % 7 == 0 for number in range(740)]
    after = [number % 5 == 0 for number in range(740)]
    seconds, rows = least_cpu_seconds(lambda: diff(before, after))
    assert seconds < MOST_SECONDS
    assert [row["text"] for row in rows if row["kind"] != "rem"][1:-1] == [
        f"  {'true' if each else 'false'}{',' if number < 739 else ''}" for number, each in enumerate(after)
    ]


def test_the_ends_of_long_inputs_are_still_told_as_equal() -> None:
    before, after = [0] * 700, [0] * 300 + [1] + [0] * 399
    changed = [(row["kind"], row["number"], row["text"]) for row in diff(before, after) if row["kind"]]
    assert changed == [("rem", 302, "  0,"), ("add", 302, "  1,")]


def test_long_chains_of_references_and_many_required_fields_are_read_at_once() -> None:
    chain = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(3000)}
    linked = {"$defs": chain, "type": "object", "properties": {f"a{n}": {"$ref": "#/$defs/d0"} for n in range(300)}}
    names = [f"p{number}" for number in range(8000)]
    wide = {"type": "object", "required": names, "properties": {name: {"type": "string"} for name in reversed(names)}}
    for schema in (linked, wide):
        seconds, tree = least_cpu_seconds(partial(schema_tree, schema))
        assert len(tree) >= 300
        assert seconds < MOST_SECONDS


def test_a_line_of_a_definition_with_much_room_in_it_is_masked_at_once() -> None:
    text = f"title: b{' ' * 3000}x\npassword: hunter2hunter2{' ' * 3000}x ,\n"
    seconds, shown = least_cpu_seconds(lambda: mask_lines(text, ()).lines)
    assert seconds < MOST_SECONDS
    assert shown[1] == "password: [REDACTED] ,"
