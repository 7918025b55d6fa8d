"""A manuscript finds the text of a value, and makes edits that keep lines, quotes and indentation whole."""

from __future__ import annotations

import pytest

from ferrule.contracts.fix import Edit, LineRange, Manuscript
from ferrule.definitions.compiler.locate import find_places
from ferrule.definitions.compiler.read import read
from ferrule.model.document import Node, Source
from ferrule.model.value import Path

TEXT = """\
meta:
    name: "Tool one"
    tags: [a, b]

    owner: 'team' # who to ask

base: &base
    x: 1
copy: *base
items:
    - id: one
      note: |
        first

        second
    - id: two
"""


def manuscript(text: str = TEXT, file: str = "a.yaml") -> Manuscript:
    """The manuscript of a file with one document."""
    (document,) = read(Source(file, text.encode()))
    return Manuscript(text, document.value, find_places(document), is_json=file.endswith(".json"))


def node(written: Manuscript, *path: str | int) -> Node:
    """A value that is written in the file."""
    found = written.node(path)
    assert found is not None
    return found


def applied(text: str, edit: Edit) -> str:
    """The text after an edit."""
    return text[: edit.start] + edit.text + text[edit.end :]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("meta", "name"), '"Tool one"'),
        (("meta", "tags"), "[a, b]"),
        (("meta", "tags", 1), "b"),
        (("items", 1, "id"), "two"),
    ],
)
def test_a_value_is_found_as_it_is_written(path: Path, text: str) -> None:
    written = manuscript()
    assert written.text_of(node(written, *path).span) == text


@pytest.mark.parametrize("path", [("meta", "absent"), ("copy", "x")])
def test_what_is_absent_or_comes_from_an_alias_is_not_written_there(path: Path) -> None:
    assert manuscript().node(path) is None


@pytest.mark.parametrize(
    ("path", "after"),
    [(("meta", "name"), 'name: "new"'), (("meta", "owner"), "owner: 'new'"), (("items", 1, "id"), "id: new")],
)
def test_a_word_is_exchanged_within_its_quotes(path: Path, after: str) -> None:
    written = manuscript()
    assert after in applied(TEXT, written.reword(node(written, *path).span, "new"))


def test_a_span_is_replaced_and_nothing_else() -> None:
    written = manuscript()
    edit = written.replace(node(written, "meta", "tags").span, "[]")
    assert applied(TEXT, edit) == TEXT.replace("[a, b]", "[]")


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        (("meta", "name"), LineRange(2, 3)),
        (("meta", "owner"), LineRange(5, 6)),
        (("meta",), LineRange(1, 6)),
        (("items", 0, "note"), LineRange(12, 16)),
        (("items", 0, "id"), None),
        (("meta", "tags", 0), None),
    ],
)
def test_a_key_of_a_block_has_whole_lines_and_one_in_a_flow_has_none(path: Path, lines: LineRange | None) -> None:
    written = manuscript()
    assert written.lines_of(node(written, *path)) == lines


def test_a_key_behind_a_dash_has_its_lines_too() -> None:
    written = manuscript()
    assert written.extent(node(written, "items", 0, "id")) == LineRange(11, 12)


def test_no_key_of_json_has_lines_of_its_own() -> None:
    written = manuscript('{\n  "a": 1\n}\n', "a.json")
    assert written.lines_of(node(written, "a")) is None


def test_lines_are_taken_with_their_end_also_at_the_end_of_the_file() -> None:
    written = manuscript("a: 1\nb: 2")
    assert written.text_of_lines(LineRange(1, 2)) == "a: 1\n" and written.text_of_lines(LineRange(2, 3)) == "b: 2\n"
    windows = manuscript("a: 1\r\nb: 2")
    assert windows.newline == "\r\n" and windows.text_of_lines(LineRange(2, 3)) == "b: 2\r\n"


@pytest.mark.parametrize(
    ("text", "lines", "left"),
    [
        ("a: 1\nb: 2\nc: 3\n", LineRange(2, 3), "a: 1\nc: 3\n"),
        ("a: 1\n\nb: 2\n\nc: 3\n", LineRange(3, 4), "a: 1\n\nc: 3\n"),
        ("a: 1\n\nb: 2\n", LineRange(3, 4), "a: 1\n"),
        ("---\na: 1\n\nb: 2\n---\nbody\n", LineRange(4, 5), "---\na: 1\n---\nbody\n"),
    ],
)
def test_no_blank_line_is_left_doubled_or_last(text: str, lines: LineRange, left: str) -> None:
    # The places play no part here, so those of any document do.
    written = Manuscript(text, {}, find_places(read(Source("a.yaml", b"a: 1"))[0]))
    assert applied(text, written.remove_lines(lines)) == left


def test_blank_lines_are_not_indented() -> None:
    assert manuscript().indent("a:\n\n  b: 1\n", 2) == "  a:\n\n    b: 1\n"


@pytest.mark.parametrize(("text", "step"), [(TEXT, 4), ("a:\n   b: 1\n", 3), ("a: 1\n", 2), ("a:\n- 1\n", 2)])
def test_a_file_is_indented_by_what_its_first_indented_line_has(text: str, step: int) -> None:
    assert manuscript(text).step == step


def test_what_stands_before_a_place_is_known() -> None:
    written = manuscript()
    assert written.text_before(node(written, "items", 0, "id").opener) == "    - "
    assert written.offset(len(TEXT.split("\n")) + 1) == len(TEXT)
